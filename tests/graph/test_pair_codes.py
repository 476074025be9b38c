import itertools

import networkx as nx
import pytest
import torch

from lgan.graph import EgoLines, undirected_pairs
from lgan.graph.named import named_graph
from lgan.graph.pair_codes import LEVELS, pair_codes
from reference import pair_index as pairs_of


def slow_code(graph: nx.Graph, t: int, p: int) -> list[int]:
    """The code by its definition, listing everything."""
    common = set(graph[t]) & set(graph[p])
    cycles = sum(
        graph.has_edge(a, b) and len({t, p, a, b}) == 4
        for a, b in itertools.product(graph[t], graph[p])
    )
    k4 = [len(common & set(graph[q])) for q in common]
    claws = [
        len(set(graph[leaf]) & set(graph[a]) & set(graph[b]))
        for centre, leaf in ((t, p), (p, t))
        for a, b in itertools.combinations(set(graph[centre]) - {leaf}, 2)
    ]
    return [len(common), cycles, sum(k4), sum(k * k for k in k4), sum(m * m for m in claws)]


@pytest.mark.parametrize(
    ("graph", "code"),
    [
        (nx.path_graph(4), [0, 0, 0, 0, 0]),
        (nx.star_graph(5), [0, 0, 0, 0, 6]),
        (nx.complete_graph(3), [1, 0, 0, 0, 0]),
        (nx.cycle_graph(4), [0, 1, 0, 0, 0]),
        (nx.complete_graph(4), [2, 2, 2, 2, 2]),
        (nx.complete_graph(5), [3, 6, 6, 12, 24]),
        (nx.cubical_graph(), [0, 2, 0, 0, 2]),
        (nx.petersen_graph(), [0, 0, 0, 0, 2]),
        (nx.complete_bipartite_graph(3, 3), [0, 4, 0, 0, 18]),
    ],
)
def test_code_of_named_graphs(graph: nx.Graph, code: list[int]) -> None:
    codes = pair_codes(pairs_of(graph), len(graph), "claws")
    assert codes.tolist() == [code] * graph.number_of_edges()


@pytest.mark.parametrize("seed", range(12))
def test_code_agrees_with_its_definition(seed: int) -> None:
    graph = nx.gnp_random_graph(14, 0.2 + 0.06 * seed, seed=seed)
    pair_index = pairs_of(graph)
    expected = [slow_code(graph, t, p) for t, p in pair_index.t().tolist()]
    assert pair_codes(pair_index, 14, "claws").tolist() == expected


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("triangle", [1, 0, 0, 0, 0, 0]),
        ("k5", [3, 0, 0, 0, 0, 0]),
        ("hexagon", [0, 0, 0, 1, 0, 0]),
        ("petersen", [0, 0, 4, 4, 0, 0]),
        ("cube", [0, 2, 0, 2, 0, 0]),
    ],
)
def test_rings_on_the_edges_of_graphs_known_by_hand(name: str, numbers: list[int]) -> None:
    graph = named_graph(name)
    codes = pair_codes(pairs_of(graph), len(graph), "rings")
    assert codes.tolist() == [numbers] * graph.number_of_edges()


@pytest.mark.parametrize("seed", range(12))
def test_rings_agree_with_networkx(seed: int) -> None:
    graph = nx.gnp_random_graph(13, 0.12 + 0.05 * seed, seed=seed)
    pair_index = pairs_of(graph)
    row = {frozenset(pair): i for i, pair in enumerate(pair_index.t().tolist())}
    expected = torch.zeros((len(row), 6), dtype=torch.int64)
    for ring in nx.chordless_cycles(graph, length_bound=8):
        for step in zip(ring, [*ring[1:], ring[0]], strict=True):
            expected[row[frozenset(step)], len(ring) - 3] += 1
    assert torch.equal(pair_codes(pair_index, 13, "rings"), expected)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("seed", range(8))
def test_merging_twins_keeps_every_code(level: str, seed: int) -> None:
    base = nx.gnp_random_graph(9, 0.5, seed=seed)
    blown = nx.Graph()
    members = {}
    for node in base:  # every node becomes a clique of 1 to 4 twins
        members[node] = range(len(blown), len(blown) + 1 + (node + seed) % 4)
        blown.add_nodes_from(members[node])
        blown.add_edges_from(itertools.combinations(members[node], 2))
    for u, v in base.edges:
        blown.add_edges_from(itertools.product(members[u], members[v]))
    plain = pairs_of(blown)
    lines, node_class = EgoLines.compressed(plain, len(blown))
    assert lines.num_nodes < len(blown)
    merged = pair_codes(
        lines.pair_index, lines.num_nodes, level, multiplicity=lines.multiplicity
    ).tolist()
    code_of = dict(zip(map(tuple, lines.pair_index.t().tolist()), merged, strict=True))
    expected = [code_of[tuple(sorted(node_class[pair].tolist()))] for pair in plain.t()]
    assert pair_codes(plain, len(blown), level).tolist() == expected


def test_codes_of_a_union_are_those_of_its_graphs() -> None:
    one, two = nx.gnp_random_graph(12, 0.5, seed=1), nx.gnp_random_graph(9, 0.6, seed=2)
    union = nx.disjoint_union(one, two)
    parts = [pair_codes(pairs_of(g), len(g), "full") for g in (one, two)]
    assert torch.equal(pair_codes(pairs_of(union), 21, "full"), torch.cat(parts))


def test_code_does_not_depend_on_the_names_of_nodes() -> None:
    graph = nx.gnp_random_graph(15, 0.4, seed=3)
    order = torch.randperm(15)
    pair_index = pairs_of(graph)
    renamed = undirected_pairs(order[pair_index], 15)
    code_of = dict(
        zip(
            map(tuple, renamed.t().tolist()),
            pair_codes(renamed, 15, "full").tolist(),
            strict=True,
        )
    )
    expected = [code_of[tuple(sorted(order[pair].tolist()))] for pair in pair_index.t()]
    assert pair_codes(pair_index, 15, "full").tolist() == expected


def test_levels_begin_with_the_same_counts() -> None:
    pair_index = pairs_of(nx.gnp_random_graph(12, 0.6, seed=4))
    full = pair_codes(pair_index, 12, "claws")
    for level, names in LEVELS.items():
        code = pair_codes(pair_index, 12, level)
        assert code.shape == (pair_index.size(1), len(names))
        shared = [name for name in names if name in LEVELS["claws"]]
        assert torch.equal(code[:, : len(shared)], full[:, : len(shared)])


def test_triangles_are_those_of_the_ego_lines() -> None:
    lines = EgoLines.from_pairs(pairs_of(nx.gnp_random_graph(20, 0.3, seed=5)), 20)
    code = pair_codes(lines.pair_index, 20, "triangles")
    assert torch.equal(code[:, 0], lines.pair_triangles.long())


@pytest.mark.parametrize("level", LEVELS)
def test_graphs_without_edges_have_no_codes(level: str) -> None:
    assert pair_codes(torch.empty((2, 0), dtype=torch.int64), 3, level).shape == (
        0,
        len(LEVELS[level]),
    )


@pytest.mark.parametrize("level", ["local", "folklore"])
def test_colours_know_the_counts_and_more(level: str) -> None:
    graph = nx.disjoint_union(nx.cubical_graph(), nx.circulant_graph(8, [1, 4]))
    graph = nx.disjoint_union(graph, nx.gnp_random_graph(12, 0.4, seed=6))
    codes = pair_codes(pairs_of(graph), len(graph), level)
    rows, colours = codes[:, :5].unique(dim=0).size(0), codes[:, 5].unique().numel()
    assert rows < colours == codes.unique(dim=0).size(0)


def test_colours_of_decalin_differ_from_those_of_bicyclopentyl() -> None:
    one, two = named_graph("decalin"), named_graph("bicyclopentyl")
    pair_index = pairs_of(nx.disjoint_union(one, two))
    first = pair_index[0] < 10
    counts = pair_codes(pair_index, 20, "full")
    assert counts[:, 0].max() == 0
    for level in ("local", "folklore"):
        colours = pair_codes(pair_index, 20, level)[:, 5]
        assert not set(colours[first].tolist()) & set(colours[~first].tolist())


def test_wide_neighbourhoods_fill_several_words() -> None:
    graph = nx.complete_bipartite_graph(4, 150)
    (code,) = {tuple(row) for row in pair_codes(pairs_of(graph), 154, "claws").tolist()}
    assert list(code) == slow_code(graph, 0, 4)


def test_too_many_claws_are_refused() -> None:
    with pytest.raises(ValueError, match=r"these graphs have .* Choose the level 'full'"):
        pair_codes(pairs_of(nx.star_graph(5000)), 5001, "claws")


def test_unknown_level_lists_the_levels() -> None:
    with pytest.raises(
        ValueError, match="none, triangles, cycles, full, claws, local, folklore, rings"
    ):
        pair_codes(torch.tensor([[0], [1]]), 2, "pentagons")

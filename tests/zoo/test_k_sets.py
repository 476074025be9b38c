from itertools import combinations, permutations

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import laws
from lgan.data import load
from lgan.graph import GraphUnion
from lgan.zoo.k_sets import (
    NODE_NEIGHBOURS,
    PAIR_NEIGHBOURS,
    PAIR_NODES,
    PAIRS,
    TRIPLE_NEIGHBOURS,
    TRIPLE_PAIRS,
    TRIPLES,
    Sizes,
    k_sets,
    node_labels,
    type_labels,
    types_of_three,
    types_of_two,
)
from lifted import node_sets, union_of

Set = frozenset[int]
WAYS = [{}, {"touching": True}, {"connected": False}]


def _neighbours(union: GraphUnion, name: str, sets: list[Set]) -> set[tuple[Set, Set]]:
    family = union.cells[name]
    receiver, sender = family["receiver"].tolist(), family["sender"].tolist()
    assert receiver == sorted(receiver)
    found = [(sets[r], sets[s]) for r, s in zip(receiver, sender, strict=True)]
    assert len(set(found)) == len(found), "a neighbour twice"
    return set(found)


def _slow_sets(graph: nx.Graph, size: int, connected: bool) -> list[Set]:
    every = map(frozenset, combinations(sorted(graph), size))
    return [s for s in every if not connected or nx.is_connected(graph.subgraph(s))]


def _slow_neighbours(graph: nx.Graph, sets: list[Set], touching: bool) -> set[tuple[Set, Set]]:
    found = set()
    for s, t in permutations(sets, 2):
        if len(s & t) != len(s) - 1:
            continue
        [gone], [new] = s - t, t - s
        if graph.has_edge(gone, new) or (touching and any(graph.has_edge(v, new) for v in s)):
            found.add((s, t))
    return found


@pytest.mark.parametrize("options", WAYS, ids=str)
@settings(max_examples=30)
@given(graph=laws.graphs(max_nodes=7))
def test_sets_and_neighbours_agree_with_their_definition(options, graph):
    union = union_of([graph], lift=k_sets(**options))
    pairs, triples = node_sets(union)
    slow = _slow_sets(graph, 3, options.get("connected", True))
    assert pairs == _slow_sets(graph, 2, False)
    assert sorted(map(sorted, triples)) == sorted(map(sorted, slow))
    nodes = [frozenset([v]) for v in graph]
    for name, sets, touching in (
        (NODE_NEIGHBOURS, nodes, False),
        (PAIR_NEIGHBOURS, pairs, False),
        (TRIPLE_NEIGHBOURS, triples, options.get("touching", False)),
    ):
        assert _neighbours(union, name, sets) == _slow_neighbours(graph, sets, touching), name


@pytest.mark.parametrize("options", WAYS, ids=str)
@settings(max_examples=30)
@given(graph=laws.graphs(max_nodes=8))
def test_sizes_are_known_without_listing(options, graph):
    union = union_of([graph, nx.path_graph(2)], lift=k_sets(**options))
    sizes = Sizes.of(union, connected=options.get("connected", True))
    assert torch.equal(sizes.pairs, union.cells[PAIRS].ptr.diff())
    assert torch.equal(sizes.pair_neighbours, union.cells[PAIR_NEIGHBOURS].ptr.diff())
    assert torch.equal(sizes.triples, union.cells[TRIPLES].ptr.diff())
    listed = union.cells[TRIPLE_NEIGHBOURS].ptr.diff()
    if not options.get("connected", True):
        assert torch.equal(sizes.triple_neighbours, listed)
    most = sizes.triple_neighbours * (2 if options.get("touching") else 1)
    assert bool((listed <= most).all())


def _isomorphic(graph: nx.Graph, label: list[int], s: Set, t: Set) -> bool:
    def same(order: tuple[int, ...]) -> bool:
        pairs = list(zip(sorted(s), order, strict=True))
        return all(label[a] == label[b] for a, b in pairs) and all(
            graph.has_edge(a, c) == graph.has_edge(b, d)
            for (a, b), (c, d) in combinations(pairs, 2)
        )

    return any(same(order) for order in permutations(t))


@settings(max_examples=40)
@given(graph=laws.graphs(min_nodes=1, max_nodes=6), draw=st.data())
def test_types_are_equal_exactly_if_the_labelled_sets_are_isomorphic(graph, draw):
    labels = st.lists(st.integers(0, 2), min_size=len(graph), max_size=len(graph))
    label = draw.draw(labels)
    union = union_of([graph], torch.tensor(label), channels=3, lift=k_sets(connected=False))
    for name, sets in zip((PAIRS, TRIPLES), node_sets(union), strict=True):
        kind = union.cells[name]["type"].tolist()
        for (i, s), (j, t) in combinations(enumerate(sets), 2):
            assert (kind[i] == kind[j]) == _isomorphic(graph, label, s, t), f"{s} {t}"


@pytest.mark.parametrize("labels", [1, 2, 3])
@pytest.mark.parametrize("connected", [True, False])
def test_types_are_dense_numbers(labels, connected):
    # All graphs on three nodes with all labels.
    graphs = [g for g in nx.graph_atlas_g() if len(g) == 3]
    sets = [(g, a, b, c) for g in graphs for a in range(labels) for b in range(labels)
            for c in range(labels)]  # fmt: skip
    x = torch.tensor([three for _, *three in sets]).flatten()
    lift = k_sets(connected=connected)
    union = union_of([g for g, *_ in sets], x, channels=labels, lift=lift)
    assert union.cells[PAIRS]["type"].unique().tolist() == [*range(types_of_two(labels))]
    three = union.cells[TRIPLES]["type"].unique().tolist()
    assert three == [*range(types_of_three(labels, connected))]


def test_triangle_by_hand():
    union = union_of([nx.complete_graph(3)], lift=k_sets())
    cells = union.cells
    assert cells[PAIRS]["type"].tolist() == [1, 1, 1]  # adjacent
    assert cells[PAIR_NODES]["lower"].tolist() == [0, 1, 0, 2, 1, 2]
    # {0, 1}: 0 becomes its neighbour 2, or 1 becomes 2.
    assert cells[PAIR_NEIGHBOURS]["receiver"].tolist() == [0, 0, 1, 1, 2, 2]
    assert cells[PAIR_NEIGHBOURS]["sender"].tolist() == [2, 1, 2, 0, 1, 0]
    assert cells[TRIPLES]["type"].tolist() == [0]  # the triangle
    assert cells[TRIPLE_PAIRS]["lower"].tolist() == [0, 1, 2]
    assert cells[TRIPLE_NEIGHBOURS].num_cells == 0


def test_square_with_a_chord_by_hand():
    graph = nx.from_edgelist([(0, 1), (1, 2), (2, 3), (0, 3), (0, 2)])
    union = union_of([graph], lift=k_sets())
    pairs, triples = node_sets(union)
    assert [sorted(p) for p in pairs] == [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    assert union.cells[PAIRS]["type"].tolist() == [1, 1, 1, 1, 0, 1]
    assert [sorted(t) for t in triples] == [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]]
    assert union.cells[TRIPLES]["type"].tolist() == [0, 1, 0, 1]  # triangle, path, triangle, path
    # All four are neighbours but the two triangles: 1 and 3 are not adjacent.
    near = _neighbours(union, TRIPLE_NEIGHBOURS, triples)
    assert len(near) == 10
    assert (triples[0], triples[2]) not in near


def test_paths_in_a_hexagon_have_neighbours_only_if_they_touch():
    hexagon = [nx.cycle_graph(6)]
    assert union_of(hexagon, lift=k_sets()).cells[TRIPLE_NEIGHBOURS].num_cells == 0
    touching = union_of(hexagon, lift=k_sets(touching=True))
    assert touching.cells[TRIPLE_NEIGHBOURS].num_cells == 12


def test_labels_are_categories_or_one_hot_vectors():
    category = torch.tensor([2, 0, 1])
    assert node_labels(category).tolist() == [2, 0, 1]
    assert node_labels(torch.eye(3)[category]).tolist() == [2, 0, 1]
    assert node_labels(torch.rand(3, 3)).tolist() == [0, 0, 0]
    assert node_labels(torch.empty(3, 0)).tolist() == [0, 0, 0]


def test_too_many_labels_are_left_out_of_the_types():
    assert type_labels(21, True) == 21
    assert types_of_three(21, True) == 6622
    assert type_labels(136, True) == 1
    graph, label = nx.complete_graph(3), torch.tensor([0, 70, 135])
    union = union_of([graph], label, channels=136, lift=k_sets())
    assert union.cells[PAIRS]["type"].tolist() == [1, 1, 1]


def test_a_data_set_without_graphs_or_edges_has_no_sets():
    union = union_of([nx.empty_graph(0), nx.empty_graph(1)], lift=k_sets())
    assert all(family.num_cells == 0 for family in union.cells.values())


def test_too_many_neighbours_are_refused_with_numbers_and_limit():
    union = union_of([nx.complete_graph(5)])
    with pytest.raises(ValueError, match="small has so many sets of nodes: 10 of two nodes and 10 "
                       "of three, with up to 120 neighbours, above the limit of 100"):  # fmt: skip
        union.lifted(k_sets(max_neighbours=100))


def test_pairs_alone_are_refused_before_anything_is_built():
    union = union_of([nx.complete_graph(5), nx.path_graph(3)])
    # Ten sets of six neighbours each, three with two in all.
    message = (
        "dense has so many sets of nodes: 13 of two nodes, with up to 64 neighbours, "
        "above the limit of 63"
    )
    with pytest.raises(ValueError, match=message):
        k_sets(max_neighbours=63).refuse("dense", union.lines.pair_index.long(), union.node_ptr)
    k_sets(max_neighbours=64).refuse("dense", union.lines.pair_index.long(), union.node_ptr)


def test_sets_without_neighbours_are_counted_too():
    none = torch.zeros(2, 0, dtype=torch.int64)
    with pytest.raises(ValueError, match="2,449,965,000 of two nodes, with up to 0 neighbours"):
        k_sets().refuse("nothing", none, torch.tensor([0, 70_000]))


def test_touching_sets_are_connected():
    with pytest.raises(ValueError, match="`touching` is defined for connected sets of three nodes"):
        k_sets(connected=False, touching=True)


def test_key_names_every_option():
    assert len({k_sets(**options).key for options in WAYS}) == 3


@pytest.mark.data
def test_mutag_has_no_local_neighbours_between_connected_sets_of_three(mirror, tmp_path):
    options = {"root": tmp_path, "mirror": mirror, "compress": False}
    numbers = {
        touching: [
            load("MUTAG", lift=k_sets(touching=touching), **options).cells[name].num_cells
            for name in (PAIRS, PAIR_NEIGHBOURS, TRIPLES, TRIPLE_NEIGHBOURS)
        ]
        for touching in (False, True)
    }
    assert numbers == {False: [30505, 128252, 5428, 0], True: [30505, 128252, 5428, 23160]}


def test_a_data_set_is_refused_by_name():
    with pytest.raises(ValueError, match="csl has so many sets of nodes: 123,000 of two nodes, "):
        load("csl", compress=False, lift=k_sets(max_neighbours=9))

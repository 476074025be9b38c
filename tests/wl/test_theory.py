"""The claims of `docs/expressivity.md`, one test or more each; the proofs are there."""

import itertools
from collections.abc import Callable
from functools import cache

import networkx as nx
import numpy as np
import pytest
import torch

import lgan
from labelled_graphs import labelled_graphs, small_graph
from lgan import wl
from lgan.graph.named import named_graph
from lgan.graph.pair_colours import pair_colours
from lgan.wl import LabelledGraphs, RefinementResult
from lgan.wl.small_graphs import connected_graphs, union


def path(labels: str) -> nx.Graph:
    graph = nx.path_graph(len(labels))
    nx.set_node_attributes(graph, dict(enumerate(labels)), "label")
    return graph


def from_edges(text: str, labels: str = "") -> nx.Graph:
    graph = nx.Graph([(int(edge[0], 16), int(edge[1], 16)) for edge in text.split()])
    nx.set_node_attributes(graph, dict(enumerate(labels)), "label")
    return graph


def finer(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether graphs that share a number in ``a`` share one in ``b``."""
    return len(set(zip(a.tolist(), b.tolist(), strict=True))) == len(set(a.tolist()))


def after(result: RefinementResult, rounds: int) -> np.ndarray:
    return result.signatures[min(rounds, result.rounds)]


@pytest.fixture(scope="module")
def unlabelled() -> LabelledGraphs:
    """All connected graphs with 7 nodes."""
    return union(connected_graphs(7), 7)


@pytest.fixture(scope="module")
def labelled() -> LabelledGraphs:
    """All connected graphs with 5 nodes and two labels, and the same with an isolated node."""
    codes, labels = labelled_graphs(5)
    graphs = []
    for code, row in zip(codes.tolist(), labels.tolist(), strict=True):
        graph = small_graph(code, 5)
        nx.set_node_attributes(graph, dict(enumerate(row)), "label")
        graphs.append(graph)
        for extra in (0, 1):
            copy = graph.copy()
            copy.add_node(5, label=extra)
            graphs.append(copy)
    return LabelledGraphs.of(graphs)


@pytest.fixture(scope="module")
def classes(labelled: LabelledGraphs) -> Callable[[str], list[np.ndarray]]:
    """What a test says about several sets of graphs: labelled, small, regular."""
    regular = [nx.random_regular_graph(d, 10, seed=s) for d in (3, 4) for s in range(20)]
    sets = [labelled, union(connected_graphs(6), 6), LabelledGraphs.of(regular)]

    @cache
    def classes(test: str) -> list[np.ndarray]:
        return [wl.refine(graphs, test=test).classes for graphs in sets]

    return classes


# 1. The paper's Theorem 2 fails for plain LGAN on labelled graphs.


def test_plain_lgan_confuses_two_labelled_paths_that_1wl_separates() -> None:
    a, b = path("aba"), path("bab")
    assert not wl.distinguishes(a, b, test="lgan")
    for test in ("1-wl", "2-wl-set", "2-wl", "lgan-res", "lgan-input"):
        assert wl.distinguishes(a, b, test=test), test


def test_a_plain_network_gives_the_two_paths_exactly_equal_outputs() -> None:
    result = wl.check(
        lgan.LGAN(2, 16, 8),
        [(path("aba"), path("bab"))],
        transform=lgan.EgoLineGraph(),
        seeds=[0, 1],
    )
    assert result.differences == (0.0,)


@pytest.mark.parametrize("options", [{"residual": True}, {"include_input": True}])
def test_a_repaired_network_separates_the_two_paths(options: dict[str, bool]) -> None:
    model = lgan.LGAN(2, 16, 8, **options)
    result = wl.check(model, [(path("aba"), path("bab"))], transform=lgan.EgoLineGraph(), seeds=[0])
    assert result.separated == (True,)


def test_no_smaller_counterexample_exists() -> None:
    codes, labels = labelled_graphs(2)
    result = wl.refine(union(codes, 2, labels), test="lgan")
    assert result.unseparated_pairs == 0


# 2. What is lost: components with one mixed pair on every edge, labels of isolated nodes.


@pytest.mark.parametrize("n", [3, 4, 5, 6])
def test_plain_lgan_loses_only_graphs_whose_edges_all_carry_one_mixed_pair(n: int) -> None:
    codes, labels = labelled_graphs(n)
    plain, repaired = (
        wl.refine(union(codes, n, labels), test=test).classes for test in ("lgan", "lgan-res")
    )
    lost = [
        (i, j)
        for group in map(np.flatnonzero, plain[None] == np.unique(plain)[:, None])
        for i, j in itertools.combinations(group.tolist(), 2)
        if repaired[i] != repaired[j]
    ]
    assert len(lost) == {3: 1, 4: 1, 5: 5, 6: 10}[n]
    for i, j in lost:
        for k in (i, j):
            edges = small_graph(int(codes[k]), n).edges
            assert all(labels[k, u] != labels[k, v] for u, v in edges)


def test_plain_lgan_ignores_the_labels_of_isolated_nodes_but_counts_them() -> None:
    graphs = [from_edges("01", "aaa"), from_edges("01", "aab"), from_edges("01", "aa")]
    graphs[0].add_node(2, label="a")
    graphs[1].add_node(2, label="b")
    assert wl.refine(graphs, test="lgan").classes.tolist() == [0, 0, 1]
    assert wl.refine(graphs, test="lgan-res").classes.tolist() == [0, 1, 2]


# 3. LGAN-res is at least 1-WL, layer by layer.


@pytest.mark.parametrize("rounds", [0, 1, 2, 3, 4])
def test_lgan_res_refines_1wl_at_every_depth(
    labelled: LabelledGraphs, unlabelled: LabelledGraphs, rounds: int
) -> None:
    for graphs in (labelled, unlabelled):
        ours, theirs = (wl.refine(graphs, test=test) for test in ("lgan-res", "1-wl"))
        assert finer(after(ours, rounds), after(theirs, rounds))


# 4. The repair: the input in the skip-cat.


@pytest.mark.parametrize("rounds", [0, 1, 2, 3, 4])
def test_lgan_with_input_equals_lgan_res_at_every_depth(
    labelled: LabelledGraphs, unlabelled: LabelledGraphs, rounds: int
) -> None:
    for graphs in (labelled, unlabelled):
        a, b = (after(wl.refine(graphs, test=t), rounds) for t in ("lgan-input", "lgan-res"))
        assert np.array_equal(a, b)


@pytest.mark.parametrize("rounds", [1, 2, 3, 4])
def test_without_labels_plain_lgan_equals_lgan_res(unlabelled: LabelledGraphs, rounds: int) -> None:
    a, b = (after(wl.refine(unlabelled, test=t), rounds) for t in ("lgan", "lgan-res"))
    assert np.array_equal(a, b)


def test_with_degrees_as_labels_plain_lgan_equals_lgan_res() -> None:
    graphs = [small_graph(int(code), 6) for code in connected_graphs(6)]
    for graph in graphs:
        nx.set_node_attributes(graph, dict(graph.degree), "label")
    a, b = (wl.refine(graphs, test=t).classes for t in ("lgan", "lgan-res"))
    assert np.array_equal(a, b)


def test_one_layer_more_than_the_rounds_of_2wl_suffices(
    labelled: LabelledGraphs, unlabelled: LabelledGraphs
) -> None:
    for graphs in (labelled, unlabelled):
        ours = wl.refine(graphs, test="lgan-res")
        for test in ("2-wl", "2-wl-set"):
            theirs = wl.refine(graphs, test=test)
            for rounds in range(theirs.rounds + 1):
                assert finer(after(ours, rounds + 1), after(theirs, rounds))


def test_one_layer_does_not_suffice_for_two_trees() -> None:
    a, b = from_edges("04 05 14 25 35"), from_edges("03 05 14 15 25")
    assert nx.is_tree(a)
    assert nx.is_tree(b)
    rounds = {row.test: row.round for row in wl.compare(a, b)}
    assert rounds["2-wl-set"] == rounds["2-wl"] == 1  # a pair begins by knowing who is adjacent
    assert rounds["lgan"] == rounds["lgan-res"] == rounds["lgan-input"] == 2


def test_one_union_multiset_makes_set_based_2wl_weaker_than_1wl() -> None:
    a, b = (from_edges("02 03 13 23", labels) for labels in ("0101", "1010"))
    separates = {row.test: row.separates for row in wl.compare(a, b)}
    assert not separates["2-wl-union"]
    assert separates["2-wl-set"]
    assert separates["2-wl"]
    assert separates["1-wl"]


@pytest.mark.parametrize("test", ["2-wl", "2-wl-set", "2-wl-union"])
def test_every_2wl_is_at_most_1wl_and_equal_without_labels(
    labelled: LabelledGraphs, unlabelled: LabelledGraphs, test: str
) -> None:
    one = wl.refine(unlabelled, test="1-wl").classes
    assert np.array_equal(one, wl.refine(unlabelled, test=test).classes)
    assert finer(wl.refine(labelled, test="1-wl").classes, wl.refine(labelled, test=test).classes)


# 5. LGAN-res ≤ set-based 2-FWL ≤ 2-FWL = 3-WL.


@pytest.mark.parametrize(
    ("strong", "weak"),
    [
        ("2-fwl-set", "lgan-res"),
        ("2-fwl-set", "nest"),
        ("2-fwl", "2-fwl-set"),
        ("3-wl", "2-fwl"),
        ("2-fwl", "3-wl"),
        ("2-fwl", "nest"),
        ("2-fwl", "edge-tq"),
        ("2-fwl", "2-fwl-3"),
        ("2-fwl-3", "2-fwl-2"),
        ("2-fwl-2", "2-fwl-1"),
        ("2-fwl-1", "nest"),
        ("nest", "lgan-res"),
        ("nest", "edge-t"),
        ("lgan", "lgan-linear"),
        ("lgan-res", "lgan"),
        ("lgan-res", "1-wl-triangles"),
        ("code", "edge-tq"),
        ("code-claws", "code"),
        ("code-rings", "edge-t"),
        ("code-local", "code-claws"),
        ("code-folklore", "code-local"),
        ("edge-tq", "edge-t"),
        ("edge-t", "1-wl"),
        ("nest-k4", "nest"),
        ("ego-1-wl", "nest"),
        ("ego-2-1-wl", "ego-1-wl"),
        ("ego-2-nest", "ego-2-1-wl"),
        ("lgan-line-edges", "lgan-res"),
        ("lgan-2-hop", "lgan-res"),
    ],
)
def test_hierarchy_holds_on_all_small_graphs(
    classes: Callable[[str], list[np.ndarray]], strong: str, weak: str
) -> None:
    assert all(map(finer, classes(strong), classes(weak)))


@pytest.mark.parametrize(("radius", "fwl"), [(3, "2-fwl-3"), (None, "2-fwl")])
def test_connected_graphs_that_2fwl_separates_share_no_edge_colour(
    radius: int | None, fwl: str
) -> None:
    regular = [nx.random_regular_graph(3, 14, seed=s) for s in range(30)]
    sets = [union(connected_graphs(7), 7), LabelledGraphs.of(filter(nx.is_connected, regular))]
    for graphs in sets:
        pair_index = graphs.lines.pair_index
        colours = pair_colours(pair_index, graphs.num_nodes, radius=radius, rounds=None)
        graph = np.repeat(np.arange(graphs.num_graphs), np.diff(graphs.pair_ptr))
        classes = wl.refine(graphs, test=fwl).classes[graph]
        assert finer(colours.numpy(), classes)


def test_2fwl_exceeds_lgan() -> None:
    cube, wagner = named_graph("cube"), named_graph("wagner")
    assert wl.distinguishes(cube, wagner, test="2-fwl-set")
    assert not wl.distinguishes(cube, wagner, test="lgan-res")


# 6. On triangle-free graphs LGAN is 1-WL.


def test_without_triangles_lgan_equals_1wl() -> None:
    codes = connected_graphs(8)
    graphs = union(codes, 8)
    pairs_per_graph = np.diff(graphs.pair_ptr)
    graph = np.repeat(np.arange(codes.size), pairs_per_graph)
    triangles = np.bincount(graph, graphs.lines.pair_triangles.numpy(), codes.size)
    free = union(codes[triangles == 0], 8)
    assert free.num_graphs == 267  # OEIS A024607
    a, b = (wl.refine(free, test=test).classes for test in ("lgan-res", "1-wl"))
    assert np.array_equal(a, b)


# 7. Regular graphs with the same triangles everywhere are never separated.


@pytest.mark.parametrize(
    ("a", "b"),
    [("c8", "two-c4"), ("cube", "wagner"), ("rook4x4", "shrikhande"), ("chang(1)", "chang(2)")],
)
def test_regular_graphs_with_equal_triangles_per_node_look_alike(a: str, b: str) -> None:
    one, two = named_graph(a), named_graph(b)
    assert set(nx.triangles(one).values()) == set(nx.triangles(two).values())
    for test in ("lgan", "lgan-res", "lgan-linear"):
        assert not wl.distinguishes(one, two, test=test)


@pytest.mark.parametrize(("a", "b"), [("rook4x4", "shrikhande"), ("triangular(8)", "chang(3)")])
def test_strongly_regular_graphs_with_equal_parameters_look_alike(a: str, b: str) -> None:
    one, two = named_graph(a), named_graph(b)
    assert nx.is_strongly_regular(one)
    assert nx.is_strongly_regular(two)
    for test in ("edge-t", "nest", "2-fwl"):
        assert not wl.distinguishes(one, two, test=test)
    assert wl.distinguishes(one, two, test="code")


# 8. The linear pair sum, edge counts and nesting.

TWELVE = (
    "01 05 06 07 12 17 18 23 28 29 34 39 3A 45 4A 4B 56 5B 68 69 6A 79 7A 7B 8A 8B 9B",
    "02 04 06 07 13 15 17 18 24 28 29 35 39 3A 4A 4B 56 5B 67 69 6B 78 7A 89 8B 9A AB",
)


def test_linear_pair_sum_is_strictly_weaker() -> None:
    a, b = map(from_edges, TWELVE)
    assert wl.distinguishes(a, b, test="lgan")
    assert not wl.distinguishes(a, b, test="lgan-linear")


def test_a_network_with_the_linear_sum_does_not_separate_that_pair() -> None:
    pair = tuple(map(from_edges, TWELVE))
    linear, full = (
        wl.check(lgan.LGAN(1, 16, 16, comb=c), [pair], transform=lgan.EgoLineGraph(), seeds=[0, 1])
        for c in ("linear", "deepsets")
    )
    assert linear.separated == (False,)
    assert full.separated == (True,)


def test_lgan_can_separate_what_edge_counts_cannot() -> None:
    a, b = map(from_edges, TWELVE)
    assert not wl.distinguishes(a, b, test="edge-t")
    assert wl.distinguishes(a, b, test="nest")


def test_edge_counts_can_separate_what_lgan_cannot() -> None:
    a, b = named_graph("G?ouXw"), named_graph("G?otYw")
    assert wl.distinguishes(a, b, test="edge-t")
    assert not wl.distinguishes(a, b, test="lgan-res")


# 9. The relation split, and what the update does not see.


def test_relation_split_tells_the_triangle_from_the_claw() -> None:
    triangle, claw = named_graph("triangle"), named_graph("claw")
    assert nx.is_isomorphic(nx.line_graph(triangle), nx.line_graph(claw))
    for graph, node, target, neighbour in ((triangle, 0, 2, 1), (claw, 0, 3, 0)):
        ego = nx.ego_graph(graph, node)
        assert ego.number_of_edges() == target + neighbour == 3
        assert ego.degree(node) == target
    colours = wl.refine([triangle, claw], test="lgan", rounds=1)
    assert colours.colours_of(0)[0] != colours.colours_of(1)[0]


def test_update_does_not_see_the_edges_of_the_line_graph() -> None:
    two_triangles, hexagon = named_graph("two-triangles"), named_graph("hexagon")
    cones = []
    for base in (two_triangles, hexagon):
        cone = base.copy()
        cone.add_edges_from((6, v) for v in base)
        cones.append(cone)
    apex = {
        test: [wl.refine(cones, test=test, rounds=1).colours_of(i)[6] for i in (0, 1)]
        for test in ("lgan", "lgan-res", "lgan-line-edges")
    }
    assert apex["lgan"][0] == apex["lgan"][1]
    assert apex["lgan-res"][0] == apex["lgan-res"][1]
    assert apex["lgan-line-edges"][0] != apex["lgan-line-edges"][1]


@pytest.mark.parametrize("n", [6, 7, 8, pytest.param(9, marks=pytest.mark.slow)])
def test_lgan_is_1wl_with_triangle_counts_on_small_graphs(n: int) -> None:
    graphs = union(connected_graphs(n), n)
    a, b = (wl.refine(graphs, test=test).classes for test in ("lgan", "1-wl-triangles"))
    assert np.array_equal(a, b)


def test_first_pair_where_lgan_exceeds_1wl_with_triangle_counts_has_ten_nodes() -> None:
    a, b = named_graph("I`hSQKUIW"), named_graph("I`osHTEEW")
    assert wl.distinguishes(a, b, test="lgan")
    assert not wl.distinguishes(a, b, test="1-wl-triangles")


# 10. Cost.


def test_a_star_has_no_triangles_whatever_its_degrees() -> None:
    star = named_graph("star(999)")
    edges = torch.tensor(list(star.edges)).t()
    assert sum(degree**2 for _, degree in star.degree) == 999_000
    assert lgan.triangles(edges, 1000).size(1) == 0

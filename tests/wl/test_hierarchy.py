"""The counts of docs/expressivity.md."""

from pathlib import Path

import networkx as nx
import pytest
import torch

import lgan
from labelled_graphs import labelled_graphs
from lgan import wl
from lgan.data import load_raw, node_features
from lgan.data.pairs import load_brec
from lgan.graph import GraphUnion
from lgan.wl import LabelledGraphs
from lgan.wl.hierarchy import (
    BREC_TESTS,
    SMALL_TESTS,
    brec_rows,
    small_graphs_rows,
)
from lgan.wl.small_graphs import union

# Pairs of connected graphs not separated (section 3).
SMALL = {
    3: dict.fromkeys(SMALL_TESTS, 0),
    4: dict.fromkeys(SMALL_TESTS, 0),
    5: dict.fromkeys(SMALL_TESTS, 0),
    6: dict.fromkeys(SMALL_TESTS, 0) | {"1-wl": 3, "2-wl": 3},
    7: dict.fromkeys(SMALL_TESTS, 0) | {"1-wl": 17, "2-wl": 17},
    8: dict(zip(SMALL_TESTS, (312, 312, 20, 20, 20, 5, 5, 0, 0), strict=True)),
    9: dict(zip(SMALL_TESTS, (3519, 3519, 190, 190, 190, 49, 49, 0, 0), strict=True)),
}
GRAPHS = {3: 2, 4: 6, 5: 21, 6: 112, 7: 853, 8: 11_117, 9: 261_080}


@pytest.mark.parametrize(
    "n", [*range(3, 8), *(pytest.param(n, marks=pytest.mark.slow) for n in (8, 9))]
)
def test_counts_of_connected_graphs(n: int) -> None:
    (row,) = small_graphs_rows([n])
    assert row.graphs == GRAPHS[n]
    assert row.unseparated == SMALL[n]


def test_atlas_gives_the_same_counts() -> None:
    atlas = [graph for graph in nx.graph_atlas_g() if len(graph) and nx.is_connected(graph)]
    for n in (6, 7):
        graphs = [graph for graph in atlas if len(graph) == n]
        counts = {t: wl.refine(graphs, test=t).unseparated_pairs for t in SMALL_TESTS}
        assert counts == SMALL[n]


@pytest.mark.parametrize(
    ("n", "graphs", "plain", "wl_pairs"),
    [
        (3, 10, 1, 0),
        (4, 50, 1, 0),
        (5, 354, 5, 0),
        pytest.param(6, 3883, 10, 16, marks=pytest.mark.slow),
    ],
)
def test_counts_of_graphs_with_two_labels(n: int, graphs: int, plain: int, wl_pairs: int) -> None:
    codes, labels = labelled_graphs(n)
    assert codes.size == graphs
    whole = union(codes, n, labels)
    unseparated = {
        "lgan": plain,
        "lgan-res": 0,
        "lgan-input": 0,
        "1-wl": wl_pairs,
        "2-wl-set": wl_pairs,
    }
    for test, pairs in unseparated.items():
        assert wl.refine(whole, test=test).unseparated_pairs == pairs, test


@pytest.mark.parametrize(
    "n", [*range(4, 11), *(pytest.param(n, marks=pytest.mark.slow) for n in range(11, 16))]
)
@pytest.mark.parametrize("test", ["1-wl", "2-wl-set", "lgan", "lgan-res", "lgan-linear", "2-fwl"])
def test_all_trees_are_separated_by_all_tests(n: int, test: str) -> None:
    trees = list(nx.nonisomorphic_trees(n))
    assert wl.refine(trees, test=test).unseparated_pairs == 0


# Pairs of BREC separated (section 4): basic, regular, str, 4vtx, dr, extension, cfi.
BREC = {
    "1-wl": (0, 0, 0, 0, 0, 0, 0),
    "2-wl": (0, 0, 0, 0, 0, 0, 0),
    "2-wl-set": (0, 0, 0, 0, 0, 0, 0),
    "1-wl-triangles": (52, 48, 0, 0, 0, 5, 0),
    "lgan": (52, 48, 0, 0, 0, 6, 0),
    "lgan-res": (52, 48, 0, 0, 0, 6, 0),
    "lgan-linear": (52, 48, 0, 0, 0, 6, 0),
    "lgan-2-hop": (55, 49, 0, 0, 0, 47, 0),
    "edge-t": (59, 48, 0, 0, 0, 52, 0),
    "nest": (59, 48, 0, 0, 0, 52, 0),
    "2-fwl-1": (59, 49, 0, 0, 0, 60, 0),
    "ego-1-wl": (59, 49, 0, 0, 0, 60, 0),
    "edge-tq": (60, 50, 0, 0, 0, 95, 0),
    "lgan-line-edges": (59, 48, 50, 0, 0, 52, 0),
    "2-fwl-2": (60, 50, 0, 0, 0, 100, 0),
    "ego-2-1-wl": (60, 50, 0, 0, 0, 100, 0),
    "nest-k4": (59, 49, 50, 20, 0, 54, 0),
    "2-fwl-3": (60, 50, 0, 0, 0, 100, 24),
    "2-fwl": (60, 50, 0, 0, 0, 100, 60),
    "code": (60, 50, 50, 20, 0, 95, 0),
    "ego-2-nest": (60, 50, 50, 20, 0, 100, 0),
    "code-claws": (60, 50, 50, 20, 16, 95, 0),
    "code-rings": (60, 50, 50, 20, 19, 95, 0),
    "code-local": (60, 50, 50, 20, 16, 100, 24),
    "code-folklore": (60, 50, 50, 20, 16, 100, 60),
}
SLOW = (
    "2-fwl",
    "ego-1-wl",
    "ego-2-1-wl",
    "ego-2-nest",
    "lgan-2-hop",
    "code-rings",
    "code-folklore",
)


Pairs = dict[str, list[LabelledGraphs]]


@pytest.fixture(scope="module")
def brec(brec_folder: Path) -> Pairs:
    """The pairs, each already a union: reading networkx graphs takes longer than most tests."""
    pairs = load_brec(brec_folder)
    return {name: [LabelledGraphs.of(pair) for pair in some] for name, some in pairs.items()}


def test_table_lists_every_test_that_was_counted() -> None:
    assert set(BREC) == set(BREC_TESTS)


@pytest.mark.data
@pytest.mark.parametrize(
    "test",
    [pytest.param(t, marks=pytest.mark.slow) if t in SLOW else t for t in BREC_TESTS],
)
def test_counts_on_brec(brec: Pairs, test: str) -> None:
    (row,) = brec_rows(brec, tests=[test])
    assert tuple(row.separated.values()) == BREC[test]
    assert row.total == sum(BREC[test])


@pytest.mark.data
@pytest.mark.slow
def test_3wl_equals_2fwl_on_brec_but_for_the_largest_graphs(brec: Pairs) -> None:
    small = [pair for pair in brec["cfi"] if pair.num_nodes <= 120]
    assert small
    three, two = brec_rows(brec | {"cfi": small}, tests=["3-wl", "2-fwl"])
    assert three.separated == two.separated


# Graphs told apart by stable colours (section 6): 1-WL and every variant of LGAN agree.
DISTINCT = {
    "MUTAG": ("labels", 175),
    "PTC_GIN": ("labels", 337),
    "PROTEINS": ("labels", 1069),
    "IMDB-BINARY": ("degree", 537),
    "IMDB-MULTI": ("degree", 387),
}
VARIANTS = ("1-wl", "lgan", "lgan-res", "lgan-input", "lgan-linear", "edge-t", "nest", "code")


def load_union(name: str, features: str, mirror: Path) -> GraphUnion:
    raw = load_raw(name, mirror=mirror)
    x, num_features = node_features(raw, features)
    sizes = {"num_features": num_features, "num_classes": raw.num_classes}
    return GraphUnion.build(x, raw.pair_index, raw.y, raw.node_ptr, **sizes)


@pytest.mark.data
@pytest.mark.parametrize("name", DISTINCT)
def test_graphs_told_apart_in_real_sets(mirror: Path, name: str) -> None:
    features, count = DISTINCT[name]
    graphs = load_union(name, features, mirror)
    assert {wl.refine(graphs, test=test).num_classes for test in VARIANTS} == {count}


@pytest.mark.data
@pytest.mark.parametrize(("name", "count"), [("MUTAG", 188), ("PTC_MR", 337)])
def test_bonds_tell_molecules_apart(mirror: Path, name: str, count: int, tmp_path: Path) -> None:
    options = {"features": "labels", "root": tmp_path, "mirror": mirror}
    graphs = lgan.load(name, edge_features="labels", **options)
    assert {wl.refine(graphs, test=test).num_classes for test in VARIANTS} == {count}


@pytest.mark.data
@pytest.mark.parametrize(("name", "free"), [("MUTAG", 188), ("PTC_GIN", 333)])
def test_graphs_without_triangles_in_molecule_sets(mirror: Path, name: str, free: int) -> None:
    graphs = load_union(name, "labels", mirror)
    first = graphs.lines.pair_index[0].contiguous()
    graph = torch.searchsorted(graphs.node_ptr, first, right=True) - 1
    has = torch.zeros(len(graphs), dtype=torch.bool)
    has[graph[graphs.lines.pair_triangles > 0]] = True
    assert int((~has).sum()) == free


@pytest.mark.data
@pytest.mark.slow
def test_lgan_tells_apart_in_collab_what_1wl_does(mirror: Path) -> None:
    graphs = load_union("COLLAB", "degree", mirror)
    assert wl.refine(graphs, test="lgan").num_classes == 4068
    assert wl.refine(graphs, test="1-wl").num_classes == 4068

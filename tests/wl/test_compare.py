import networkx as nx
import pytest

from lgan import wl
from lgan.graph.named import named_graph
from lgan.wl import TESTS

# What LGAN, 2-FWL and the structural code say about the named pairs of docs/expressivity.md.
NAMED_PAIRS = [
    ("two-triangles", "hexagon", True, True, True),
    ("prism", "k33", True, True, True),
    ("c7", "c4+c3", True, True, True),
    ("c8", "two-c4", False, True, True),
    ("cube", "wagner", False, True, True),
    ("decalin", "bicyclopentyl", False, True, False),
    ("rook4x4", "shrikhande", False, False, True),
    ("G?r@d_", "G?qa`o", False, True, True),
    ("G?ouXw", "G?otYw", False, True, True),
    ("dodecahedron", "desargues", False, True, False),
]


@pytest.mark.parametrize(("a", "b", "lgan", "fwl", "code"), NAMED_PAIRS)
def test_named_pairs(a: str, b: str, lgan: bool, fwl: bool, code: bool) -> None:
    one, two = named_graph(a), named_graph(b)
    separates = {row.test: row.separates for row in wl.compare(one, two)}
    assert not nx.is_isomorphic(one, two)
    assert not separates["1-wl"]
    assert not separates["2-wl"]
    assert separates["lgan"] == separates["lgan-res"] == separates["lgan-input"] == lgan
    assert separates["2-fwl"] == separates["2-fwl-set"] == fwl
    assert separates["code"] == code


def test_smallest_connected_failure_has_no_triangle() -> None:
    assert sum(nx.triangles(named_graph("G?r@d_")).values()) == 0
    assert sum(nx.triangles(named_graph("G?ouXw")).values()) > 0


def test_compare_gives_the_first_round_of_every_test() -> None:
    rows = wl.compare(named_graph("hexagon"), named_graph("two-triangles"), tests=["1-wl", "lgan"])
    assert [(row.test, row.separates, row.round) for row in rows] == [
        ("1-wl", False, None),
        ("lgan", True, 1),
    ]


def test_compare_asks_all_tests_on_nodes_and_pairs_by_default() -> None:
    asked = {row.test for row in wl.compare(nx.path_graph(3), nx.path_graph(4))}
    assert asked == {name for name, spec in TESTS.items() if spec.elements != "triples"}


@pytest.mark.parametrize(
    ("base", "fails", "succeeds"),
    [("p3", "", "1-wl"), ("c5", "1-wl", "2-fwl"), ("k4", "2-fwl", "3-fwl")],
)
def test_cfi_graphs_need_a_test_as_high_as_the_tree_width_of_their_base(
    base: str, fails: str, succeeds: str
) -> None:
    plain, twisted = named_graph(f"cfi({base})"), named_graph(f"cfi-twisted({base})")
    assert wl.distinguishes(plain, twisted, test=succeeds)
    if fails:
        assert not wl.distinguishes(plain, twisted, test=fails)


def test_circular_skip_links_are_separated_by_triangles_or_by_2fwl() -> None:
    names = [f"csl(41,{skip})" for skip in (2, 3, 4, 5, 6, 9, 11, 12, 13, 16)]
    graphs = [named_graph(name) for name in names]
    assert wl.refine(graphs, test="1-wl").num_classes == 1
    assert wl.refine(graphs, test="lgan").num_classes == 2  # only skip 2 has triangles
    assert wl.refine(graphs, test="2-fwl").num_classes == 10

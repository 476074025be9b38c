import networkx as nx
import pytest
import torch

from lgan.graph import undirected_pairs
from lgan.graph.named import NAMES, cfi, circular_skip_link, named_graph, paley, rook, triangular
from lgan.graph.pair_codes import pair_codes

SAMPLE = {"n": "5", "m,n": "3,4", "…": "k4"}


@pytest.mark.parametrize("name", NAMES)
def test_every_name_gives_a_simple_graph_with_nodes_from_zero(name: str) -> None:
    bracket = name.partition("(")[2][:-1]
    sample = name.replace(f"({bracket})", f"({SAMPLE[bracket]})") if bracket else name
    sample = {"csl(3,4)": "csl(9,2)", "chang(5)": "chang(2)"}.get(sample, sample)
    graph = named_graph(sample)
    assert sorted(graph) == list(range(len(graph)))
    assert not graph.is_directed()
    assert nx.number_of_selfloops(graph) == 0


@pytest.mark.parametrize(
    ("name", "nodes", "edges"),
    [
        ("k5", 5, 10),
        ("K5", 5, 10),
        ("c8", 8, 8),
        ("p4", 4, 3),
        ("k3,3", 6, 9),
        ("k33", 6, 9),
        ("star(7)", 8, 7),
        ("complete( 4 )", 4, 6),
        ("two-triangles", 6, 6),
        ("two-c4", 8, 8),
        ("c4+c3", 7, 7),
        ("decalin", 10, 11),
        ("bicyclopentyl", 10, 11),
        ("wagner", 8, 12),
        ("csl(41,9)", 41, 82),
        ("rook(3)", 9, 18),
        ("cfi(k4)", 16, 48),
        ("cfi-twisted(prism)", 24, 72),
        ("cfi(prism(4))", 32, 96),
        ("G?r@d_", 8, 9),
        ("C~", 4, 6),
    ],
)
def test_sizes_of_named_graphs(name: str, nodes: int, edges: int) -> None:
    graph = named_graph(name)
    assert (len(graph), graph.number_of_edges()) == (nodes, edges)


def strong_parameters(graph: nx.Graph) -> tuple[int, int, int, int]:
    (k,) = {degree for _, degree in graph.degree}
    common = {
        adjacent: {
            len(set(graph[u]) & set(graph[v]))
            for u in graph
            for v in graph
            if u != v and graph.has_edge(u, v) == adjacent
        }
        for adjacent in (True, False)
    }
    (lam,), (mu,) = common[True], common[False]
    return len(graph), k, lam, mu


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("petersen", (10, 3, 0, 1)),
        ("rook4x4", (16, 6, 2, 2)),
        ("shrikhande", (16, 6, 2, 2)),
        ("triangular(8)", (28, 12, 6, 4)),
        ("chang(1)", (28, 12, 6, 4)),
        ("chang(2)", (28, 12, 6, 4)),
        ("chang(3)", (28, 12, 6, 4)),
        ("paley(9)", (9, 4, 1, 2)),
        ("paley(13)", (13, 6, 2, 3)),
        ("paley(25)", (25, 12, 5, 6)),
    ],
)
def test_strongly_regular_graphs_have_their_parameters(
    name: str, parameters: tuple[int, int, int, int]
) -> None:
    assert strong_parameters(named_graph(name)) == parameters


def test_graphs_of_one_family_differ() -> None:
    chang = [named_graph(name) for name in ("triangular(8)", "chang(1)", "chang(2)", "chang(3)")]
    codes = set()
    for graph in chang:
        pair_index = undirected_pairs(torch.tensor(list(graph.edges)).t(), 28)
        codes.add(tuple(sorted(map(tuple, pair_codes(pair_index, 28, "full").tolist()))))
    assert len(codes) == 4
    assert not nx.is_isomorphic(named_graph("rook4x4"), named_graph("shrikhande"))
    assert not nx.is_isomorphic(named_graph("decalin"), named_graph("bicyclopentyl"))


def test_cfi_graphs_over_k4_are_the_rook_and_shrikhande_graphs() -> None:
    assert nx.is_isomorphic(named_graph("cfi(k4)"), rook(4))
    assert nx.is_isomorphic(named_graph("cfi-twisted(k4)"), named_graph("shrikhande"))


def test_cfi_graphs_over_a_cycle_are_two_cycles_and_one() -> None:
    assert nx.is_isomorphic(cfi(nx.cycle_graph(4), twisted=False), named_graph("two-c4"))
    assert nx.is_isomorphic(cfi(nx.cycle_graph(4), twisted=True), named_graph("c8"))


@pytest.mark.parametrize("base", [nx.path_graph(3), nx.full_rary_tree(3, 8), nx.diamond_graph()])
def test_a_twisted_cfi_graph_is_another_graph(base: nx.Graph) -> None:
    assert not nx.is_isomorphic(cfi(base, twisted=True), cfi(base, twisted=False))


def test_which_edge_is_twisted_does_not_matter() -> None:
    edges = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]
    one, two = (cfi(nx.Graph(order), twisted=True) for order in (edges, edges[::-1]))
    assert nx.is_isomorphic(one, two)


def test_families_agree_with_one_another() -> None:
    assert nx.is_isomorphic(paley(9), rook(3))
    assert nx.is_isomorphic(paley(5), nx.cycle_graph(5))
    assert nx.is_isomorphic(triangular(4), named_graph("octahedron"))
    assert nx.is_isomorphic(nx.complement(triangular(5)), named_graph("petersen"))
    assert nx.is_isomorphic(circular_skip_link(8, 3), nx.complete_bipartite_graph(4, 4))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("rok4x4", "Did you mean rook4x4"),
        ("zzzz", "Names are triangle, .*csl.*cfi"),
        ("csl(41)", "csl takes 2 numbers .* Write for example csl"),
        ("cycle(a)", "cycle takes 1 number"),
        ("cfi(nothing)", "'nothing' is neither the name of a graph nor a graph6 string"),
        ("cfi(two-c4)", "must be connected"),
        ("paley(8)", "prime"),
        ("paley(16)", "prime"),
        ("chang(4)", "three Chang graphs"),
        ("csl(10,5)", "other than n / 2"),
        ("hypercube(60)", "hypercube takes numbers up to 14"),
        ("k9999999", "complete takes numbers up to 2,000"),
        ("cfi(star(40))", "at most 8 edges, got 40"),
    ],
)
def test_wrong_names_are_explained(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        named_graph(name)

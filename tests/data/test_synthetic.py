import networkx as nx
import pytest
import torch

from lgan.data import RawGraphs, csl, motifs, random_regular, triangle_pairs


def _graphs(raw: RawGraphs) -> list[nx.Graph]:
    """Every graph on its own, its edges marked with the ground truth."""
    graphs = []
    truth = raw.ground_truth if raw.ground_truth is not None else torch.zeros(raw.num_pairs)
    for begin, end in zip(raw.node_ptr[:-1].tolist(), raw.node_ptr[1:].tolist(), strict=True):
        graph = nx.Graph()
        graph.add_nodes_from(range(begin, end))
        graphs.append(graph)
    batch = torch.repeat_interleave(torch.arange(raw.num_graphs), raw.node_ptr.diff())
    for (u, v), planted in zip(raw.pair_index.t().tolist(), truth.tolist(), strict=True):
        graphs[int(batch[u])].add_edge(u, v, planted=bool(planted))
    return graphs


def _look_alike_to_1wl(a: nx.Graph, b: nx.Graph) -> bool:
    """Colour refinement, side by side until the colours are stable."""
    both = nx.disjoint_union(a, b)
    colour = dict.fromkeys(both, 0)
    for _ in range(len(both)):
        signature = {v: (colour[v], sorted(colour[u] for u in both[v])) for v in both}
        names = {s: i for i, s in enumerate(sorted({str(s) for s in signature.values()}))}
        colour = {v: names[str(signature[v])] for v in both}
    return sorted(colour[v] for v in range(len(a))) == sorted(
        colour[v] for v in range(len(a), len(both))
    )


def _triangles(graph: nx.Graph) -> int:
    return sum(nx.triangles(graph).values()) // 3


def _planted(graph: nx.Graph) -> nx.Graph:
    edges = [(u, v) for u, v, planted in graph.edges(data="planted") if planted]
    return nx.Graph(edges)


def test_colour_refinement_here_is_1wl() -> None:
    two_triangles = nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
    assert _look_alike_to_1wl(two_triangles, nx.cycle_graph(6))
    assert not _look_alike_to_1wl(nx.path_graph(4), nx.star_graph(3))
    assert not _look_alike_to_1wl(
        nx.path_graph(7), nx.disjoint_union(nx.path_graph(4), nx.cycle_graph(3))
    )


def test_triangle_pairs_look_alike_to_1wl_and_differ_by_triangles() -> None:
    raw = triangle_pairs(60, seed=1)
    graphs = _graphs(raw)
    assert raw.y.tolist() == [0, 1] * 30
    for hexagons, triangles in zip(graphs[::2], graphs[1::2], strict=True):
        assert _look_alike_to_1wl(hexagons, triangles)
        assert _triangles(hexagons) == 0
        assert _triangles(triangles) >= 2
        assert nx.is_connected(hexagons)
        assert nx.is_connected(triangles)
        assert 12 <= len(hexagons) == len(triangles) <= 40


def test_ground_truth_of_triangle_pairs_is_their_triangles() -> None:
    for graph, label in zip(_graphs(triangle_pairs(40)), [0, 1] * 20, strict=True):
        planted = _planted(graph)
        inside = {frozenset(e) for e in graph.edges if set(graph[e[0]]) & set(graph[e[1]])}
        assert {frozenset(e) for e in planted.edges} == inside
        assert bool(inside) == bool(label)


def test_triangle_pairs_keep_to_the_sizes_asked_for() -> None:
    sizes = triangle_pairs(20, min_nodes=13, max_nodes=15).node_ptr.diff()
    assert set(sizes.tolist()) == {14}


@pytest.mark.parametrize("base", ["ba", "tree"])
def test_motifs_are_houses_and_cycles_hung_on_a_tree(base: str) -> None:
    raw = motifs(base, 40)  # type: ignore[arg-type]
    house = nx.Graph([(0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 4)])
    for graph, label in zip(_graphs(raw), raw.y.tolist(), strict=True):
        assert len(graph) == 25
        assert nx.is_connected(graph)
        planted = _planted(graph)
        expected = nx.cycle_graph(5) if label else house
        assert nx.is_isomorphic(planted, expected)
        rest = graph.subgraph(set(graph) - set(planted))
        assert nx.is_tree(rest)
        assert graph.number_of_edges() == planted.number_of_edges() + 20


def test_barabasi_albert_has_larger_hubs_than_the_tree() -> None:
    def largest(base: str) -> float:
        raw = motifs(base, 300)  # type: ignore[arg-type]
        degree = raw.pair_index.reshape(-1).bincount(minlength=raw.num_nodes)
        return float(degree.reshape(-1, 25).max(1).values.double().mean())

    assert largest("ba") > largest("tree") + 1


def test_csl_copies_are_isomorphic_and_classes_are_not() -> None:
    graphs = _graphs(csl(11, (2, 3), copies=3))
    assert nx.is_isomorphic(graphs[0], nx.circulant_graph(11, [1, 2]))
    assert nx.is_isomorphic(graphs[0], graphs[2])
    assert nx.is_isomorphic(graphs[3], nx.circulant_graph(11, [1, 3]))
    assert not nx.is_isomorphic(graphs[0], graphs[3])
    assert set(graphs[0].edges) != {(u - 11, v - 11) for u, v in graphs[1].edges}


def test_csl_is_4_regular() -> None:
    raw = csl()
    assert raw.classes == ("2", "3", "4", "5", "6", "9", "11", "12", "13", "16")
    assert raw.y.bincount().tolist() == [15] * 10
    assert set(raw.pair_index.reshape(-1).bincount().tolist()) == {4}


def test_regular_graphs_have_the_degree_of_their_class() -> None:
    raw = random_regular(30, degrees=(2, 3, 6), min_nodes=8, max_nodes=12)
    for graph, label in zip(_graphs(raw), raw.y.tolist(), strict=True):
        assert {degree for _, degree in graph.degree} == {(2, 3, 6)[label]}
        assert 8 <= len(graph) <= 12


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: triangle_pairs(3), "even and positive, got 3"),
        (lambda: triangle_pairs(0), "even and positive, got 0"),
        (lambda: triangle_pairs(2, min_nodes=6), "12 or more"),
        (lambda: triangle_pairs(2, min_nodes=13, max_nodes=13), "Widen the range"),
        (lambda: motifs("grid"), "'ba' or 'tree', got 'grid'"),  # type: ignore[arg-type]
        (lambda: motifs("ba", 0), "1 or more, got 0"),
        (lambda: csl(10, (5,)), r"between 2 and 4.*got \(5,\)"),
        (lambda: csl(10, (1,)), "between 2 and 4"),
        (lambda: csl(10, (2, 2)), "distinct"),
        (lambda: csl(copies=0), "1 or more, got 0"),
        (lambda: random_regular(degrees=(3, 12)), "between 0 and 11"),
        (lambda: random_regular(degrees=()), "between 0 and 11"),
        (lambda: random_regular(min_nodes=9, max_nodes=9), "Widen the range"),
    ],
)
def test_impossible_requests_are_refused(make, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=message):
        make()

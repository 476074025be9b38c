import networkx as nx
import pytest
import torch

from lgan.graph import EgoLines, undirected_pairs
from lgan.graph.rings import RingSearch, ring_counts


def _pairs(graph: nx.Graph) -> torch.Tensor:
    return undirected_pairs(torch.tensor(list(graph.edges)).t(), len(graph))


def test_the_edges_of_a_ring_come_in_a_round():
    pairs = _pairs(nx.petersen_graph())
    search = RingSearch(pairs, 10, 6, advice="")
    start, length, member = search.fill(*search.count())
    assert sorted(length.tolist()) == [5] * 12 + [6] * 10
    place = 0
    for first, size in zip(start.tolist(), length.tolist(), strict=True):
        ends = [set(pairs[:, edge].tolist()) for edge in member[place : place + size]]
        assert all(len(a & b) == 1 for a, b in zip(ends, [*ends[1:], ends[0]], strict=True))
        assert min(set.union(*ends)) == first
        place += size


def test_a_graph_without_edges_and_one_without_rings_have_no_counts():
    ones = torch.ones(3, dtype=torch.int64)
    assert ring_counts(torch.empty((2, 0), dtype=torch.int64), ones, 8).shape == (0, 5)
    assert ring_counts(_pairs(nx.path_graph(3)), ones, 8).tolist() == [[0] * 5] * 2


def test_twins_on_opposite_corners_multiply():
    # A square whose corners are cliques of 2, 3, 1 and 4 twins.
    corners = [[0, 1], [2, 3, 4], [5], [6, 7, 8, 9]]
    graph = nx.Graph()
    for i, corner in enumerate(corners):
        both = corner + corners[(i + 1) % 4]
        graph.add_edges_from((a, b) for a in both for b in both if a < b)
    lines, _ = EgoLines.compressed(_pairs(graph), 10)
    counts = ring_counts(lines.pair_index, lines.multiplicity, 8)[:, 0]
    k = dict(enumerate(lines.multiplicity.tolist()))
    for (u, v), count in zip(lines.pair_index.t().tolist(), counts.tolist(), strict=True):
        assert count == (0 if u == v else 2 * 3 * 1 * 4 // (k[u] * k[v]))


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"max_rings": 9}, "The set has 10 rings of up to 3 nodes or more, above the limit of 9."),
        ({"max_steps": 5}, "The set: the search for rings of up to 3 nodes takes more than 5 step"),
    ],
)
def test_too_many_rings_are_refused_with_advice(limits, message):
    search = RingSearch(_pairs(nx.complete_graph(5)), 5, 3, advice="Choose something else.")
    with pytest.raises(ValueError, match="Choose something else") as error:
        search.count(**limits)
    assert str(error.value).startswith(message)


def test_large_classes_do_not_overflow_where_the_count_does_not():
    counts = ring_counts(_pairs(nx.cycle_graph(8)), torch.full((8,), 300), 8)
    assert counts[:, 4].tolist() == [300**6] * 8


def test_a_code_that_takes_too_long_says_what_to_choose(monkeypatch):
    monkeypatch.setattr("lgan.graph.rings.MAX_STEPS", 100)
    with pytest.raises(ValueError, match=r"more than 100 steps\. Choose another pair code"):
        ring_counts(_pairs(nx.complete_bipartite_graph(6, 6)), torch.ones(12), 8)


def test_a_ring_has_three_nodes_or_more():
    with pytest.raises(ValueError, match="3 nodes or more, got a longest of 2"):
        RingSearch(_pairs(nx.cycle_graph(3)), 3, 2, advice="")

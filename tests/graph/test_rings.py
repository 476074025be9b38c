import itertools
import random

import networkx as nx
import numpy as np
import pytest
import torch

from lgan.graph import EgoLines, rings_numba
from lgan.graph.rings import SAMPLE, SHARE, RingSearch, ring_counts
from lgan.graph.rings_numba import list_rings, sampled_steps
from reference import pair_index


def test_the_edges_of_a_ring_come_in_a_round():
    pairs = pair_index(nx.petersen_graph())
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
    assert ring_counts(pair_index(nx.path_graph(3)), ones, 8).tolist() == [[0] * 5] * 2


def test_twins_on_opposite_corners_multiply():
    # A square whose corners are cliques of 2, 3, 1 and 4 twins.
    corners = [[0, 1], [2, 3, 4], [5], [6, 7, 8, 9]]
    graph = nx.Graph()
    for i, corner in enumerate(corners):
        both = corner + corners[(i + 1) % 4]
        graph.add_edges_from((a, b) for a in both for b in both if a < b)
    lines, _ = EgoLines.compressed(pair_index(graph), 10)
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
    search = RingSearch(pair_index(nx.complete_graph(5)), 5, 3, advice="Choose something else.")
    with pytest.raises(ValueError, match="Choose something else") as error:
        search.count(**limits)
    assert str(error.value).startswith(message)


def test_large_classes_do_not_overflow_where_the_count_does_not():
    counts = ring_counts(pair_index(nx.cycle_graph(8)), torch.full((8,), 300), 8)
    assert counts[:, 4].tolist() == [300**6] * 8


def test_a_code_that_takes_too_long_says_what_to_choose(monkeypatch):
    monkeypatch.setattr("lgan.graph.rings.MAX_STEPS", 100)
    with pytest.raises(ValueError, match=r"more than 100 steps\. Choose another pair code"):
        ring_counts(pair_index(nx.complete_bipartite_graph(6, 6)), torch.ones(12), 8)


def _steps(search, longest):
    none, nothing = np.empty(0, np.int32), np.empty(0, np.int64)
    roots = (0, search.ptr.size - 1)
    return list_rings(
        search.ptr, search.node, search.pair, roots, longest, 1 << 40, none, none, none, nothing,
        np.empty((0, 0), np.int64),
    )[2]  # fmt: skip


def test_the_sample_of_all_first_edges_is_the_search():
    graph = nx.gnp_random_graph(40, 0.2, seed=1)
    search = RingSearch(pair_index(graph), 40, 8, advice="")
    root = np.repeat(np.arange(40), np.diff(search.ptr))
    first = np.flatnonzero(search.node > root)
    starts = np.stack([root[first], first], axis=1)
    graph_of = (search.ptr, search.node, search.pair)
    assert sampled_steps(*graph_of, starts, 8, 1 << 40) == _steps(search, 8)
    # A walk that is cut off leaves nothing behind that the next one would see.
    assert sampled_steps(*graph_of, starts, 8, 3) == 3 * first.size


def test_dense_sets_are_refused_before_the_search(monkeypatch):
    # Papers of six authors each, as in COLLAB: cliques that overlap, in a thousand graphs.
    chance, graph = random.Random(0), nx.Graph()
    for _ in range(60):
        graph.add_edges_from(itertools.combinations(chance.sample(range(100), 6), 2))
    graph = nx.convert_node_labels_to_integers(graph)
    copies = [pair_index(graph) + i * len(graph) for i in range(1000)]
    ones = torch.ones(1000 * len(graph), dtype=torch.int64)
    monkeypatch.setattr(rings_numba, "list_rings", None)
    with pytest.raises(ValueError, match=r"takes more than 17,179,869,184 steps\. Choose another"):
        ring_counts(torch.cat(copies, 1), ones, 8)


def test_what_the_search_can_do_is_never_refused():
    """Sets from sparse to dense, each with the steps that it takes and not one to spare."""
    for seed, (n, p) in enumerate([(40, 0.08), (30, 0.2), (20, 0.4)]):
        graph = nx.disjoint_union_all(nx.gnp_random_graph(n, p, seed=seed + i) for i in range(80))
        search = RingSearch(pair_index(graph), len(graph), 8, advice="")
        assert search.node.size > 2 * SAMPLE * SHARE  # else nothing is drawn
        search.count(max_steps=_steps(search, 8))


def test_a_ring_has_three_nodes_or_more():
    with pytest.raises(ValueError, match="3 nodes or more, got a longest of 2"):
        RingSearch(pair_index(nx.cycle_graph(3)), 3, 2, advice="")

import networkx as nx
import numpy as np
import pytest

import reference
from lgan.ops.listing_numba import counting_sort, list_oriented, orient


def test_counting_sort_is_stable_and_counts_empty_groups():
    key, value = np.array([3, 0, 3, 1], np.int32), np.array([9, 8, 7, 6], np.int32)
    grouped, count = counting_sort(key, value, 5)
    assert grouped.tolist() == [8, 6, 9, 7]
    assert count.tolist() == [1, 1, 0, 2, 0]


def _oriented(graph: nx.Graph) -> tuple[np.ndarray, ...]:
    u, v = np.array(reference.pairs(graph), np.int32).reshape(-1, 2).T
    return orient(np.ascontiguousarray(u), np.ascontiguousarray(v), len(graph))


def test_every_pair_is_directed_once_towards_the_higher_degree():
    graph = nx.gnp_random_graph(14, 0.4, seed=0)
    row_ptr, head, pair, wedges = _oriented(graph)
    assert sorted(pair.tolist()) == list(range(graph.number_of_edges()))
    by_degree = sorted(graph, key=graph.degree)  # stable, as the counting sort is
    for row in range(14):
        span = slice(row_ptr[row], row_ptr[row + 1])
        assert all(head[span] > row)
        for position, p in zip(head[span], pair[span], strict=True):
            assert {by_degree[row], by_degree[position]} == set(reference.pairs(graph)[p])
        assert wedges[row] == sum(row_ptr[h + 1] - row_ptr[h] for h in head[span])


def test_a_star_has_no_wedges_to_look_at():
    *_, wedges = _oriented(nx.star_graph(50))
    assert wedges.sum() == 0


@pytest.mark.parametrize("capacity", [5, 8, 200])
def test_listing_stops_when_full_and_goes_on_where_it_stopped(capacity):
    graph = nx.complete_graph(6)
    row_ptr, head, pair, _ = _oriented(graph)
    near, mark = np.zeros(6, np.bool_), np.empty(6, np.int32)
    out = np.empty((3, capacity), np.int32)
    row = edge = 0
    found = []
    while row < 6:
        row, edge, filled = list_oriented(row_ptr, head, pair, row, edge, 6, near, mark, out)
        assert filled <= capacity
        assert not near.any(), "marks are left behind"
        found += [frozenset(column) for column in out[:, :filled].T.tolist()]
    assert len(found) == len(set(found)) == 20

import networkx as nx
import numpy as np
import pytest

from lgan.graph import near_pairs_numba
from lgan.graph.near_pairs import NearPairs
from reference import first_occurrence


def near_pairs(graph: nx.Graph, radius: int) -> NearPairs:
    edges = np.array([sorted(edge) for edge in graph.edges], np.int64).reshape(-1, 2).T
    return NearPairs.of(edges, len(graph), radius)


@pytest.mark.parametrize("radius", [0, 1, 2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_near_pairs_agree_with_breadth_first_search(radius: int, seed: int) -> None:
    graph = nx.gnp_random_graph(20, 0.12, seed=seed)
    near = near_pairs(graph, radius)
    expected = [
        (u, v, d)
        for u in graph
        for v, d in sorted(nx.single_source_shortest_path_length(graph, u, cutoff=radius).items())
    ]
    found = zip(near.first.tolist(), near.second.tolist(), near.distance.tolist(), strict=True)
    assert list(found) == expected


@pytest.mark.parametrize("radius", [0, 1, 2, 9])
@pytest.mark.parametrize("seed", range(4))
def test_a_round_sees_all_middles_near_to_both_ends(radius: int, seed: int) -> None:
    graph = nx.gnp_random_graph(12, 0.2, seed=seed)
    near = near_pairs(graph, radius)
    pairs = list(zip(near.first.tolist(), near.second.tolist(), strict=True))
    colour = np.random.default_rng(seed).integers(0, 3, len(pairs))
    c = dict(zip(pairs, colour.tolist(), strict=True))
    seen = [
        (c[u, v], tuple(sorted((c[u, w], c[w, v]) for w in graph if (u, w) in c and (w, v) in c)))
        for u, v in pairs
    ]
    assert near.refined(colour).tolist() == first_occurrence(seen)


@pytest.mark.parametrize("radius", [1, 2])
def test_wedges_are_counted(radius: int) -> None:
    near = near_pairs(nx.cycle_graph(9), radius)
    ball = 2 * radius + 1
    inside = sum(min(ball, ball - abs(d)) for d in range(-radius, radius + 1))
    assert near.count_wedges(10**6) == 9 * inside
    assert near.count_wedges(5) > 5


def test_a_collision_of_hashes_is_noticed_and_repaired(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = near_pairs_numba.wedge_hashes
    calls = []

    def colliding(*arguments: object) -> np.ndarray:
        calls.append(arguments)
        words: np.ndarray = honest(*arguments)
        return words if len(calls) > 1 else np.zeros_like(words)

    near = near_pairs(nx.path_graph(6), 2)
    expected = near.refined(near.distance)
    monkeypatch.setattr(near_pairs_numba, "wedge_hashes", colliding)
    assert np.array_equal(near.refined(near.distance), expected)
    assert len(calls) == 2


def test_pairs_are_found_by_their_ends() -> None:
    near = near_pairs(nx.path_graph(5), 2)
    assert near.contains(np.array([0, 0, 4]), np.array([2, 3, 4])).tolist() == [True, False, True]
    place = near.find(np.array([3]), np.array([1]))
    assert (near.first[place], near.second[place], near.distance[place]) == (3, 1, 2)


def test_no_nodes_have_no_pairs() -> None:
    near = near_pairs(nx.empty_graph(0), 2)
    assert near.second.size == near.refined(near.distance).size == 0

from collections import Counter
from collections.abc import Hashable
from importlib import import_module
from itertools import combinations

import networkx as nx
import numpy as np
import pytest

from lgan import wl
from lgan.graph.interning import intern_hashed
from lgan.zoo.graph_kernels import two_wl

ATLAS = [graph for graph in nx.graph_atlas_g() if 2 <= len(graph) <= 6]
MODULE = import_module("lgan.zoo.graph_kernels.two_wl")


def _slow(graphs: list[nx.Graph], rounds: int) -> np.ndarray:
    """The normalised Gram matrix from the definition, with colours that spell themselves out."""
    features: list[Counter[Hashable]] = []
    for graph in graphs:
        colour: dict[frozenset[int], Hashable] = {}
        for a, b in combinations(graph, 2):
            labels = sorted(graph.nodes[v].get("label", 0) for v in (a, b))
            colour[frozenset((a, b))] = (*labels, graph.has_edge(a, b))
        count = Counter((0, c) for c in colour.values())
        for i in range(1, rounds + 1):
            colour = {
                s: (c, tuple(sorted(repr(d) for t, d in colour.items() if len(s & t) == 1)))
                for s, c in colour.items()
            }
            count += Counter((i, c) for c in colour.values())
        features.append(count)
    gram = np.array([[sum(f[c] * g[c] for c in f) for g in features] for f in features], float)
    return gram / np.sqrt(np.outer(gram.diagonal(), gram.diagonal()))


def test_path_and_triangle_by_hand(raw_of):
    grams = two_wl(*raw_of([nx.path_graph(3), nx.complete_graph(3)]), rounds=1)
    # Edges and others: (2, 1) and (3, 0). After a round the graphs have no colour in common.
    expected = [6 / np.sqrt(5 * 9), 6 / np.sqrt((5 + 5) * (9 + 9))]
    np.testing.assert_allclose(grams.matrices[:, 0, 1], expected)


@pytest.mark.parametrize("rounds", [0, 1, 2, 3])
def test_agrees_with_the_definition(raw_of, labelled, rounds):
    small = [graph for graph in labelled if len(graph) <= 8]
    ours = two_wl(*raw_of(small), rounds=rounds).matrices[-1]
    np.testing.assert_allclose(ours, _slow(small, rounds), rtol=1e-13)


def _merged(raw_of, test: str) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of graphs of one order that the kernel, and the test, do not tell apart."""
    order = np.array([len(graph) for graph in ATLAS])
    pairs = np.triu(order[:, None] == order, 1)
    classes = wl.refine(ATLAS, test=test).classes
    # The cosine of graphs of one order is 1 only if they have the same counts.
    gram = two_wl(*raw_of(ATLAS), rounds=6).matrices[-1]
    return pairs & (gram > 1 - 1e-12), pairs & (classes[:, None] == classes)


def test_merges_exactly_what_the_test_on_sets_of_two_nodes_merges(raw_of):
    ours, expected = _merged(raw_of, "2-wl-union")
    assert np.array_equal(ours, expected)


@pytest.mark.parametrize("test", ["2-wl-set", "1-wl"])
def test_merges_one_pair_more_than_tests_that_know_the_single_nodes(raw_of, test):
    ours, expected = _merged(raw_of, test)
    ((i, j),) = np.argwhere(ours != expected)
    assert ours[i, j]
    # Whitney's exception: three edges with a node in common, or two by two.
    triangle_and_node = nx.disjoint_union(nx.complete_graph(3), nx.empty_graph(1))
    assert nx.is_isomorphic(ATLAS[i], triangle_and_node)
    assert nx.is_isomorphic(ATLAS[j], nx.star_graph(3))


def test_on_labelled_graphs_it_is_weaker_than_1_wl(raw_of):
    pair = []
    for labels in ((0, 1, 0, 1), (1, 0, 1, 0)):
        graph = nx.Graph([(0, 2), (0, 3), (1, 3), (2, 3)])
        nx.set_node_attributes(graph, dict(enumerate(labels)), "label")
        pair.append(graph)
    assert wl.distinguishes(*pair, test="1-wl")
    assert not wl.distinguishes(*pair, test="2-wl-union")
    np.testing.assert_allclose(two_wl(*raw_of(pair)).matrices, np.ones((6, 2, 2)), rtol=1e-14)


@pytest.mark.parametrize("chunk", [1, 100, 1 << 16])
def test_sets_with_equal_words_are_compared_in_full(raw_of, labelled, monkeypatch, chunk):
    expected = two_wl(*raw_of(labelled), rounds=3).matrices

    def colliding(hashes, agree):
        seeds = []

        def words(seed: int) -> np.ndarray:
            seeds.append(seed)
            return hashes(seed) * (len(seeds) > 1)  # all equal at first

        return intern_hashed(words, agree)

    monkeypatch.setattr(MODULE, "CHUNK", chunk)
    monkeypatch.setattr(MODULE, "intern_hashed", colliding)
    assert np.array_equal(two_wl(*raw_of(labelled), rounds=3).matrices, expected)


def test_a_single_node_has_no_set_of_two(raw_of):
    matrices = two_wl(*raw_of([nx.empty_graph(1), nx.path_graph(2)]), rounds=2).matrices
    np.testing.assert_allclose(matrices, [[[0.0, 0.0], [0.0, 1.0]]] * 3)


def test_too_many_sets_are_refused_with_their_number(raw_of, monkeypatch):
    monkeypatch.setattr(MODULE, "LARGEST", 10)
    with pytest.raises(ValueError, match=r"'2-wl' would colour 15 sets of two nodes.*limit is 10"):
        two_wl(*raw_of([nx.cycle_graph(6)]))

import itertools
from collections import Counter

import networkx as nx
import numpy as np
import pytest
import torch

from labelled_graphs import named_pair
from lgan.zoo.graph_kernels import propagation, shortest_path
from lgan.zoo.graph_kernels.gram import normalised

grakel = pytest.importorskip("grakel")


@pytest.fixture
def as_grakel(labelled):
    return list(grakel.graph_from_networkx(labelled, node_labels_tag="label"))


def test_shortest_paths_of_path_and_triangle_by_hand(raw_of):
    matrix = shortest_path(*raw_of([nx.path_graph(3), nx.complete_graph(3)])).matrices[0]
    # Ordered pairs at distance 1 and 2: (4, 2) and (6, 0).
    np.testing.assert_allclose(matrix[0, 1], 4 * 6 / np.sqrt((16 + 4) * 36))


def test_shortest_paths_agree_with_grakel(raw_of, labelled, as_grakel):
    expected = grakel.ShortestPath(normalize=False).fit_transform(as_grakel)
    ours = shortest_path(*raw_of(labelled)).matrices[0]
    np.testing.assert_allclose(ours, normalised(expected), atol=1e-12)


def test_with_labels_of_edges_shortest_paths_have_those_on_the_way(labelled, bonded):
    raw, labels, edge_labels = bonded
    counts = []
    for graph in labelled:
        count = Counter()
        for u, v in itertools.permutations(graph, 2):
            if nx.has_path(graph, u, v):
                ways = nx.all_shortest_paths(graph, u, v)
                least = min([graph.edges[e]["label"] for e in itertools.pairwise(w)] for w in ways)
                count[graph.nodes[u]["label"], tuple(least), graph.nodes[v]["label"]] += 1
        counts.append(count)
    gram = np.array([[sum(n * b[k] for k, n in a.items()) for b in counts] for a in counts])
    ours = shortest_path(raw, labels, edge_labels=edge_labels).matrices[0]
    np.testing.assert_allclose(ours, normalised(gram), atol=1e-12)
    assert not np.allclose(ours, shortest_path(raw, labels).matrices[0])


def test_one_label_for_all_edges_changes_no_shortest_path(raw_of, labelled):
    raw, labels = raw_of(labelled)
    same = torch.zeros(raw.num_pairs, dtype=torch.int64)
    ours = shortest_path(raw, labels, edge_labels=same).matrices
    np.testing.assert_allclose(ours, shortest_path(raw, labels).matrices, atol=1e-12)


def test_shortest_paths_separate_a_hexagon_from_two_triangles(raw_of):
    # Ordered pairs at distance 1, 2, 3: (12, 12, 6) and (12, 0, 0).
    matrix = shortest_path(*raw_of(named_pair("hexagon", "two-triangles"))).matrices[0]
    np.testing.assert_allclose(matrix[0, 1], 12 / np.sqrt(324))


def test_propagation_counts_labels_before_the_first_step(raw_of):
    graphs = []
    for labels in ((0, 0, 1), (0, 1, 1)):
        graph = nx.path_graph(3)
        nx.set_node_attributes(graph, dict(enumerate(labels)), "label")
        graphs.append(graph)
    grams = propagation(*raw_of(graphs), rounds=0)
    assert grams.candidates == ({"rounds": 0},)
    np.testing.assert_allclose(grams.matrices[0, 0, 1], 4 / 5)


def test_propagation_agrees_with_grakel_at_every_step(raw_of, labelled, as_grakel):
    grams = propagation(*raw_of(labelled), rounds=3, bin_width=0.01, seed=5)
    for t, matrix in enumerate(grams.matrices):
        kernel = grakel.Propagation(t_max=t + 1, w=0.01, M="TV", random_state=5, normalize=True)
        np.testing.assert_allclose(matrix, kernel.fit_transform(as_grakel), atol=1e-12)


def test_propagation_merges_a_hexagon_and_two_triangles(raw_of):
    matrices = propagation(*raw_of(named_pair("hexagon", "two-triangles"))).matrices
    np.testing.assert_allclose(matrices, np.ones((6, 2, 2)), rtol=1e-14)


def test_wide_and_narrow_bins_of_propagation(raw_of, labelled):
    # One bin for all nodes counts nodes alone.
    matrices = propagation(*raw_of(labelled), rounds=1, bin_width=1e9).matrices
    assert matrices.min() == pytest.approx(1.0)
    with pytest.raises(ValueError, match="`bin_width` must be above 0, got 0"):
        propagation(*raw_of(labelled), bin_width=0)

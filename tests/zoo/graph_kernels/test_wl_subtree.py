from collections import Counter

import networkx as nx
import numpy as np
import pytest

from labelled_graphs import named_pair
from lgan import wl
from lgan.data import load_raw, node_features
from lgan.zoo.graph_kernels import wl_subtree
from lgan.zoo.graph_kernels.gram import normalised

ATLAS = [graph for graph in nx.graph_atlas_g() if 1 <= len(graph) <= 6]


def test_path_and_triangle_by_hand(raw_of):
    grams = wl_subtree(*raw_of([nx.path_graph(3), nx.complete_graph(3)]), rounds=1)
    # Round 0: (3) and (3). Round 1, ends and middle: (2, 1) and (0, 3).
    np.testing.assert_allclose(grams.matrices[:, 0, 1], [1, (9 + 3) / np.sqrt((9 + 5) * (9 + 9))])


@pytest.mark.parametrize("rounds", [1, 2, 4])
def test_agrees_with_grakel(raw_of, labelled, rounds):
    grakel = pytest.importorskip("grakel")
    graphs = list(grakel.graph_from_networkx(labelled, node_labels_tag="label"))
    kernel = grakel.WeisfeilerLehman(
        n_iter=rounds, base_graph_kernel=grakel.VertexHistogram, normalize=True
    )
    ours = wl_subtree(*raw_of(labelled), rounds=rounds).matrices[-1]
    np.testing.assert_allclose(ours, kernel.fit_transform(graphs), atol=1e-12)


def test_with_labels_of_edges_it_counts_what_the_definition_says(labelled, bonded):
    raw, labels, edge_labels = bonded
    colours = [{v: ("label", graph.nodes[v]["label"]) for v in graph} for graph in labelled]
    counts = [Counter() for _ in labelled]
    for _ in range(3):
        for graph, colour, count in zip(labelled, colours, counts, strict=True):
            count.update((len(counts), c) for c in colour.values())
            seen = {v: sorted((colour[w], graph[v][w]["label"]) for w in graph[v]) for v in graph}
            colour.update({v: (colour[v], tuple(seen[v])) for v in graph})
    gram = np.array([[sum(n * b[c] for c, n in a.items()) for b in counts] for a in counts])
    grams = wl_subtree(raw, labels, edge_labels=edge_labels, rounds=2).matrices
    np.testing.assert_allclose(grams[-1], normalised(gram), atol=1e-12)
    assert not np.allclose(grams[-1], wl_subtree(raw, labels, rounds=2).matrices[-1])


def test_edges_need_categories(bonded):
    raw, labels, edge_labels = bonded
    with pytest.raises(ValueError, match=r"one category for every edge.*'labels' or 'none'"):
        wl_subtree(raw, labels, edge_labels=edge_labels.float())


def test_merges_exactly_what_1_wl_merges(raw_of):
    gram = wl_subtree(*raw_of(ATLAS), rounds=6).matrices[-1]
    classes = wl.refine(ATLAS, test="1-wl").classes
    order = np.array([len(graph) for graph in ATLAS])
    # The cosine of graphs of one order is 1 only if they have the same counts.
    same = order[:, None] == order
    assert np.array_equal((gram > 1 - 1e-12)[same], (classes[:, None] == classes)[same])


def test_hexagon_and_two_triangles_have_the_same_features(raw_of):
    matrices = wl_subtree(*raw_of(named_pair("hexagon", "two-triangles"))).matrices
    np.testing.assert_allclose(matrices, np.ones((6, 2, 2)), rtol=1e-14)


@pytest.mark.data
def test_mutag_has_175_graphs_that_1_wl_tells_apart(mirror, tmp_path):
    raw = load_raw("MUTAG", root=tmp_path, mirror=mirror)
    gram = wl_subtree(raw, node_features(raw, "labels")[0], rounds=12).matrices[-1]
    size = raw.node_ptr.diff().numpy()
    equal = (gram > 1 - 1e-12) & (size[:, None] == size)
    assert np.unique(equal.argmax(1)).size == 175

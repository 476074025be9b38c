from importlib import import_module

import networkx as nx
import numpy as np
import pytest

from lgan.zoo.graph_kernels import random_walk

MODULE = import_module("lgan.zoo.graph_kernels.random_walk")


def test_an_edge_and_a_node_by_hand(raw_of):
    grams = random_walk(*raw_of([nx.path_graph(2), nx.empty_graph(1)]), decay=0.25)
    # Edge with itself: four walks of every length, 4 / (1 - 1/4). Edge with node: two of length 0.
    np.testing.assert_allclose(grams.matrices[0, 0, 1], 2 / np.sqrt(4 / 0.75))
    assert grams.candidates == ({"decay": 0.25},)


def test_labels_of_both_ends_must_agree(raw_of):
    plain, mixed = nx.path_graph(2), nx.path_graph(2)
    nx.set_node_attributes(mixed, {0: 0, 1: 1}, "label")
    matrix = random_walk(*raw_of([plain, mixed]), decay=0.5).matrices[0]
    # Plain with mixed: only the four walks of length 0. Mixed with itself: two of the four walks
    # of length 0 go on for ever.
    np.testing.assert_allclose(matrix[0, 1], 4 / np.sqrt((4 / 0.5) * (2 + 2 / 0.5)))


def test_agrees_with_the_inverse_that_grakel_computes(raw_of, labelled):
    grakel = pytest.importorskip("grakel")
    graphs = list(grakel.graph_from_networkx(labelled, node_labels_tag="label"))
    kernel = grakel.RandomWalkLabeled(lamda=0.005, method_type="baseline", normalize=True)
    ours = random_walk(*raw_of(labelled), decay=0.005).matrices[0]
    np.testing.assert_allclose(ours, kernel.fit_transform(graphs), rtol=1e-9)


def _slow(graphs: list[nx.Graph], decay: float) -> np.ndarray:
    """The normalised Gram matrix from product graphs and inverses."""
    gram = np.empty((len(graphs), len(graphs)))
    for i, g in enumerate(graphs):
        for j, h in enumerate(graphs):
            labels = [list(nx.get_node_attributes(graph, "label").values()) for graph in (g, h)]
            same = np.equal.outer(*labels).ravel()
            walks = np.kron(nx.to_numpy_array(g), nx.to_numpy_array(h)) * np.outer(same, same)
            gram[i, j] = np.linalg.inv(np.eye(len(walks)) - decay * walks).sum()
    return gram / np.sqrt(np.outer(gram.diagonal(), gram.diagonal()))


def test_twins_walk_as_often_as_there_are(raw_of, with_twins):
    ours = random_walk(*raw_of(with_twins), decay=0.005).matrices[0]
    np.testing.assert_allclose(ours, _slow(with_twins, 0.005), rtol=1e-11)


@pytest.mark.parametrize(
    ("degree", "decay"), [(0, 0.1), (1, 0.1), (3, 0.1), (4, 0.01), (10, 0.001), (11, 0.001)]
)
def test_decay_is_the_largest_power_of_ten_below_the_inverse_square_of_the_degree(
    raw_of, degree, decay
):
    (candidate,) = random_walk(*raw_of([nx.star_graph(degree)])).candidates
    assert candidate["decay"] == pytest.approx(decay, rel=1e-12)


@pytest.mark.parametrize("decay", [0.0, 0.25, 1.0])
def test_a_series_that_may_diverge_is_refused(raw_of, decay):
    with pytest.raises(ValueError, match=r"`decay` must be above 0 and below.*= 0.25"):
        random_walk(*raw_of([nx.cycle_graph(4)]), decay=decay)


def test_too_much_work_is_refused_with_its_number(raw_of, monkeypatch):
    monkeypatch.setattr(MODULE, "LARGEST", 10)
    with pytest.raises(ValueError, match=r"'rw' would take 108 additions a step.*limit is 10"):
        random_walk(*raw_of([nx.cycle_graph(6)]))

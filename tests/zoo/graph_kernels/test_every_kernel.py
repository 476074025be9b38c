"""Laws of all kernels of the registry."""

from collections.abc import Callable

import networkx as nx
import numpy as np
import pytest
from scipy.linalg import eigvalsh

from lgan.zoo import MODELS, KernelSpec
from lgan.zoo.graph_kernels import Grams

KERNELS: dict[str, Callable[..., Grams]] = {
    name: spec.grams for name, spec in MODELS.items() if isinstance(spec, KernelSpec)
}
every_kernel = pytest.mark.parametrize("name", KERNELS)


def _renamed(graph: nx.Graph, seed: int) -> nx.Graph:
    """The same graph with its nodes in another order."""
    new = np.random.default_rng(seed).permutation(len(graph)).tolist()
    moved = nx.empty_graph(len(graph))
    moved.add_edges_from((new[a], new[b]) for a, b in graph.edges)
    nx.set_node_attributes(moved, {new[v]: graph.nodes[v]["label"] for v in graph}, "label")
    return moved


def test_the_registry_has_the_kernels_of_the_table():
    assert set(KERNELS) == {"rw", "sp", "pk", "wl", "2-wl", "delta-2-lwl"}


@every_kernel
def test_matrices_are_symmetric_and_positive_semi_definite(name, raw_of, labelled):
    grams = KERNELS[name](*raw_of(labelled))
    for matrix in grams.matrices:
        assert np.array_equal(matrix, matrix.T)
        assert eigvalsh(matrix)[0] > -1e-8
        length = np.diagonal(matrix)
        # A graph without edges has no shortest path, hence no feature.
        assert np.all(np.isclose(length, 1) | (length == 0))
        assert np.all(length[:12] > 0) or name == "sp"


@every_kernel
def test_a_graph_without_nodes_is_like_no_other(name, raw_of, labelled):
    whole = KERNELS[name](*raw_of(labelled)).matrices
    more = KERNELS[name](*raw_of([nx.Graph(), *labelled, nx.Graph()])).matrices
    np.testing.assert_allclose(more[:, 1:-1, 1:-1], whole, atol=1e-12)
    assert not more[:, 0].any()


@every_kernel
def test_renaming_nodes_changes_nothing(name, raw_of, labelled):
    before = KERNELS[name](*raw_of(labelled)).matrices
    after = KERNELS[name](*raw_of([_renamed(g, i) for i, g in enumerate(labelled)])).matrices
    np.testing.assert_allclose(after, before, rtol=1e-9, atol=1e-12)


@every_kernel
def test_another_order_of_graphs_permutes_the_matrix(name, raw_of, labelled):
    order = np.random.default_rng(1).permutation(len(labelled))
    before = KERNELS[name](*raw_of(labelled)).matrices
    after = KERNELS[name](*raw_of([labelled[g] for g in order])).matrices
    np.testing.assert_allclose(after, before[:, order][:, :, order], rtol=1e-9, atol=1e-12)


@every_kernel
def test_labels_matter_by_equality_alone(name, raw_of, labelled):
    raw, labels = raw_of(labelled)
    before = KERNELS[name](raw, labels).matrices
    after = KERNELS[name](raw, labels * 5 + 3).matrices
    np.testing.assert_allclose(after, before, rtol=1e-9, atol=1e-12)
    assert not np.allclose(KERNELS[name](raw, labels * 0).matrices, before)


@every_kernel
def test_progress_rises_to_one(name, raw_of, labelled):
    seen: list[float] = []
    KERNELS[name](*raw_of(labelled), progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


@every_kernel
def test_real_features_are_refused(name, raw_of, labelled):
    raw, labels = raw_of(labelled)
    with pytest.raises(ValueError, match="A kernel needs one category for every node"):
        KERNELS[name](raw, labels.double())

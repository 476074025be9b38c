"""The shortest-path and the propagation kernel, with the features that grakel extracts."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from torch import Tensor

from lgan._optional import require
from lgan.data.raw import RawGraphs
from lgan.zoo.graph_kernels.gram import (
    Grams,
    Progress,
    check_count,
    check_labels,
    count_gram,
    normalised,
    summed_grams,
)


def shortest_path(
    raw: RawGraphs,
    labels: Tensor,
    *,
    edge_labels: Tensor | None = None,
    progress: Progress | None = None,
) -> Grams:
    r"""The labelled kernel of *Shortest-Path Kernels on Graphs* (Borgwardt and Kriegel, 2005).

    .. math::
        k(G, H) = \sum_{u \ne v \in G} \sum_{s \ne t \in H}
                  [l_u = l_s]\,[l_v = l_t]\,[d(u, v) = d(s, t) < \infty]

    It counts triples (label, label, distance), both orders of a pair, cosine-normalised as in
    Morris et al., AAAI 2019, whose figures the tables quote. It has no parameter.

    With labels of edges, two distances are equal only if the paths are: a pair ``u, v`` has the
    labels on its way from ``u`` to ``v``, where there are several shortest ways those that come
    first in the order of the alphabet. (The paper leaves the kernel on lengths of paths open.)

    Power: incomparable with 1-WL: it tells a hexagon from two triangles, but not all trees.

    Args:
        raw: The graphs.
        labels: A category for every node ``[N]``.
        edge_labels: A category for every pair ``[P]``.
        progress: Called with the fraction done.
    """
    if edge_labels is not None:
        found = _path_features(raw, labels, edge_labels, progress)
    else:
        kernel = require("grakel").ShortestPath(with_labels=True, normalize=False)
        kernel.fit(_graphs(raw, labels, progress))
        found = _of_all(raw, (kernel.X[g] for g in range(len(kernel.X))))
    gram = count_gram(_counts(found))
    return Grams(({},), normalised(gram)[None])


def propagation(
    raw: RawGraphs,
    labels: Tensor,
    *,
    rounds: int = 5,
    bin_width: float = 1e-3,
    seed: int = 0,
    progress: Progress | None = None,
) -> Grams:
    r"""The kernel of *Propagation Kernels* (Neumann, Garnett, Bauckhage, Kersting, 2016).

    Label distributions spread along edges, :math:`P_{t+1} = D^{-1} A P_t`; after every step
    they are put into bins by a hash that keeps the total variation distance,
    :math:`\lfloor (P_t u + b) / w \rfloor` with Cauchy distributed ``u``; the kernel counts
    nodes in equal bins in the steps ``0 … t``. One matrix for every ``t``, cosine-normalised.

    Power: at most 1-WL, since a distribution is a function of the 1-WL colour.

    Args:
        raw: The graphs.
        labels: A category for every node ``[N]``.
        rounds: The largest ``t`` to choose from; 5 in Zhang et al., DGCNN, AAAI 2018, whose
            figures the tables quote.
        bin_width: The width ``w`` of the bins, 0.001 there.
        seed: Seed of the hashes.
        progress: Called with the fraction done.
    """
    check_count("rounds", rounds)
    if not bin_width > 0:
        raise ValueError(f"`bin_width` must be above 0, got {bin_width}. Choose 0.001, say.")
    kernel = require("grakel").Propagation(
        t_max=rounds + 1, w=bin_width, M="TV", random_state=seed, normalize=False
    )
    kernel.fit(_graphs(raw, labels, progress))
    steps = ([bins[t] for bins in kernel.X] for t in range(rounds + 1))
    return summed_grams(count_gram(_counts(_of_all(raw, iter(bins)))) for bins in steps)


def _graphs(raw: RawGraphs, labels: Tensor, progress: Progress | None) -> Iterator[list[Any]]:
    """Each graph as grakel reads it: an adjacency matrix, and a dictionary of labels.

    Graphs without nodes, which it cannot read, are left out.
    """
    category = check_labels(labels, raw.num_nodes)
    node_ptr = raw.node_ptr.numpy()
    pairs = raw.pair_index.numpy()
    pair_ptr = np.searchsorted(pairs[0], node_ptr)
    for g in range(raw.num_graphs):
        start, size = int(node_ptr[g]), int(node_ptr[g + 1] - node_ptr[g])
        if size == 0:
            continue
        u, v = pairs[:, pair_ptr[g] : pair_ptr[g + 1]] - start
        adjacency = np.zeros((size, size))
        adjacency[u, v] = adjacency[v, u] = 1.0
        yield [adjacency, dict(enumerate(category[start : start + size].tolist()))]
        if progress is not None:
            progress((g + 1) / raw.num_graphs)


def _path_features(
    raw: RawGraphs, labels: Tensor, edge_labels: Tensor, progress: Progress | None
) -> list[Mapping[int, int]]:
    """How often each triple (label, labels on the way, label) occurs in every graph."""
    category = check_labels(labels, raw.num_nodes).tolist()
    on_pair = check_labels(edge_labels, raw.num_pairs, "edge").tolist()
    near: list[list[tuple[int, int]]] = [[] for _ in category]
    for (u, v), label in zip(raw.pair_index.t().tolist(), on_pair, strict=True):
        near[u].append((v, label))
        near[v].append((u, label))
    number: dict[Any, int] = {}
    node_ptr = raw.node_ptr.tolist()
    features: list[Mapping[int, int]] = []
    for g in range(raw.num_graphs):
        nodes = range(node_ptr[g], node_ptr[g + 1])
        keys = ((category[u], way, category[v]) for u in nodes for v, way in _ways(near, u))
        features.append(Counter(number.setdefault(key, len(number)) for key in keys))
        if progress is not None:
            progress((g + 1) / raw.num_graphs)
    return features


def _ways(near: list[list[tuple[int, int]]], u: int) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Every node that can be reached from ``u``, with the least labels on a shortest way there."""
    reached: set[int] = {u}
    layer: dict[int, tuple[int, ...]] = {u: ()}
    while layer:
        following: dict[int, tuple[int, ...]] = {}
        for p, way in layer.items():
            for q, label in near[p]:
                longer = (*way, label)
                if q not in reached and (q not in following or longer < following[q]):
                    following[q] = longer
        yield from following.items()
        reached.update(following)
        layer = following


def _of_all(raw: RawGraphs, found: Iterator[Mapping[int, int]]) -> list[Mapping[int, int]]:
    """The features of all graphs, none for those that were left out."""
    return [next(found) if size else {} for size in np.diff(raw.node_ptr.numpy())]


def _counts(features: Sequence[Mapping[int, int]]) -> csr_array:
    """Counts by graph and feature ``[G, C]``."""
    lengths = [len(row) for row in features]
    column = np.array([key for row in features for key in row], np.int64)
    value = np.array([count for row in features for count in row.values()], float)
    row = np.repeat(np.arange(len(features)), lengths)
    return csr_array((value, (row, column)), (len(features), int(column.max(initial=-1)) + 1))

"""All graphs with few nodes, once each."""

import numpy as np
import torch
from numpy.typing import NDArray

from lgan.wl.graphs import LabelledGraphs

# Eleven nodes are a thousand million graphs.
LARGEST = 10
# Graphs extended at a time: up to 2^9 candidates each.
BLOCK = 1 << 14


def all_graphs(n: int) -> NDArray[np.int64]:
    """Every graph with ``n`` nodes up to isomorphism, as canonical codes in increasing order.

    Bit ``j (j - 1) / 2 + i`` of a code says whether nodes ``i < j`` are adjacent. Every graph is
    a smaller one with a node of largest degree added; doubles fall out by their canonical form.
    9 nodes take seconds, 10 minutes.

    Example:
        >>> [all_graphs(n).size for n in range(1, 7)]
        [1, 2, 4, 11, 34, 156]
    """
    from lgan.wl.small_graphs_numba import extensions

    if not 1 <= n <= LARGEST:
        raise ValueError(
            f"`n` must be from 1 to {LARGEST}, got {n}. Read larger graphs from files."
        )
    codes = np.zeros(1, np.int64)
    for smaller in range(1, n):
        blocks = range(0, codes.size, BLOCK)
        found = [np.unique(extensions(codes[i : i + BLOCK], smaller)) for i in blocks]
        codes = np.unique(np.concatenate(found))
    return codes


def connected_graphs(n: int) -> NDArray[np.int64]:
    """Every connected graph with ``n`` nodes up to isomorphism, as codes of :func:`all_graphs`."""
    codes = all_graphs(n)
    reached = np.ones_like(codes)  # nodes reached from node 0, as bits
    for _ in range(n - 1):
        for bit, (i, j) in enumerate(places(n)):
            edge = (codes >> bit) & 1
            reached |= edge * (((reached >> i) & 1) << j | ((reached >> j) & 1) << i)
    connected: NDArray[np.int64] = codes[reached == 2**n - 1]
    return connected


def union(
    codes: NDArray[np.int64], n: int, labels: NDArray[np.int64] | None = None
) -> LabelledGraphs:
    """Graphs given as codes as one union; ``labels [G, n]`` if their nodes have any."""
    ends = np.array(places(n), np.int64).reshape(-1, 2)
    graph, bit = np.nonzero((codes[:, None] >> np.arange(len(ends))) & 1)
    edges = ends[bit].T + n * graph
    ptr = n * np.arange(codes.size + 1)
    flat = None if labels is None else labels.reshape(-1)
    return LabelledGraphs.build(ptr, torch.from_numpy(edges), flat)


def places(n: int) -> list[tuple[int, int]]:
    """The two nodes of every bit of a code."""
    return [(i, j) for j in range(n) for i in range(j)]

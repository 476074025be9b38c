"""The compiled loop of the random walk kernel."""

from typing import Any

import numpy as np

from lgan.ops.jit import njit

Array = np.ndarray[Any, Any]


@njit(nogil=True, cache=True)
def walk_row(
    g: int,
    node_ptr: Array,
    ptr: Array,
    neighbour: Array,
    label: Array,
    decay: float,
    tolerance: float,
    out: Array,
) -> None:
    """Fills ``out[g:]`` with the kernel of graph ``g`` and every graph from ``g`` on.

    With ``W`` the adjacency matrix of the product graph, ``y_k = (decay W)^k 1`` and ``W``
    symmetric, the weighted walks of length ``2k`` number ``y_k · y_k`` and those of length
    ``2k + 1`` number ``y_k · y_{k+1}``. Nodes of different labels are on no walk but their own.
    """
    g0, g1 = node_ptr[g], node_ptr[g + 1]
    n = g1 - g0
    for h in range(g, node_ptr.size - 1):
        h0, h1 = node_ptr[h], node_ptr[h + 1]
        m = h1 - h0
        y = np.empty((n, m))
        for i in range(n):
            for j in range(m):
                y[i, j] = 1.0 if label[g0 + i] == label[h0 + j] else 0.0
        half = np.empty((n, m))
        following = np.empty((n, m))
        total = float(n * m)  # walks of length 0
        even = 0.0
        while True:
            for i in range(n):
                for j in range(m):
                    half[i, j] = 0.0
                for e in range(ptr[g0 + i], ptr[g0 + i + 1]):
                    other = neighbour[e] - g0
                    for j in range(m):
                        half[i, j] += y[other, j]
            odd = 0.0
            even = 0.0
            for i in range(n):
                for j in range(m):
                    value = 0.0
                    if label[g0 + i] == label[h0 + j]:
                        for e in range(ptr[h0 + j], ptr[h0 + j + 1]):
                            value += half[i, neighbour[e] - h0]
                    value *= decay
                    following[i, j] = value
                    odd += y[i, j] * value
                    even += value * value
            total += odd + even
            y, following = following, y
            if odd + even <= tolerance * total:
                break
        out[h] = total

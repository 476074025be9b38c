"""The compiled loop of the random walk kernel."""

import numpy as np

from lgan.ops.jit import njit
from lgan.ops.numba_rows import Array


@njit(nogil=True, cache=True)
def walk_row(
    g: int,
    class_ptr: Array,
    size: Array,
    label: Array,
    ptr: Array,
    near: Array,
    decay: float,
    tolerance: float,
    out: Array,
) -> None:
    """Fills ``out[g:]`` with the kernel of graph ``g`` and every graph from ``g`` on.

    With ``W`` the adjacency matrix of the product graph, ``y_k = (decay W)^k 1`` and ``W``
    symmetric, the weighted walks of length ``2k`` number ``y_k · y_k`` and those of length
    ``2k + 1`` number ``y_k · y_{k+1}``. Nodes of different labels are on no walk but their own.
    Twins have equal values: there is one for two classes, of as many nodes as they have. A node
    sees its own class less itself. Classes are sorted by label, so that those of one label are
    neighbours in ``y``.
    """
    g0, g1 = class_ptr[g], class_ptr[g + 1]
    n, nodes = g1 - g0, size[g0:g1].sum()
    first, last = np.empty(n, np.int64), np.empty(n, np.int64)
    for h in range(g, class_ptr.size - 1):
        h0, h1 = class_ptr[h], class_ptr[h + 1]
        m = h1 - h0
        y, following = np.zeros((n, m)), np.zeros((n, m))
        low = high = 0
        for i in range(n):  # the classes of `h` with the label of `i`
            while low < m and label[h0 + low] < label[g0 + i]:
                low += 1
            high = max(low, high)
            while high < m and label[h0 + high] == label[g0 + i]:
                high += 1
            first[i], last[i] = low, high
            y[i, low:high] = 1.0
        total = float(nodes * size[h0:h1].sum())  # walks of length 0
        half = np.empty(m)
        while True:
            odd = even = 0.0
            for i in range(n):
                if first[i] == last[i]:
                    continue
                half[:] = 0.0
                for e in range(ptr[g0 + i], ptr[g0 + i + 1]):
                    other = near[e] - g0
                    seen = float(size[near[e]] - (other == i))
                    for j in range(first[other], last[other]):
                        half[j] += seen * y[other, j]
                for j in range(first[i], last[i]):
                    value = 0.0
                    for e in range(ptr[h0 + j], ptr[h0 + j + 1]):
                        other = near[e] - h0
                        value += half[other] * (size[near[e]] - (other == j))
                    value *= decay
                    following[i, j] = value
                    weight = float(size[g0 + i] * size[h0 + j])
                    odd += weight * y[i, j] * value
                    even += weight * value * value
            total += odd + even
            y, following = following, y
            if odd + even <= tolerance * total:
                break
        out[h] = total

"""Compiled loops over the squares of PPGN: rows graph after graph, channels last."""

from lgan.ops.jit import njit
from lgan.ops.numba_rows import Array

# Channels taken at a time, so that a square of them stays in a core's cache.
WIDE = 64


@njit(nogil=True, cache=True)
def product_forward(
    a: Array, b: Array, sizes: Array, large: int, out: Array, k0: int, k1: int, c0: int, c1: int
) -> None:
    """``out[i, j] = Σ a[i, l] b[l, j]`` for every channel and graph of fewer than ``large`` nodes,
    added to zeros.
    """
    for k in range(k0, k1):
        for low in range(c0, c1, WIDE):
            high = min(low + WIDE, c1)
            start = 0
            for n in sizes:
                for i in range(n if n < large else 0):
                    for m in range(n):
                        left = a[k, start + i * n + m, low:high]
                        for j in range(n):
                            right = b[k, start + m * n + j, low:high]
                            to = out[k, start + i * n + j, low:high]
                            for c in range(high - low):
                                to[c] += left[c] * right[c]
                start += n * n


@njit(nogil=True, cache=True)
def product_backward(
    grad: Array,
    a: Array,
    b: Array,
    sizes: Array,
    large: int,
    grad_a: Array,
    grad_b: Array,
    k0: int,
    k1: int,
    c0: int,
    c1: int,
) -> None:
    """The gradients of both factors of such graphs, added to zeros."""
    for k in range(k0, k1):
        for low in range(c0, c1, WIDE):
            high = min(low + WIDE, c1)
            start = 0
            for n in sizes:
                for i in range(n if n < large else 0):
                    for m in range(n):
                        left = a[k, start + i * n + m, low:high]
                        to_left = grad_a[k, start + i * n + m, low:high]
                        for j in range(n):
                            g = grad[k, start + i * n + j, low:high]
                            right = b[k, start + m * n + j, low:high]
                            to_right = grad_b[k, start + m * n + j, low:high]
                            for c in range(high - low):
                                to_left[c] += g[c] * right[c]
                                to_right[c] += g[c] * left[c]
                start += n * n


@njit(nogil=True, cache=True)
def max_forward(
    h: Array, sizes: Array, out: Array, where: Array, k0: int, k1: int, c0: int, c1: int
) -> None:
    """The maxima over diagonal and other entries ``[K, B, 2, F]``, and their rows, or -1."""
    for k in range(k0, k1):
        start = 0
        for graph, n in enumerate(sizes):
            for i in range(n):
                for j in range(n):
                    kind = 0 if i == j else 1
                    row = start + i * n + j
                    best, at = out[k, graph, kind], where[k, graph, kind]
                    for c in range(c0, c1):
                        value = h[k, row, c]
                        if at[c] < 0 or value > best[c] or value != value:  # NaN stays
                            best[c] = value
                            at[c] = row
            start += n * n


@njit(nogil=True, cache=True)
def max_backward(
    grad: Array, where: Array, grad_h: Array, k0: int, k1: int, c0: int, c1: int
) -> None:
    """Every maximum's gradient goes to the entry it came from."""
    for k in range(k0, k1):
        for graph in range(grad.shape[1]):
            for kind in range(2):
                for c in range(c0, c1):
                    row = where[k, graph, kind, c]
                    if row >= 0:
                        grad_h[k, row, c] += grad[k, graph, kind, c]

"""Compiled loops of :mod:`lgan.ops.row_sum` on the CPU."""

from typing import Any

import numpy as np

from lgan.ops.jit import njit

Array = np.ndarray[Any, Any]


@njit(nogil=True, cache=True)
def row_sum(
    x: Array, ptr: Array, col: Array, out: Array, k0: int, k1: int, c0: int, c1: int
) -> None:
    """``out[k, r] = Σ x[k, col]`` over the entries of row ``r``, added to zeros.

    Threads are given ranges of planes or columns, so that no two write to the same place.
    """
    for k in range(k0, k1):
        for r in range(ptr.size - 1):
            total = out[k, r, c0:c1]
            for e in range(ptr[r], ptr[r + 1]):
                values = x[k, col[e], c0:c1]
                for j in range(values.size):
                    total[j] += values[j]


@njit(nogil=True, cache=True)
def weighted_row_sum(
    x: Array, ptr: Array, col: Array, weight: Array, out: Array, k0: int, k1: int, c0: int, c1: int
) -> None:
    """``out[k, r] = Σ weight · x[k, col]`` over the entries of row ``r``, added to zeros."""
    for k in range(k0, k1):
        for r in range(ptr.size - 1):
            total = out[k, r, c0:c1]
            for e in range(ptr[r], ptr[r + 1]):
                values, w = x[k, col[e], c0:c1], weight[e]
                for j in range(values.size):
                    total[j] += w * values[j]

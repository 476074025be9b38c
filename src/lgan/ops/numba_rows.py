"""Compiled loops over rows, on the CPU.

Every loop works on planes ``[n, F]`` of a tensor ``[K, n, F]`` and is given a range of planes and
a range of columns, so that threads never write to the same place: no atomics, and the same bits
whatever the number of threads. The interpreter lock is released; see :mod:`lgan.ops.threads`.
"""

from typing import Any

import numpy as np

from lgan.ops.jit import njit

Array = np.ndarray[Any, Any]

# No reordering and no fused multiply-add: the vectorised body of a loop and its scalar tail are
# fused differently, so that results would depend on where threads cut the columns. It costs no
# time that can be measured.
FAST = {"nsz"}

# Rows are taken as slices and walked from 0: with other bounds the compiler keeps the test for
# negative indices inside the loop and does not vectorise it (measured: three times slower). For
# the same reason a value is loaded before the test that may discard it.


@njit(nogil=True, cache=True, inline="always")
def add_row(row: Array, weight: float, values: Array) -> None:
    """``row += weight · values``."""
    w = row.dtype.type(weight)
    for j in range(values.size):
        row[j] += w * values[j]


@njit(nogil=True, cache=True)
def within(index: Array, size: int) -> bool:
    """Whether all ids lie in ``0 … size - 1``: the other loops trust them."""
    good = True
    for i in range(index.size):
        good &= 0 <= index[i] < size
    return good


@njit(nogil=True, cache=True)
def rising(ptr: Array, size: int) -> bool:
    """Whether pointers lead through ``0 … size`` without a step back."""
    last = 0
    for i in range(ptr.size):
        if ptr[i] < last or ptr[i] > size:
            return False
        last = ptr[i]
    return True


@njit(nogil=True, cache=True, fastmath=FAST)
def segment_sum(
    x: Array, weight: Array, ptr: Array, out: Array, k0: int, k1: int, c0: int, c1: int
) -> None:
    """Weighted sums of consecutive rows, added to zeros."""
    for k in range(k0, k1):
        for s in range(ptr.size - 1):
            for i in range(ptr[s], ptr[s + 1]):
                add_row(out[k, s, c0:c1], weight[i], x[k, i, c0:c1])


@njit(nogil=True, cache=True)
def _clear_outside(ptr: Array, plane: Array, c0: int, c1: int) -> None:
    """Set the rows to zero that are in no segment."""
    for i in range(plane.shape[0]):
        if i < ptr[0] or i >= ptr[-1]:
            plane[i, c0:c1] = 0


@njit(nogil=True, cache=True, fastmath=FAST)
def segment_spread(
    grad: Array, weight: Array, ptr: Array, out: Array, k0: int, k1: int, c0: int, c1: int
) -> None:
    """The transpose of :func:`segment_sum`."""
    for k in range(k0, k1):
        _clear_outside(ptr, out[k], c0, c1)
        for s in range(ptr.size - 1):
            part = grad[k, s, c0:c1]
            for i in range(ptr[s], ptr[s + 1]):
                to, factor = out[k, i, c0:c1], weight[i]
                for j in range(part.size):
                    to[j] = factor * part[j]


@njit(nogil=True, cache=True, fastmath=FAST)
def segment_sum_max(
    x: Array,
    weight: Array,
    ptr: Array,
    total: Array,
    most: Array,
    k0: int,
    k1: int,
    c0: int,
    c1: int,
) -> None:
    """Weighted sums of consecutive rows, added to zeros, and the largest of them, NaN where one is;
    what is there where there are none.
    """
    for k in range(k0, k1):
        for s in range(ptr.size - 1):
            added, best = total[k, s, c0:c1], most[k, s, c0:c1]
            for i in range(ptr[s], ptr[s + 1]):
                row = x[k, i, c0:c1]
                add_row(added, weight[i], row)
                if i == ptr[s]:
                    best[:] = row
                for j in range(best.size):
                    value, largest = row[j], best[j]
                    best[j] = value if value > largest or value != value else largest


@njit(nogil=True, cache=True, fastmath=FAST)
def segment_sum_max_backward(
    to_total: Array,
    to_most: Array,
    x: Array,
    weight: Array,
    most: Array,
    ptr: Array,
    out: Array,
    k0: int,
    k1: int,
    c0: int,
    c1: int,
) -> None:
    """The gradient of :func:`segment_sum_max`; that of the largest is shared among rows that are
    equally large.

    Rows that differ by rounding alone count as equal, so that nodes which look alike get alike.
    """
    count, least = np.empty(c1 - c0, x.dtype), np.empty(c1 - c0, x.dtype)
    share, zero = np.empty(c1 - c0, x.dtype), x.dtype.type(0)
    rounding = x.dtype.type(64 * np.finfo(x.dtype).eps)
    for k in range(k0, k1):
        _clear_outside(ptr, out[k], c0, c1)
        for s in range(ptr.size - 1):
            best, part, added = most[k, s, c0:c1], to_most[k, s, c0:c1], to_total[k, s, c0:c1]
            for j in range(count.size):
                count[j] = 0
                size = abs(best[j])
                least[j] = best[j] - rounding * size if size < np.inf else best[j]
            for i in range(ptr[s], ptr[s + 1]):
                row = x[k, i, c0:c1]
                for j in range(count.size):
                    count[j] += row[j] >= least[j]
            for j in range(count.size):  # none where one is NaN
                share[j] = part[j] / max(count[j], 1)
            for i in range(ptr[s], ptr[s + 1]):
                row, to, factor = x[k, i, c0:c1], out[k, i, c0:c1], weight[i]
                for j in range(count.size):
                    value, bound = share[j], least[j]
                    largest = value if row[j] >= bound else zero
                    to[j] = factor * added[j] + largest


# Here rows are places in flat arrays, which cannot be negative, and four of them share what is read
# and written beside them; the order of the sum stays that of the entries.


@njit(nogil=True, cache=True, fastmath=FAST)
def row_sum(
    x: Array, ptr: Array, col: Array, out: Array, k0: int, k1: int, c0: int, c1: int
) -> None:
    """``out[k, r] = Σ x[k, col]`` over the entries of row ``r``."""
    w, f, size = np.uint64(x.shape[2]), np.uint64(c0), np.uint64(c1 - c0)
    for k in range(k0, k1):
        flat, to = x[k].reshape(-1), out[k].reshape(-1)
        for r in range(ptr.size - 1):
            e, end, at = ptr[r], ptr[r + 1], np.uint64(r) * w + f
            if e == end:
                for j in range(size):
                    to[at + j] = 0
                continue
            p0 = np.uint64(col[e]) * w + f
            for j in range(size):
                to[at + j] = flat[p0 + j]
            e += 1
            while e + 3 < end:
                p0, p1 = np.uint64(col[e]) * w + f, np.uint64(col[e + 1]) * w + f
                p2, p3 = np.uint64(col[e + 2]) * w + f, np.uint64(col[e + 3]) * w + f
                for j in range(size):
                    value = ((to[at + j] + flat[p0 + j]) + flat[p1 + j]) + flat[p2 + j]
                    to[at + j] = value + flat[p3 + j]
                e += 4
            for rest in range(e, end):
                p0 = np.uint64(col[rest]) * w + f
                for j in range(size):
                    to[at + j] += flat[p0 + j]


@njit(nogil=True, cache=True, fastmath=FAST)
def weighted_row_sum(
    x: Array, ptr: Array, col: Array, weight: Array, out: Array, k0: int, k1: int, c0: int, c1: int
) -> None:
    """``out[k, r] = Σ weight · x[k, col]`` over the entries of row ``r``."""
    w, f, size = np.uint64(x.shape[2]), np.uint64(c0), np.uint64(c1 - c0)
    for k in range(k0, k1):
        flat, to = x[k].reshape(-1), out[k].reshape(-1)
        for r in range(ptr.size - 1):
            at = np.uint64(r) * w + f
            for j in range(size):
                to[at + j] = 0
            for e in range(ptr[r], ptr[r + 1]):
                place, factor = np.uint64(col[e]) * w + f, weight[e]
                for j in range(size):
                    to[at + j] += factor * flat[place + j]


@njit(nogil=True, cache=True, fastmath=FAST)
def take_rows(category: Array, weight: Array, add: bool, out: Array, k0: int, k1: int) -> None:
    """``out[k, i] = weight[k, category[i]]``, or added to what is there."""
    for k in range(k0, k1):
        for i in range(category.size):
            row, to = weight[k, category[i]], out[k, i]
            if add:
                for j in range(to.size):
                    to[j] += row[j]
            else:
                for j in range(to.size):
                    to[j] = row[j]


@njit(nogil=True, cache=True, fastmath=FAST)
def add_rows(category: Array, grad: Array, out: Array, k0: int, k1: int) -> None:
    """The transpose of :func:`take_rows`, added to zeros."""
    for k in range(k0, k1):
        for i in range(category.size):
            add_row(out[k, category[i]], 1.0, grad[k, i])

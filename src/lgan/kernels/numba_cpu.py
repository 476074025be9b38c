"""Compiled loops of the layer on the CPU.

Every loop works on planes ``[n, F]`` of a tensor ``[K, n, F]`` and is given a range of planes and
a range of columns, so that threads never write to the same place: no atomics, and the same bits
whatever the number of threads. The interpreter lock is released; see :mod:`lgan.kernels.threads`.
"""

from typing import Any

import numpy as np
from numba import njit

Array = np.ndarray[Any, Any]

__all__ = [
    "add_rows",
    "ego_sum_backward",
    "ego_sum_forward",
    "linear_sum",
    "norm_backward",
    "norm_forward",
    "segment_spread",
    "segment_sum",
    "take_rows",
]

# Sums keep their order, so that results repeat; a product and a sum may be rounded once.
FAST = {"contract", "nsz"}


@njit(nogil=True, cache=True, inline="always")
def _weights(ku: float, kv: float, own: bool) -> tuple[float, float, float, float, float]:
    """Entries of B_t at both ends, of B_n at both ends, and of B_n at every opposite node."""
    if own:
        return ku - 1.0, 0.0, (ku - 1.0) * (ku - 2.0) * 0.5, 0.0, ku * (ku - 1.0) * 0.5
    return kv, ku, (ku - 1.0) * kv, (kv - 1.0) * ku, ku * kv


# Rows are taken as slices and walked from 0: with other bounds the compiler keeps the test for
# negative indices inside the loop and does not vectorise it (measured: three times slower). For
# the same reason a value is loaded before the test that may discard it.


@njit(nogil=True, cache=True, inline="always")
def _add(row: Array, weight: float, values: Array) -> None:
    w = row.dtype.type(weight)
    for j in range(values.size):
        row[j] += w * values[j]


# Four rows at a time share what is read and written beside them (measured on rows of 64: a third
# less time). Unsigned places cannot be negative, which spares the test.


@njit(nogil=True, cache=True, fastmath=FAST)
def _add_to_each(
    flat: Array, width: int, index: Array, begin: int, end: int, first: int, values: Array
) -> None:
    """Add the same values to the rows that an index lists, from column ``first`` on."""
    w, f, size = np.uint64(width), np.uint64(first), np.uint64(values.size)
    e = begin
    while e + 3 < end:
        p0, p1 = np.uint64(index[e]) * w + f, np.uint64(index[e + 1]) * w + f
        p2, p3 = np.uint64(index[e + 2]) * w + f, np.uint64(index[e + 3]) * w + f
        for j in range(size):
            value = values[j]
            flat[p0 + j] += value
            flat[p1 + j] += value
            flat[p2 + j] += value
            flat[p3 + j] += value
        e += 4
    for rest in range(e, end):
        place = np.uint64(index[rest]) * w + f
        for j in range(size):
            flat[place + j] += values[j]


@njit(nogil=True, cache=True, fastmath=FAST)
def _add_up(
    flat: Array, width: int, index: Array, begin: int, end: int, first: int, total: Array
) -> None:
    """Add the rows that an index lists, from column ``first`` on, to a total."""
    w, f, size = np.uint64(width), np.uint64(first), np.uint64(total.size)
    e = begin
    while e + 3 < end:
        p0, p1 = np.uint64(index[e]) * w + f, np.uint64(index[e + 1]) * w + f
        p2, p3 = np.uint64(index[e + 2]) * w + f, np.uint64(index[e + 3]) * w + f
        for j in range(size):
            total[j] += (flat[p0 + j] + flat[p1 + j]) + (flat[p2 + j] + flat[p3 + j])
        e += 4
    for rest in range(e, end):
        place = np.uint64(index[rest]) * w + f
        for j in range(size):
            total[j] += flat[place + j]


@njit(nogil=True, cache=True, inline="always")
def _clear(plane: Array, branches: int, width: int, c0: int, c1: int) -> None:
    """Set some columns of every branch to zero."""
    for i in range(plane.shape[0]):
        for branch in range(branches):
            row = plane[i, c0 + branch * width : c1 + branch * width]
            for j in range(row.size):
                row[j] = 0


@njit(nogil=True, cache=True, fastmath=FAST)
def ego_sum_forward(
    a: Array,
    table: Array,
    code: Array,
    pairs: Array,
    multiplicity: Array,
    ptr: Array,
    opposite: Array,
    width: int,
    relu: bool,
    out: Array,
    k0: int,
    k1: int,
    c0: int,
    c1: int,
) -> None:
    """``out = (B_t Z_t ‖ B_n Z_n)`` with ``Z = relu(a_u + a_v + table[code])``.

    ``a`` holds the two branches side by side, ``width`` columns each, or only the first.
    """
    branches = a.shape[2] // width
    floor = a.dtype.type(0) if relu else a.dtype.type(-np.inf)
    z = np.empty(c1 - c0, a.dtype)
    for k in range(k0, k1):
        _clear(out[k], branches, width, c0, c1)
        flat = out[k].reshape(-1)
        for p in range(pairs.shape[1]):
            u, v = pairs[0, p], pairs[1, p]
            tu, tv, nu, nv, across = _weights(multiplicity[u], multiplicity[v], u == v)
            for branch in range(branches):
                silent = nu == 0.0 and nv == 0.0 and ptr[p] == ptr[p + 1]
                if branch == 1 and silent:
                    break
                first, last = c0 + branch * width, c1 + branch * width
                au, av = a[k, u, first:last], a[k, v, first:last]
                if code.size > 0:
                    shift = table[k, code[p], first:last]
                    for j in range(z.size):
                        z[j] = max(au[j] + av[j] + shift[j], floor)
                else:
                    for j in range(z.size):
                        z[j] = max(au[j] + av[j], floor)
                if branch == 0:
                    _add(out[k, u, first:last], tu, z)
                    _add(out[k, v, first:last], tv, z)
                    continue
                if nu > 0.0:
                    _add(out[k, u, first:last], nu, z)
                if nv > 0.0:
                    _add(out[k, v, first:last], nv, z)
                weight = a.dtype.type(across)
                for j in range(z.size):
                    z[j] *= weight
                _add_to_each(flat, out.shape[2], opposite, ptr[p], ptr[p + 1], first, z)


@njit(nogil=True, cache=True, fastmath=FAST)
def ego_sum_backward(
    grad: Array,
    a: Array,
    table: Array,
    code: Array,
    pairs: Array,
    multiplicity: Array,
    ptr: Array,
    opposite: Array,
    width: int,
    relu: bool,
    grad_a: Array,
    grad_table: Array,
    k0: int,
    k1: int,
    c0: int,
    c1: int,
) -> None:
    """Gradients of :func:`ego_sum_forward`, that of the table added to what is there; the mask is
    computed again.
    """
    branches = a.shape[2] // width
    zero = a.dtype.type(0)
    z = np.empty(c1 - c0, a.dtype)
    for k in range(k0, k1):
        _clear(grad_a[k], branches, width, c0, c1)
        flat = grad[k].reshape(-1)
        for p in range(pairs.shape[1]):
            u, v = pairs[0, p], pairs[1, p]
            tu, tv, nu, nv, across = _weights(multiplicity[u], multiplicity[v], u == v)
            for branch in range(branches):
                silent = nu == 0.0 and nv == 0.0 and ptr[p] == ptr[p + 1]
                if branch == 1 and silent:
                    break
                first, last = c0 + branch * width, c1 + branch * width
                wu, wv = a.dtype.type(tu), a.dtype.type(tv)
                if branch == 1:
                    wu, wv = a.dtype.type(nu), a.dtype.type(nv)
                z[:] = zero
                if branch == 1:
                    _add_up(flat, grad.shape[2], opposite, ptr[p], ptr[p + 1], first, z)
                    wt = a.dtype.type(across)
                    for j in range(z.size):
                        z[j] *= wt
                if wu != zero or wv != zero:
                    gu, gv = grad[k, u, first:last], grad[k, v, first:last]
                    for j in range(z.size):
                        z[j] += wu * gu[j] + wv * gv[j]
                au, av = a[k, u, first:last], a[k, v, first:last]
                if relu and code.size > 0:
                    shift = table[k, code[p], first:last]
                    for j in range(z.size):
                        value, keep = z[j], au[j] + av[j] + shift[j]
                        z[j] = value if keep > zero else zero
                elif relu:
                    for j in range(z.size):
                        value, keep = z[j], au[j] + av[j]
                        z[j] = value if keep > zero else zero
                _add(grad_a[k, u, first:last], 1.0, z)
                _add(grad_a[k, v, first:last], 1.0, z)
                if code.size > 0:
                    _add(grad_table[k, code[p], first:last], 1.0, z)


@njit(nogil=True, cache=True, fastmath=FAST)
def linear_sum(
    a: Array,
    pairs: Array,
    multiplicity: Array,
    tau: Array,
    width: int,
    transposed: bool,
    out: Array,
    k0: int,
    k1: int,
    c0: int,
    c1: int,
) -> None:
    """The collapsed linear form ``T_t = Σ (a_t + a_p)``, ``S_t = Σ c_tp a_p``, or its transpose."""
    branches = a.shape[2] // width
    z = np.empty(c1 - c0, a.dtype)
    for k in range(k0, k1):
        _clear(out[k], branches, width, c0, c1)
        for p in range(pairs.shape[1]):
            u, v = pairs[0, p], pairs[1, p]
            tu, tv, _, _, _ = _weights(multiplicity[u], multiplicity[v], u == v)
            wu, wv = a.dtype.type(tu), a.dtype.type(tv)
            au, av = a[k, u, c0:c1], a[k, v, c0:c1]
            if transposed:
                for j in range(z.size):
                    z[j] = wu * au[j] + wv * av[j]
                tu = tv = 1.0
            else:
                for j in range(z.size):
                    z[j] = au[j] + av[j]
            _add(out[k, u, c0:c1], tu, z)
            _add(out[k, v, c0:c1], tv, z)
            if branches == 1 or tau[p] == 0:
                continue
            first, last = c0 + width, c1 + width
            au, av = a[k, u, first:last], a[k, v, first:last]
            if u == v:
                _add(out[k, u, first:last], float(wu) * tau[p], au)
            elif transposed:
                _add(out[k, u, first:last], float(wv) * tau[p], av)
                _add(out[k, v, first:last], float(wu) * tau[p], au)
            else:
                _add(out[k, u, first:last], float(wu) * tau[p], av)
                _add(out[k, v, first:last], float(wv) * tau[p], au)


@njit(nogil=True, cache=True, fastmath=FAST)
def norm_forward(
    x: Array,
    weight: Array,
    scale: Array,
    shift: Array,
    eps: float,
    relu: bool,
    y: Array,
    mean: Array,
    rstd: Array,
    running_mean: Array,
    running_var: Array,
    momentum: float,
    k0: int,
    k1: int,
    c0: int,
    c1: int,
) -> None:
    """Batch normalisation with a weight per row ``[1 or K, n]``, then clipping.

    The running statistics move towards those of the batch; a batch without rows leaves them.
    """
    floor = x.dtype.type(0) if relu else x.dtype.type(-np.inf)
    factor = np.empty(c1 - c0, x.dtype)
    for k in range(k0, k1):
        w = weight[k if weight.shape[0] > 1 else 0]
        rows = w.sum()
        count = x.dtype.type(max(rows, 1.0))
        share = x.dtype.type(momentum if rows > 0 else 0.0)
        unbiased = x.dtype.type(1.0 / max(rows - 1.0, 1.0))
        m, r, s, b = mean[k, c0:c1], rstd[k, c0:c1], scale[k, c0:c1], shift[k, c0:c1]
        m[:] = 0
        for i in range(x.shape[1]):
            _add(m, w[i], x[k, i, c0:c1])
        m /= count
        factor[:] = 0
        for i in range(x.shape[1]):
            row, wi = x[k, i, c0:c1], w[i]
            for j in range(factor.size):
                d = row[j] - m[j]
                factor[j] += wi * d * d
        for j in range(factor.size):
            running_mean[k, c0 + j] += share * (m[j] - running_mean[k, c0 + j])
            running_var[k, c0 + j] += share * (factor[j] * unbiased - running_var[k, c0 + j])
            r[j] = 1 / np.sqrt(factor[j] / count + x.dtype.type(eps))
            factor[j] = s[j] * r[j]
        for i in range(x.shape[1]):
            row, to = x[k, i, c0:c1], y[k, i, c0:c1]
            for j in range(factor.size):
                to[j] = max((row[j] - m[j]) * factor[j] + b[j], floor)


@njit(nogil=True, cache=True, fastmath=FAST)
def norm_backward(
    grad: Array,
    x: Array,
    y: Array,
    weight: Array,
    scale: Array,
    mean: Array,
    rstd: Array,
    relu: bool,
    grad_x: Array,
    grad_scale: Array,
    grad_shift: Array,
    k0: int,
    k1: int,
    c0: int,
    c1: int,
) -> None:
    """Gradients of :func:`norm_forward`; a clipped output passes nothing."""
    ceiling = x.dtype.type(0) if relu else x.dtype.type(-np.inf)
    zero = x.dtype.type(0)
    by_shift, by_unit = np.empty(c1 - c0, x.dtype), np.empty(c1 - c0, x.dtype)
    for k in range(k0, k1):
        w = weight[k if weight.shape[0] > 1 else 0]
        count = x.dtype.type(max(w.sum(), 1.0))
        m, r, s = mean[k, c0:c1], rstd[k, c0:c1], scale[k, c0:c1]
        by_shift[:] = 0
        by_unit[:] = 0
        for i in range(x.shape[1]):
            row, out, g = x[k, i, c0:c1], y[k, i, c0:c1], grad[k, i, c0:c1]
            for j in range(by_shift.size):
                value, keep = g[j], out[j]
                passed = value if keep > ceiling else zero
                by_shift[j] += passed
                by_unit[j] += passed * (row[j] - m[j])
        for j in range(by_shift.size):
            grad_shift[k, c0 + j] = by_shift[j]
            grad_scale[k, c0 + j] = by_unit[j] * r[j]
            by_shift[j] /= count
            by_unit[j] *= r[j] * r[j] / count
        for i in range(x.shape[1]):
            row, out, g = x[k, i, c0:c1], y[k, i, c0:c1], grad[k, i, c0:c1]
            to, wi = grad_x[k, i, c0:c1], w[i]
            for j in range(by_shift.size):
                value, keep = g[j], out[j]
                passed = value if keep > ceiling else zero
                to[j] = s[j] * r[j] * (passed - wi * (by_shift[j] + (row[j] - m[j]) * by_unit[j]))


@njit(nogil=True, cache=True, fastmath=FAST)
def segment_sum(
    x: Array, weight: Array, ptr: Array, out: Array, k0: int, k1: int, c0: int, c1: int
) -> None:
    """Weighted sums of consecutive rows, added to zeros."""
    for k in range(k0, k1):
        for s in range(ptr.size - 1):
            for i in range(ptr[s], ptr[s + 1]):
                _add(out[k, s, c0:c1], weight[i], x[k, i, c0:c1])


@njit(nogil=True, cache=True, fastmath=FAST)
def segment_spread(
    grad: Array, weight: Array, ptr: Array, out: Array, k0: int, k1: int, c0: int, c1: int
) -> None:
    """The transpose of :func:`segment_sum`, added to zeros."""
    for k in range(k0, k1):
        for s in range(ptr.size - 1):
            for i in range(ptr[s], ptr[s + 1]):
                _add(out[k, i, c0:c1], weight[i], grad[k, s, c0:c1])


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
            _add(out[k, category[i]], 1.0, grad[k, i])

"""Compiled loops of batch and layer normalisation, on the CPU."""

import numpy as np

from lgan.ops.jit import njit
from lgan.ops.numba_rows import FAST, Array, add_row

# The normalisations of a layer, as its loops are told.
BATCH, LAYER, NONE = 0, 1, 2
# The sums over a row may be reordered, and so vectorised: threads never cut a row. A caller holds
# a copy of such a function, whose order is another one; with ``forceinline`` it always runs the
# copy, and not the function itself where one process compiles both.
WHOLE_ROWS = {"nsz", "reassoc"}


@njit(nogil=True, cache=True, fastmath=FAST)
def norm_forward(
    x: Array,
    weight: Array,
    scale: Array,
    shift: Array,
    eps: float,
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
    zero = x.dtype.type(0)
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
            add_row(m, w[i], x[k, i, c0:c1])
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
                to[j] = max((row[j] - m[j]) * factor[j] + b[j], zero)


@njit(nogil=True, cache=True, fastmath=FAST)
def norm_backward(
    grad: Array,
    x: Array,
    y: Array,
    weight: Array,
    scale: Array,
    mean: Array,
    rstd: Array,
    grad_x: Array,
    grad_scale: Array,
    grad_shift: Array,
    k0: int,
    k1: int,
    c0: int,
    c1: int,
) -> None:
    """Gradients of :func:`norm_forward`; a clipped output passes nothing."""
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
                passed = value if keep > zero else zero
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
                passed = value if keep > zero else zero
                to[j] = s[j] * r[j] * (passed - wi * (by_shift[j] + (row[j] - m[j]) * by_unit[j]))


@njit(nogil=True, cache=True, forceinline=True, fastmath=WHOLE_ROWS, error_model="numpy")
def layer_norm_forward(
    x: Array,
    scale: Array,
    shift: Array,
    eps: float,
    y: Array,
    mean: Array,
    rstd: Array,
    k0: int,
    k1: int,
    r0: int,
    r1: int,
) -> None:
    """Layer normalisation of some rows, then clipping."""
    zero = x.dtype.type(0)
    small, part = x.dtype.type(eps), x.dtype.type(1.0 / x.shape[2])
    for k in range(k0, k1):
        s, b = scale[k], shift[k]
        for i in range(r0, r1):
            row, to = x[k, i], y[k, i]
            m, square = zero, zero
            for j in range(row.size):
                m += row[j]
            m *= part
            for j in range(row.size):
                square += (row[j] - m) * (row[j] - m)
            r = 1 / np.sqrt(square * part + small)
            mean[k, i], rstd[k, i] = m, r
            for j in range(row.size):
                to[j] = max((row[j] - m) * r * s[j] + b[j], zero)


@njit(nogil=True, cache=True, forceinline=True, fastmath=WHOLE_ROWS)
def layer_norm_backward(
    grad: Array,
    x: Array,
    y: Array,
    scale: Array,
    mean: Array,
    rstd: Array,
    grad_x: Array,
    k0: int,
    k1: int,
    r0: int,
    r1: int,
) -> None:
    """Gradient of :func:`layer_norm_forward` at some rows; a clipped output passes nothing."""
    zero = x.dtype.type(0)
    part = x.dtype.type(1.0 / x.shape[2])
    for k in range(k0, k1):
        s = scale[k]
        for i in range(r0, r1):
            row, out, g, to = x[k, i], y[k, i], grad[k, i], grad_x[k, i]
            m, r = mean[k, i], rstd[k, i]
            by_mean, by_unit = zero, zero
            for j in range(row.size):
                value, keep = s[j] * g[j], out[j]
                passed = value if keep > zero else zero
                to[j] = passed
                by_mean += passed
                by_unit += passed * (row[j] - m)
            by_mean *= part
            by_unit *= part * r * r
            for j in range(row.size):
                to[j] = r * (to[j] - by_mean - (row[j] - m) * by_unit)


@njit(nogil=True, cache=True, fastmath=FAST)
def layer_norm_sums(
    grad: Array,
    x: Array,
    y: Array,
    mean: Array,
    rstd: Array,
    grad_scale: Array,
    grad_shift: Array,
    k0: int,
    k1: int,
    c0: int,
    c1: int,
) -> None:
    """Gradients of :func:`layer_norm_forward` at the scale and shift of some columns."""
    zero = x.dtype.type(0)
    for k in range(k0, k1):
        by_scale, by_shift = grad_scale[k, c0:c1], grad_shift[k, c0:c1]
        by_scale[:] = 0
        by_shift[:] = 0
        for i in range(x.shape[1]):
            row, out, g = x[k, i, c0:c1], y[k, i, c0:c1], grad[k, i, c0:c1]
            m, r = mean[k, i], rstd[k, i]
            for j in range(by_scale.size):
                value, keep = g[j], out[j]
                passed = value if keep > zero else zero
                by_shift[j] += passed
                by_scale[j] += passed * (row[j] - m) * r


@njit(nogil=True, cache=True, fastmath=FAST)
def clip_forward(x: Array, y: Array) -> None:
    """What is below zero becomes zero."""
    zero = x.dtype.type(0)
    for i in range(x.shape[0]):
        row, to = x[i], y[i]
        for j in range(row.size):
            to[j] = max(row[j], zero)


@njit(nogil=True, cache=True, fastmath=FAST)
def clip_backward(grad: Array, y: Array, grad_x: Array) -> None:
    """Gradient of :func:`clip_forward`."""
    zero = y.dtype.type(0)
    for i in range(y.shape[0]):
        g, out, to = grad[i], y[i], grad_x[i]
        for j in range(out.size):
            value, keep = g[j], out[j]
            to[j] = value if keep > zero else zero

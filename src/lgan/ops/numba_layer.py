"""A layer from end to end on the CPU, model after model, without the interpreter in between.

All arrays of one model are small enough to stay in the cache of a core while the layer runs, and
a thread never asks for the interpreter lock. Empty arrays stand for what a layer does not have.
"""

import numpy as np

from lgan.ops.jit import njit
from lgan.ops.numba_norm import (
    BATCH,
    LAYER,
    clip_backward,
    clip_forward,
    layer_norm_backward,
    layer_norm_forward,
    layer_norm_sums,
    norm_backward,
    norm_forward,
)
from lgan.ops.numba_products import (
    add_bias,
    add_products,
    column_sums,
    inner_products,
    products,
    turned_products,
)
from lgan.ops.numba_rows import FAST, Array, add_rows, take_rows
from lgan.ops.numba_sums import Structure, ego_sum_backward, ego_sum_forward, linear_sum


@njit(nogil=True, cache=True)
def _pairs_sent(
    rows: Array,
    category: Array,
    pair: Array,
    bias: Array,
    table: Array,
    code: Array,
    structure: Structure,
    width: int,
    relu: bool,
    squash: bool,
    a: Array,
    both: Array,
    k: int,
) -> None:
    """``a = x W_p + b`` and what every node receives from the pairs around it."""
    if category.size > 0:
        take_rows(category, pair, False, a, k, k + 1)
        add_bias(a[k], bias[k])
    else:
        products(rows, pair, bias, a, k, k + 1)
    if relu or code.size > 0:
        ego_sum_forward(a, table, code, structure, width, relu, both, k, k + 1, 0, width)
    else:
        linear_sum(a, structure, width, False, both, k, k + 1, 0, width)
    if squash:
        _squash(both[k])


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _squash(sums: Array) -> None:
    for i in range(sums.shape[0]):
        for j in range(sums.shape[1]):
            sums[i, j] = np.arcsinh(sums[i, j])


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _squash_back(squashed: Array, grad: Array) -> None:
    """From the gradient at ``asinh(sums)`` to that at the sums, in place."""
    for i in range(grad.shape[0]):
        for j in range(grad.shape[1]):
            grad[i, j] /= np.cosh(squashed[i, j])


@njit(nogil=True, cache=True)
def _fused(
    rows: Array,
    category: Array,
    both: Array,
    fuse: Array,
    bias: Array,
    residual: Array,
    corner: Array,
    more: Array,
    hidden: Array,
    k: int,
) -> None:
    """``hidden = both W_f + b_f + x W_r``, and something more at the corners."""
    products(both, fuse, bias, hidden, k, k + 1)
    for i in range(corner.size):
        row, added = hidden[k, corner[i]], more[k, i]
        for j in range(row.size):
            row[j] += added[j]
    if residual.size > 0:
        if category.size > 0:
            take_rows(category, residual, True, hidden, k, k + 1)
        else:
            add_products(rows, residual, hidden, k, k + 1)


@njit(nogil=True, cache=True, forceinline=True)
def _by_rows(
    x: Array,
    kind: int,
    scale: Array,
    shift: Array,
    eps: float,
    y: Array,
    mean: Array,
    rstd: Array,
    k: int,
) -> None:
    """Normalise every row by itself, or not at all, and clip."""
    if kind == LAYER:
        layer_norm_forward(x, scale, shift, eps, y, mean, rstd, k, k + 1, 0, x.shape[1])
    else:
        clip_forward(x[k], y[k])


@njit(nogil=True, cache=True)
def layer_forward(
    rows: Array,
    category: Array,
    weights: tuple[Array, ...],
    code: Array,
    corner: Array,
    structure: Structure,
    relu: bool,
    squash: bool,
    kind: int,
    node_weight: Array,
    norms: tuple[Array, ...],
    running: tuple[Array, ...],
    momentum: float,
    eps: float,
    kept: tuple[Array, ...],
    stats: Array,
    k0: int,
    k1: int,
) -> None:
    """All of a layer for some models in training; ``kept`` is what its gradient needs."""
    pair, bias, fuse, fuse_bias, residual, table, out, out_bias, more = weights
    scale1, shift1, scale2, shift2 = norms
    mean1, var1, mean2, var2 = running
    a, both, hidden, normed, last, result = kept
    width = out.shape[2]
    for k in range(k0, k1):
        _pairs_sent(rows, category, pair, bias, table, code, structure, width, relu, squash,
                    a, both, k)  # fmt: skip
        _fused(rows, category, both, fuse, fuse_bias, residual, corner, more, hidden, k)
        if kind == BATCH:
            norm_forward(hidden, node_weight, scale1, shift1, eps, normed, stats[0],
                         stats[1], mean1, var1, momentum, k, k + 1, 0, width)  # fmt: skip
        else:
            _by_rows(hidden, kind, scale1, shift1, eps, normed, stats[0], stats[1], k)
        products(normed, out, out_bias, last, k, k + 1)
        if kind == BATCH:
            norm_forward(last, node_weight, scale2, shift2, eps, result, stats[2],
                         stats[3], mean2, var2, momentum, k, k + 1, 0, width)  # fmt: skip
        else:
            _by_rows(last, kind, scale2, shift2, eps, result, stats[2], stats[3], k)


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _by_running(
    x: Array, scale: Array, shift: Array, mean: Array, var: Array, eps: float, k: int
) -> None:
    """Normalise by the running statistics and clip, in place."""
    zero, small = x.dtype.type(0), x.dtype.type(eps)
    factor, offset = np.empty(x.shape[2], x.dtype), np.empty(x.shape[2], x.dtype)
    for j in range(factor.size):
        factor[j] = scale[k, j] / np.sqrt(var[k, j] + small)
        offset[j] = shift[k, j] - mean[k, j] * factor[j]
    for i in range(x.shape[1]):
        row = x[k, i]
        for j in range(row.size):
            row[j] = max(row[j] * factor[j] + offset[j], zero)


@njit(nogil=True, cache=True)
def layer_tested(
    rows: Array,
    category: Array,
    weights: tuple[Array, ...],
    code: Array,
    corner: Array,
    structure: Structure,
    relu: bool,
    squash: bool,
    kind: int,
    norms: tuple[Array, ...],
    running: tuple[Array, ...],
    eps: float,
    result: Array,
    k0: int,
    k1: int,
) -> None:
    """All of a layer for some models; batch normalisation goes by its running statistics."""
    pair, bias, fuse, fuse_bias, residual, table, out, out_bias, more = weights
    scale1, shift1, scale2, shift2 = norms
    mean1, var1, mean2, var2 = running
    models, nodes, width = result.shape
    a = np.empty((models, nodes, pair.shape[2]), result.dtype)
    both = np.empty((models, nodes, pair.shape[2]), result.dtype)
    hidden = np.empty((models, nodes, width), result.dtype)
    mean, rstd = np.empty((models, nodes), result.dtype), np.empty((models, nodes), result.dtype)
    for k in range(k0, k1):
        _pairs_sent(rows, category, pair, bias, table, code, structure, width, relu, squash,
                    a, both, k)  # fmt: skip
        _fused(rows, category, both, fuse, fuse_bias, residual, corner, more, hidden, k)
        if kind == BATCH:
            _by_running(hidden, scale1, shift1, mean1, var1, eps, k)
            products(hidden, out, out_bias, result, k, k + 1)
            _by_running(result, scale2, shift2, mean2, var2, eps, k)
        else:
            _by_rows(hidden, kind, scale1, shift1, eps, result, mean, rstd, k)
            products(result, out, out_bias, hidden, k, k + 1)
            _by_rows(hidden, kind, scale2, shift2, eps, result, mean, rstd, k)


@njit(nogil=True, cache=True)
def _of_model(planes: Array, k: int) -> Array:
    """What one model has of an array ``[K, …]``, or what all have in common ``[1, …]``, as an array
    of one plane.
    """
    return planes[k : k + 1] if planes.shape[0] > 1 else planes


@njit(nogil=True, cache=True)
def _weight_back(rows: Array, category: Array, grad: Array, to: Array) -> None:
    if category.size > 0:
        for i in range(to.shape[1]):
            for j in range(to.shape[2]):
                to[0, i, j] = 0
        add_rows(category, grad, to, 0, 1)
    else:
        inner_products(rows, grad, to, 0, 1)


@njit(nogil=True, cache=True, forceinline=True)
def _norm_back(
    grad: Array,
    x: Array,
    y: Array,
    kind: int,
    node_weight: Array,
    scale: Array,
    mean: Array,
    rstd: Array,
    to_x: Array,
    to_scale: Array,
    to_shift: Array,
) -> None:
    """Gradients of the normalisation of one model."""
    rows, width = x.shape[1], x.shape[2]
    if kind == BATCH:
        norm_backward(grad, x, y, node_weight, scale, mean, rstd, to_x, to_scale, to_shift,
                      0, 1, 0, width)  # fmt: skip
    elif kind == LAYER:
        layer_norm_backward(grad, x, y, scale, mean, rstd, to_x, 0, 1, 0, rows)
        layer_norm_sums(grad, x, y, mean, rstd, to_scale, to_shift, 0, 1, 0, width)
    else:
        clip_backward(grad[0], y[0], to_x[0])


@njit(nogil=True, cache=True)
def layer_backward(
    grad: Array,
    rows: Array,
    category: Array,
    weights: tuple[Array, ...],
    code: Array,
    corner: Array,
    structure: Structure,
    relu: bool,
    squash: bool,
    kind: int,
    node_weight: Array,
    scales: tuple[Array, Array],
    kept: tuple[Array, ...],
    stats: Array,
    grads: tuple[Array, ...],
    k0: int,
    k1: int,
) -> None:
    """Gradients of :func:`layer_forward`.

    What flows between its parts takes the same place for all models, so that it stays in the cache.
    """
    pair, _, fuse, fuse_bias, residual, table, out, out_bias, _ = weights
    to_x, to_pair, to_bias, to_fuse, to_fuse_bias, to_residual, to_table, to_out = grads[:8]
    to_out_bias, to_norms, to_more = grads[8:]
    nodes, width = kept[5].shape[1], kept[5].shape[2]
    at_both = np.empty((1, nodes, kept[1].shape[2]), out.dtype)
    at_a = np.empty_like(at_both)
    at_hidden = np.empty((1, nodes, width), out.dtype)
    at_normed = np.empty_like(at_hidden)
    for k in range(k0, k1):
        a, both, hidden = (_of_model(kept[0], k), _of_model(kept[1], k), _of_model(kept[2], k))
        normed, last, result = (_of_model(kept[3], k), _of_model(kept[4], k), _of_model(kept[5], k))
        x, weight, own_out = _of_model(rows, k), _of_model(node_weight, k), _of_model(out, k)
        # `at_hidden` first holds the gradient at `last`, which has the same shape.
        _norm_back(_of_model(grad, k), last, result, kind, weight, _of_model(scales[1], k),
                   _of_model(stats[2], k), _of_model(stats[3], k), at_hidden,
                   _of_model(to_norms[2], k), _of_model(to_norms[3], k))  # fmt: skip
        inner_products(normed, at_hidden, _of_model(to_out, k), 0, 1)
        if out_bias.size > 0:
            column_sums(at_hidden, _of_model(to_out_bias, k), 0, 1)
        turned_products(at_hidden, own_out, False, at_normed, 0, 1)
        _norm_back(at_normed, hidden, normed, kind, weight, _of_model(scales[0], k),
                   _of_model(stats[0], k), _of_model(stats[1], k), at_hidden,
                   _of_model(to_norms[0], k), _of_model(to_norms[1], k))  # fmt: skip
        for i in range(corner.size):
            row, there = to_more[k, i], at_hidden[0, corner[i]]
            for j in range(row.size):
                row[j] = there[j]
        inner_products(both, at_hidden, _of_model(to_fuse, k), 0, 1)
        if fuse_bias.size > 0:
            column_sums(at_hidden, _of_model(to_fuse_bias, k), 0, 1)
        turned_products(at_hidden, _of_model(fuse, k), False, at_both, 0, 1)
        if squash:
            _squash_back(both[0], at_both[0])
        if relu or code.size > 0:
            ego_sum_backward(at_both, a, _of_model(table, k), code, structure, width, relu, at_a,
                             _of_model(to_table, k), 0, 1, 0, width)  # fmt: skip
        else:
            linear_sum(at_both, structure, width, True, at_a, 0, 1, 0, width)
        _weight_back(x, category, at_a, _of_model(to_pair, k))
        column_sums(at_a, _of_model(to_bias, k), 0, 1)
        if to_x.size > 0:
            turned_products(at_a, _of_model(pair, k), False, _of_model(to_x, k), 0, 1)
        if residual.size > 0:
            _weight_back(x, category, at_hidden, _of_model(to_residual, k))
            if to_x.size > 0:
                own = _of_model(residual, k)
                turned_products(at_hidden, own, True, _of_model(to_x, k), 0, 1)

"""Differentiable operations over the compiled loops on the CPU.

All tensors are planes ``[K, n, F]``. What surrounds a loop is kept short: on small graphs the
interpreter, not the loop, is what a step waits for.
"""

from typing import Any

import torch
from torch import Tensor

from lgan.ops import (
    numba_dropout,
    numba_masked,
    numba_norm,
    numba_products,
    numba_rows,
    numba_sums,
)
from lgan.ops.first_order import first_order
from lgan.ops.incidence import Incidence
from lgan.ops.threads import by_planes, in_threads

# Loops that touch an element once are worth a second thread only where there are many.
LIGHT = 4


def _array(x: Tensor) -> Any:
    return x.detach().numpy() if x.is_contiguous() else x.detach().contiguous().numpy()


def _pair_work(a: Tensor, incidence: Incidence, width: int) -> int:
    """Elements that a sum over pairs touches."""
    entries = incidence.pair_index.size(1) + incidence.opposite_index.numel()
    return a.size(0) * entries * width


class EgoSum(torch.autograd.Function):
    """See :func:`lgan.ops.ego_sum`."""

    @staticmethod
    def forward(
        ctx: Any,
        a: Tensor,
        table: Tensor,
        code: Tensor,
        incidence: Incidence,
        width: int,
        relu: bool,
    ) -> Tensor:
        """Sum what the pairs send."""
        ctx.save_for_backward(a, table)
        ctx.rest = (code, incidence, width, relu)
        out = a.new_empty(a.shape)
        arrays = (_array(a), _array(table), code.numpy(), incidence.arrays, width, relu)
        work = _pair_work(a, incidence, width)
        in_threads(numba_sums.ego_sum_forward, a.size(0), width, work, *arrays, out.numpy())
        return out

    @staticmethod
    @first_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients of the node values and of the table."""
        a, table = ctx.saved_tensors
        code, incidence, width, relu = ctx.rest
        grad_a, grad_table = a.new_empty(a.shape), table.new_zeros(table.shape)
        arrays = (
            *map(_array, (grad, a, table)), code.numpy(), incidence.arrays, width, relu,
            grad_a.numpy(), grad_table.numpy(),
        )  # fmt: skip
        work = _pair_work(a, incidence, width)
        in_threads(numba_sums.ego_sum_backward, a.size(0), width, work, *arrays)
        return grad_a, grad_table, None, None, None, None


class MaskedEgoSum(torch.autograd.Function):
    """:func:`lgan.ops.ego_sum` of masked pairs; masks ``[K, P]`` and ``[K, M]``."""

    @staticmethod
    def forward(
        ctx: Any,
        a: Tensor,
        table: Tensor,
        mask: Tensor,
        side_mask: Tensor,
        code: Tensor,
        incidence: Incidence,
        width: int,
        relu: bool,
    ) -> Tensor:
        """Sum what the pairs send, each as far as it is there."""
        ctx.save_for_backward(a, table, mask, side_mask)
        ctx.rest = (code, incidence, width, relu)
        planes = mask.size(0)
        out = a.new_zeros((planes, *a.shape[1:]))
        arrays = (
            *map(_array, (a, table, mask, side_mask)), code.numpy(),
            *incidence.pair_arrays, width, relu, out.numpy(),
        )  # fmt: skip
        loop = numba_masked.masked_sum_forward
        by_planes(lambda k0, k1: loop(*arrays, k0, k1), planes, out.numel())
        return out

    @staticmethod
    @first_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients of the node values, the table and the masks."""
        a, table, mask, side_mask = ctx.saved_tensors
        code, incidence, width, relu = ctx.rest
        planes = mask.size(0)
        grad_a = grad.new_zeros(grad.shape)
        grad_table = table.new_zeros((planes, *table.shape[1:]))
        grad_mask, grad_side = mask.new_empty(mask.shape), side_mask.new_empty(side_mask.shape)
        arrays = (
            *map(_array, (grad, a, table, mask, side_mask)), code.numpy(),
            *incidence.pair_arrays, width, relu,
            *(t.numpy() for t in (grad_a, grad_table, grad_mask, grad_side)),
        )  # fmt: skip
        loop = numba_masked.masked_sum_backward
        by_planes(lambda k0, k1: loop(*arrays, k0, k1), planes, 2 * grad.numel())
        if a.size(0) < planes:  # values that all masks share
            grad_a = grad_a.sum(0, keepdim=True)
        if table.size(0) < planes:
            grad_table = grad_table.sum(0, keepdim=True)
        return grad_a, grad_table, grad_mask, grad_side, None, None, None, None


class LinearSum(torch.autograd.Function):
    """See :func:`lgan.ops.linear_sum`; its own transpose, so differentiable at will."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, incidence: Incidence, width: int, transposed: bool) -> Tensor:
        """One weighted sparse product."""
        ctx.rest = (incidence, width, transposed)
        out = a.new_empty(a.shape)
        arrays = (_array(a), incidence.arrays, width, transposed, out.numpy())
        work = a.size(0) * incidence.pair_index.size(1) * width
        in_threads(numba_sums.linear_sum, a.size(0), width, work, *arrays)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """The product with the transpose."""
        incidence, width, transposed = ctx.rest
        return LinearSum.apply(grad, incidence, width, not transposed), None, None, None


class Norm(torch.autograd.Function):
    """See :func:`lgan.ops.norm`."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        scale: Tensor,
        shift: Tensor,
        running: tuple[Tensor, Tensor],
        momentum: float,
        eps: float,
    ) -> Tensor:
        """Normalise, clip, and move the running statistics."""
        y = x.new_empty(x.shape)
        statistics = scale.new_empty((2, *scale.shape))  # mean, reciprocal deviation
        mean, rstd = statistics.numpy()
        arrays = (
            *map(_array, (x, weight, scale, shift)), eps, y.numpy(), mean, rstd,
            running[0].numpy(), running[1].numpy(), momentum,
        )  # fmt: skip
        in_threads(numba_norm.norm_forward, x.size(0), x.size(2), x.numel(), *arrays)
        ctx.save_for_backward(x, y, weight, scale, statistics)
        return y

    @staticmethod
    @first_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients of the rows, the scale and the shift."""
        x, y, weight, scale, statistics = ctx.saved_tensors
        grad_x = x.new_empty(x.shape)
        grad_scale, grad_shift = scale.new_empty(scale.shape), scale.new_empty(scale.shape)
        mean, rstd = statistics.numpy()
        arrays = (
            *map(_array, (grad, x, y, weight, scale)), mean, rstd,
            grad_x.numpy(), grad_scale.numpy(), grad_shift.numpy(),
        )  # fmt: skip
        in_threads(numba_norm.norm_backward, x.size(0), x.size(2), x.numel(), *arrays)
        return grad_x, None, grad_scale, grad_shift, None, None, None


class LayerNorm(torch.autograd.Function):
    """See :func:`lgan.ops.layer_norm`; planes ``[K, n, F]``."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor, shift: Tensor, eps: float) -> Tensor:
        """Normalise and clip."""
        y = x.new_empty(x.shape)
        statistics = x.new_empty((2, *x.shape[:2]))  # mean, reciprocal deviation
        arrays = (*map(_array, (x, scale, shift)), eps, y.numpy(), *statistics.numpy())
        in_threads(numba_norm.layer_norm_forward, x.size(0), x.size(1), x.numel(), *arrays)
        ctx.save_for_backward(x, y, scale, statistics)
        return y

    @staticmethod
    @first_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients of the rows, the scale and the shift."""
        x, y, scale, statistics = ctx.saved_tensors
        grad_x = x.new_empty(x.shape)
        grad_scale, grad_shift = scale.new_empty(scale.shape), scale.new_empty(scale.shape)
        given, moments = tuple(map(_array, (grad, x, y))), statistics.numpy()
        arrays = (*given, _array(scale), *moments, grad_x.numpy())
        in_threads(numba_norm.layer_norm_backward, x.size(0), x.size(1), x.numel(), *arrays)
        arrays = (*given, *moments, grad_scale.numpy(), grad_shift.numpy())
        in_threads(numba_norm.layer_norm_sums, x.size(0), x.size(2), x.numel(), *arrays)
        return grad_x, grad_scale, grad_shift, None


class SegmentSum(torch.autograd.Function):
    """See :func:`lgan.ops.segment_sum`."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, ptr: Tensor) -> Tensor:
        """Weighted sums of consecutive rows."""
        ctx.save_for_backward(weight, ptr)
        ctx.rows = x.size(1)
        out = x.new_zeros((x.size(0), ptr.numel() - 1, x.size(2)))
        arrays = (_array(x), _array(weight), ptr.numpy(), out.numpy())
        in_threads(numba_rows.segment_sum, x.size(0), x.size(2), x.numel() // LIGHT, *arrays)
        return out

    @staticmethod
    @first_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Every row gets what its segment gets, times its weight."""
        weight, ptr = ctx.saved_tensors
        out = grad.new_empty((grad.size(0), ctx.rows, grad.size(2)))
        arrays = (_array(grad), _array(weight), ptr.numpy(), out.numpy())
        in_threads(
            numba_rows.segment_spread, grad.size(0), grad.size(2), out.numel() // LIGHT, *arrays
        )
        return out, None, None


class SegmentSumMax(torch.autograd.Function):
    """See :func:`lgan.ops.segment_sum_max`."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, ptr: Tensor) -> tuple[Tensor, Tensor]:
        """Weighted sums of consecutive rows, and the largest."""
        total, most = x.new_zeros((2, x.size(0), ptr.numel() - 1, x.size(2))).unbind()
        ctx.save_for_backward(x, weight, most, ptr)
        arrays = (_array(x), _array(weight), ptr.numpy(), total.numpy(), most.numpy())
        in_threads(numba_rows.segment_sum_max, x.size(0), x.size(2), x.numel() // LIGHT, *arrays)
        return total, most

    @staticmethod
    @first_order
    def backward(ctx: Any, to_total: Tensor, to_most: Tensor) -> tuple[Tensor | None, ...]:
        """Every row gets what its segment gets, times its weight, and the largest rows what the
        largest gets.
        """
        x, weight, most, ptr = ctx.saved_tensors
        out = x.new_empty(x.shape)
        given = tuple(map(_array, (to_total, to_most, x, weight, most)))
        arrays, work = (*given, ptr.numpy(), out.numpy()), x.numel() // LIGHT
        in_threads(numba_rows.segment_sum_max_backward, x.size(0), x.size(2), work, *arrays)
        return out, None, None


class StackedProduct(torch.autograd.Function):
    """See :func:`lgan.ops.stacked_product`."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """``x W + b``."""
        ctx.save_for_backward(x, weight)
        models, rows = weight.size(0), x.size(1)
        out = x.new_empty((models, rows, weight.size(2)))
        shift = out.new_empty((0, 0)) if bias is None else bias
        arrays = (_array(x), _array(weight), _array(shift), out.numpy())
        work = rows * weight.numel()
        by_planes(lambda k0, k1: numba_products.products(*arrays, k0, k1), models, work)
        return out

    @staticmethod
    @first_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """``grad Wᵀ``, ``xᵀ grad`` and the sums of ``grad``, model by model."""
        x, weight = ctx.saved_tensors
        need_x, need_weight, need_bias = ctx.needs_input_grad
        models, rows, width = grad.shape
        x_, weight_, grad_ = _array(x), _array(weight), _array(grad)
        grad_x = x.new_empty((models, rows, weight.size(1))) if need_x else None
        grad_weight = weight.new_empty(weight.shape) if need_weight else None
        grad_bias = weight.new_empty((models, width)) if need_bias else None

        def loop(k0: int, k1: int) -> None:
            if grad_x is not None:
                numba_products.turned_products(grad_, weight_, False, grad_x.numpy(), k0, k1)
            if grad_weight is not None:
                numba_products.inner_products(x_, grad_, grad_weight.numpy(), k0, k1)
            if grad_bias is not None:
                numba_products.column_sums(grad_, grad_bias.numpy(), k0, k1)

        by_planes(loop, models, rows * weight.numel())
        if grad_x is not None and x.size(0) < models:
            grad_x = grad_x.sum(0, keepdim=True)
        return grad_x, grad_weight, grad_bias


class Dropout(torch.autograd.Function):
    """See :func:`lgan.ops.dropout`."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, stream: Tensor, rate: Tensor, first: int) -> Tensor:
        """Zero a share of the elements."""
        ctx.rest = (stream, rate, first)
        return _dropped(x, stream, rate, first)

    @staticmethod
    @first_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients pass where values pass, which is drawn again."""
        return _dropped(grad, *ctx.rest), None, None, None


def _dropped(x: Tensor, stream: Tensor, rate: Tensor, first: int) -> Tensor:
    out = x.new_empty(x.shape)
    own = x[:1] if x.stride(0) == 0 else x  # the same rows for all models
    words = stream.numpy().view("uint64")
    arrays = (_array(own), words, rate.numpy(), first, out.numpy())
    in_threads(numba_dropout.dropped, x.size(0), x.size(2), out.numel(), *arrays)
    return out

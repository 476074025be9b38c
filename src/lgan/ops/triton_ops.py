"""Differentiable operations over the kernels of :mod:`lgan.ops.triton_gpu`.

All tensors are planes ``[K, n, F]``.
"""

from typing import Any

import torch
from torch import Tensor

from lgan.ops import triton_gpu
from lgan.ops.first_order import first_order
from lgan.ops.incidence import ByNode, Incidence
from lgan.ops.triton_norm import LayerNorm as LayerNorm
from lgan.ops.triton_norm import Norm as Norm


class EgoSum(torch.autograd.Function):
    """See :func:`lgan.ops.ego_sum`."""

    @staticmethod
    def forward(
        ctx: Any,
        a: Tensor,
        table: Tensor | None,
        code: Tensor | None,
        incidence: Incidence,
        width: int,
        relu: bool,
    ) -> Tensor:
        """Encode the pairs once, then gather them by node."""
        rows, (u, v) = incidence.by_node, incidence.pair_index
        a = a.contiguous()
        z = triton_gpu.pair_forward(a, u, v, table, code, relu=relu)
        out = torch.empty_like(a)
        triton_gpu.gather_rows(
            rows.target_ptr, rows.target_pair, rows.target_weight, z, out, width=width
        )
        if a.size(-1) > width:
            _gather_sides(rows, z, out, width)
        ctx.save_for_backward(z, table, code)
        ctx.rest = (incidence, width, relu)
        return out

    @staticmethod
    @first_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Gather by pair, mask, then gather by node."""
        z, table, code = ctx.saved_tensors
        incidence, width, relu = ctx.rest
        rows, (u, v) = incidence.by_node, incidence.pair_index
        grad = grad.contiguous()
        grad_z = triton_gpu.pair_backward(
            grad, z, u, v, incidence.float_weights,
            incidence.opposite_ptr, incidence.opposite_index, width=width, relu=relu,
        )  # fmt: skip
        grad_a = torch.empty_like(grad)
        triton_gpu.gather_rows(
            rows.target_ptr, rows.target_pair, rows.target_ends, grad_z, grad_a,
            width=grad.size(-1),
        )  # fmt: skip
        grad_table = None
        if table is not None and code is not None:
            grad_table = torch.zeros_like(table).index_add_(1, code.long(), grad_z)
        elif table is not None:
            grad_table = grad_z
        return grad_a, grad_table, None, None, None, None


def _gather_sides(rows: ByNode, z: Tensor, out: Tensor, width: int) -> None:
    """``B_n`` times the second half of ``z``, into the second half of ``out``."""
    entries, pieces = (rows.side_pair, rows.side_weight), rows.side_pieces
    if pieces is None:
        triton_gpu.gather_rows(
            rows.side_ptr, *entries, z, out, width=width, x_offset=width, out_offset=width
        )
        return
    parts = z.new_empty((z.size(0), pieces.entry_ptr.numel() - 1, width), dtype=torch.float32)
    triton_gpu.gather_rows(pieces.entry_ptr, *entries, z, parts, width=width, x_offset=width)
    triton_gpu.gather_rows(pieces.row_ptr, None, None, parts, out, width=width, out_offset=width)


class LinearSum(torch.autograd.Function):
    """See :func:`lgan.ops.linear_sum`; its own transpose, so differentiable at will."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, incidence: Incidence, width: int, transposed: bool) -> Tensor:
        """Every node gathers its neighbours, and itself as often as it has any."""
        ctx.rest = (incidence, width, transposed)
        near, a = incidence.neighbours, a.detach().contiguous()
        out = torch.empty_like(a)
        triton_gpu.gather_rows(near.ptr, near.node, near.weight[transposed], a, out, width=width)
        out[..., :width] += near.degree[:, None] * a[..., :width]
        if a.size(-1) > width:
            triton_gpu.gather_rows(
                near.ptr, near.node, near.side[transposed], a, out, width=width,
                x_offset=width, out_offset=width,
            )  # fmt: skip
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """The product with the transpose."""
        incidence, width, transposed = ctx.rest
        return LinearSum.apply(grad, incidence, width, not transposed), None, None, None


class SegmentSum(torch.autograd.Function):
    """See :func:`lgan.ops.segment_sum`."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, ptr: Tensor) -> Tensor:
        """Weighted sums of consecutive rows."""
        ctx.save_for_backward(weight, ptr)
        out = x.new_empty((x.size(0), ptr.numel() - 1, x.size(2)))
        triton_gpu.gather_rows(ptr, None, weight, x.contiguous(), out, width=x.size(2))
        return out

    @staticmethod
    @first_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Every row gets what its segment gets, times its weight; none beyond the last."""
        weight, ptr = ctx.saved_tensors
        place = torch.arange(weight.numel(), device=ptr.device)
        segment = torch.searchsorted(ptr[1:], place, right=True)
        weight = torch.where(segment < grad.size(1), weight, 0)
        rows = grad.index_select(1, segment.clamp_(max=grad.size(1) - 1))
        return (rows * weight[:, None]).to(grad.dtype), None, None

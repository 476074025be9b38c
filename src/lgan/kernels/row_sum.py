"""Sums over a sparse pattern of zeros and ones, with the transpose at hand.

Both directions walk rows, so that nothing is added atomically and results repeat bit for bit.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from lgan.kernels import ops, torch_any

__all__ = ["SparseRows", "row_sum"]


@dataclass(frozen=True)
class SparseRows:
    """A matrix of zeros and ones by rows, and its transpose by rows.

    Attributes:
        ptr: Where the entries of each row begin ``[R + 1]`` int64.
        col: Their columns ``[M]`` int32 or int64.
        back_ptr: Where the entries of each column begin ``[C + 1]`` int64.
        back_col: Their rows ``[M]``.
    """

    ptr: Tensor
    col: Tensor
    back_ptr: Tensor
    back_col: Tensor

    @staticmethod
    def symmetric(ptr: Tensor, col: Tensor) -> "SparseRows":
        """A matrix that is its own transpose."""
        return SparseRows(ptr, col, ptr, col)

    @property
    def transposed(self) -> "SparseRows":
        """The transpose."""
        return SparseRows(self.back_ptr, self.back_col, self.ptr, self.col)

    @property
    def row_lengths(self) -> Tensor:
        """Entries of every row ``[R]``."""
        return torch.diff(self.ptr)


def row_sum(x: Tensor, rows: SparseRows) -> Tensor:
    """For every row the sum of the ``x`` of its columns, ``[*, C, F]`` to ``[*, R, F]``.

    Example:
        >>> ptr, col = torch.tensor([0, 2, 3]), torch.tensor([0, 1, 1])
        >>> rows = SparseRows(ptr, col, torch.tensor([0, 1, 3]), torch.tensor([0, 0, 1]))
        >>> row_sum(torch.tensor([[1.0], [10.0]]), rows).tolist()
        [[11.0], [10.0]]
    """
    columns = rows.back_ptr.numel() - 1
    if x.dim() < 2 or x.size(-2) != columns:
        # Compiled loops trust their indices, so that a wrong number of rows must not reach them.
        raise ValueError(
            f"`x` must have one row for each of {columns} columns, got shape {list(x.shape)}. "
            "Build the pattern from the same batch as `x`."
        )
    chosen = ops.backend_of(x)
    if chosen == "torch":
        one = x.new_ones(rows.col.numel())
        return torch_any.segment_sum(x.index_select(-2, rows.col.long()), one, rows.ptr)
    out: Tensor = _RowSum.apply(x if x.dim() == 3 else x.unsqueeze(0), rows, chosen)
    return out if x.dim() == 3 else out.squeeze(0)


class _RowSum(torch.autograd.Function):
    """The sums as compiled loops; linear, so differentiable at will."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, rows: SparseRows, backend: str) -> Tensor:
        ctx.rest = (rows, backend)
        x = x.detach().contiguous()
        out = x.new_zeros((x.size(0), rows.ptr.numel() - 1, x.size(2)))
        if backend == "triton":
            from lgan.kernels.triton_gpu import gather_rows

            gather_rows(rows.ptr, rows.col, None, x, out, width=x.size(2))
            return out
        from lgan.kernels import row_sum_numba
        from lgan.kernels.threads import in_threads

        arrays = [array.numpy() for array in (x, rows.ptr, rows.col, out)]
        work = x.size(0) * rows.col.numel() * x.size(2)
        in_threads(row_sum_numba.row_sum, x.size(0), x.size(2), work, *arrays)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        rows, backend = ctx.rest
        return _RowSum.apply(grad, rows.transposed, backend), None, None

"""Products with a sparse matrix, mostly of zeros and ones, with the transpose at hand.

Both directions walk rows, so that nothing is added atomically and results repeat bit for bit.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lgan.ops import torch_any
from lgan.ops.backends import backend_of
from lgan.ops.dispatch import planes_of
from lgan.ops.incidence import row_ptr


@dataclass(frozen=True)
class SparseRows:
    """A sparse matrix by rows, and its transpose by rows.

    Attributes:
        ptr: Where the entries of each row begin ``[R + 1]`` int64.
        col: Their columns ``[M]`` int32 or int64.
        back_ptr: Where the entries of each column begin ``[C + 1]`` int64.
        back_col: Their rows ``[M]``.
        weight: The entries ``[M]``; ones unless given.
        back_weight: The same in the order of the transpose.
    """

    ptr: Tensor
    col: Tensor
    back_ptr: Tensor
    back_col: Tensor
    weight: Tensor | None = None
    back_weight: Tensor | None = None

    @staticmethod
    def regular(col: Tensor, weight: Tensor, columns: int) -> "SparseRows":
        """A matrix with as many entries in every row, ``col`` and ``weight`` ``[R, e]``."""
        rows, each = col.shape
        order = torch.argsort(col.flatten(), stable=True)
        return SparseRows(
            ptr=torch.arange(rows + 1, device=col.device) * each,
            col=col.flatten(),
            back_ptr=row_ptr(col.flatten(), columns),
            back_col=order // each,
            weight=weight.flatten(),
            back_weight=weight.flatten()[order],
        )

    @staticmethod
    def symmetric(ptr: Tensor, col: Tensor) -> "SparseRows":
        """A matrix that is its own transpose."""
        return SparseRows(ptr, col, ptr, col)

    @cached_property
    def transposed(self) -> "SparseRows":
        """The transpose."""
        return SparseRows(
            self.back_ptr, self.back_col, self.ptr, self.col, self.back_weight, self.weight
        )

    @cached_property
    def arrays(self) -> tuple[Any, Any]:
        """Pointers and columns for compiled loops, checked, since these trust every index, and
        that there is an entry for each of them.
        """
        from lgan.ops.numba_rows import rising, within

        ptr, col = self.ptr.numpy(), self.col.numpy()
        integers = ptr.dtype == np.int64 and col.dtype in (np.int32, np.int64)
        if (
            not integers
            or ptr.ndim != 1
            or col.ndim != 1
            or not rising(ptr, col.size)
            or not within(col, self.back_ptr.numel() - 1)
            or (self.weight is None) != (self.back_weight is None)
            or (self.weight is not None and self.weight.shape != self.col.shape)
        ):
            raise ValueError(
                f"The entries of a sparse matrix must be {self.col.numel()} columns from 0 to "
                f"{self.back_ptr.numel() - 2}, row after row, and as many weights both ways or "
                "none. Build the pattern again."
            )
        return ptr, col

    @property
    def row_lengths(self) -> Tensor:
        """Entries of every row ``[R]``."""
        return torch.diff(self.ptr)


def row_sum(x: Tensor, rows: SparseRows) -> Tensor:
    """For every row the weighted sum of the ``x`` of its columns, ``[*, C, F]`` to ``[*, R, F]``.

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
    chosen = backend_of(x)
    if chosen == "torch":
        weight = _weight(rows, x)
        weight = x.new_ones(rows.col.numel()) if weight is None else weight
        return torch_any.segment_sum(x.index_select(-2, rows.col.long()), weight, rows.ptr)
    out: Tensor = _RowSum.apply(planes_of(x), rows, chosen)
    return out.view(*x.shape[:-2], *out.shape[-2:])


def _weight(rows: SparseRows, x: Tensor) -> Tensor | None:
    return None if rows.weight is None else rows.weight.to(x.dtype)


class _RowSum(torch.autograd.Function):
    """The sums as compiled loops; linear, so differentiable at will."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, rows: SparseRows, backend: str) -> Tensor:
        ctx.rest = (rows, backend)
        x = x.detach().contiguous()
        out = x.new_empty((x.size(0), rows.ptr.numel() - 1, x.size(2)))
        weight = _weight(rows, x)
        if backend == "triton":
            from lgan.ops.triton_gpu import gather_rows

            gather_rows(rows.ptr, rows.col, weight, x, out, width=x.size(2))
            return out
        from lgan.ops import numba_rows
        from lgan.ops.threads import in_threads

        loop = numba_rows.row_sum if weight is None else numba_rows.weighted_row_sum
        given = () if weight is None else (weight.numpy(),)
        arrays = (x.numpy(), *rows.arrays, *given, out.numpy())
        work = x.size(0) * rows.col.numel() * x.size(2)
        in_threads(loop, x.size(0), x.size(2), work, *arrays)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        rows, backend = ctx.rest
        return _RowSum.apply(grad, rows.transposed, backend), None, None

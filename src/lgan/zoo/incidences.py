"""Which cells lie on which, laid out for sums in both directions."""

from dataclasses import dataclass

import torch
from torch import Tensor

from lgan.graph import Cells
from lgan.graph.segments import group_by
from lgan.ops.row_sum import SparseRows


@dataclass(frozen=True)
class Incidences:
    """Pairs of an upper cell and a lower cell on its boundary, upper cell after upper cell.

    Attributes:
        boundary: From lower to upper cells: the sum over a cell's boundary.
        from_lower: From lower cells to pairs: the lower cell of every pair.
        from_upper: From upper cells to pairs: the upper cell of every pair.
    """

    boundary: SparseRows
    from_lower: SparseRows
    from_upper: SparseRows

    @staticmethod
    def of(family: Cells, num_upper: int, num_lower: int) -> "Incidences":
        """The pairs of a batch, from a family that :func:`incidence_cells` made."""
        upper, lower, order = family["upper"], family["lower"], family["order"]
        each = torch.arange(upper.numel() + 1, device=upper.device)
        upper_ptr, lower_ptr = _row_ptr(upper, num_upper), _row_ptr(lower[order.long()], num_lower)
        return Incidences(
            boundary=SparseRows(upper_ptr, lower, lower_ptr, upper[order.long()]),
            from_lower=SparseRows(each, lower, lower_ptr, order),
            from_upper=SparseRows(each, upper, upper_ptr, each[:-1]),
        )


def incidence_cells(
    ptr: Tensor, upper: Tensor, lower: Tensor, num_lower: int, *, names: tuple[str, str, str]
) -> Cells:
    """A family with one member for every pair of an upper and a lower cell.

    Args:
        ptr: Where the pairs of each graph begin ``[G + 1]``.
        upper: Upper cell of every pair, increasing ``[M]``.
        lower: Lower cell ``[M]``.
        num_lower: Number of lower cells.
        names: Names of this family, of the upper cells and of the lower cells.
    """
    order, _ = group_by(lower, torch.arange(lower.numel(), dtype=torch.int32), num_lower)
    own, above, below = names
    fields = {"upper": upper.int(), "lower": lower.int(), "order": order}
    return Cells(ptr, fields, {"upper": above, "lower": below, "order": own})


def adjacency_rows(family: Cells, num_cells: int) -> SparseRows:
    """Neighbours of a batch from a family of both directions, sorted by ``receiver``."""
    return SparseRows.symmetric(_row_ptr(family["receiver"], num_cells), family["sender"])


def _row_ptr(row: Tensor, rows: int) -> Tensor:
    """Where each of some rows begins in the increasing list of the rows of entries ``[R + 1]``."""
    return torch.searchsorted(row, torch.arange(rows + 1, dtype=row.dtype, device=row.device))


def refuse_merged_twins(multiplicity: Tensor, what: str) -> None:
    """Raise an error for a data set whose twins are merged."""
    if bool((multiplicity > 1).any()):
        raise ValueError(
            f"{what} are listed in graphs as they are, got a data set whose twins are merged. "
            "Load it with `compress=False`."
        )

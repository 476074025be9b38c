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

    Where twins are merged, a cell stands for all that twins can be exchanged in, and a pair for
    all such pairs of one upper cell, or of one lower cell: sums count them.

    Attributes:
        boundary: From lower to upper cells: the sum over a cell's boundary.
        coboundary: From upper to lower cells: the sum over all cells that a cell bounds.
        from_lower: From lower cells to pairs: the lower cell of every pair.
        from_upper: From upper cells to pairs: the upper cell of every pair.
        to_lower: From pairs to lower cells: the sum over all pairs of a lower cell.
        to_upper: From pairs to upper cells: the sum over all pairs of an upper cell.
    """

    boundary: SparseRows
    coboundary: SparseRows
    from_lower: SparseRows
    from_upper: SparseRows
    to_lower: SparseRows
    to_upper: SparseRows

    @staticmethod
    def of(family: Cells, num_upper: int, num_lower: int) -> "Incidences":
        """The pairs of a batch, from a family that :func:`incidence_cells` made."""
        upper, lower, order = family["upper"], family["lower"], family["order"]
        above, below = upper[order.long()], lower[order.long()]  # sorted by the lower cell
        upper_ptr, lower_ptr = _row_ptr(upper, num_upper), _row_ptr(below, num_lower)
        each = torch.arange(upper.numel() + 1, device=upper.device)
        counts = [family.fields.get(name) for name in ("lowers", "uppers")]
        m, n = counts
        m_below, n_below = (None if own is None else own[order.long()] for own in counts)
        return Incidences(
            boundary=SparseRows(upper_ptr, lower, lower_ptr, above, m, m_below),
            coboundary=SparseRows(lower_ptr, above, upper_ptr, lower, n_below, n),
            from_lower=SparseRows(each, lower, lower_ptr, order),
            from_upper=SparseRows(each, upper, upper_ptr, each[:-1]),
            to_lower=SparseRows(lower_ptr, order, each, lower, n_below, n),
            to_upper=SparseRows(upper_ptr, each[:-1], each, upper, m, m),
        )


def incidence_cells(
    ptr: Tensor,
    upper: Tensor,
    lower: Tensor,
    num_lower: int,
    *,
    names: tuple[str, str, str],
    counts: tuple[Tensor, Tensor] | None = None,
) -> Cells:
    """A family with one member for every pair of an upper and a lower cell.

    Args:
        ptr: Where the pairs of each graph begin ``[G + 1]``.
        upper: Upper cell of every pair, increasing ``[M]``.
        lower: Lower cell ``[M]``.
        num_lower: Number of lower cells.
        names: Names of this family, of the upper cells and of the lower cells.
        counts: Where twins are merged: cells like the lower one that the upper one has, and cells
            like the upper one that the lower one has, for every pair ``[M]``.
    """
    order, _ = group_by(lower, torch.arange(lower.numel(), dtype=torch.int32), num_lower)
    own, above, below = names
    fields = {"upper": upper.int(), "lower": lower.int(), "order": order}
    if counts is not None:
        fields |= dict(zip(("lowers", "uppers"), counts, strict=True))
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

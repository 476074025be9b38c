"""From node representations to graph representations."""

from collections.abc import Sequence
from typing import Literal, get_args

import torch
from torch import Tensor

from lgan import ops

__all__ = ["Readout", "check_readout", "grouped_max", "readout", "readout_names", "skip_cat"]

Readout = Literal["sum", "mean", "max"]


def check_readout(name: str) -> None:
    """Raise an error unless the name is that of a read-out."""
    if name not in get_args(Readout):
        raise ValueError(f"`readout` must be one of {get_args(Readout)}, got {name!r}.")


def readout_names(name: str) -> tuple[Readout, ...]:
    """The read-outs of a name that may join several, or an error.

    Example:
        >>> readout_names("sum+max")
        ('sum', 'max')
    """
    names = name.split("+")
    for each in names:
        check_readout(each)
    if len(set(names)) < len(names):
        raise ValueError(f"`readout` must name each read-out once, got {name!r}.")
    return tuple(names)  # type: ignore[arg-type]


def readout(x: Tensor, ptr: Tensor, multiplicity: Tensor, reduce: Readout) -> Tensor:
    """Sum, mean or maximum over the nodes of each graph, twins counted as often as they are.

    Args:
        x: Node representations, graph after graph.
        ptr: Where each graph begins ``[B + 1]``.
        multiplicity: Nodes each row stands for ``[n]``.
        reduce: What to take. A graph without nodes gives 0 in all cases.

    Shapes:
        ``x``: ``[*, n, F]``; result: ``[*, B, F]``.
    """
    graphs = ptr.numel() - 1
    if reduce == "max":
        place = torch.arange(x.size(-2), device=x.device)
        graph = torch.searchsorted(ptr[1:], place, right=True)  # nodes beyond the last: a spare row
        return grouped_max(x, graph, graphs + 1)[..., :graphs, :]
    if reduce == "mean":
        total = ops.segment_sum(torch.ones_like(x[..., :1]).detach(), multiplicity, ptr)
        return ops.segment_sum(x, multiplicity, ptr) / total.clamp(min=1)
    return ops.segment_sum(x, multiplicity, ptr)


def grouped_max(x: Tensor, group: Tensor, groups: int) -> Tensor:
    """The maximum over the rows of every group, 0 where there are none.

    Shapes:
        ``x``: ``[*, n, F]``; ``group``: ``[n]``; result: ``[*, groups, F]``.
    """
    # From -inf, which is the largest of nothing: torch would take a 0 for one more row.
    least = x.new_full((*x.shape[:-2], groups, x.size(-1)), -torch.inf)
    most = least.scatter_reduce(-2, group[:, None].expand_as(x), x, "amax")
    empty = torch.ones(groups, dtype=torch.bool, device=x.device).index_fill(0, group, False)
    return most.masked_fill(empty[:, None], 0)


def skip_cat(
    levels: Sequence[Tensor], ptr: Tensor, multiplicity: Tensor, reduce: Sequence[Readout]
) -> Tensor:
    """The read-outs of all levels side by side ``[*, B, (F_1 + … + F_L) · R]``, one after another.

    That is the read-out of their concatenation, without building it.
    """
    parts = [readout(level, ptr, multiplicity, how) for how in reduce for level in levels]
    models = parts[-1].shape[:-2]  # the input is the same for all models
    return torch.cat([part.expand(*models, -1, -1) for part in parts], -1)

"""From node representations to graph representations."""

from collections.abc import Sequence
from typing import Literal, get_args

import torch
from torch import Tensor

from lgan import ops

Readout = Literal["sum", "mean", "max", "squashed"]


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
    """Sum, mean, maximum or squashed sum over the nodes of each graph, twins counted as often as
    they are.

    Args:
        x: Node representations, graph after graph.
        ptr: Where each graph begins ``[B + 1]``.
        multiplicity: Nodes each row stands for ``[n]``.
        reduce: What to take. A graph without nodes gives 0 in all cases.

    Shapes:
        ``x``: ``[*, n, F]``; result: ``[*, B, F]``.
    """
    if reduce == "max":
        return ops.segment_max(x, ptr)
    return _from_sum(ops.segment_sum(x, multiplicity, ptr), ptr, multiplicity, reduce)


def _from_sum(total: Tensor, ptr: Tensor, multiplicity: Tensor, reduce: Readout) -> Tensor:
    if reduce == "mean":
        ones = torch.ones(multiplicity.numel(), 1, dtype=total.dtype, device=total.device)
        return total / ops.segment_sum(ones, multiplicity, ptr).clamp(min=1)
    return total.asinh() if reduce == "squashed" else total


def skip_cat(
    levels: Sequence[Tensor], ptr: Tensor, multiplicity: Tensor, reduce: Sequence[Readout]
) -> Tensor:
    """The read-outs of all levels side by side ``[*, B, (F_1 + … + F_L) · R]``, one after another.

    That is the read-out of their concatenation, without building it.
    """
    if tuple(reduce) == ("max",):
        sums, largest = [], [ops.segment_max(level, ptr) for level in levels]
    elif "max" in reduce:
        read = [ops.segment_sum_max(level, multiplicity, ptr) for level in levels]
        sums, largest = [total for total, _ in read], [most for _, most in read]
    else:
        sums, largest = [ops.segment_sum(level, multiplicity, ptr) for level in levels], []
    parts: list[Tensor] = []
    for how in reduce:
        parts += (
            largest
            if how == "max"
            else [_from_sum(total, ptr, multiplicity, how) for total in sums]
        )
    models = parts[-1].shape[:-2]  # the input is the same for all models
    return torch.cat([part.expand(*models, -1, -1) for part in parts], -1)

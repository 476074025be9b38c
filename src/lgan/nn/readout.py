"""From node representations to graph representations."""

from typing import Literal, get_args

import torch
from torch import Tensor

from lgan import kernels

__all__ = ["Readout", "check_readout", "readout"]

Readout = Literal["sum", "mean", "max"]


def check_readout(name: str) -> None:
    """Raise an error unless the name is that of a read-out."""
    if name not in get_args(Readout):
        raise ValueError(f"`readout` must be one of {get_args(Readout)}, got {name!r}.")


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
        # From -inf, which is the largest of nothing: torch would take a 0 for one more node.
        least = x.new_full((*x.shape[:-2], graphs + 1, x.size(-1)), -torch.inf)
        most = least.scatter_reduce(-2, graph[:, None].expand_as(x), x, "amax")[..., :graphs, :]
        return most.masked_fill((torch.diff(ptr) == 0)[:, None], 0)
    if reduce == "mean":
        total = kernels.segment_sum(torch.ones_like(x[..., :1]).detach(), multiplicity, ptr)
        return kernels.segment_sum(x, multiplicity, ptr) / total.clamp(min=1)
    return kernels.segment_sum(x, multiplicity, ptr)

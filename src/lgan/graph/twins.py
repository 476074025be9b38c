"""Exact compression: true twins and the graph of their classes."""

import torch
from torch import Tensor

from lgan.graph.segments import lengths_to_ptr, segment_ids

__all__ = ["twin_classes"]


def twin_classes(pair_index: Tensor, num_nodes: int, x: Tensor | None = None) -> Tensor:
    """The class of every node under true twinship, ``[num_nodes]`` int64.

    Two nodes are true twins if they are adjacent, have the same closed neighbourhood and the
    same features. Classes are numbered in the order of their first member. O(n + m log m).

    Args:
        pair_index: Pairs ``[2, P]`` as ``undirected_pairs`` returns them.
        num_nodes: Number of nodes.
        x: Features, ``[num_nodes]`` category ids or ``[num_nodes, F]``.

    Example:
        >>> paw = torch.tensor([[0, 0, 1, 2], [1, 2, 2, 3]])  # a triangle 012 with a tail 23
        >>> twin_classes(paw, num_nodes=4)
        tensor([0, 0, 1, 2])
    """
    device = pair_index.device
    u, v = pair_index
    loops = torch.arange(num_nodes, device=device)
    row = torch.cat([u, v, loops])
    col = torch.cat([v, u, loops])
    order = torch.argsort(row * num_nodes + col)
    row, col = row[order], col[order]
    degree = torch.bincount(row, minlength=num_nodes)
    ptr = lengths_to_ptr(degree)
    kind = degree if x is None else _joint(degree, _row_ids(x))

    generator = torch.Generator().manual_seed(0x7E1)
    while True:
        # Equal lists have equal sums of random words; the converse is verified below.
        word = torch.randint(-(2**62), 2**62, (num_nodes,), generator=generator).to(device)
        total = torch.cat([word.new_zeros(1), torch.cumsum(word[col], 0)])
        twin_of = _first_of_group(_joint(kind, _row_ids(total[ptr[1:]] - total[ptr[:-1]])))
        other = col[ptr[twin_of[row]] + torch.arange(row.numel(), device=device) - ptr[row]]
        if bool((other == col).all()):
            break
    number = torch.cumsum(twin_of == loops, 0) - 1
    classes: Tensor = number[twin_of]
    return classes


def _row_ids(values: Tensor) -> Tensor:
    """Equal rows get equal ids."""
    if values.dim() > 1 and values.size(1) == 0:
        return values.new_zeros(values.size(0), dtype=torch.int64)
    if values.dim() == 1 and values.dtype == torch.int64 and values.numel():
        low, high = torch.aminmax(values)
        if int(high) - int(low) < 2 * values.numel():
            return values - low
    dim = 0 if values.dim() > 1 else None
    ids: Tensor = torch.unique(values, dim=dim, return_inverse=True)[1]
    return ids


def _joint(a: Tensor, b: Tensor) -> Tensor:
    return a * (int(b.max()) + 1 if b.numel() else 1) + b


def _first_of_group(group: Tensor) -> Tensor:
    """The first element of the same group, for every element."""
    order = torch.argsort(group, stable=True)
    ordered = group[order]
    starts = torch.ones_like(ordered, dtype=torch.bool)
    starts[1:] = ordered[1:] != ordered[:-1]
    begin = starts.nonzero().squeeze(1)
    lengths = torch.diff(begin, append=begin.new_tensor([group.numel()]))
    first = torch.empty_like(group)
    first[order] = order[begin][segment_ids(lengths_to_ptr(lengths))]
    return first

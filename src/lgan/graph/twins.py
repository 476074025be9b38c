"""Exact compression: true twins and the graph of their classes."""

import torch
from torch import Tensor

from lgan.graph.segments import lengths_to_ptr


def twin_classes(
    pair_index: Tensor, num_nodes: int, x: Tensor | None = None, edge_kind: Tensor | None = None
) -> Tensor:
    """The class of every node under true twinship, ``[num_nodes]`` int64.

    Two nodes are true twins if they are adjacent, have the same closed neighbourhood, the same
    features, and edges of the same kind to every third node. Being twins is then transitive, and
    all edges inside a class are of one kind. Classes are numbered in the order of their first
    member. O(n + m log m).

    Args:
        pair_index: Pairs ``[2, P]`` as ``undirected_pairs`` returns them.
        num_nodes: Number of nodes.
        x: Features, ``[num_nodes]`` category ids or ``[num_nodes, F]``.
        edge_kind: Features of the pairs, ``[P]`` numbers from 0 on of equal ones; ``[2, P]`` where
            the first node of a pair and the second see different ones. Twins see the same.

    Example:
        >>> paw = torch.tensor([[0, 0, 1, 2], [1, 2, 2, 3]])  # a triangle 012 with a tail 23
        >>> twin_classes(paw, num_nodes=4)
        tensor([0, 0, 1, 2])
        >>> twin_classes(paw, num_nodes=4, edge_kind=torch.tensor([0, 0, 1, 0]))
        tensor([0, 1, 2, 3])
    """
    device = pair_index.device
    u, v = pair_index.long()
    nodes = torch.arange(num_nodes, device=device)
    row, col = torch.cat([u, v, nodes]), torch.cat([v, u, nodes])
    order = torch.argsort(row * num_nodes + col)
    row, col = row[order], col[order]
    seen = torch.ones_like(u) if edge_kind is None else edge_kind.long() + 1
    inside, from_v = seen if seen.dim() == 2 else (seen, seen)
    kind = torch.cat([inside, from_v, torch.zeros_like(nodes)])[order]  # 0: a node with itself
    ptr = lengths_to_ptr(torch.bincount(row, minlength=num_nodes))
    own = ptr.diff() if x is None else _joint(ptr.diff(), _row_ids(x))
    # In most graphs most edges have ends that differ already.
    alike = ((own[u] == own[v]) & (inside == from_v)).nonzero().squeeze(1)
    u, v, inside = u[alike], v[alike], inside[alike]

    generator = torch.Generator().manual_seed(0x7E1)
    kinds = int(kind.max()) + 1 if kind.numel() else 1
    while True:
        # Twins have equal sums of random words, once each counts itself by the kind of the edge
        # between them; the converse is verified.
        word = torch.randint(-(2**62), 2**62, (num_nodes,), generator=generator).to(device)
        factor = torch.randint(-(2**62), 2**62, (kinds,), generator=generator).to(device) | 1
        factor[0] = 0
        total = torch.cat([word.new_zeros(1), torch.cumsum(word[col] * factor[kind], 0)])
        total = total[ptr[1:]] - total[ptr[:-1]]
        same = total[u] + word[u] * factor[inside] == total[v] + word[v] * factor[inside]
        first = nodes.scatter_reduce(0, v[same], u[same], "amin")
        # Entry by entry beside the list of the first node of the class.
        there = ptr[first[row]] + torch.arange(row.numel(), device=device) - ptr[row]
        between = (col == row) | (col == first[row])
        if bool(((col[there] == col) & ((kind[there] == kind) | between)).all()):
            break
    number = torch.cumsum(first == nodes, 0) - 1
    classes: Tensor = number[first]
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

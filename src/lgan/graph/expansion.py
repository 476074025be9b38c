"""The way back from classes of true twins to nodes."""

import torch
from torch import Tensor

from lgan.graph.segments import lengths_to_ptr


def expand_classes(pair_index: Tensor, multiplicity: Tensor) -> tuple[Tensor, Tensor]:
    """The edges of the original graph, and the pair that stood for each.

    The nodes of class ``c`` are ``k_0 + … + k_{c-1}`` and those that follow.

    Args:
        pair_index: Pairs of classes ``[2, P]``, those of a class with itself included.
        multiplicity: Nodes ``k`` each class stands for ``[n]``.

    Returns:
        Edges ``u < v`` in lexicographic order ``[2, E]``, and their pairs ``[E]``.

    Example:
        >>> paw = torch.tensor([[0, 0, 1], [0, 1, 2]])  # twins, the node at both, a tail
        >>> expand_classes(paw, torch.tensor([2, 1, 1]))
        (tensor([[0, 0, 1, 2],
                [1, 2, 2, 3]]), tensor([0, 1, 1, 2]))
    """
    k = multiplicity.long()
    start = lengths_to_ptr(k)
    u, v = pair_index.long()
    count = k[u] * k[v]
    pair = torch.repeat_interleave(torch.arange(u.numel(), device=u.device), count)
    place = torch.arange(pair.numel(), device=u.device) - lengths_to_ptr(count)[pair]
    a = start[u][pair] + place // k[v][pair]
    b = start[v][pair] + place % k[v][pair]
    kept = a < b  # a class with itself meets every two nodes twice, and each node once
    key, order = torch.sort((a * start[-1] + b)[kept])
    return torch.stack([key // start[-1], key % start[-1]]), pair[kept][order]

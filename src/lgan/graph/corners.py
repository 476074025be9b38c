"""The nodes that lie in triangles, where they are few, as a graph of their own.

A molecule has a triangle now and then: a ring of three atoms. The neighbour branch then speaks to
these atoms alone, and a layer need not multiply matrices for all the others.
"""

import torch
from torch import Tensor

# A node or pair in so many may lie in a triangle (measured: at a third nothing is gained).
ONE_IN = 4


def few_corners(
    pair_index: Tensor, pair_triangles: Tensor, entries: int, num_nodes: int
) -> tuple[Tensor, Tensor] | None:
    """The corners of a graph with few triangles ``[m]`` int64, and the pairs between them that lie
    in triangles ``[p]``; ``None`` where there are many, or none.

    Args:
        pair_index: The pairs ``[2, P]``.
        pair_triangles: Triangles of every pair ``[P]``.
        entries: Nodes opposite pairs, over all pairs.
        num_nodes: Number of nodes.
    """
    pairs = pair_index.size(1)
    if entries * ONE_IN > pairs:
        return None
    inside = (pair_triangles > 0).nonzero().squeeze(1)
    if not 0 < inside.numel() * ONE_IN <= pairs:
        return None
    # The node opposite a pair is an end of the other two pairs of the triangle.
    nodes = torch.unique(pair_index[:, inside]).long()
    return None if nodes.numel() * ONE_IN > num_nodes else (nodes, inside)

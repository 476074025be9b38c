"""The nodes that lie in triangles, where they are few, as a graph of their own.

A molecule has a triangle now and then: a ring of three atoms. The neighbour branch then speaks to
these atoms alone, and a layer need not multiply matrices for all the others.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from lgan.graph.ego_lines import EgoLines

# A node or pair in so many may lie in a triangle (measured: at a third nothing is gained).
ONE_IN = 4


@dataclass(frozen=True)
class Corners:
    """Corners of triangles.

    Attributes:
        nodes: Their numbers in the whole graph, in order ``[m]`` int64.
        lines: The pairs between them that lie in triangles, and what lies opposite these.
    """

    nodes: Tensor
    lines: "EgoLines"


def few_corners(lines: "EgoLines") -> Corners | None:
    """The corners of a graph with few triangles; ``None`` where there are many, or none."""
    pairs = lines.num_pairs
    if lines.opposite_index.numel() * ONE_IN > pairs:
        return None
    inside = (lines.pair_triangles > 0).nonzero().squeeze(1)
    if not 0 < inside.numel() * ONE_IN <= pairs:
        return None
    ends = lines.pair_index[:, inside]
    # The node opposite a pair is an end of the other two pairs of the triangle.
    nodes = torch.unique(ends).long()
    if nodes.numel() * ONE_IN > lines.num_nodes:
        return None
    place = ends.new_empty(lines.num_nodes)
    place[nodes] = torch.arange(nodes.numel(), dtype=place.dtype, device=place.device)
    part = replace(
        lines,
        num_nodes=nodes.numel(),
        pair_index=place[ends.long()],
        opposite_index=place[lines.opposite_index.long()],
        opposite_count=lines.opposite_count[inside],
        pair_triangles=lines.pair_triangles[inside],
        multiplicity=lines.multiplicity[nodes],
        **{"pair_rows": None, **lines.table_of(inside)},
        known=None,
        _trusted=True,
    )
    return Corners(nodes, part)

"""The cell complex of every graph of a data set: nodes, edges, and rings.

A ring is an induced (chordless) cycle, as in the molecular lifting of *Weisfeiler and Lehman Go
Cellular: CW Networks* (Bodnar et al., NeurIPS 2021).
"""

from collections.abc import Callable

import torch
from torch import Tensor

from lgan.graph import Cells, GraphUnion, Lift
from lgan.graph.cells import NODES
from lgan.graph.rings import MAX_RINGS, MAX_STEPS, RingSearch
from lgan.zoo.incidences import incidence_cells, refuse_merged_twins

# Families of cells, and of pairs of a cell and one on its boundary.
EDGES, RINGS, EDGE_NODES, RING_EDGES = "edges", "rings", "edge_nodes", "ring_edges"


def cw_lift(max_ring: int = 6, *, max_rings: int = MAX_RINGS, max_steps: int = MAX_STEPS) -> Lift:
    """A transform that adds edges and chordless cycles of up to ``max_ring`` nodes as cells.

    Args:
        max_ring: Nodes of the largest ring, 3 or more.
        max_rings: Rings a data set may have.
        max_steps: Steps the search may take.
    """
    if max_ring < 3:
        raise ValueError(f"`max_ring` must be 3 or more, got {max_ring}.")

    def refuse(name: str, pair_index: Tensor, node_ptr: Tensor) -> None:
        # Triangles alone, at once: they are rings, and the count ends where it passes the limit.
        advice = "Choose a model that needs no rings."
        search = RingSearch(pair_index, int(node_ptr[-1]), 3, name=name, advice=advice)
        search.count(max_rings, max_steps)

    def apply(union: GraphUnion, progress: Callable[[float], None]) -> dict[str, Cells]:
        refuse_merged_twins(union.lines.multiplicity, "Rings")
        smaller = "a smaller `max_ring`, or " if max_ring > 3 else ""
        advice = f"Choose {smaller}a model that needs no rings."
        pairs, nodes = union.lines.pair_index, union.lines.num_nodes
        search = RingSearch(pairs, nodes, max_ring, name=union.name, advice=advice)
        rings, edges = search.count(max_rings, max_steps, lambda done: progress(done / 2))
        start, length, member = search.fill(rings, edges, lambda done: progress((1 + done) / 2))
        return _families(union, *(torch.from_numpy(a) for a in (start, length, member)))

    return Lift(f"cw max_ring={max_ring}", apply, refuse)


def _families(union: GraphUnion, start: Tensor, length: Tensor, member: Tensor) -> dict[str, Cells]:
    pairs, num_nodes = union.lines.pair_index, union.lines.num_nodes
    edge = torch.arange(pairs.size(1), dtype=torch.int32)
    ring = torch.repeat_interleave(torch.arange(start.numel(), dtype=torch.int32), length)
    ring_ptr = torch.searchsorted(start, union.node_ptr.int())
    # Rings lie graph after graph, and so do their edges.
    member_ptr = torch.searchsorted(ring, ring_ptr.int())
    return {
        EDGES: Cells(union.pair_ptr, {"node": pairs[0].clone()}, {"node": NODES}),
        RINGS: Cells(ring_ptr, {"node": start}, {"node": NODES}),
        EDGE_NODES: incidence_cells(
            2 * union.pair_ptr,
            edge.repeat_interleave(2),
            pairs.t().reshape(-1),
            num_nodes,
            names=(EDGE_NODES, EDGES, NODES),
        ),
        RING_EDGES: incidence_cells(
            member_ptr, ring, member, edge.numel(), names=(RING_EDGES, RINGS, EDGES)
        ),
    }

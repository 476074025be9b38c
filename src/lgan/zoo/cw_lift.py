"""The cell complex of every graph of a data set: nodes, edges, and rings.

A ring is an induced (chordless) cycle, as in the molecular lifting of *Weisfeiler and Lehman Go
Cellular: CW Networks* (Bodnar et al., NeurIPS 2021).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lgan.graph import Cells, GraphUnion, Lift
from lgan.graph.cells import NODES
from lgan.zoo.incidences import incidence_cells, neighbour_lists, refuse_merged_twins

__all__ = ["EDGES", "EDGE_NODES", "RINGS", "RING_EDGES", "cw_lift"]

# Families of cells, and of pairs of a cell and one on its boundary.
EDGES, RINGS, EDGE_NODES, RING_EDGES = "edges", "rings", "edge_nodes", "ring_edges"

MAX_RINGS = 1 << 24
# Steps of the search, about a minute: a graph can have many long paths and yet few rings.
MAX_STEPS = 1 << 34
# Parts of the search between which progress is told.
PARTS = 64

Integers = NDArray[np.integer[Any]]


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
        search = _Search(name, pair_index, int(node_ptr[-1]), 3)
        search.count(max_rings, max_steps, lambda _: None)

    def apply(union: GraphUnion, progress: Callable[[float], None]) -> dict[str, Cells]:
        refuse_merged_twins(union.lines.multiplicity, "Rings")
        search = _Search(union.name, union.lines.pair_index, union.lines.num_nodes, max_ring)
        rings, edges = search.count(max_rings, max_steps, lambda done: progress(done / 2))
        start, length, member = search.fill(rings, edges, lambda done: progress((1 + done) / 2))
        return _families(union, *(torch.from_numpy(a) for a in (start, length, member)))

    return Lift(f"cw max_ring={max_ring}", apply, refuse)


class _Search:
    """The chordless cycles of all graphs at once."""

    def __init__(self, name: str, pair_index: Tensor, num_nodes: int, max_ring: int) -> None:
        self.name, self.longest = name, max_ring
        self.ptr, self.node, self.pair = neighbour_lists(pair_index, num_nodes)
        entries = np.linspace(0, self.node.size, PARTS + 1)[1:-1]
        cuts = np.searchsorted(self.ptr[1:], entries)
        self.parts = np.unique(np.concatenate([[0], cuts, [self.ptr.size - 1]])).tolist()

    def count(
        self, max_rings: int, max_steps: int, progress: Callable[[float], None]
    ) -> tuple[int, int]:
        """How many rings there are and how many edges they have in all."""
        from lgan.zoo.rings_numba import list_rings

        none = np.empty(0, np.int32)
        rings = edges = steps = 0
        for i in range(len(self.parts) - 1):
            roots = (self.parts[i], self.parts[i + 1])
            more = list_rings(
                *(self.ptr, self.node, self.pair, roots, self.longest, max_steps - steps),
                *(none, none, none),
            )
            rings, edges, steps = rings + more[0], edges + more[1], steps + more[2]
            if rings > max_rings or steps > max_steps:
                raise ValueError(self._too_many(rings, max_rings, max_steps))
            progress((i + 1) / (len(self.parts) - 1))
        return rings, edges

    def _too_many(self, rings: int, max_rings: int, max_steps: int) -> str:
        what, name = f"rings of up to {self.longest} nodes", self.name or "The set"
        smaller = "a smaller `max_ring`, or " if self.longest > 3 else ""
        advice = f"Choose {smaller}a model that needs no rings."
        if rings > max_rings:
            limit = f"above the limit of {max_rings:,} for CW Networks"
            return f"{name} has {rings:,} {what} or more, {limit}. {advice}"
        return f"{name}: the search for {what} takes more than {max_steps:,} steps. {advice}"

    def fill(
        self, rings: int, edges: int, progress: Callable[[float], None]
    ) -> tuple[Integers, Integers, Integers]:
        """Least node and length of every ring, and the edges of all."""
        from lgan.zoo.rings_numba import list_rings

        start, length = np.empty(rings, np.int32), np.empty(rings, np.int32)
        member = np.empty(edges, np.int32)
        ring = edge = 0
        for i in range(len(self.parts) - 1):
            roots = (self.parts[i], self.parts[i + 1])
            more = list_rings(
                *(self.ptr, self.node, self.pair, roots, self.longest, MAX_STEPS),
                *(start[ring:], length[ring:], member[edge:]),
            )
            ring, edge = ring + more[0], edge + more[1]
            progress((i + 1) / (len(self.parts) - 1))
        return start, length, member


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

"""The cell complex of every graph of a data set: nodes, edges, and rings.

A ring is an induced (chordless) cycle, as in the molecular lifting of *Weisfeiler and Lehman Go
Cellular: CW Networks* (Bodnar et al., NeurIPS 2021).

Cells that differ by twins alone have equal representations in every layer. Where twins are merged,
one cell stands for all of them: two true twins never lie on one ring of four nodes or more, so
that the rings of the graph are those of its classes, and the triangles with two or three nodes of
one class. Every cell says for how many it stands.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from lgan.graph import Cells, EgoLines, GraphUnion, Lift
from lgan.graph.cells import NODES
from lgan.graph.rings import MAX_RINGS, MAX_STEPS, RingSearch
from lgan.graph.segments import concat_ranges, lengths_to_ptr
from lgan.zoo.incidences import incidence_cells

# Families of cells, and of pairs of a cell and one on its boundary.
EDGES, RINGS, EDGE_NODES, RING_EDGES = "edges", "rings", "edge_nodes", "ring_edges"


def cw_lift(max_ring: int = 6, *, max_rings: int = MAX_RINGS, max_steps: int = MAX_STEPS) -> Lift:
    """A transform that adds edges and chordless cycles of up to ``max_ring`` nodes as cells.

    Args:
        max_ring: Nodes of the largest ring, 3 or more.
        max_rings: Rings a data set may have, those that stand for others counted once.
        max_steps: Steps the search may take.
    """
    if max_ring < 3:
        raise ValueError(f"`max_ring` must be 3 or more, got {max_ring}.")

    def search(union: GraphUnion, proper: Tensor, longest: int) -> RingSearch:
        smaller = "a smaller `max_ring`, or " if longest > 3 else ""
        advice = f"Choose {smaller}a model that needs no rings."
        pairs = union.lines.pair_index[:, proper]
        return RingSearch(pairs, union.lines.num_nodes, longest, name=union.name, advice=advice)

    def apply(union: GraphUnion, progress: Callable[[float], None]) -> dict[str, Cells]:
        pairs = union.lines.pair_index
        proper = (pairs[0] != pairs[1]).nonzero().squeeze(1)
        # Triangles alone, at once: they are rings, and the count ends where it passes the limit.
        search(union, proper, 3).count(max_rings, max_steps)
        longer = search(union, proper, max_ring)
        rings, edges = longer.count(max_rings, max_steps, lambda done: progress(done / 2))
        found = longer.fill(rings, edges, lambda done: progress((1 + done) / 2))
        node, length, member = (torch.from_numpy(array) for array in found)
        edge = proper[member.long()]
        return _families(union, _Rings.of_classes(node, length, edge, union.lines))

    return Lift(f"cw max_ring={max_ring}", apply)


@dataclass(frozen=True)
class _Rings:
    """Rings, graph after graph; where twins are merged, one for all that they make of it.

    Attributes:
        node: One of its nodes ``[R]``.
        size: Rings it stands for ``[R]``.
        length: How many different edges it has ``[R]``.
        edge: These edges, ring after ring ``[M]``.
        times: How often it has each of them ``[M]``.
    """

    node: Tensor
    size: Tensor
    length: Tensor
    edge: Tensor
    times: Tensor

    @staticmethod
    def of_classes(node: Tensor, length: Tensor, edge: Tensor, lines: EgoLines) -> "_Rings":
        """The rings of different classes, and the triangles with two or three nodes of one class.

        Args:
            node: One node of every ring of different classes.
            length: How many edges it has.
            edge: These, ring after ring.
            lines: All pairs.
        """
        k, pairs = lines.multiplicity.long(), lines.pair_index.long()
        ring = torch.arange(node.numel()).repeat_interleave(length)
        # Every node of a ring is on two of its edges.
        squares = torch.ones(node.numel(), dtype=torch.float64)
        squares = squares.scatter_reduce(0, ring, k[pairs[:, edge]].prod(0).double(), "prod")
        own = (pairs[0] == pairs[1]).nonzero().squeeze(1)
        own_of = torch.full_like(k, -1)
        own_of[pairs[0, own]] = own
        twice, other = torch.cat([pairs, pairs.flip(0)], 1)
        beside = ((own_of[twice] >= 0) & (twice != other)).nonzero().squeeze(1)
        twice, other, across = twice[beside], other[beside], beside % pairs.size(1)
        thrice = own[k[pairs[0, own]] > 2]
        three = pairs[0, thrice]
        every = _Rings(
            node=torch.cat([node.long(), twice, three]),
            size=torch.cat([
                squares.sqrt().round().long(),
                k[twice] * (k[twice] - 1) // 2 * k[other],
                k[three] * (k[three] - 1) * (k[three] - 2) // 6,
            ]),
            length=torch.cat([length.long(), torch.full_like(twice, 2), torch.ones_like(three)]),
            edge=torch.cat([edge, torch.stack([own_of[twice], across], 1).flatten(), thrice]),
            times=torch.cat([
                torch.ones_like(edge), edge.new_tensor([1, 2]).repeat(len(twice)),
                torch.full_like(three, 3),
            ]),
        )  # fmt: skip
        order = torch.argsort(every.node, stable=True)
        rows = concat_ranges(lengths_to_ptr(every.length)[:-1][order], every.length[order])
        return _Rings(
            every.node[order], every.size[order], every.length[order], every.edge[rows],
            every.times[rows],
        )  # fmt: skip


def _families(union: GraphUnion, rings: _Rings) -> dict[str, Cells]:
    pairs, k = union.lines.pair_index, union.lines.multiplicity.long()
    low, high = pairs.long()
    twins = low == high
    edge_size = torch.where(twins, k[low] * (k[low] - 1) // 2, k[low] * k[high])
    # The ends of every edge; those of an edge between twins are one.
    end = torch.stack([torch.ones_like(twins), ~twins], 1).flatten().nonzero().squeeze(1)
    edge, node = end // 2, pairs.t().reshape(-1)[end]
    ring = torch.arange(rings.node.numel()).repeat_interleave(rings.length)
    ring_ptr = torch.searchsorted(rings.node, union.node_ptr)
    ptrs = torch.searchsorted(edge, union.pair_ptr), torch.searchsorted(ring, ring_ptr)
    ends_of, sides_of, of_edges, of_rings = None, None, {}, {}
    if bool((k > 1).any()):
        of_edges, of_rings = {"size": edge_size}, {"size": rings.size}
        times = 1 + twins[edge].long()
        ends_of = times, times * edge_size[edge] // k[node.long()]
        sides_of = rings.times, rings.times * rings.size[ring] // edge_size[rings.edge]
    return {
        EDGES: Cells(union.pair_ptr, {"node": pairs[0].clone(), **of_edges}, {"node": NODES}),
        RINGS: Cells(ring_ptr, {"node": rings.node.int(), **of_rings}, {"node": NODES}),
        EDGE_NODES: incidence_cells(
            ptrs[0], edge, node, k.numel(), names=(EDGE_NODES, EDGES, NODES), counts=ends_of
        ),
        RING_EDGES: incidence_cells(
            ptrs[1], ring, rings.edge, edge_size.numel(),
            names=(RING_EDGES, RINGS, EDGES), counts=sides_of,
        ),
    }  # fmt: skip

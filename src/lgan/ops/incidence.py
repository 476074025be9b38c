"""What the operations read of ego line graphs: pairs, and two sparse matrices over them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

# Entries in a piece of a row, and the mean length of rows from which on they are cut.
PIECE = 128
LONG = 32


@dataclass(frozen=True)
class ByNode:
    """The two incidence matrices by rows, for devices that gather.

    Attributes:
        target_ptr: Where the pairs of each node begin ``[n + 1]`` int64.
        target_pair: Pairs that touch a node, node after node, int32.
        target_weight: Their entries of ``B_t``, float32.
        target_ends: How many ends of the pair the node is, float32.
        side_ptr: Where the pairs opposite each node begin ``[n + 1]`` int64.
        side_pair: Pairs a node has an entry of ``B_n`` for, int32.
        side_weight: These entries, float32.
    """

    target_ptr: Tensor
    target_pair: Tensor
    target_weight: Tensor
    target_ends: Tensor
    side_ptr: Tensor
    side_pair: Tensor
    side_weight: Tensor

    @cached_property
    def side_pieces(self) -> "Pieces | None":
        """Long rows of ``B_n`` cut up; ``None`` where rows are short on the whole."""
        rows, entries = self.side_ptr.numel() - 1, self.side_pair.numel()
        return Pieces.of(self.side_ptr, entries) if entries >= LONG * rows > 0 else None


@dataclass(frozen=True)
class Neighbours:
    """The matrix ``B_t`` between nodes, by rows, for sums without clipping.

    Attributes:
        ptr: Where the neighbours of each node begin ``[n + 1]`` int64.
        node: Neighbours, node after node, a class among its own where it has twins, int32.
        weight: How often a node meets each of them, and the other way round, float32.
        side: The same times the triangles on an edge of the pair.
        degree: Neighbours of every node in all ``[n]``, float32.
    """

    ptr: Tensor
    node: Tensor
    weight: tuple[Tensor, Tensor]
    side: tuple[Tensor, Tensor]
    degree: Tensor


@dataclass(frozen=True)
class Pieces:
    """Rows of a sparse matrix cut into pieces of at most ``PIECE`` entries.

    The node in the middle of an ego network sees every pair of it: one such row keeps one program
    busy long after all others are done.

    Attributes:
        entry_ptr: Where the entries of each piece begin ``[Q + 1]``; pieces beyond the last are
            empty, so that ``Q`` depends on the room for rows and entries alone: no device waits.
        row_ptr: Where the pieces of each row begin ``[R + 1]``.
    """

    entry_ptr: Tensor
    row_ptr: Tensor

    @staticmethod
    def of(ptr: Tensor, entries: int) -> "Pieces":
        """Cut rows that begin at ``ptr`` and have ``entries`` together, or room for them."""
        count = (torch.diff(ptr) + PIECE - 1) // PIECE
        row_ptr = torch.cat([count.new_zeros(1), torch.cumsum(count, 0)])
        rows = count.numel()
        piece = torch.arange(rows + entries // PIECE + 1, device=ptr.device)
        row = torch.searchsorted(row_ptr[1:], piece, right=True)
        inside, row = row < rows, row.clamp(max=rows - 1)
        begin = ptr[row] + (piece - row_ptr[row]) * PIECE
        return Pieces(torch.where(inside, begin, ptr[-1]), row_ptr)


@dataclass(frozen=True)
class Known:
    """What a batch that was cut on a device knows already, so that nothing waits for the device.

    Attributes:
        rows: The matrices by rows.
        opposite_ptr: Where the opposite nodes of each pair begin ``[P + 1]`` int64.
        has_triangles: Whether there are any; ``None`` where they were not listed.
    """

    rows: ByNode
    opposite_ptr: Tensor
    has_triangles: bool | None


@dataclass(frozen=True, kw_only=True)
class Incidence:
    """Pairs and what lies opposite them, and the two matrices that follow from these.

    The part of :class:`lgan.EgoLines` that the operations read. All ids and counts are int32.

    Attributes:
        num_nodes: Number of nodes (classes, where twins are merged).
        pair_index: Every edge once ``[2, P]``, ``u ≤ v``, in lexicographic order.
        opposite_index: Nodes opposite each pair in a triangle, pair after pair ``[M]``; for a
            pair ``(c, c)`` all neighbours of ``c``.
        opposite_count: How many each pair has ``[P]``.
        pair_triangles: Triangles of the original graph on an edge of the pair ``[P]``; -1 where
            they were not listed.
        multiplicity: Twins each node stands for ``[num_nodes]``.
        mask: How present every pair is, from 0 (deleted) to 1, ``[*, P]``, with the leading axes
            of the node values or none. Plain tensor operations read it, and compiled ones on the
            CPU that were written for it.
        side_mask: The same for every entry of ``opposite_index``: the product over the three
            edges of its triangle ``[*, M]``.
        known: What would have to be computed otherwise.
    """

    num_nodes: int
    pair_index: Tensor
    opposite_index: Tensor
    opposite_count: Tensor
    pair_triangles: Tensor
    multiplicity: Tensor
    mask: Tensor | None = None
    side_mask: Tensor | None = None
    known: Known | None = None

    @cached_property
    def opposite_ptr(self) -> Tensor:
        """Where the opposite nodes of each pair begin ``[P + 1]`` int64."""
        if self.known is not None:
            return self.known.opposite_ptr
        ptr = self.opposite_count.new_zeros(self.opposite_count.numel() + 1, dtype=torch.int64)
        torch.cumsum(self.opposite_count, 0, out=ptr[1:])
        return ptr

    @cached_property
    def arrays(self) -> tuple[Any, Any, Any, Any, Any]:
        """Pairs, multiplicity, pointers, opposite nodes and triangles, for compiled loops."""
        self._refuse_mask()
        fields = (self.pair_index, self.multiplicity, self.opposite_ptr, self.opposite_index)
        pairs, multiplicity, ptr, opposite = (field.numpy() for field in fields)
        return pairs, multiplicity, ptr, opposite, self.pair_triangles.numpy()

    @property
    def pair_arrays(self) -> tuple[Any, Any, Any]:
        """Pairs, pointers and opposite nodes, for compiled loops that know the mask."""
        fields = (self.pair_index, self.opposite_ptr, self.opposite_index)
        pairs, ptr, opposite = (field.numpy() for field in fields)
        return pairs, ptr, opposite

    def weights(self) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Per pair: entries of ``B_t`` at u and v, of ``B_n`` at u and v, and at the opposite."""
        k = self.multiplicity.long()
        u, v = self.pair_index.long()
        own, ku, kv = u == v, k[u], k[v]
        return (
            torch.where(own, ku - 1, kv),
            torch.where(own, 0, ku),
            torch.where(own, (ku - 1) * (ku - 2) // 2, (ku - 1) * kv),
            torch.where(own, 0, (kv - 1) * ku),
            torch.where(own, ku * (ku - 1) // 2, ku * kv),
        )

    def opposite_pair(self) -> Tensor:
        """The pair of every entry of ``opposite_index``."""
        ids = torch.arange(self.pair_index.size(1), device=self.pair_index.device)
        return torch.repeat_interleave(ids, self.opposite_count)

    @cached_property
    def float_weights(self) -> tuple[Tensor, ...]:
        """:meth:`weights` as float32."""
        return tuple(weight.float() for weight in self.weights())

    @cached_property
    def by_node(self) -> ByNode:
        """The matrices by rows; one sort of their entries unless they are known."""
        self._refuse_mask()
        if self.known is not None:
            return self.known.rows
        at_u, at_v, next_u, next_v, across = self.float_weights
        (u, v), nodes = self.pair_index, self.num_nodes
        pair = torch.arange(u.numel(), device=u.device, dtype=torch.int32)
        other = u != v  # the pair of a class with itself touches its node once, with both ends
        row, col = torch.cat([u, v[other]]), torch.cat([pair, pair[other]])
        weight = torch.cat([at_u, at_v[other]])
        ends = torch.where(u == v, 2, 1).float()
        ends = torch.cat([ends, ends[other]])
        order = torch.argsort(row, stable=True)

        # COLLAB without compression has 1.9 billion of these: 32 bits, and few copies.
        at, to = next_u > 0, next_v > 0
        opposite_pair = self.opposite_pair()
        side_row = torch.cat([u[at], v[to], self.opposite_index])
        side_col = torch.cat([pair[at], pair[to], opposite_pair.int()])
        side = torch.cat([next_u[at], next_v[to], across[opposite_pair]])
        del opposite_pair
        side_order = torch.argsort(side_row, stable=True)
        return ByNode(
            target_ptr=row_ptr(row, nodes),
            target_pair=col[order],
            target_weight=weight[order],
            target_ends=ends[order],
            side_ptr=row_ptr(side_row, nodes),
            side_pair=side_col[side_order],
            side_weight=side[side_order],
        )

    @cached_property
    def neighbours(self) -> Neighbours:
        """``B_t`` between nodes; nothing is sorted and nothing waits for the device."""
        rows, (u, v) = self.by_node, self.pair_index.long()
        entry = torch.arange(rows.target_pair.numel(), device=u.device)
        node = torch.searchsorted(rows.target_ptr[1:], entry, right=True)
        inside = node < self.num_nodes  # a batch may have room for more
        node = torch.where(inside, node, 0)
        pair = torch.where(inside, rows.target_pair, 0).long()
        there = torch.where(inside, rows.target_weight, 0)
        at_u, at_v = self.float_weights[:2]
        back = torch.where(u[pair] == v[pair], there, (at_u + at_v)[pair] - there)
        triangles = self.pair_triangles[pair].float()
        degree = there.new_zeros(self.num_nodes).index_add_(0, node, there)
        return Neighbours(
            ptr=rows.target_ptr,
            node=torch.where(inside, u[pair] + v[pair] - node, 0).int(),
            weight=(there, back),
            side=(there * triangles, back * triangles),
            degree=degree,
        )

    def _refuse_mask(self) -> None:
        """Compiled loops do not know the mask, and must not silently ignore it."""
        if self.mask is not None:
            raise ValueError(
                "Masked line graphs cannot go through compiled loops. Use the operations of "
                "`lgan.ops`, which go around them."
            )


def row_ptr(row: Tensor, rows: int) -> Tensor:
    """Where each of ``rows`` rows begins once entries are sorted by row ``[rows + 1]`` int64."""
    ptr = torch.zeros(rows + 1, dtype=torch.int64, device=row.device)
    torch.cumsum(torch.bincount(row, minlength=rows), 0, out=ptr[1:])
    return ptr

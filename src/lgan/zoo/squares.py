"""Tensors over all pairs of nodes of every graph in a batch, without padding.

A tensor of PPGN has an entry for every ordered pair ``(i, j)`` of nodes of one graph. Here these
entries are rows, graph after graph and small graphs first, so that what acts on entries one by
one (all linear maps) meets no padding at all. Only the product of matrices on a GPU needs squares
of one size: graphs of about the same size are multiplied together, filled up with zeros, which
add nothing to the entries that are read.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import torch
from torch import Tensor

from lgan.graph.segments import lengths_to_ptr, segment_ids
from lgan.zoo.plain_graph import PlainGraph

__all__ = ["Bucket", "Squares"]

# Graphs whose sizes round up to the same multiple are multiplied together.
STEP = 8


@dataclass(frozen=True)
class Bucket:
    """Graphs of about one size, as squares.

    Attributes:
        rows: The range of their rows.
        graphs: How many there are.
        side: Side of the squares.
        place: Where each row is in the squares ``[rows]``; ``None`` where they are full.
    """

    rows: slice
    graphs: int
    side: int
    place: Tensor | None

    def square(self, x: Tensor) -> Tensor:
        """Their rows ``[*, R, F]`` as squares ``[*, graphs, F, side, side]``."""
        x = x[..., self.rows, :]
        if self.place is not None:
            room = x.new_zeros((*x.shape[:-2], self.graphs * self.side**2, x.size(-1)))
            x = room.index_copy_(-2, self.place, x)
        shape = (*x.shape[:-2], self.graphs, self.side, self.side, x.size(-1))
        return x.reshape(shape).movedim(-1, -3)

    def flat(self, squares: Tensor) -> Tensor:
        """The rows back from the squares."""
        x = squares.movedim(-3, -1).flatten(-4, -2)
        return x if self.place is None else x.index_select(-2, self.place)


@dataclass(frozen=True)
class Squares:
    """The pairs of nodes of some graphs.

    Attributes:
        order: Which graph of the batch each of these is ``[B]``: small ones first.
        size: Nodes of each ``[B]``, and on the host:
        sizes: the same.
        nodes: The nodes of the batch, in the order of these graphs ``[n]``.
        diagonal: The row of the pair ``(i, i)`` of each of them ``[n]``.
        adjacency: Whether the pair of each row is an edge ``[*, R]``.
    """

    order: Tensor
    size: Tensor
    sizes: list[int]
    nodes: Tensor
    diagonal: Tensor
    adjacency: Tensor

    @staticmethod
    def of(graph: PlainGraph) -> "Squares":
        """The pairs of a batch; waits for the device once, to learn the sizes."""
        size = torch.diff(graph.ptr)
        order = torch.argsort(size, stable=True)
        rank = torch.empty_like(order)
        rank[order] = torch.arange(order.numel(), device=order.device)
        start = lengths_to_ptr(size[order] ** 2)[rank]  # the first row of every graph
        of_node = graph.graph
        local = torch.arange(of_node.numel(), device=order.device) - graph.ptr[of_node]
        corner = start[of_node] + local * size[of_node]  # the row of (i, first node)
        nodes = torch.argsort(rank[of_node], stable=True)

        sizes = size[order].tolist()
        u, v = graph.incidence.pairs.long()
        mask = graph.incidence.mask
        one = torch.ones(u.numel(), dtype=graph.dtype, device=u.device) if mask is None else mask
        rows = torch.cat([corner[u] + local[v], corner[v] + local[u]])
        empty = one.new_zeros((*one.shape[:-1], sum(n * n for n in sizes)))
        adjacency = empty.index_copy(-1, rows, torch.cat([one, one], -1))
        return Squares(order, size[order], sizes, nodes, (corner + local)[nodes], adjacency)

    @property
    def ptr(self) -> Tensor:
        """Where the rows of each graph begin ``[B + 1]``."""
        return lengths_to_ptr(self.size**2)

    def pieces(self, rows: int) -> "list[Squares]":
        """The same graphs in parts of about so many rows, one graph at least."""
        total, parts, first = 0, [], 0
        for i, n in enumerate(self.sizes):
            if i > first and total + n * n > rows:
                parts.append((first, i))
                first, total = i, 0
            total += n * n
        parts.append((first, len(self.sizes)))
        return [self] if len(parts) == 1 else [self._part(*part) for part in parts]

    def _part(self, first: int, last: int) -> "Squares":
        nodes = slice(sum(self.sizes[:first]), sum(self.sizes[:last]))
        squares = [n * n for n in self.sizes]
        rows = slice(sum(squares[:first]), sum(squares[:last]))
        return Squares(
            order=self.order[first:last],
            size=self.size[first:last],
            sizes=self.sizes[first:last],
            nodes=self.nodes[nodes],
            diagonal=self.diagonal[nodes] - rows.start,
            adjacency=self.adjacency[..., rows],
        )

    @cached_property
    def buckets(self) -> list[Bucket]:
        """The graphs by size."""
        found, first, row = [], 0, 0
        for _, group in groupby(self.sizes, key=lambda n: -(-n // STEP)):
            sizes = list(group)
            side, rows = sizes[-1], sum(n * n for n in sizes)
            place = None
            if sizes[0] != side:
                size = self.size[first : first + len(sizes)]
                of_row = segment_ids(lengths_to_ptr(size**2))
                start = lengths_to_ptr(size**2)[:-1]
                local = torch.arange(rows, device=size.device) - start[of_row]
                n = size[of_row]
                place = of_row * side**2 + local // n * side + local % n
            found.append(Bucket(slice(row, row + rows), len(sizes), side, place))
            first, row = first + len(sizes), row + rows
        return found

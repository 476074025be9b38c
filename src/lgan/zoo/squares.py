"""Tensors over all pairs of nodes of every graph in a batch, without padding.

A tensor of PPGN has an entry for every ordered pair ``(i, j)`` of nodes of one graph. Here these
entries are rows, graph after graph and small graphs first, so that what acts on entries one by
one (all linear maps) meets no padding at all, and neither do the products of matrices.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from lgan.graph.segments import lengths_to_ptr
from lgan.zoo.plain_graph import PlainGraph

__all__ = ["Squares"]


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
    def of_node(self) -> tuple[Tensor, Tensor]:
        """The graph of every node ``[n]``, and where the nodes of each graph begin ``[B + 1]``."""
        ptr = lengths_to_ptr(self.size)
        graph = torch.arange(len(self.sizes), device=self.size.device)
        return torch.repeat_interleave(graph, self.size, output_size=sum(self.sizes)), ptr

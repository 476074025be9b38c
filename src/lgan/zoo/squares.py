"""Tensors over all pairs of nodes of every graph in a batch, without padding.

A tensor of PPGN has an entry for every ordered pair ``(i, j)`` of nodes of one graph. Here these
entries are rows, graph after graph, so that what acts on entries one by one (all linear maps)
meets no padding at all, and neither do the products of matrices.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import torch
from torch import Tensor

from lgan.graph.segments import lengths_to_ptr
from lgan.zoo.plain_graph import PlainGraph


@dataclass(frozen=True)
class Squares:
    """The pairs of nodes of some graphs.

    Attributes:
        size: Nodes of each graph ``[B]``, and on the host:
        sizes: the same.
        nodes: Which nodes of the batch are theirs.
        diagonal: The row of the pair ``(i, i)`` of each of them ``[n]``.
        adjacency: Whether the pair of each row is an edge ``[*, R]``.
        LARGE: Nodes from which on torch multiplies the matrices of a graph: loops are faster below.
    """

    LARGE: ClassVar[int] = 48

    size: Tensor
    sizes: list[int]
    nodes: slice
    diagonal: Tensor
    adjacency: Tensor

    @staticmethod
    def of(graph: PlainGraph) -> "Squares":
        """The pairs of a batch; waits for the device once, to learn the sizes."""
        size, of_node = torch.diff(graph.ptr), graph.graph
        sizes = size.tolist()
        local = torch.arange(of_node.numel(), device=size.device) - graph.ptr[of_node]
        start = lengths_to_ptr(size**2)[of_node]  # the first row of the node's graph
        corner = start + local * size[of_node]  # the row of (i, first node)

        u, v = graph.lines.pair_index.long()
        mask = graph.lines.mask
        one = torch.ones(u.numel(), dtype=graph.dtype, device=u.device) if mask is None else mask
        rows = torch.cat([corner[u] + local[v], corner[v] + local[u]])
        empty = one.new_zeros((*one.shape[:-1], sum(n * n for n in sizes)))
        adjacency = empty.index_copy(-1, rows, torch.cat([one, one], -1))
        return Squares(size, sizes, slice(0, of_node.numel()), corner + local, adjacency)

    @cached_property
    def ptr(self) -> Tensor:
        """Where the rows of each graph begin ``[B + 1]``."""
        return lengths_to_ptr(self.size**2)

    @cached_property
    def of_node(self) -> tuple[Tensor, Tensor]:
        """The graph of every node ``[n]``, and where the nodes of each graph begin ``[B + 1]``."""
        graph = torch.arange(len(self.sizes), device=self.size.device)
        graph = torch.repeat_interleave(graph, self.size, output_size=sum(self.sizes))
        return graph, lengths_to_ptr(self.size)

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

    def multiply_large(self, of: str, x: Tensor, y: Tensor, out: Tensor) -> None:
        """Write the products of large graphs into their rows of ``out``.

        Args:
            of: What is multiplied, as ``torch.einsum`` reads it.
            x: The first factors ``[K, R, F]``.
            y: The second ones.
            out: The products; rows of other graphs stay as they are.
        """
        first = 0
        for n in self.sizes:
            own = slice(first, first + n * n)
            if n >= self.LARGE:
                left, right = (t[:, own].unflatten(1, (n, n)) for t in (x, y))
                out[:, own] = torch.einsum(of, left, right).flatten(1, 2)
            first = own.stop

    def _part(self, first: int, last: int) -> "Squares":
        nodes = slice(sum(self.sizes[:first]), sum(self.sizes[:last]))
        squares = [n * n for n in self.sizes]
        rows = slice(sum(squares[:first]), sum(squares[:last]))
        return Squares(
            size=self.size[first:last],
            sizes=self.sizes[first:last],
            nodes=nodes,
            diagonal=self.diagonal[nodes] - rows.start,
            adjacency=self.adjacency[..., rows],
        )

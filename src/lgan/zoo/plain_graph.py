"""A batch as networks read it that send messages along its edges."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from lgan import ops
from lgan.graph import EgoLines, graph_ptr, undirected_pairs


@dataclass(frozen=True)
class PlainGraph:
    """Edges and pointers of a batch, and sums over neighbours.

    An edge may be present to some degree (:meth:`lgan.graph.EgoLines.masked`); degrees and sums
    then count it so.

    Attributes:
        ptr: Where the nodes of each graph begin ``[B + 1]``.
        lines: The edges, each once.
        dtype: Type of the features.
    """

    ptr: Tensor
    lines: EgoLines
    dtype: torch.dtype

    @staticmethod
    def of(data: Any, dtype: torch.dtype) -> "PlainGraph":
        """The edges of a PyG ``Data`` or ``Batch``, or of a batch of a :class:`lgan.GraphUnion`."""
        refuse_prepared(data, edge_features=True)
        lines = getattr(data, "lines", None)
        if isinstance(lines, EgoLines):
            return PlainGraph(pointers(data), lines, dtype)
        n = data.x.size(0)
        pairs = undirected_pairs(data.edge_index, n)
        return PlainGraph(pointers(data), EgoLines.edges_only(pairs, n), dtype)

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return self.lines.num_nodes

    @cached_property
    def degree(self) -> Tensor:
        """Number of neighbours of every node ``[*, n, 1]``."""
        ones = torch.ones(self.num_nodes, 1, dtype=self.dtype, device=self.ptr.device)
        # An edge gives one for its far end and one for the near end. Where a batch on a GPU has
        # room for more nodes than there are, the nodes beyond the last may count below zero.
        return (ops.linear_sum(ones, self.lines, 1) / 2).clamp(min=0)

    def neighbour_sum(self, h: Tensor) -> Tensor:
        """The sum over the neighbours of every node, ``[*, n, F]``."""
        both_ends = ops.linear_sum(h, self.lines, h.size(-1))
        return both_ends - self.degree * h

    @cached_property
    def graph(self) -> Tensor:
        """The graph of every node ``[n]``; one more than the last for nodes beyond it."""
        place = torch.arange(self.num_nodes, device=self.ptr.device)
        return torch.searchsorted(self.ptr[1:].contiguous(), place, right=True)


def pointers(data: Any) -> Tensor:
    """Where each graph of a batch begins ``[B + 1]``; a single graph begins at 0."""
    return graph_ptr(data, data.x.size(0), data.x.device)


def refuse_prepared(data: Any, *, edge_features: bool = False, twins: bool = True) -> None:
    """Raise an error for a graph of twin classes, which nearly all of these networks would misread,
    and for one with what they would ignore: directions and, for all but GINE, features of edges.
    """
    lines = getattr(data, "lines", None)
    there = getattr(data, "edge_attr", None) is not None if lines is None else lines.edge_columns
    if edge_features and there:
        raise ValueError(
            "The network reads no features of edges, got a graph whose edges have some. Load it "
            "with `edge_features='none'`, remove `edge_attr`, or use `lgan.LGAN(edge_dim=...)` or "
            "`lgan.zoo.GIN(edge_dim=...)`."
        )
    if getattr(lines, "edge_directed", getattr(data, "pair_direction", None) is not None):
        raise ValueError(
            "The network reads edges without direction, got a graph whose edges have one. Load it "
            "with `symmetrise=True`, or use `lgan.LGAN(directed=True)`."
        )
    k = getattr(data, "multiplicity", None)
    # Looked at on the CPU alone: elsewhere the look would make the host wait for the device.
    if twins and k is not None and k.device.type == "cpu" and bool((k > 1).any()):
        raise ValueError(
            "The network reads graphs as they are, got one whose twins are merged. "
            "Load the data set, or apply `lgan.EgoLineGraph`, with `compress=False`."
        )

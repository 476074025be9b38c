"""Graphs of several kinds as one labelled disjoint union, the input of every refinement."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lgan.graph import EgoLines, GraphUnion, undirected_pairs, validate_edge_index
from lgan.graph.expansion import expand_classes
from lgan.graph.interning import Colours

__all__ = ["LabelledGraphs"]


@dataclass(frozen=True, eq=False)
class LabelledGraphs:
    """Graphs with node labels as one disjoint union.

    Attributes:
        node_ptr: Where the nodes of each graph begin ``[G + 1]``.
        labels: The label of every node ``[N]``, a number shared by all graphs.
        lines: Pairs, triangles and multiplicities of the union. Where true twins are merged, a
            node stands for as many as its multiplicity says.
    """

    node_ptr: NDArray[np.int64]
    labels: Colours
    lines: EgoLines

    @property
    def num_graphs(self) -> int:
        """Number of graphs."""
        return self.node_ptr.size - 1

    @property
    def num_nodes(self) -> int:
        """Number of nodes (classes, where twins are merged)."""
        return int(self.node_ptr[-1])

    @cached_property
    def multiplicity(self) -> NDArray[np.int64]:
        """Twins each node stands for ``[N]``."""
        return self.lines.multiplicity.numpy().astype(np.int64)

    @cached_property
    def pairs(self) -> NDArray[np.int64]:
        """Every edge once ``[2, P]``."""
        return self.lines.pair_index.numpy().astype(np.int64)

    @cached_property
    def pair_ptr(self) -> NDArray[np.int64]:
        """Where the pairs of each graph begin ``[G + 1]``."""
        return np.searchsorted(self.pairs[0], self.node_ptr)

    @staticmethod
    def of(graphs: "Iterable[Any] | GraphUnion | LabelledGraphs") -> "LabelledGraphs":
        """Networkx graphs, PyG graphs or a :class:`GraphUnion` as one labelled union.

        Args:
            graphs: Undirected networkx graphs, whose labels are the node attribute ``label``
                (nodes without one share a label), or PyG ``Data``, whose labels are the rows of
                ``x``. Loops are dropped and parallel edges merged.
        """
        if isinstance(graphs, LabelledGraphs):
            return graphs
        if isinstance(graphs, GraphUnion):
            rows = graphs.x if graphs.x.dim() > 1 else graphs.x[:, None]
            labels = torch.unique(rows, dim=0, return_inverse=True)[1]
            return LabelledGraphs(graphs.node_ptr.numpy(), labels.numpy(), graphs.lines)
        if not isinstance(graphs, Iterable):
            raise TypeError(
                f"`graphs` must be a list of graphs or a `GraphUnion`, got {type(graphs).__name__}."
                " Put a single graph in a list."
            )
        read = [_read(graph) for graph in graphs]
        node_ptr = np.cumsum([0, *(len(labels) for labels, _ in read)])
        number: dict[Hashable, int] = {}
        every = [number.setdefault(label, len(number)) for labels, _ in read for label in labels]
        edges = [pairs + start for (_, pairs), start in zip(read, node_ptr[:-1], strict=True)]
        stacked = torch.from_numpy(np.concatenate([np.empty((2, 0), np.int64), *edges], axis=1))
        return LabelledGraphs.build(node_ptr, stacked, np.array(every, np.int64))

    @staticmethod
    def build(
        node_ptr: NDArray[np.int64], edge_index: Tensor, labels: Colours | None = None
    ) -> "LabelledGraphs":
        """A union from its edges ``[2, E]`` and labels ``[N]``; no labels are one label."""
        num_nodes = int(node_ptr[-1])
        pair_index = undirected_pairs(edge_index, num_nodes)
        labels = np.zeros(num_nodes, np.int64) if labels is None else labels
        return LabelledGraphs(node_ptr, labels, EgoLines.from_pairs(pair_index, num_nodes))

    def expanded(self) -> "LabelledGraphs":
        """The same graphs with every twin as a node of its own."""
        k = self.multiplicity
        if bool((k == 1).all()):
            return self
        edges, _ = expand_classes(self.lines.pair_index, self.lines.multiplicity)
        start = np.concatenate([[0], np.cumsum(k)])
        return LabelledGraphs.build(start[self.node_ptr], edges, np.repeat(self.labels, k))

    def subset(self, ids: Sequence[int] | NDArray[np.integer[Any]]) -> "LabelledGraphs":
        """Some of the graphs, in the order given; twins must not have been merged."""
        chosen = np.asarray(ids, np.int64)
        size = np.diff(self.node_ptr)[chosen]
        node_ptr = np.concatenate([[0], np.cumsum(size)])
        nodes = _ranges(self.node_ptr[chosen], size)
        degree = np.diff(self.pair_ptr)[chosen]
        pairs = self.pairs[:, _ranges(self.pair_ptr[chosen], degree)]
        shift = np.repeat(node_ptr[:-1] - self.node_ptr[chosen], degree)
        return LabelledGraphs.build(node_ptr, torch.from_numpy(pairs + shift), self.labels[nodes])


def _ranges(start: NDArray[np.int64], length: NDArray[np.int64]) -> NDArray[np.int64]:
    ends = np.cumsum(length)
    return np.repeat(start - ends + length, length) + np.arange(int(ends[-1]) if ends.size else 0)


def _read(graph: Any) -> tuple[list[Hashable], NDArray[np.int64]]:
    """The labels and edges ``[2, E]`` of one graph."""
    import networkx as nx
    from torch_geometric.data import Data

    if isinstance(graph, Data):
        validate_edge_index(graph.edge_index, int(graph.num_nodes))
        edges = graph.edge_index.cpu().numpy().astype(np.int64)
        if graph.x is None:
            return [None] * int(graph.num_nodes), edges
        return [tuple(row) for row in graph.x.reshape(graph.x.size(0), -1).tolist()], edges
    if not isinstance(graph, nx.Graph):
        raise TypeError(
            "A graph must be a networkx.Graph or a PyG Data object, got "
            f"{type(graph).__name__}. Convert it, or name it with `lgan.graph.named.named_graph`."
        )
    if graph.is_directed():
        raise ValueError(
            "A graph must be undirected, got a directed networkx graph. "
            "Pass `graph.to_undirected()`."
        )
    place = {node: i for i, node in enumerate(graph)}
    labels = [data.get("label") for _, data in graph.nodes(data=True)]
    ends = [(place[edge[0]], place[edge[1]]) for edge in graph.edges()]
    return labels, np.array(ends, np.int64).reshape(-1, 2).T

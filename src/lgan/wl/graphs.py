"""Graphs of several kinds as one labelled disjoint union, the input of every refinement."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lgan.graph import EgoLines, GraphUnion, undirected_pairs, validate_edge_index
from lgan.graph.edge_features import check_edge_attr, pair_attr
from lgan.graph.expansion import expand_classes
from lgan.graph.interning import Colours


@dataclass(frozen=True, eq=False)
class LabelledGraphs:
    """Graphs with labels of nodes and edges as one disjoint union.

    Attributes:
        node_ptr: Where the nodes of each graph begin ``[G + 1]``.
        labels: The label of every node ``[N]``, a number shared by all graphs.
        edge_labels: The label of every pair ``[P]``, likewise; all 0 where there is but one.
        lines: Pairs, triangles and multiplicities of the union. Where true twins are merged, a
            node stands for as many as its multiplicity says.
    """

    node_ptr: NDArray[np.int64]
    labels: Colours
    edge_labels: Colours
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
    def labelled_edges(self) -> bool:
        """Whether edges differ in their labels."""
        return bool(self.edge_labels.any())

    @cached_property
    def pair_ptr(self) -> NDArray[np.int64]:
        """Where the pairs of each graph begin ``[G + 1]``."""
        return np.searchsorted(self.pairs[0], self.node_ptr)

    @staticmethod
    def of(graphs: "Iterable[Any] | GraphUnion | LabelledGraphs") -> "LabelledGraphs":
        """Networkx graphs, PyG graphs or a :class:`GraphUnion` as one labelled union.

        Args:
            graphs: Undirected networkx graphs, whose labels are the attribute ``label`` of nodes
                and edges (those without one share a label), or PyG ``Data``, whose labels are the
                rows of ``x`` and ``edge_attr``. Loops are dropped and parallel edges merged.
        """
        if isinstance(graphs, LabelledGraphs):
            return graphs
        if isinstance(graphs, GraphUnion):
            rows, lines = graphs.x if graphs.x.dim() > 1 else graphs.x[:, None], graphs.lines
            return LabelledGraphs(
                graphs.node_ptr.numpy(), _row_labels(rows), _pair_labels(lines), lines
            )
        if not isinstance(graphs, Iterable):
            raise TypeError(
                f"`graphs` must be a list of graphs or a `GraphUnion`, got {type(graphs).__name__}."
                " Put a single graph in a list."
            )
        read = [_read(graph) for graph in graphs]
        node_ptr = np.cumsum([0, *(len(labels) for labels, *_ in read)])
        edges = [pairs + start for (_, pairs, _), start in zip(read, node_ptr[:-1], strict=True)]
        return LabelledGraphs.build(
            node_ptr,
            torch.from_numpy(np.concatenate([np.empty((2, 0), np.int64), *edges], axis=1)),
            _numbered(label for labels, *_ in read for label in labels),
            _numbered(label for *_, labels in read for label in labels),
        )

    @staticmethod
    def build(
        node_ptr: NDArray[np.int64],
        edge_index: Tensor,
        labels: Colours | None = None,
        edge_labels: Colours | None = None,
    ) -> "LabelledGraphs":
        """A union from its edges ``[2, E]``, labels of nodes ``[N]`` and of edges ``[E]``; no
        labels are one label.
        """
        num_nodes = int(node_ptr[-1])
        pair_index = undirected_pairs(edge_index, num_nodes)
        labels = np.zeros(num_nodes, np.int64) if labels is None else labels
        on_pairs = np.zeros(pair_index.size(1), np.int64)
        if edge_labels is not None and edge_labels.any():
            given = torch.from_numpy(edge_labels.astype(np.int64))
            on_pairs = pair_attr(edge_index, given, pair_index, num_nodes).numpy()
        lines = EgoLines.from_pairs(pair_index, num_nodes)
        return LabelledGraphs(node_ptr, labels, on_pairs, lines)

    def expanded(self) -> "LabelledGraphs":
        """The same graphs with every twin as a node of its own."""
        k = self.multiplicity
        if bool((k == 1).all()):
            return self
        edges, pair = expand_classes(self.lines.pair_index, self.lines.multiplicity)
        start = np.concatenate([[0], np.cumsum(k)])
        labels, edge_labels = np.repeat(self.labels, k), self.edge_labels[pair.numpy()]
        return LabelledGraphs.build(start[self.node_ptr], edges, labels, edge_labels)


def _numbered(labels: Iterable[Hashable]) -> Colours:
    number: dict[Hashable, int] = {}
    return np.array([number.setdefault(label, len(number)) for label in labels], np.int64)


def _row_labels(rows: Tensor) -> Colours:
    labels: Colours = torch.unique(rows, dim=0, return_inverse=True)[1].numpy()
    return labels


def _pair_labels(lines: EgoLines) -> Colours:
    """The label of every pair of a union: its features of edges, whatever codes it carries."""
    if lines.edge_directed:
        raise ValueError(
            "The tests read undirected graphs, got a union whose edges have a direction. Load it "
            "with `symmetrise=True`."
        )
    if lines.edge_table is None:
        return np.zeros(lines.num_pairs, np.int64)
    return lines.at_pairs(torch.from_numpy(_row_labels(lines.edge_table))).numpy()


def _read(graph: Any) -> tuple[list[Hashable], NDArray[np.int64], list[Hashable]]:
    """The labels of the nodes of one graph, its edges ``[2, E]`` and their labels."""
    import networkx as nx
    from torch_geometric.data import Data

    if isinstance(graph, Data):
        validate_edge_index(graph.edge_index, int(graph.num_nodes))
        edges = graph.edge_index.cpu().numpy().astype(np.int64)
        if graph.edge_attr is not None:
            check_edge_attr(graph.edge_attr, edges.shape[1])
        labels = _rows(graph.x, int(graph.num_nodes))
        return labels, edges, _agreeing(edges, _rows(graph.edge_attr, edges.shape[1]))
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
    edges = np.array(ends, np.int64).reshape(-1, 2).T
    on_edges = [data.get("label") for *_, data in graph.edges(data=True)]
    return labels, edges, _agreeing(edges, on_edges)


def _rows(features: Tensor | None, number: int) -> list[Hashable]:
    if features is None:
        return [None] * number
    return [tuple(row) for row in features.reshape(number, -1).tolist()]


def _agreeing(edges: NDArray[np.int64], labels: list[Hashable]) -> list[Hashable]:
    """The labels of edges, or an error where those between two nodes disagree."""
    if len(set(labels)) > 1:
        first: dict[tuple[int, int], Hashable] = {}
        for (u, v), label in zip(np.sort(edges.T).tolist(), labels, strict=True):
            if u != v and first.setdefault((u, v), label) != label:
                raise ValueError(
                    "The labels of edges must agree in both directions and in all edges between "
                    f"two nodes, got {first[u, v]!r} and {label!r} between the nodes {u} and {v}. "
                    "Make them agree."
                )
    return labels

"""The graphs that are explained, in the form the methods work on: nothing merged, edges once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from lgan.graph import EgoLines, GraphBatch, triangles, undirected_pairs
from lgan.graph.concatenate import joined_lines
from lgan.graph.edge_features import EdgeFeatures
from lgan.graph.expansion import expand_classes
from lgan.graph.moving import moved
from lgan.graph.segments import lengths_to_ptr, segment_ids


@dataclass(frozen=True, eq=False)
class MaskableGraph:
    """One graph to explain.

    Attributes:
        x: Node features, or ``None``.
        edge_index: The columns that scores are given for ``[2, E]``.
        column_pair: The pair each column is a direction of ``[E]``, -1 for a self-loop.
        lines: Ego line graphs without merged twins; its pairs are the undirected edges.
        graph_x: Features of the graph as a whole ``[1, d]``, which stay as they are while edges and
            nodes are taken away: scores say what the structure adds to them.
        edge_weight: Weights of the columns ``[E]``, for networks of PyG that read them.
    """

    x: Tensor | None
    edge_index: Tensor
    column_pair: Tensor
    lines: EgoLines
    graph_x: Tensor | None = None
    edge_weight: Tensor | None = None

    @staticmethod
    def of(data: Any, *, pair_code: str = "none") -> "MaskableGraph":
        """A graph of any form that the models read.

        Args:
            data: A PyG ``Data`` with or without the fields of :class:`lgan.EgoLineGraph`, or a
                batch of one graph of a :class:`lgan.GraphUnion`. Where twins are merged, the
                original graph is written out again: the nodes of a class follow one another, in
                the order of the classes, and edges come as ``u < v``, then all turned around.
            pair_code: Level of structural codes to add, if the graph carries none.
        """
        if isinstance(data, MaskableGraph):
            return data
        if getattr(data, "num_graphs", 1) != 1:
            raise ValueError(
                f"`data` must be one graph, got a batch of {data.num_graphs}. "
                "Give a list of graphs, or their `GraphUnion`."
            )
        lines = _lines(data)
        x: Tensor | None = data.x
        weight: Tensor | None = getattr(data, "edge_weight", None)
        if bool((lines.multiplicity > 1).any()):
            lines, node_class = _written_out(lines)
            x = None if x is None else x[node_class]
            edge_index = torch.cat([lines.pair_index, lines.pair_index.flip(0)], 1).long()
            weight = None  # models that merge twins read none
        else:
            edge_index = data.edge_index
        if lines.code_table is None:
            lines = lines.coded(pair_code)
        if weight is not None and weight.shape != edge_index.shape[1:]:
            raise ValueError(
                f"`edge_weight` must have a number for each of {edge_index.size(1)} columns of "
                f"`edge_index`, got the shape {list(weight.shape)}. Features go to `edge_attr`."
            )
        graph_x = getattr(data, "graph_x", None)
        return MaskableGraph(x, edge_index, _column_pair(edge_index, lines), lines, graph_x, weight)

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return self.lines.num_nodes

    @property
    def num_pairs(self) -> int:
        """Number of undirected edges."""
        return self.lines.num_pairs

    def to(self, device: torch.device | str) -> "MaskableGraph":
        """The same graph on another device."""
        return replace(self, **moved(self, device), lines=self.lines.to(device))

    @cached_property
    def is_plain(self) -> bool:
        """Whether the columns are every edge in both directions, without weights."""
        if self.edge_weight is not None or self.edge_index.size(1) != 2 * self.num_pairs:
            return False
        forth = self.edge_index[0] < self.edge_index[1]
        ways = 2 * self.column_pair + forth
        return bool((self.column_pair >= 0).all()) and ways.unique().numel() == ways.numel()

    @cached_property
    def pair_place(self) -> dict[tuple[int, int], int]:
        """The place of every undirected edge, ``u < v``."""
        return {(u, v): i for i, (u, v) in enumerate(self.lines.pair_index.t().tolist())}

    @property
    def column_weight(self) -> Tensor:
        """Weights of the columns ``[E]``, 1 where there are none."""
        if self.edge_weight is not None:
            return self.edge_weight
        return torch.ones(self.edge_index.size(1), device=self.edge_index.device)

    def to_columns(self, values: Tensor) -> Tensor:
        """Values of the pairs ``[P, …]`` at the columns of ``edge_index``; 0 at loops."""
        return at_columns(values, self.column_pair)

    def to_pairs(self, values: Tensor) -> Tensor:
        """The mean of the columns of every pair, ``[E]`` to ``[P]``."""
        proper = self.column_pair >= 0
        place = self.column_pair[proper]
        total = values.new_zeros(self.num_pairs).index_add(0, place, values[proper])
        return total / torch.bincount(place, minlength=self.num_pairs).clamp(min=1)

    def triangles(self) -> tuple[Tensor, Tensor]:
        """All triangles ``[3, T]``, and the triangle of every entry of ``opposite_index``."""
        n = self.num_nodes
        found = triangles(self.lines.pair_index.long(), n)
        (u, v), own = self.lines.pair_index.long(), self.lines.entry_pairs[0]
        corners = torch.stack([u[own], v[own], self.lines.opposite_index.long()])
        a, b, c = torch.sort(corners, dim=0).values
        key = (found[0] * n + found[1]) * n + found[2]
        key, order = torch.sort(key)
        return found, order[torch.searchsorted(key, (a * n + b) * n + c)]


@dataclass(frozen=True, eq=False)
class MaskableUnion:
    """Several graphs as one disjoint union.

    Attributes:
        graphs: The graphs.
        batch: Their union, as models read it.
    """

    graphs: Sequence[MaskableGraph]
    batch: GraphBatch

    @staticmethod
    def of(graphs: Sequence[MaskableGraph]) -> "MaskableUnion":
        """The union of some graphs, one or more."""
        lines = [graph.lines for graph in graphs]
        device = lines[0].pair_index.device
        ids = torch.arange(len(lines), device=device)
        batch = GraphBatch(
            joined([graph.x for graph in graphs]),  # type: ignore[arg-type]
            ids,
            lengths_to_ptr(torch.tensor([each.num_nodes for each in lines], device=device)),
            ids,
            joined_lines(lines, **_carried(lines)),
            graph_x=joined([graph.graph_x for graph in graphs]),
        )
        return MaskableUnion(graphs, batch)

    def tiled(self, copies: int) -> "MaskableUnion":
        """The union of so many copies of all graphs."""
        batch, lines = self.batch, self.batch.lines
        device = batch.ptr.device

        def shifted(index: Tensor) -> Tensor:
            start = torch.arange(copies, device=device, dtype=index.dtype) * lines.num_nodes
            return (index.unsqueeze(-2) + start[:, None]).flatten(-2)

        table = lines.pair_table
        union = EgoLines(
            num_nodes=copies * lines.num_nodes,
            pair_index=shifted(lines.pair_index),
            opposite_index=shifted(lines.opposite_index),
            opposite_count=lines.opposite_count.repeat(copies),
            pair_triangles=lines.pair_triangles.repeat(copies),
            multiplicity=lines.multiplicity.repeat(copies),
            pair_table=table,
            pair_rows=None if table is None else lines.row_of_pair.repeat(copies),
            **lines.edge_layout,
            _trusted=True,
        )
        ids = torch.arange(copies * len(self.graphs), device=device)
        many = GraphBatch(
            joined([batch.x] * copies),  # type: ignore[arg-type]
            ids,
            lengths_to_ptr(torch.diff(batch.ptr).repeat(copies)),
            ids,
            union,
            graph_x=joined([batch.graph_x] * copies),
            _trusted=True,
        )
        return MaskableUnion([*self.graphs] * copies, many)

    @cached_property
    def pair_ptr(self) -> Tensor:
        """Where the pairs of each graph begin ``[B + 1]``."""
        sizes = [graph.num_pairs for graph in self.graphs]
        return lengths_to_ptr(torch.tensor(sizes, device=self.batch.ptr.device))

    @property
    def num_pairs(self) -> int:
        """Number of undirected edges of all graphs."""
        return self.batch.lines.num_pairs

    @cached_property
    def pair_graph(self) -> Tensor:
        """The graph of every pair."""
        return segment_ids(self.pair_ptr)

    @cached_property
    def edge_index(self) -> Tensor:
        """The columns of all graphs ``[2, E]``."""
        start = self.batch.ptr[:-1].tolist()
        columns = [s.edge_index + at for s, at in zip(self.graphs, start, strict=True)]
        return torch.cat(columns, 1)

    @cached_property
    def column_pair(self) -> Tensor:
        """The pair of the union each column is a direction of ``[E]``, -1 for a self-loop."""
        start = self.pair_ptr[:-1].tolist()
        pairs = [(s.column_pair, at) for s, at in zip(self.graphs, start, strict=True)]
        return torch.cat([torch.where(pair < 0, -1, pair + at) for pair, at in pairs])

    def to_columns(self, mask: Tensor) -> Tensor:
        """A mask of the pairs ``[P]`` at the columns of ``edge_index`` ``[E]``; 1 at self-loops."""
        at = mask[self.column_pair.clamp(min=0)] if self.num_pairs else mask.new_ones(1)
        return torch.where(self.column_pair < 0, 1, at)

    @cached_property
    def edge_weight(self) -> Tensor | None:
        """The weights of all columns ``[E]``, where some graph has weights."""
        if all(graph.edge_weight is None for graph in self.graphs):
            return None
        return torch.cat([graph.column_weight for graph in self.graphs])

    def data(self) -> Data:
        """The graphs as a batch of PyG."""
        data = Data(x=self.batch.x, edge_index=self.edge_index, num_nodes=self.batch.num_nodes)
        if self.edge_weight is not None:
            data.edge_weight = self.edge_weight
        data.ptr, data.batch = self.batch.ptr, segment_ids(self.batch.ptr)
        each = self.batch.lines.pair_attr
        if each is not None:
            data.edge_attr = at_columns(each, self.column_pair)  # loops have lost their features
        if self.batch.graph_x is not None:
            data.graph_x = self.batch.graph_x
        return data


def joined(features: Sequence[Tensor | None]) -> Tensor | None:
    """The features of several graphs one after another, where all have some."""
    known = [each for each in features if each is not None]
    return torch.cat(known) if known and len(known) == len(features) else None


def at_columns(values: Tensor, column_pair: Tensor) -> Tensor:
    """Values of pairs ``[P, …]`` at columns that know their pair ``[E, …]``; 0 at self-loops."""
    proper = column_pair >= 0
    found = values.new_zeros(proper.numel(), *values.shape[1:])
    found[proper] = values[column_pair[proper]]
    return found


def _lines(data: Any) -> EgoLines:
    known = getattr(data, "lines", None), getattr(data, "pair_index", None)
    if any(field is not None for field in known):
        return EgoLines.from_data(data)
    if data.edge_index is None:
        raise ValueError("The graph has no `edge_index`. Give an empty one, [2, 0], for no edges.")
    nodes = int(data.num_nodes)
    lines = EgoLines.from_edge_index(data.edge_index, nodes)
    attr = getattr(data, "edge_attr", None)
    edges = EdgeFeatures.of_columns(data.edge_index, attr, lines.pair_index, nodes)
    return lines if edges is None else lines.with_edges(edges)


def _written_out(lines: EgoLines) -> tuple[EgoLines, Tensor]:
    """The ego line graphs of the original graph, and the class of every node."""
    pairs, pair_of = expand_classes(lines.pair_index, lines.multiplicity)
    classes = torch.arange(lines.num_nodes, device=pairs.device)
    node_class = torch.repeat_interleave(classes, lines.multiplicity.long())
    full = EgoLines.from_pairs(pairs, node_class.numel())
    return replace(full, **lines.table_of(pair_of)), node_class


def _column_pair(edge_index: Tensor, lines: EgoLines) -> Tensor:
    n = max(lines.num_nodes, 1)
    low, high = torch.sort(edge_index.long(), dim=0).values
    pairs = lines.pair_index.long()
    key, wanted = pairs[0] * n + pairs[1], low * n + high
    if not torch.equal(undirected_pairs(edge_index, lines.num_nodes), pairs):
        raise ValueError(
            "`edge_index` and the line graphs of the graph do not have the same edges. "
            "Rebuild the line graphs with `lgan.EgoLineGraph()` after changing the graph."
        )
    return torch.where(low == high, -1, torch.searchsorted(key, wanted))


def _carried(lines: Sequence[EgoLines]) -> dict[str, Any]:
    """What the pairs of the union carry, if those of all graphs carry something."""
    tables = [each.at_pairs(each.pair_table) for each in lines if each.pair_table is not None]
    if not tables or len(tables) < len(lines):
        return {}
    return {**lines[0].edge_layout, "pair_table": torch.cat(tables)}

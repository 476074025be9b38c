"""Many graphs as one disjoint union, and batches of it as index ranges."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import InitVar, dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from lgan.graph.cells import Cells, batch_cells, cells_from_tensors, cells_to_tensors
from lgan.graph.checks import REBUILD, check_cells, check_lines_in_graphs, check_pairs, check_ptr
from lgan.graph.edge_features import EdgeFeatures
from lgan.graph.edges import check_integers
from lgan.graph.ego_lines import FIELDS, EgoLines
from lgan.graph.segments import concat_ranges, lengths_to_ptr
from lgan.task import Kind, Task

__all__ = ["GraphBatch", "GraphUnion", "Lift", "graph_ptr"]

# Fields of the ego line graphs that a union has beside the others where its pairs carry something.
CARRIED = ("pair_table", "pair_rows")


@dataclass(frozen=True)
class GraphBatch:
    """Some graphs of a union, with the names a PyG ``Batch`` has.

    Attributes:
        x: Node features ``[n]`` or ``[n, F]``.
        y: Class of every graph ``[B]``.
        ptr: Where the nodes of each graph begin ``[B + 1]``.
        ids: Which graphs of the union these are ``[B]``.
        lines: Their ego line graphs.
        node_weight: How often a node counts in the statistics of a batch, ``[n]`` or one row
            per model ``[K, n]``; ``None`` for as often as it has twins.
        cells: What a lifted model reads beside nodes and pairs, by family.
        graph_x: Features of every graph as a whole ``[B, d]``.
    """

    x: Tensor
    y: Tensor
    ptr: Tensor
    ids: Tensor
    lines: EgoLines
    node_weight: Tensor | None = None
    cells: dict[str, Cells] = field(default_factory=dict)
    graph_x: Tensor | None = None
    _trusted: InitVar[bool] = False

    def __post_init__(self, _trusted: bool) -> None:
        if not _trusted:
            check_ptr(
                "ptr", self.ptr, self.num_nodes, remedy="Cut batches with `GraphUnion.batch`."
            )
            check_cells(self.cells, self.ptr)

    def weighted(self, node_weight: Tensor) -> "GraphBatch":
        """The same batch whose nodes count so often in the statistics, ``[n]`` or ``[K, n]``."""
        return replace(self, node_weight=node_weight, _trusted=True)

    @property
    def num_graphs(self) -> int:
        """Number of graphs."""
        return self.ids.numel()

    @property
    def num_nodes(self) -> int:
        """Number of nodes (classes of twins)."""
        return self.lines.num_nodes

    @property
    def multiplicity(self) -> Tensor:
        """Nodes each node stands for ``[n]``."""
        return self.lines.multiplicity

    @cached_property
    def batch(self) -> Tensor:
        """The graph of every node ``[n]``; nodes beyond the last graph count to it."""
        place = torch.arange(self.num_nodes, device=self.ptr.device)
        return torch.searchsorted(self.ptr[1:], place, right=True).clamp_(max=self.num_graphs - 1)

    def to(self, device: torch.device | str) -> "GraphBatch":
        """The same batch on another device."""
        return GraphBatch(
            x=self.x.to(device),
            y=self.y.to(device),
            ptr=self.ptr.to(device),
            ids=self.ids.to(device),
            lines=self.lines.to(device),
            node_weight=None if self.node_weight is None else self.node_weight.to(device),
            cells={name: family.to(device) for name, family in self.cells.items()},
            graph_x=None if self.graph_x is None else self.graph_x.to(device),
            _trusted=True,
        )

    def typed(self, dtype: torch.dtype) -> "GraphBatch":
        """The same batch with real features of another precision."""
        real = {n: getattr(self, n) for n in ("x", "graph_x")}
        real = {n: t.to(dtype) for n, t in real.items() if t is not None and t.is_floating_point()}
        if all(value is getattr(self, name) for name, value in real.items()):
            return self
        return replace(self, **real, _trusted=True)

    @cached_property
    def edge_index(self) -> Tensor:
        """Both directions of every edge ``[2, 2 P]``, for layers of PyG."""
        pairs = self.lines.pair_index.long()
        return torch.cat([pairs, pairs.flip(0)], 1)

    @cached_property
    def edge_attr(self) -> Tensor | None:
        """The features of every column of ``edge_index``, ``2 P`` rows, for layers of PyG."""
        each = self.lines.pair_attr
        return None if each is None else torch.cat([each, each])


@dataclass(frozen=True)
class GraphUnion:
    """A data set ready for training: one disjoint union with pointers per graph.

    Attributes:
        x: Node features: ``[N]`` categories, ``[N, F]``, or ``[N]`` rows of ``x_table``.
        y: Class of every graph ``[G]``.
        num_features: Features, or categories.
        num_classes: Classes.
        node_ptr: Where the nodes of each graph begin ``[G + 1]``.
        lines: The ego line graphs of the whole union.
        original_nodes: Number of nodes before twins were merged.
        name: Name of the data set.
        cells: Families of cells that a :class:`Lift` added.
        task: What is to be predicted; ``None`` for classes that have no names.
        x_table: The distinct rows of real features ``[U, F]``, where few are distinct; batches
            have the rows themselves.
        graph_x: Features of every graph as a whole ``[G, d]``.
    """

    x: Tensor
    y: Tensor
    num_features: int
    num_classes: int
    node_ptr: Tensor
    lines: EgoLines
    original_nodes: int
    name: str = ""
    cells: dict[str, Cells] = field(default_factory=dict)
    task: Task | None = None
    x_table: Tensor | None = None
    graph_x: Tensor | None = None
    _trusted: InitVar[bool] = False

    def __post_init__(self, _trusted: bool) -> None:
        if _trusted:
            return
        check_ptr("node_ptr", self.node_ptr, self.lines.num_nodes, remedy="Build the union again.")
        _check_rows("x", self.x, self.lines.num_nodes)
        if self.x_table is not None:
            _check_table(self.x, self.x_table, self.num_features)
        _check_rows("y", self.y, self.node_ptr.numel() - 1)
        if self.graph_x is not None:
            _check_graph_x(self.graph_x, self.node_ptr.numel() - 1)
        check_lines_in_graphs(self.lines, self.node_ptr, self.pair_ptr, self.opposite_ptr)
        check_cells(self.cells, self.node_ptr)

    # Pairs are in lexicographic order and nodes in the order of the graphs, so the pairs of a
    # graph, and what lies opposite them, are ranges too.

    @cached_property
    def pair_ptr(self) -> Tensor:
        """Where the pairs of each graph begin ``[G + 1]``."""
        first = self.lines.pair_index[0].contiguous()
        return torch.searchsorted(first, self.node_ptr.to(first.dtype))

    @cached_property
    def opposite_ptr(self) -> Tensor:
        """Where the nodes opposite the pairs of each graph begin ``[G + 1]``."""
        return self.lines.opposite_ptr[self.pair_ptr]

    def __repr__(self) -> str:
        return (
            f"GraphUnion({self.name!r}, num_graphs={self.num_graphs}, "
            f"num_nodes={self.lines.num_nodes}, num_pairs={self.lines.num_pairs}, "
            f"num_features={self.num_features}, num_classes={self.num_classes})"
        )

    @staticmethod
    def build(
        x: Tensor,
        pair_index: Tensor,
        y: Tensor,
        node_ptr: Tensor,
        *,
        num_features: int,
        num_classes: int,
        compress: bool = True,
        triangles: bool = True,
        pair_code: str = "none",
        name: str = "",
        task: Task | None = None,
        x_table: Tensor | None = None,
        edges: EdgeFeatures | None = None,
        graph_x: Tensor | None = None,
    ) -> "GraphUnion":
        """Merge twins, list triangles, lay out the ego line graphs of all graphs at once.

        Args:
            x: Node features, ``[N]`` categories or ``[N, F]``.
            pair_index: Canonical pairs of the union ``[2, P]``.
            y: Classes ``[G]``, or real targets ``[G, T]``. Where classes are missing they are -1:
                all of them, or some where there is a ``task``.
            node_ptr: Where the nodes of each graph begin ``[G + 1]``.
            num_features: Features, or categories.
            num_classes: Classes.
            compress: Merge true twins with equal features; outputs stay the same.
            triangles: List them; without ``compress`` a model that never reads them can do without.
            pair_code: Level of structural codes that the pairs carry.
            name: Name of the data set.
            task: What is to be predicted.
            x_table: Real features ``[U, F]`` of which ``x`` holds the rows ``[N]``, each row once.
            edges: Features of the pairs.
            graph_x: Features of every graph as a whole ``[G, d]``.
        """
        categories = num_features if x_table is None else len(x_table)
        num_nodes = _check_parts(x, y, node_ptr, categories, num_classes, named=task is not None)
        check_pairs(pair_index, num_nodes)
        if edges is not None:
            _check_edges(edges, pair_index.size(1))
        if compress:
            lines, node_class = EgoLines.compressed(pair_index, num_nodes, x, edges)
            first = torch.full((lines.num_nodes,), num_nodes, dtype=torch.int64)
            first = first.scatter_reduce(0, node_class, torch.arange(num_nodes), "amin")
            x = x[first]
            node_ptr = torch.searchsorted(first, node_ptr)
        elif triangles:
            lines = EgoLines.from_pairs(pair_index, num_nodes)
        else:
            lines = EgoLines.edges_only(pair_index, num_nodes)
        if edges is not None and not compress:
            lines = lines.with_edges(edges)
        compact = replace(
            lines.coded(pair_code), pair_index=lines.pair_index.to(torch.int32), _trusted=True
        )
        return GraphUnion(
            x=x,
            y=y,
            num_features=num_features,
            num_classes=num_classes,
            node_ptr=node_ptr,
            lines=compact,
            original_nodes=num_nodes,
            name=name,
            task=task,
            x_table=x_table,
            graph_x=graph_x,
        )

    def tensors(self) -> dict[str, Tensor]:
        """Everything that :meth:`from_tensors` needs, as tensors by name."""
        numbers = (
            self.num_features, self.num_classes, self.original_nodes,
            *(int(value) for value in self.lines.edge_layout.values()),
        )  # fmt: skip
        stored = {"x": self.x, "y": self.y, "node_ptr": self.node_ptr}
        stored["numbers"] = torch.tensor(numbers)
        stored |= {} if self.x_table is None else {"x_table": self.x_table}
        stored |= {} if self.graph_x is None else {"graph_x": self.graph_x}
        stored |= {name: getattr(self.lines, name) for name in FIELDS}
        carried = {name: getattr(self.lines, name) for name in CARRIED}
        stored |= {name: value for name, value in carried.items() if value is not None}
        return stored | cells_to_tensors(self.cells)

    @staticmethod
    def from_tensors(
        stored: dict[str, Tensor], name: str = "", task: Task | None = None
    ) -> "GraphUnion":
        """The data set back from :meth:`tensors`."""
        for key in ("x", "y", "node_ptr", "numbers", *FIELDS):
            if not isinstance(stored.get(key), Tensor):
                raise ValueError(f"The data set has no tensor `{key}`. Prepare it again.")
        check_integers("numbers", stored["numbers"], (6,), remedy="Prepare the data set again.")
        num_features, num_classes, original_nodes, columns, *flags = stored["numbers"].tolist()
        kept: dict[str, Any] = {n: stored[n] for n in (*FIELDS, *CARRIED) if n in stored}
        lines = EgoLines(
            num_nodes=stored["multiplicity"].numel(),
            **kept,
            edge_columns=columns,
            edge_categories=bool(flags[0]),
            edge_directed=bool(flags[1]),
        )
        return GraphUnion(
            x=stored["x"],
            y=stored["y"],
            num_features=num_features,
            num_classes=num_classes,
            node_ptr=stored["node_ptr"],
            lines=lines,
            original_nodes=original_nodes,
            name=name,
            cells=cells_from_tensors(stored),
            task=task,
            x_table=stored.get("x_table"),
            graph_x=stored.get("graph_x"),
        )

    def lifted(self, lift: "Lift", progress: Callable[[float], None] | None = None) -> "GraphUnion":
        """The same data set with the cells that a transform adds."""
        cells = lift.apply(self, progress or (lambda _: None))
        return replace(self, cells={**self.cells, **cells})

    @property
    def features(self) -> Tensor:
        """Node features as a model reads them: ``[N]`` categories, or ``[N, F]``."""
        return self.x if self.x_table is None else self.x_table[self.x]

    @property
    def num_edge_features(self) -> int:
        """Features of an edge; 0 where the edges have none."""
        return self.lines.edge_columns

    @property
    def num_graph_features(self) -> int:
        """Features of a graph as a whole; 0 where there are none."""
        return 0 if self.graph_x is None else self.graph_x.size(1)

    @property
    def edge_directed(self) -> bool:
        """Whether the edges have a direction."""
        return self.lines.edge_directed

    @cached_property
    def known_task(self) -> Task:
        """What is to be predicted; classes are called by their numbers where they have no names."""
        if self.task is not None:
            return self.task
        kind: Kind = "binary" if self.num_classes == 2 else "multiclass"
        return Task(kind, ("class",), tuple(str(label) for label in range(self.num_classes)))

    @property
    def num_graphs(self) -> int:
        """Number of graphs."""
        return self.y.size(0)

    @property
    def nbytes(self) -> int:
        """Memory of all tensors."""
        return sum(tensor.nbytes for tensor in self.tensors().values())

    def __len__(self) -> int:
        return self.num_graphs

    @cached_property
    def work_per_graph(self) -> Tensor:
        """What a layer has to touch in every graph: nodes, pairs, triangles, cells ``[G]``."""
        ptrs = [self.node_ptr, self.pair_ptr, self.opposite_ptr]
        ptrs += [family.ptr for family in self.cells.values()]
        return torch.stack([torch.diff(ptr) for ptr in ptrs]).sum(0)

    @property
    def device(self) -> torch.device:
        """Where the tensors are."""
        return self.y.device

    def to(self, device: torch.device | str) -> "GraphUnion":
        """The same data set on another device."""
        moved = {f.name: getattr(self, f.name) for f in fields(self)}
        for key in ("x", "y", "node_ptr", "lines"):
            moved[key] = moved[key].to(device)
        for key in ("x_table", "graph_x"):
            moved[key] = None if moved[key] is None else moved[key].to(device)
        moved["cells"] = {name: family.to(device) for name, family in self.cells.items()}
        return GraphUnion(**moved, _trusted=True)

    def batch(self, ids: Tensor) -> GraphBatch:
        """The graphs ``ids`` as one disjoint union, without a loop over graphs.

        Args:
            ids: Graphs ``[B]``, in any order, on the device of the union.
        """
        self._check_graphs(ids)
        lines = self.lines
        start = self.node_ptr[ids]
        length = self.node_ptr[ids + 1] - start
        ptr = lengths_to_ptr(length)
        shift = ptr[:-1] - start  # what to add to a node id of the union
        nodes = concat_ranges(start, length)

        pair_start = self.pair_ptr[ids]
        pair_length = self.pair_ptr[ids + 1] - pair_start
        pairs = concat_ranges(pair_start, pair_length)
        shift32 = shift.to(torch.int32)

        opposite_start = self.opposite_ptr[ids]
        opposite_length = self.opposite_ptr[ids + 1] - opposite_start
        opposite = lines.opposite_index[concat_ranges(opposite_start, opposite_length)]
        batch = EgoLines(
            num_nodes=nodes.numel(),
            pair_index=lines.pair_index[:, pairs] + torch.repeat_interleave(shift32, pair_length),
            opposite_index=opposite + torch.repeat_interleave(shift32, opposite_length),
            opposite_count=lines.opposite_count[pairs],
            pair_triangles=lines.pair_triangles[pairs],
            multiplicity=lines.multiplicity[nodes],
            **lines.table_of(pairs),
            _trusted=True,
        )
        cells = batch_cells(self.cells, self.node_ptr, ids) if self.cells else {}
        x = self.x[nodes] if self.x_table is None else self.x_table[self.x[nodes]]
        graph_x = None if self.graph_x is None else self.graph_x[ids]
        return GraphBatch(
            x, self.y[ids], ptr, ids, batch, cells=cells, graph_x=graph_x, _trusted=True
        )

    def select(self, ids: Tensor) -> "GraphUnion":
        """Some of the graphs, in any order, as a data set of its own.

        Args:
            ids: Graphs ``[B]``, on the device of the union.
        """
        batch = self.batch(ids)
        start = self.node_ptr[ids]
        return replace(
            self,
            x=self.x[concat_ranges(start, self.node_ptr[ids + 1] - start)],
            y=batch.y,
            node_ptr=batch.ptr,
            lines=batch.lines,
            original_nodes=int(batch.multiplicity.sum()),
            cells=batch.cells,
            graph_x=batch.graph_x,
            _trusted=True,
        )

    def batches(self, plan: Iterable[Tensor]) -> Iterator[GraphBatch]:
        """Batch after batch, of the graphs of each."""
        return (self.batch(ids.to(self.device)) for ids in plan)

    def _check_graphs(self, ids: Tensor) -> None:
        """Elsewhere than on the CPU a look at the ids would wait for the device."""
        check_integers("ids", ids, (None,), remedy="Give the numbers of some graphs.")
        if ids.device.type == "cpu" and ids.numel():
            low, high = (int(bound) for bound in torch.aminmax(ids))
            if low < 0 or high >= self.num_graphs:
                raise ValueError(
                    f"`ids` must hold graphs from 0 to {self.num_graphs - 1}, got {low} to {high}."
                )


def _check_parts(
    x: Tensor, y: Tensor, node_ptr: Tensor, num_features: int, num_classes: int, *, named: bool
) -> int:
    """Raise an error unless features and targets fit the graphs; the number of nodes.

    Classes that are ``named`` by a task may be missing, -1, for some graphs.
    """
    check_integers("node_ptr", node_ptr, (None,), remedy="Give where each graph begins.")
    num_nodes = int(node_ptr[-1]) if node_ptr.numel() else 0
    check_ptr("node_ptr", node_ptr, num_nodes, remedy="Give where each graph begins.")
    _check_rows("x", x, num_nodes)
    _check_rows("y", y, node_ptr.numel() - 1)
    if x.is_floating_point() and not bool(torch.isfinite(x).all()):
        raise ValueError("`x` must be finite, got NaN or infinite values. Clean the features.")
    for name, value, number in (("x", x, num_features), ("y", y, num_classes)):
        if value.dim() == 1 and value.is_floating_point():
            raise TypeError(
                f"`{name}` must hold numbers of categories or classes, got {value.dtype}. "
                f"Convert it with `{name}.long()`, or give real values one row each."
            )
        if value.dim() == 1 and value.numel():
            low, high = (int(bound) for bound in torch.aminmax(value))
            # Without a task, -1 beside other numbers may well be a class of its own.
            least = -1 if name == "y" and (named or high == -1) else 0
            if low < least or high >= number:
                raise ValueError(
                    f"`{name}` must hold numbers from 0 to {number - 1}, got {low} to {high}. "
                    "Number categories and classes from 0 on, for example with "
                    f"`torch.unique({name}, return_inverse=True)`."
                )
    return num_nodes


def _check_table(x: Tensor, table: Tensor, num_features: int) -> None:
    if table.dim() != 2 or not table.is_floating_point() or table.size(1) != num_features:
        raise ValueError(
            f"`x_table` must be real and have {num_features} columns, got {table.dtype} of shape "
            f"{list(table.shape)}."
        )
    if not bool(torch.isfinite(table).all()):
        raise ValueError("`x_table` must be finite, got NaN or infinite values.")
    check_integers("x", x, (None,), remedy="Give the row of `x_table` of every node.")
    if x.numel():
        low, high = (int(bound) for bound in torch.aminmax(x))
        if low < 0 or high >= len(table):
            raise ValueError(
                f"`x` must hold rows of `x_table` from 0 to {len(table) - 1}, got {low} to {high}."
            )


def _check_edges(edges: EdgeFeatures, pairs: int) -> None:
    check_integers("edges.rows", edges.rows, (pairs,), remedy="Give the features of every pair.")
    table = edges.table
    if not isinstance(table, Tensor) or table.dim() != 2 or not table.is_floating_point():
        got = f"{table.dtype} {list(table.shape)}" if isinstance(table, Tensor) else type(table)
        raise ValueError(f"`edges.table` must hold rows of real numbers [U, m], got {got}.")
    if not bool(torch.isfinite(table).all()):
        raise ValueError("`edges.table` must be finite, got NaN or infinite values.")
    low, high = (int(b) for b in torch.aminmax(edges.rows)) if pairs else (0, -1)
    if low < 0 or high >= len(table):
        raise ValueError(
            f"`edges.rows` must hold rows of the table from 0 to {len(table) - 1}, got {low} to "
            f"{high}. Make them with `EdgeFeatures.of`."
        )


def _check_graph_x(graph_x: Tensor, graphs: int) -> None:
    _check_rows("graph_x", graph_x, graphs)
    if graph_x.dim() != 2 or not graph_x.is_floating_point():
        raise ValueError(
            f"`graph_x` must hold a row of real numbers for every graph, got {graph_x.dtype} of "
            f"shape {list(graph_x.shape)}."
        )
    if not bool(torch.isfinite(graph_x).all()):
        raise ValueError("`graph_x` must be finite, got NaN or infinite values.")


def _check_rows(name: str, value: Any, rows: int) -> None:
    if not isinstance(value, Tensor) or value.is_complex():
        got = value.dtype if isinstance(value, Tensor) else type(value).__name__
        raise TypeError(f"`{name}` must be a tensor of real numbers, got {got}.")
    if value.dim() == 0 or value.size(0) != rows:
        raise ValueError(
            f"`{name}` must have {rows} rows, got shape {list(value.shape)}. "
            "Give a row for every node and a target for every graph."
        )


def graph_ptr(data: Any, num_nodes: int, device: torch.device) -> Tensor:
    """Where the nodes of each graph of a batch begin ``[B + 1]``; a graph alone begins at 0.

    Args:
        data: A PyG ``Data`` or ``Batch``, or a :class:`GraphBatch`.
        num_nodes: Number of its nodes.
        device: Where they are.
    """
    ptr, batch = getattr(data, "ptr", None), getattr(data, "batch", None)
    if isinstance(data, GraphBatch):
        return data.ptr
    if ptr is not None:
        check_ptr("ptr", ptr, num_nodes, remedy=f"Let PyG batch the graphs. {REBUILD}")
        found: Tensor = ptr
        return found
    if batch is None:
        return torch.tensor([0, num_nodes], device=device)
    check_integers("batch", batch, (num_nodes,), remedy="Let PyG batch the graphs.")
    if num_nodes and (bool((batch[1:] < batch[:-1]).any()) or int(batch[0]) < 0):
        raise ValueError(
            "`batch` must be sorted, graph after graph, from 0 on. Let PyG batch the graphs."
        )
    graphs = int(batch[-1]) + 1 if num_nodes else 0
    return torch.searchsorted(batch, torch.arange(graphs + 1, device=batch.device))


@dataclass(frozen=True)
class Lift:
    """A transform that adds cells to a data set.

    Attributes:
        key: Names the transform and all its options: part of the key of a cache.
        apply: Called with the union (on the CPU) and a progress callback that takes fractions.
        refuse: Called before anything is built, with the name of the data set, its pairs
            ``[2, P]`` and where the nodes of each graph begin ``[G + 1]``; raises an error where
            the cells would not fit.
    """

    key: str
    apply: Callable[[GraphUnion, Callable[[float], None]], dict[str, Cells]]
    refuse: Callable[[str, Tensor, Tensor], None] | None = None

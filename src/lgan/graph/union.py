"""Many graphs as one disjoint union, and batches of it as index ranges."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import InitVar, dataclass, field, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from lgan.graph.batch import GraphBatch
from lgan.graph.cells import Cells, batch_cells, cells_from_tensors, cells_to_tensors
from lgan.graph.checks import check_cells, check_own, check_pairs, check_ptr
from lgan.graph.cutting import cut_pairs
from lgan.graph.edge_features import EdgeFeatures
from lgan.graph.edges import check_integers, check_range
from lgan.graph.ego_lines import FIELDS, EgoLines
from lgan.graph.moving import moved
from lgan.graph.pair_codes import class_degree
from lgan.graph.segments import concat_ranges, lengths_to_ptr
from lgan.graph.union_checks import (
    check_edge_features,
    check_graph_x,
    check_parts,
    check_rows,
    check_x_table,
)
from lgan.task import Kind, Task

# Fields of the ego line graphs that a union has beside the others where its pairs carry something.
CARRIED = ("pair_table", "pair_rows")


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
    apply: Callable[["GraphUnion", Callable[[float], None]], dict[str, Cells]]
    refuse: Callable[[str, Tensor, Tensor], None] | None = None


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
        check_rows("x", self.x, self.lines.num_nodes)
        if self.x_table is not None:
            check_x_table(self.x, self.x_table, self.num_features)
        check_rows("y", self.y, self.node_ptr.numel() - 1)
        if self.graph_x is not None:
            check_graph_x(self.graph_x, self.node_ptr.numel() - 1)
        check_own("pair_index", self.lines.pair_index[1], self.pair_ptr, self.node_ptr)
        check_own("opposite_index", self.lines.opposite_index, self.opposite_ptr, self.node_ptr)
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
        num_nodes = check_parts(x, y, node_ptr, categories, num_classes, named=task is not None)
        check_pairs(pair_index, num_nodes)
        if edges is not None:
            check_edge_features(edges, pair_index.size(1))
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

    def lifted(self, lift: Lift, progress: Callable[[float], None] | None = None) -> "GraphUnion":
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
    def only_degrees(self) -> bool:
        """Whether nodes tell no more than their degree, and edges tell nothing.

        Example:
            >>> import lgan
            >>> lgan.load("triangles").only_degrees
            True
        """
        if self.num_edge_features or self.edge_directed or self.x.dim() != 1:
            return False
        lines = self.lines
        degree = class_degree(lines.pair_index.long(), lines.multiplicity.long())
        told = self.x.new_zeros(int(degree.max()) + 1 if len(degree) else 0)
        told[degree] = self.x
        return bool((told[degree] == self.x).all())

    @cached_property
    def unevenness(self) -> float:
        """How many times as many edges and triangles as the mean one node in a thousand has.

        Example:
            >>> import lgan
            >>> round(lgan.load("csl").unevenness, 2)  # a tenth of these graphs has triangles
            1.63
        """
        lines, k = self.lines, self.lines.multiplicity.long()
        u, v = pairs = lines.pair_index.long()
        number = class_degree(pairs, k).double()
        each = lines.pair_triangles.double() / 2
        number.index_add_(0, u, each * (k[v] - (u == v).long()))
        number.index_add_(0, v, torch.where(u == v, 0, each * k[u]))
        number = number.repeat_interleave(k)
        if not number.any():
            return 1.0
        place = 1 + int(0.999 * (len(number) - 1))
        return float(number.kthvalue(place).values / number.mean())

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
        cells = {name: family.to(device) for name, family in self.cells.items()}
        lines = self.lines.to(device)
        return replace(self, **moved(self, device), lines=lines, cells=cells, _trusted=True)

    def batch(self, ids: Tensor) -> GraphBatch:
        """The graphs ``ids`` as one disjoint union, without a loop over graphs.

        Args:
            ids: Graphs ``[B]``, in any order, on the device of the union.
        """
        check_integers("ids", ids, (None,), remedy="Give the numbers of some graphs.")
        if ids.device.type == "cpu":  # elsewhere a look at the ids would wait for the device
            check_range("ids", ids, self.num_graphs, of="graphs")
        lines = self.lines
        start = self.node_ptr[ids]
        length = self.node_ptr[ids + 1] - start
        ptr = lengths_to_ptr(length)
        shift = ptr[:-1] - start  # what to add to a node id of the union
        nodes = concat_ranges(start, length)

        batch = EgoLines(
            num_nodes=nodes.numel(),
            multiplicity=lines.multiplicity[nodes],
            **cut_pairs(lines, self.pair_ptr, self.opposite_ptr, ids, shift.to(torch.int32)),
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

"""Graphs as they were read or generated."""

import hashlib
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from lgan.data.columns import Columns
from lgan.graph.checks import check_pairs
from lgan.graph.segments import concat_ranges, lengths_to_ptr
from lgan.task import Kind, Task

T = TypeVar("T")
# Defaults that depend on the sizes, told by their identity.
_NO_COLUMNS = Columns.empty(0)
_IN_ORDER = torch.empty(0, dtype=torch.int64)


@dataclass(frozen=True, eq=False)
class RawGraphs:
    """Graphs as they were read or generated: one disjoint union, nothing derived.

    Args:
        name: The name of the set.
        node_ptr: The nodes of graph ``g`` are ``node_ptr[g]:node_ptr[g + 1]``.
        pair_index: Every undirected edge once, as ``u < v`` in node ids of the union, in
            lexicographic order and hence graph by graph.
        nodes: Features of the nodes; none unless given.
        pairs: Features of the pairs; none unless given.
        targets: Columns with one value per graph, as the source spells them; maybe none.
        task: What the source says of its targets: the order of classes, say. Where it says
            nothing, the task is found from the values.
        columns: Further columns with one value per graph, for groups or splits.
        rows: The row of the source that every graph comes from; ``0, 1, …`` unless given.
        errors: The rows that could not be read, each with the reason.
        ids: What the source calls every graph: a SMILES, say.
        structures: What every graph was computed from, as it was given: SMILES, mol blocks or
            molecules of RDKit; see `lgan.data.molecules.graphs.graph_molecule`.
        featuriser: What made the features of nodes and pairs, with its options, where they are
            computed from something else (molecules).
        ground_truth: Whether a pair belongs to a planted motif.
        direction: Which way the arcs of directed graphs go
            (:func:`lgan.graph.edge_features.pair_direction`), int8.
        symmetrised: Whether directed graphs were to be read as undirected ones.

    Shapes:
        ``node_ptr [G + 1]``, ``pair_index [2, P]``, ``rows [G]``, ``ground_truth [P]``,
        ``direction [P]``.

    Example:
        >>> path = RawGraphs(
        ...     name="path",
        ...     node_ptr=torch.tensor([0, 3]),
        ...     pair_index=torch.tensor([[0, 1], [1, 2]]),
        ...     nodes=Columns.of_categories({"element": ["C", "C", "O"]}),
        ... )
        >>> path.num_graphs, path.num_nodes, path.num_pairs
        (1, 3, 2)
    """

    name: str
    node_ptr: Tensor
    pair_index: Tensor
    nodes: Columns = _NO_COLUMNS
    pairs: Columns = _NO_COLUMNS
    targets: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    task: Task | None = None
    columns: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    rows: Tensor = _IN_ORDER
    errors: tuple[tuple[int, str], ...] = ()
    ids: tuple[str, ...] | None = None
    structures: tuple[Any, ...] | None = None
    featuriser: Mapping[str, Any] | None = None
    ground_truth: Tensor | None = None
    direction: Tensor | None = None
    symmetrised: bool = False

    def __post_init__(self) -> None:
        _check_field("node_ptr", self.node_ptr, torch.int64, (None,))
        _check_field("pair_index", self.pair_index, torch.int64, (2, None))
        if len(self.node_ptr) == 0 or self.node_ptr[0] != 0 or (self.node_ptr.diff() < 0).any():
            raise ValueError(
                f"`node_ptr` of {self.name} must begin with 0 and never decrease, got "
                f"{self.node_ptr[:8].tolist()}. Pass the cumulative number of nodes per graph."
            )
        check_pairs(self.pair_index, self.num_nodes)
        self._check_within_graphs()
        if self.nodes is _NO_COLUMNS:
            object.__setattr__(self, "nodes", Columns.empty(self.num_nodes))
        if self.pairs is _NO_COLUMNS:
            object.__setattr__(self, "pairs", Columns.empty(self.num_pairs))
        if self.rows is _IN_ORDER:
            object.__setattr__(self, "rows", torch.arange(self.num_graphs))
        _check_field("rows", self.rows, torch.int64, (self.num_graphs,))
        _check_field("ground_truth", self.ground_truth, torch.bool, (self.num_pairs,))
        _check_field("direction", self.direction, torch.int8, (self.num_pairs,))
        _check_length("nodes", len(self.nodes), self.num_nodes)
        _check_length("pairs", len(self.pairs), self.num_pairs)
        for of, columns in (("targets", self.targets), ("columns", self.columns)):
            for column, values in columns.items():
                _check_length(f"{of}[{column!r}]", len(values), self.num_graphs)
        for of, each in (("ids", self.ids), ("structures", self.structures)):
            if each is not None:
                _check_length(of, len(each), self.num_graphs)

    @staticmethod
    def numbered(
        name: str,
        node_ptr: Tensor,
        pair_index: Tensor,
        *,
        y: Tensor,
        classes: tuple[str, ...],
        node_labels: Tensor | None = None,
        pair_labels: Tensor | None = None,
        ground_truth: Tensor | None = None,
    ) -> "RawGraphs":
        """Graphs whose classes and labels are numbers from 0 on already.

        Example:
            >>> RawGraphs.numbered(
            ...     "edge", torch.tensor([0, 2]), torch.tensor([[0], [1]]),
            ...     y=torch.tensor([1]), classes=("no", "yes"),
            ... ).targets
            {'class': ['yes']}
        """
        _check_field("y", y, torch.int64, (None,))
        if len(y) and not 0 <= int(y.min()) <= int(y.max()) < len(classes):
            raise ValueError(
                f"`y` must hold classes from 0 to {len(classes) - 1}, got values from "
                f"{int(y.min())} to {int(y.max())}. Number the classes from 0."
            )
        kind: Kind = "binary" if len(classes) == 2 else "multiclass"
        return RawGraphs(
            name=name,
            node_ptr=node_ptr,
            pair_index=pair_index,
            nodes=_NO_COLUMNS if node_labels is None else Columns.of_labels(node_labels),
            pairs=_NO_COLUMNS if pair_labels is None else Columns.of_labels(pair_labels),
            targets={"class": [classes[k] for k in y.tolist()]},
            task=Task(kind, ("class",), classes) if len(classes) > 1 else None,
            ground_truth=ground_truth,
        )

    @property
    def num_graphs(self) -> int:
        """The number of graphs ``G``."""
        return len(self.node_ptr) - 1

    @property
    def num_rows(self) -> int:
        """The number of rows of the source, those that could not be read among them."""
        return self.num_graphs + len(self.errors)

    @property
    def num_nodes(self) -> int:
        """The number of nodes ``N`` of all graphs together."""
        return int(self.node_ptr[-1])

    @property
    def num_pairs(self) -> int:
        """The number of undirected edges ``P`` of all graphs together."""
        return self.pair_index.shape[1]

    @cached_property
    def known_task(self) -> Task:
        """The task that the source names, or that its targets ask for."""
        if not self.targets:
            raise ValueError(
                f"{self.name} must have targets to learn from, got none. Name the column, or the "
                "attribute of a graph, that is to be predicted."
            )
        return self.task or Task.infer(self.targets)

    @cached_property
    def y(self) -> Tensor:
        """The targets of every graph: classes ``[G]``, or numbers ``[G, T]``."""
        return self.known_task.encode(self.targets)

    @property
    def classes(self) -> tuple[str, ...]:
        """The class names in the order of ``y``; none for a regression."""
        return self.known_task.classes

    @property
    def num_classes(self) -> int:
        """The number of classes ``C``."""
        return len(self.classes)

    @cached_property
    def node_labels(self) -> Tensor | None:
        """The first column of categories of the nodes (a label, an element), ``[N]`` or none."""
        return self.nodes.categories[:, 0].long() if self.nodes.names else None

    @property
    def node_attributes(self) -> Tensor | None:
        """The numbers of the nodes ``[N, A]``, or none."""
        return self.nodes.numbers if self.nodes.number_names else None

    @cached_property
    def pair_labels(self) -> Tensor | None:
        """The first column of categories of the pairs (a bond type, say), ``[P]`` or none."""
        return self.pairs.categories[:, 0].long() if self.pairs.names else None

    def warn_unread(self, becomes: str, *, rows: str = "rows", stacklevel: int) -> None:
        """Warn where some rows could not be read, and say what becomes of them.

        They are called ``rows``; the first is told by its number, counted from 1.
        """
        if self.errors:
            place, reason = self.errors[0]
            warnings.warn(
                f"{len(self.errors)} of {self.num_rows} {rows} cannot be read and "
                f"{becomes}, the first of them row {place + 1}: {reason}",
                stacklevel=stacklevel + 1,
            )

    def select(self, graphs: Sequence[int] | Tensor) -> "RawGraphs":
        """Some of the graphs, in any order, as a set of its own.

        Example:
            >>> from lgan.data import load_raw
            >>> load_raw("triangles").select([3, 0]).y.tolist()
            [1, 0]
        """
        chosen = torch.as_tensor(graphs, dtype=torch.int64).reshape(-1)
        start, length = self.node_ptr[chosen], self.node_ptr[chosen + 1] - self.node_ptr[chosen]
        node_ptr = lengths_to_ptr(length)
        pair_ptr = torch.searchsorted(self.pair_index[0].contiguous(), self.node_ptr)
        pair_length = pair_ptr[chosen + 1] - pair_ptr[chosen]
        nodes = concat_ranges(start, length)
        pairs = concat_ranges(pair_ptr[chosen], pair_length)
        shift = torch.repeat_interleave(node_ptr[:-1] - start, pair_length)
        places = chosen.tolist()

        def picked(values: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
            return None if values is None else tuple(values[g] for g in places)

        return replace(
            self,
            node_ptr=node_ptr,
            pair_index=self.pair_index[:, pairs] + shift,
            nodes=self.nodes[nodes],
            pairs=self.pairs[pairs],
            targets={name: [column[g] for g in places] for name, column in self.targets.items()},
            columns={name: [column[g] for g in places] for name, column in self.columns.items()},
            task=self._task_of_all(),
            rows=self.rows[chosen],
            ids=picked(self.ids),
            structures=picked(self.structures),
            ground_truth=None if self.ground_truth is None else self.ground_truth[pairs],
            direction=None if self.direction is None else self.direction[pairs],
        )

    @property
    def graph_of_row(self) -> dict[int, int]:
        """The graph of every row that could be read."""
        return {row: graph for graph, row in enumerate(self.rows.tolist())}

    def by_row(self, values: Iterable[T]) -> list[T | None]:
        """Values of the graphs at the rows they come from; ``None`` where one could not be read."""
        placed: list[T | None] = [None] * self.num_rows
        for row, value in zip(self.rows.tolist(), values, strict=True):
            placed[row] = value
        return placed

    def rows_between(self, first: int, last: int) -> "RawGraphs":
        """What the source has in some of its rows, read or not, counted from the first of them."""
        part = self.select(((self.rows >= first) & (self.rows < last)).nonzero()[:, 0])
        errors = tuple((row - first, why) for row, why in self.errors if first <= row < last)
        return replace(part, rows=part.rows - first, errors=errors)

    def with_targets(self, targets: Mapping[str, Sequence[Any]]) -> "RawGraphs":
        """The same graphs with these targets, one value per graph."""
        values = {name: list(column) for name, column in targets.items()}
        return replace(self, targets=values, task=None)

    def _task_of_all(self) -> Task | None:
        """The task where there is one; a few graphs may not show all classes."""
        try:
            return self.known_task
        except ValueError:
            return None

    def content_sha256(self) -> str:
        """A checksum of what the set holds, whichever way its files were packed.

        It covers what is read from files (not the name, ``ground_truth`` or ``direction``),
        categories by their places in the vocabulary.
        """
        known = self.known_task if self.targets else None
        digest = hashlib.sha256("\n".join(known.classes if known else ()).encode())
        fields = {
            "node_ptr": self.node_ptr,
            "pair_index": self.pair_index,
            "y": self.y if known else None,
            "node_labels": self.node_labels,
            "node_attributes": self.node_attributes,
            "pair_labels": self.pair_labels,
            "pair_attributes": self.pairs.numbers if self.pairs.number_names else None,
            "more_node_labels": self.nodes.categories[:, 1:] if len(self.nodes.names) > 1 else None,
            "more_pair_labels": self.pairs.categories[:, 1:] if len(self.pairs.names) > 1 else None,
        }
        for name, tensor in fields.items():
            if tensor is None:
                continue
            array = np.ascontiguousarray(tensor.numpy())
            array = array.astype(array.dtype.newbyteorder("<"), copy=False)
            digest.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
            digest.update(array.reshape(-1).view(np.uint8).data)
        return digest.hexdigest()

    def _check_within_graphs(self) -> None:
        u, v = self.pair_index
        end = torch.repeat_interleave(self.node_ptr[1:], self.node_ptr.diff())  # [N]
        across = (v >= end[u]).nonzero()
        if len(across):
            pair = self.pair_index[:, int(across[0])].tolist()
            raise ValueError(
                f"`pair_index` of {self.name} must join nodes of one graph, got the pair {pair} "
                "across two. Add the offset `node_ptr[g]` to the node ids of graph g."
            )


def _check_field(
    name: str, tensor: Tensor | None, dtype: torch.dtype, shape: tuple[int | None, ...]
) -> None:
    """Refuse a field of another dtype or shape; ``None`` in ``shape`` stands for any length."""
    if tensor is None:
        return
    fits = tensor.ndim == len(shape) and all(
        want is None or want == got for want, got in zip(shape, tensor.shape, strict=True)
    )
    if tensor.dtype != dtype or not fits:
        wanted = ", ".join("any" if want is None else str(want) for want in shape)
        raise ValueError(
            f"`{name}` must be {dtype} of shape [{wanted}], got {tensor.dtype} of shape "
            f"{list(tensor.shape)}. Convert it, one entry per graph, node or pair."
        )


def _check_length(name: str, got: int, expected: int) -> None:
    if got != expected:
        raise ValueError(
            f"`{name}` must have {expected} rows, got {got}. Give one for every graph, node or "
            "pair."
        )

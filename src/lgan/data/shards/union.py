"""Graphs that do not fit into memory together, as training reads them."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import torch
from torch import Tensor

from lgan.data.shards.folder import Shards
from lgan.graph import GraphBatch, GraphUnion
from lgan.graph.segments import concat_ranges, lengths_to_ptr
from lgan.task import Task

T = TypeVar("T")


@dataclass(frozen=True)
class Window(Generic[T]):
    """Some batches and the shards that they need.

    Attributes:
        held: The graphs of these shards, as they are held.
        graphs: Which graphs of the data set they are ``[W]``.
        batches: The graphs of every batch.
        places: The same by their places among those of the window.
    """

    held: T
    graphs: Tensor
    batches: list[Tensor]
    places: list[Tensor]


class ShardedUnion:
    """The graphs of shards, of which a window is in memory, with the names a `GraphUnion` has.

    What is known of every graph (its target, its size) is in memory for all of them.

    Args:
        shards: The shards.
        window: Shards whose graphs are in memory at a time; while they are used the next ones are
            read, so that twice as many may be.
    """

    def __init__(self, shards: Shards, window: int) -> None:
        if window < 1:
            raise ValueError(f"`window` must be 1 shard or more, got {window}.")
        self.shards = shards
        self.window = window
        self.name = shards.name
        self.task: Task | None = shards.task
        self.known_task = shards.task
        self.num_features = shards.encoder.num_features
        self.num_edge_features = shards.encoder.num_edge_features
        self.num_graph_features = shards.encoder.num_graph_features
        self.edge_directed = False
        # Molecules tell more than their degrees, and none has far more bonds than others.
        self.only_degrees, self.unevenness = False, 1.0
        self.num_classes = shards.encoder.num_outputs
        self.num_graphs = shards.num_graphs
        self.device = torch.device("cpu")
        self.y = shards.column("y")
        self.node_ptr = lengths_to_ptr(shards.column("graph_nodes"))
        self.work_per_graph = shards.column("graph_work")
        self._held: tuple[tuple[int, ...], GraphUnion | None] = ((), None)

    def __len__(self) -> int:
        return self.num_graphs

    def __repr__(self) -> str:
        return (
            f"ShardedUnion({self.name!r}, num_graphs={self.num_graphs}, shards={len(self.shards)}, "
            f"window={self.window})"
        )

    @property
    def nbytes(self) -> int:
        """Bytes of all shards."""
        return self.shards.nbytes

    def window_of(self, ids: Tensor) -> Tensor:
        """Which window of consecutive shards every graph is in."""
        return self._shard_of(ids) // self.window

    def batch(self, ids: Tensor) -> GraphBatch:
        """The graphs ``ids`` as one disjoint union."""
        return next(self.batches([ids]))

    def batches(self, plan: Sequence[Tensor]) -> Iterator[GraphBatch]:
        """Batch after batch. Neighbours that need no more shards than a window holds share what is
        read; what the next ones need is read meanwhile.
        """
        for window in self.windows(plan, lambda union: union):
            for ids, place in zip(window.batches, window.places, strict=True):
                yield replace(window.held.batch(place), ids=ids, _trusted=True)

    def windows(
        self, plan: Sequence[Tensor], held_as: Callable[[GraphUnion], T]
    ) -> "Iterator[Window[T]]":
        """The batches of every window; while it is used the next one is read.

        Args:
            plan: The graphs of every batch.
            held_as: What becomes of the graphs of a window, called in the thread that reads.
        """
        loads = self._loads(plan)
        with ThreadPoolExecutor(1, thread_name_prefix="shards") as reader:

            def read(place: int) -> "Future[T]":
                return reader.submit(lambda: held_as(self._load(loads[place][0])))

            coming = read(0) if loads else None
            for place, (shards, batches) in enumerate(loads):
                assert coming is not None
                held = coming.result()
                if place + 1 < len(loads):
                    coming = read(place + 1)
                starts = self.shards.graph_ptr[list(shards)]
                sizes = torch.diff(self.shards.graph_ptr)[list(shards)]
                shift = torch.zeros(len(self.shards), dtype=torch.int64)
                shift[list(shards)] = lengths_to_ptr(sizes)[:-1] - starts
                places = [ids + shift[self._shard_of(ids)] for ids in batches]
                yield Window(held, concat_ranges(starts, sizes), batches, places)

    def _loads(self, plan: Sequence[Tensor]) -> list[tuple[tuple[int, ...], list[Tensor]]]:
        """Neighbouring batches with the shards that they need together."""
        loads: list[tuple[set[int], list[Tensor]]] = []
        for ids in plan:
            needed = set(self._shard_of(ids).unique().tolist())
            if loads and len(loads[-1][0] | needed) <= self.window:
                loads[-1][0].update(needed)
                loads[-1][1].append(ids)
            else:
                loads.append((needed, [ids]))
        return [(tuple(sorted(shards)), batches) for shards, batches in loads]

    def _load(self, shards: tuple[int, ...]) -> GraphUnion:
        held, union = self._held
        if union is None or held != shards:
            self._held = ((), None)
            union = self.shards.union(shards)
            self._held = (shards, union)
        return union

    def _shard_of(self, ids: Tensor) -> Tensor:
        return torch.searchsorted(self.shards.graph_ptr, ids, right=True) - 1


Graphs = GraphUnion | ShardedUnion

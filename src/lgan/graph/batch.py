"""Some graphs of a union, as models read them."""

from dataclasses import InitVar, dataclass, field, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from lgan.graph.cells import Cells
from lgan.graph.checks import REBUILD, check_cells, check_ptr
from lgan.graph.edges import check_integers
from lgan.graph.ego_lines import EgoLines
from lgan.graph.moving import moved


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
        cells = {name: family.to(device) for name, family in self.cells.items()}
        lines = self.lines.to(device)
        return replace(self, **moved(self, device), lines=lines, cells=cells, _trusted=True)

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

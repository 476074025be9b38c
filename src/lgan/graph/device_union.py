"""Batches built on the device alone, of a size known beforehand.

A batch of :class:`GraphUnion` has as many nodes as its graphs have, which the host can only know by
waiting for the device. Here the host plans with pointers of its own, and the device fills arrays
of a given capacity: no waiting, and shapes that can be captured and replayed.
"""

from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from lgan.graph.batch import GraphBatch
from lgan.graph.ego_lines import EgoLines
from lgan.graph.segments import lengths_to_ptr
from lgan.graph.union import GraphUnion
from lgan.ops.incidence import ByNode, Known


class Capacity(NamedTuple):
    """Room of a batch: nodes, pairs, opposite nodes, and entries of both matrices by rows."""

    nodes: int
    pairs: int
    opposite: int
    target: int
    side: int

    def covers(self, other: "Capacity") -> bool:
        """Whether another batch fits."""
        return all(mine >= theirs for mine, theirs in zip(self, other, strict=True))

    def joined(self, other: "Capacity | None") -> "Capacity":
        """Room for batches of both kinds."""
        return self if other is None else Capacity(*map(max, self, other))

    def padded(self, factor: float) -> "Capacity":
        """Room for batches this much larger; nothing stays nothing."""
        return Capacity(*(int(size * factor) + 8 if size else 0 for size in self))


class DeviceUnion:
    """A data set on a device, from which batches are cut without waiting for it.

    Args:
        union: The data set, on the device. A graph without nodes is appended, with the id
            :attr:`filler`: batches are filled up with it.
    """

    def __init__(self, union: GraphUnion) -> None:
        lines, rows, graph_x = union.lines, union.lines.by_node, union.graph_x
        self.layout = lines.edge_layout
        # A model that needs triangles where none were listed asks the batch, and is told.
        self.has_triangles = lines.has_triangles if lines.listed else None
        ptrs = {"nodes": union.node_ptr, "pairs": union.pair_ptr}
        ptrs["opposite"] = union.opposite_ptr
        ptrs["target"] = rows.target_ptr[union.node_ptr]
        ptrs["side"] = rows.side_ptr[union.node_ptr]
        self.ptrs = {name: torch.cat([ptr, ptr[-1:]]) for name, ptr in ptrs.items()}
        self.lengths = torch.stack([torch.diff(ptr) for ptr in self.ptrs.values()]).cpu()
        found = {
            "x": union.x, "x_table": union.x_table, "y": _with_nothing(union.y),
            "graph_x": None if graph_x is None else _with_nothing(graph_x),
            "multiplicity": lines.multiplicity, "pair_u": lines.pair_index[0],
            "pair_v": lines.pair_index[1], "opposite_index": lines.opposite_index,
            "opposite_ptr": lines.opposite_ptr, "pair_triangles": lines.pair_triangles,
            "pair_table": lines.pair_table, "pair_rows": lines.pair_rows, **vars(rows),
        }  # fmt: skip
        self.arrays = {name: t for name, t in found.items() if isinstance(t, Tensor)}

    @property
    def filler(self) -> int:
        """The id of the graph without nodes."""
        return self.lengths.size(1) - 1

    def with_room(self, factor: float) -> "DeviceUnion":
        """The same data set in arrays that have room for others, so much larger."""
        found = copy(self)
        graphs = int(factor * self.filler) + 8
        found.lengths = F.pad(self.lengths, (0, graphs - self.filler))
        found.ptrs = {name: ptr.new_empty(graphs + 2) for name, ptr in self.ptrs.items()}
        found.arrays = {}
        for name, t in self.arrays.items():
            rows = graphs + 1 if name in ("y", "graph_x") else int(factor * len(t)) + 8
            found.arrays[name] = t.new_zeros((rows, *t.shape[1:]))
        found.fill(self)
        return found

    def has_room_for(self, other: "DeviceUnion") -> bool:
        """Whether another data set fits into the arrays of this one."""
        same = self.arrays.keys() == other.arrays.keys() and self.layout == other.layout
        same = same and self.has_triangles == other.has_triangles
        return same and all(
            len(mine) >= len(theirs) and mine.shape[1:] == theirs.shape[1:]
            for mine, theirs in zip(
                (self.lengths[0], *self.arrays.values()),
                (other.lengths[0], *other.arrays.values()),
                strict=True,
            )
        )

    def fill(self, other: "DeviceUnion") -> None:
        """Take the graphs of another data set that fits in place of those here, without waiting;
        ids beyond its graphs are without nodes.
        """
        self.lengths = F.pad(other.lengths, (0, self.filler - other.filler))
        for name, array in other.arrays.items():
            self.arrays[name][: len(array)].copy_(array)
        for name, ptr in other.ptrs.items():
            self.ptrs[name][: len(ptr)].copy_(ptr)
            self.ptrs[name][len(ptr) :].copy_(ptr[-1:].expand(self.filler - other.filler))

    def capacity(self, ids: Tensor) -> Capacity:
        """The room that the largest of some batches needs; ids ``[batches, B]`` on the host."""
        largest = self.lengths[:, ids].sum(-1).amax(-1).tolist()
        return Capacity(*largest)

    def batch(self, ids: Tensor, capacity: Capacity) -> GraphBatch:
        """The graphs ``ids`` (on the device) in arrays of the given capacity.

        Nodes beyond the last graph stand for no node, and pairs beyond the last join the last of
        these to itself; where there are such pairs there must be such a node.
        """
        own = self.arrays
        nodes = self._range("nodes", ids, capacity.nodes)
        pairs = self._range("pairs", ids, capacity.pairs)
        opposite = self._range("opposite", ids, capacity.opposite)
        target = self._range("target", ids, capacity.target)
        side = self._range("side", ids, capacity.side)

        multiplicity = torch.where(nodes.inside, own["multiplicity"][nodes.source], 0)
        ends = torch.stack([own["pair_u"][pairs.source], own["pair_v"][pairs.source]])
        pair_index = torch.where(pairs.inside, ends + nodes.shift(pairs.graph), capacity.nodes - 1)
        opposite_index = own["opposite_index"][opposite.source] + nodes.shift(opposite.graph)
        by_node = ByNode(
            target_ptr=_local_ptr(own["target_ptr"], nodes, target),
            target_pair=own["target_pair"][target.source] + pairs.shift(target.graph),
            target_weight=own["target_weight"][target.source],
            target_ends=own["target_ends"][target.source],
            side_ptr=_local_ptr(own["side_ptr"], nodes, side),
            side_pair=own["side_pair"][side.source] + pairs.shift(side.graph),
            side_weight=own["side_weight"][side.source],
        )
        ptr = _local_ptr(own["opposite_ptr"], pairs, opposite)
        batch = EgoLines(
            num_nodes=capacity.nodes,
            pair_index=pair_index,
            opposite_index=opposite_index,
            opposite_count=torch.diff(ptr).int(),
            pair_triangles=own["pair_triangles"][pairs.source],
            multiplicity=multiplicity,
            **self._table_of(pairs.source),
            known=Known(by_node, ptr, self.has_triangles),
            _trusted=True,
        )
        x, table = own["x"][nodes.source], own.get("x_table")
        return GraphBatch(
            x=x if table is None else table[x],
            y=own["y"][ids],
            ptr=nodes.ptr,
            ids=ids,
            lines=batch,
            graph_x=own["graph_x"][ids] if "graph_x" in own else None,
            _trusted=True,
        )

    def _table_of(self, pairs: Tensor) -> dict[str, Any]:
        """What some pairs carry, a row for each."""
        if "pair_table" not in self.arrays:
            return {}
        rows = self.arrays.get("pair_rows")
        return {
            **self.layout,
            "pair_table": self.arrays["pair_table"][pairs if rows is None else rows[pairs]],
        }

    def _range(self, kind: str, ids: Tensor, room: int) -> "_Range":
        start = self.ptrs[kind][ids]
        ptr = lengths_to_ptr(self.ptrs[kind][ids + 1] - start)
        place = torch.arange(room, device=ids.device)
        graph = torch.searchsorted(ptr[1:], place, right=True).clamp_(max=ids.numel() - 1)
        inside = place < ptr[-1]
        shift = ptr[:-1] - start
        return _Range(ptr, start, graph, inside, torch.where(inside, place - shift[graph], 0))


@dataclass(frozen=True)
class _Range:
    """Where the elements of a batch come from."""

    ptr: Tensor  # [B + 1], where each graph begins in the batch
    start: Tensor  # [B], where it begins in the union
    graph: Tensor  # [room], the graph of every element
    inside: Tensor  # [room], whether there is an element
    source: Tensor  # [room], its place in the union

    def shift(self, graph: Tensor) -> Tensor:
        """What to add to ids of this kind that elements of the given graphs refer to."""
        return (self.ptr[:-1] - self.start)[graph].int()


def _with_nothing(rows: Tensor) -> Tensor:
    """Rows of graphs and one more, of zeros."""
    return torch.cat([rows, torch.zeros_like(rows[:1])])


def _local_ptr(ptr: Tensor, rows: _Range, entries: _Range) -> Tensor:
    """Where the entries of each row begin in the batch; rows beyond the last are empty."""
    begin = ptr[rows.source] + (entries.ptr[:-1] - entries.start)[rows.graph]
    last = entries.ptr[-1:]
    return torch.cat([torch.where(rows.inside, begin, last), last])

"""Batches built on the device alone, of a size known beforehand.

A batch of :class:`GraphUnion` has as many nodes as its graphs have, which the host can only know by
waiting for the device. Here the host plans with pointers of its own, and the device fills arrays
of a given capacity: no waiting, and shapes that can be captured and replayed.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

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

    def padded(self, factor: float) -> "Capacity":
        """Room for batches this much larger; nothing stays nothing."""
        return Capacity(*(int(size * factor) + 8 if size else 0 for size in self))


class DeviceUnion:
    """A data set on a device, from which batches are cut without waiting for it.

    Args:
        union: The data set, on the device. One graph without nodes is appended, with the id
            ``union.num_graphs``: batches are filled up with it.
    """

    def __init__(self, union: GraphUnion) -> None:
        self.union = union
        self.rows = union.lines.by_node
        self.x, self.y = union.x, torch.cat([union.y, torch.zeros_like(union.y[:1])])
        self.graph_x = union.graph_x
        if self.graph_x is not None:
            self.graph_x = torch.cat([self.graph_x, torch.zeros_like(self.graph_x[:1])])
        # A model that needs triangles where none were listed asks the batch, and is told.
        self.has_triangles = union.lines.has_triangles if union.lines.listed else None
        ptrs = {"nodes": union.node_ptr, "pairs": union.pair_ptr}
        ptrs["opposite"] = union.opposite_ptr
        ptrs["target"] = self.rows.target_ptr[union.node_ptr]
        ptrs["side"] = self.rows.side_ptr[union.node_ptr]
        self.ptrs = {name: torch.cat([ptr, ptr[-1:]]) for name, ptr in ptrs.items()}
        self.lengths = torch.stack([torch.diff(ptr) for ptr in self.ptrs.values()]).cpu()

    def capacity(self, ids: Tensor) -> Capacity:
        """The room that the largest of some batches needs; ids ``[batches, B]`` on the host."""
        largest = self.lengths[:, ids].sum(-1).amax(-1).tolist()
        return Capacity(*largest)

    def batch(self, ids: Tensor, capacity: Capacity) -> GraphBatch:
        """The graphs ``ids`` (on the device) in arrays of the given capacity.

        Nodes beyond the last graph stand for no node, and pairs beyond the last join the last of
        these to itself; where there are such pairs there must be such a node.
        """
        lines, rows = self.union.lines, self.rows
        nodes = self._range("nodes", ids, capacity.nodes)
        pairs = self._range("pairs", ids, capacity.pairs)
        opposite = self._range("opposite", ids, capacity.opposite)
        target = self._range("target", ids, capacity.target)
        side = self._range("side", ids, capacity.side)

        multiplicity = torch.where(nodes.inside, lines.multiplicity[nodes.source], 0)
        pair_index = lines.pair_index[:, pairs.source] + nodes.shift(pairs.graph)
        pair_index = torch.where(pairs.inside, pair_index, capacity.nodes - 1)
        opposite_index = lines.opposite_index[opposite.source] + nodes.shift(opposite.graph)
        by_node = ByNode(
            target_ptr=_local_ptr(rows.target_ptr, nodes, target),
            target_pair=rows.target_pair[target.source] + pairs.shift(target.graph),
            target_weight=rows.target_weight[target.source],
            target_ends=rows.target_ends[target.source],
            side_ptr=_local_ptr(rows.side_ptr, nodes, side),
            side_pair=rows.side_pair[side.source] + pairs.shift(side.graph),
            side_weight=rows.side_weight[side.source],
        )
        ptr = _local_ptr(lines.opposite_ptr, pairs, opposite)
        batch = EgoLines(
            num_nodes=capacity.nodes,
            pair_index=pair_index,
            opposite_index=opposite_index,
            opposite_count=torch.diff(ptr).int(),
            pair_triangles=lines.pair_triangles[pairs.source],
            multiplicity=multiplicity,
            **lines.table_of(pairs.source),
            known=Known(by_node, ptr, self.has_triangles),
            _trusted=True,
        )
        x, table = self.x[nodes.source], self.union.x_table
        return GraphBatch(
            x=x if table is None else table[x],
            y=self.y[ids],
            ptr=nodes.ptr,
            ids=ids,
            lines=batch,
            graph_x=None if self.graph_x is None else self.graph_x[ids],
            _trusted=True,
        )

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


def _local_ptr(ptr: Tensor, rows: _Range, entries: _Range) -> Tensor:
    """Where the entries of each row begin in the batch; rows beyond the last are empty."""
    begin = ptr[rows.source] + (entries.ptr[:-1] - entries.start)[rows.graph]
    last = entries.ptr[-1:]
    return torch.cat([torch.where(rows.inside, begin, last), last])

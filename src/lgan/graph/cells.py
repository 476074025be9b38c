"""Things of a data set that are neither nodes nor pairs: rings, tuples, receptive fields.

A model that reads more than a graph's edges adds families of cells to the union. A family is laid
out graph after graph like the nodes are, so that a batch of it is a set of ranges as well.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from lgan.graph.segments import concat_ranges, lengths_to_ptr

# The family that every union has.
NODES = "nodes"


@dataclass(frozen=True)
class Cells:
    """One family of cells of a union or of a batch.

    Attributes:
        ptr: Where the cells of each graph begin ``[G + 1]`` int64.
        fields: Tensors with one row per cell, by name.
        points: For fields that hold ids: the family they count in (:data:`NODES` for nodes).
            Negative ids stand for nothing and stay as they are.

    Example:
        >>> ring = Cells(torch.tensor([0, 1, 2]), {"of": torch.tensor([[0, 1], [2, 3]])},
        ...              {"of": NODES})
        >>> ring.num_cells
        2
    """

    ptr: Tensor
    fields: dict[str, Tensor] = field(default_factory=dict)
    points: dict[str, str] = field(default_factory=dict)

    @property
    def num_cells(self) -> int:
        """Number of cells; reads the pointers."""
        return int(self.ptr[-1])

    def __getitem__(self, name: str) -> Tensor:
        return self.fields[name]

    def to(self, device: torch.device | str) -> "Cells":
        """The same cells on another device."""
        moved = {name: value.to(device) for name, value in self.fields.items()}
        return Cells(self.ptr.to(device), moved, self.points)


def batch_cells(cells: Mapping[str, Cells], node_ptr: Tensor, ids: Tensor) -> dict[str, Cells]:
    """The cells of some graphs, numbered anew ``[B]``.

    Args:
        cells: Families of the union.
        node_ptr: Where the nodes of each graph of the union begin ``[G + 1]``.
        ids: Graphs ``[B]``.
    """
    start = {name: family.ptr[ids] for name, family in cells.items()}
    length = {name: family.ptr[ids + 1] - start[name] for name, family in cells.items()}
    start[NODES], length[NODES] = node_ptr[ids], node_ptr[ids + 1] - node_ptr[ids]
    ptr = {name: lengths_to_ptr(size) for name, size in length.items()}
    batch = {}
    for name, family in cells.items():
        rows = concat_ranges(start[name], length[name])
        fields = {key: value[rows] for key, value in family.fields.items()}
        for key, target in family.points.items():
            shift = torch.repeat_interleave(ptr[target][:-1] - start[target], length[name])
            value = fields[key]
            shift = shift.to(value.dtype).view(-1, *[1] * (value.dim() - 1))
            fields[key] = torch.where(value < 0, value, value + shift)
        batch[name] = Cells(ptr[name], fields, family.points)
    return batch


def cells_to_tensors(cells: Mapping[str, Cells]) -> dict[str, Tensor]:
    """Everything that :func:`cells_from_tensors` needs, as tensors by name."""
    stored = {}
    for name, family in cells.items():
        stored[f"cells/{name}"] = family.ptr
        for key, value in family.fields.items():
            stored[f"cells/{name}/{key}/{family.points.get(key, '')}"] = value
    return stored


def cells_from_tensors(stored: Mapping[str, Tensor]) -> dict[str, Cells]:
    """The families back from :func:`cells_to_tensors`; other tensors are passed over."""
    cells: dict[str, Cells] = {}
    for name in sorted(name for name in stored if name.startswith("cells/")):
        family, *rest = name.split("/")[1:]
        if not rest:
            cells[family] = Cells(stored[name])
            continue
        key, target = rest
        cells[family].fields[key] = stored[name]
        if target:
            cells[family].points[key] = target
    return cells

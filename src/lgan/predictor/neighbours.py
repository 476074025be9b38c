"""Which molecules of the training a molecule is like, by Morgan fingerprints."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lgan.data import RawGraphs
from lgan.data.molecules.descriptors import BITS, morgan
from lgan.task import Task
from lgan.train.training_molecules import TrainingMolecules, unpacked

# Rows of similarities at once, and training molecules whose nearest others set the threshold.
ROWS, SAMPLE = 1024, 2000
# Share of the training molecules that would count as unlike all others.
UNLIKE = 0.05


@dataclass(frozen=True)
class Neighbour:
    """A training molecule near another.

    Attributes:
        similarity: Tanimoto similarity of the fingerprints, from 0 to 1.
        smiles: The molecule; ``None`` where the model does not keep it.
        labels: Its targets by name, ``None`` where missing; empty where the model keeps none.
    """

    similarity: float
    smiles: str | None
    labels: dict[str, str | float | None]


def fingerprints(raw: RawGraphs) -> Tensor:
    """Morgan fingerprints of molecules, radius 2, eight bits to a byte ``[G, 128]``.

    Example:
        >>> from lgan.data import load_raw
        >>> fingerprints(load_raw(["CCO", "OCC"])).unique(dim=0).shape
        torch.Size([1, 128])
    """
    return torch.from_numpy(np.packbits(morgan(raw), axis=1))


def training_molecules(raw: RawGraphs, y: Tensor, *, named: bool = True) -> TrainingMolecules:
    """What a model keeps of the molecules it is trained on; SMILES and targets where ``named``."""
    bits, count = fingerprints(raw), raw.num_graphs
    asked = torch.linspace(0, count - 1, min(count, SAMPLE)).round().long()
    near = nearest_of(bits[asked], unpacked(bits), 2)[0]
    # The nearest is the molecule itself, or one with the same fingerprint.
    others = near[:, 1] if count > 1 else torch.zeros(1)
    below = float(others.double().quantile(UNLIKE))
    return TrainingMolecules(bits, below, raw.ids or () if named else (), y if named else y[:0])


def nearest_of(bits: Tensor, known: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The largest Tanimoto similarities to known molecules, and which these are ``[m, count]``.

    Args:
        bits: Fingerprints ``[m, bytes]``.
        known: Those of the known molecules, see :func:`unpacked` ``[n, bits]``.
        count: How many, or as many as there are.
    """
    sizes, count = known.sum(1), min(count, len(known))
    similarity, place = torch.zeros(len(bits), count), torch.zeros(len(bits), count).long()
    for start in range(0, len(bits), ROWS):
        rows = slice(start, start + ROWS)
        first = unpacked(bits[rows])
        both = first @ known.T  # whole numbers, exact in float32
        either = first.sum(1, keepdim=True) + sizes - both
        found = (both / either.clamp(min=1)).sort(dim=1, descending=True, stable=True)
        similarity[rows], place[rows] = found.values[:, :count], found.indices[:, :count]
    return similarity, place


def are_of(molecules: TrainingMolecules, task: Task) -> bool:
    """Whether fingerprints and targets are what a model of this task compares and tells."""
    y = molecules.y
    if task.has_classes:
        right = y.dim() == 1 and y.dtype == torch.int64
        right = right and bool(((y >= 0) & (y < len(task.classes))).all())
    else:
        right = y.dim() == 2 and y.is_floating_point() and y.size(1) == len(task.targets)
        if right and task.classes:
            right = bool(((y == 0) | (y == 1) | y.isnan()).all())
    return right and molecules.bits.size(1) == BITS // 8


def labels_of(molecules: TrainingMolecules, place: int, task: Task) -> dict[str, Any]:
    """The targets of a training molecule by name; empty where they are not kept."""
    kept = task.cells(molecules.y[place : place + 1]) if len(molecules.y) else {}
    return {target: value for target, [value] in kept.items()}

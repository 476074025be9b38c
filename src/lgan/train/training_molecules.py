"""What a model file keeps of the molecules it was trained on."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class TrainingMolecules:
    """Fingerprints of molecules, and what they were, unless that is kept back.

    Attributes:
        bits: Fingerprints, eight bits to a byte ``[n, bytes]``.
        unlike_below: A molecule whose largest similarity is below this is unlike all of them.
        smiles: Their SMILES ``[n]``; empty where they are kept back.
        y: Their targets, classes ``[n]`` or numbers and labels ``[n, T]``; empty where they are
            kept back.
    """

    bits: Tensor
    unlike_below: float
    smiles: tuple[str, ...]
    y: Tensor

    @cached_property
    def vectors(self) -> Tensor:
        """The fingerprints, a column for every bit ``[n, bits]``; kept for the next question."""
        return unpacked(self.bits)

    NAMES: ClassVar[tuple[str, ...]] = ("mol_bits", "mol_unlike_below", "mol_smiles", "mol_y")

    def tensors(self) -> dict[str, Tensor]:
        """The fields by the names they have in a file; SMILES as the bytes of their lines."""
        lines = torch.tensor(list("\n".join(self.smiles).encode()), dtype=torch.uint8)
        below = torch.tensor([self.unlike_below], dtype=torch.float64)
        return dict(zip(self.NAMES, (self.bits, below, lines, self.y), strict=True))

    @staticmethod
    def from_tensors(stored: dict[str, Tensor]) -> "TrainingMolecules":
        """The fields back from :meth:`tensors`; ``ValueError`` for anything else."""
        if set(stored) != set(TrainingMolecules.NAMES):
            raise ValueError("what it keeps of molecules is not complete")
        bits, below, lines, y = (stored[name] for name in TrainingMolecules.NAMES)
        fits = (
            bits.dim() == 2
            and bits.dtype == lines.dtype == torch.uint8
            and lines.dim() == 1
            and below.shape == (1,)
            and bool((below >= 0).all() and (below <= 1).all())
        )
        try:
            text = bytes(lines.tolist()).decode() if fits else ""
        except UnicodeDecodeError:
            fits, text = False, ""
        smiles = tuple(text.split("\n")) if text else ()
        if not fits or len(smiles) != len(y) or len(y) not in (0, len(bits)):
            raise ValueError("what it keeps of molecules does not fit together")
        return TrainingMolecules(bits, float(below), smiles, y)


def unpacked(bits: Tensor) -> Tensor:
    """Fingerprints a column for every bit, ``[n, bytes]`` to ``[n, bits]`` float32."""
    return torch.from_numpy(np.unpackbits(bits.numpy(), axis=1)).float()

"""What members said of graphs that they had not been trained on, as a model file keeps it."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from lgan.task import Task


@dataclass(frozen=True, eq=False)
class OutOfFold:
    """Targets of graphs beside what the members that held them out said of them.

    Attributes:
        y: Targets, classes ``[n]`` or numbers and labels ``[n, T]``, NaN where missing.
        predictions: Probabilities or numbers in the units of the targets ``[n, O]``, the mean over
            the members that held a graph out.
        fold: The fold of every graph ``[n]``.
        held_out: The fold that each member held out ``[K]``.
    """

    y: Tensor
    predictions: Tensor
    fold: Tensor
    held_out: Tensor

    NAMES: ClassVar[tuple[str, ...]] = ("oof_y", "oof_predictions", "oof_fold", "held_out")

    @property
    def members(self) -> int:
        """Number of members."""
        return self.held_out.numel()

    @property
    def folds(self) -> list[int]:
        """The folds that were held out."""
        return sorted(set(self.held_out.tolist()))

    def is_of(self, task: Task, members: int) -> bool:
        """Whether these are the predictions of so many members of this task."""
        right = (self.members, self.predictions.size(1)) == (members, task.num_outputs)
        right = right and self.y.dim() == (1 if task.has_classes else 2)
        if right and task.classes and not task.has_classes:
            right = bool(((self.y == 0) | (self.y == 1) | self.y.isnan()).all())
        return right

    def tensors(self) -> dict[str, Tensor]:
        """The fields by the names they have in a file."""
        fields = (self.y, self.predictions, self.fold, self.held_out)
        return dict(zip(self.NAMES, fields, strict=True))

    @staticmethod
    def from_tensors(stored: dict[str, Tensor]) -> "OutOfFold":
        """The fields back from :meth:`tensors`; ``ValueError`` for anything else."""
        if set(stored) != set(OutOfFold.NAMES):
            raise ValueError("its out-of-fold predictions are not complete")
        y, predictions, fold, held_out = (stored[name] for name in OutOfFold.NAMES)
        fits = (
            fold.dim() == held_out.dim() == 1
            and fold.dtype == held_out.dtype == torch.int64
            and predictions.dim() == 2
            and predictions.is_floating_point()
            and len(predictions) == len(fold)
            and (_classes_fit(y, predictions) or _numbers_fit(y, predictions))
            and bool(predictions.isfinite().all())
            and bool(torch.isin(fold, held_out).all())
        )
        if not fits:
            raise ValueError("its out-of-fold predictions do not fit together")
        return OutOfFold(y, predictions, fold, held_out)


def _classes_fit(y: Tensor, predictions: Tensor) -> bool:
    whole = y.dim() == 1 and y.dtype == torch.int64 and len(y) == len(predictions)
    return whole and bool(((y >= 0) & (y < predictions.size(1))).all())


def _numbers_fit(y: Tensor, predictions: Tensor) -> bool:
    return y.is_floating_point() and y.shape == predictions.shape and not bool(y.isinf().any())

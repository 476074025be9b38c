"""Whether what is said to be likely comes true as often as it is said."""

from dataclasses import dataclass

import torch
from torch import Tensor

from lgan.task import Task


@dataclass(frozen=True, eq=False)
class Calibration:
    """Statements with a probability, in bins of equal width; empty bins are left out.

    Attributes:
        said: Mean probability of the statements of every bin ``[b]``.
        came: Share of them that are true ``[b]``.
        count: Number of them ``[b]``.
    """

    said: Tensor
    came: Tensor
    count: Tensor

    @staticmethod
    def of(said: Tensor, came: Tensor, bins: int = 10) -> "Calibration":
        """Bins of statements.

        Args:
            said: Their probabilities ``[n]``.
            came: Whether they are true ``[n]``.
            bins: Number of bins between 0 and 1.

        Example:
            >>> found = Calibration.of(torch.tensor([0.75, 0.75, 0.95]), torch.tensor([1, 0, 1]))
            >>> found.came.tolist(), found.count.tolist(), round(found.error, 4)
            ([0.5, 1.0], [2, 1], 0.1833)
        """
        place = (said.double() * bins).long().clamp(0, bins - 1)
        count = torch.bincount(place, minlength=bins)
        full = count > 0

        def mean(values: Tensor) -> Tensor:
            return (torch.bincount(place, values.double(), minlength=bins) / count)[full]

        return Calibration(mean(said), mean(came), count[full])

    @property
    def error(self) -> float:
        """Expected calibration error: the mean over statements of how far their bin is off
        (Naeini et al., Obtaining Well Calibrated Probabilities Using Bayesian Binning, 2015).
        """
        share = self.count / self.count.sum()
        return float((share * (self.came - self.said).abs()).sum())


def calibration(predictions: Tensor, y: Tensor, task: Task) -> Calibration:
    """Calibration of the predicted class, or of the second class of every label.

    Args:
        predictions: Probabilities ``[n, C]``, or of the second class ``[n, T]``.
        y: Classes ``[n]``, or labels ``[n, T]``, NaN where missing.
        task: What is predicted.
    """
    if not task.classes:
        raise ValueError(
            f"Calibration needs probabilities, got numbers ({task}). Look at the intervals."
        )
    if task.has_classes:
        sure, guess = predictions.max(1)
        return Calibration.of(sure, guess == y)
    there = task.present(y)
    return Calibration.of(predictions[there], y[there] > 0.5)

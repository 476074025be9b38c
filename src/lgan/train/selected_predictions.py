"""Held-out predictions of the epoch that would be selected if training ended now."""

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from lgan.train.selection import best_epoch

__all__ = ["SelectedPredictions"]


class SelectedPredictions:
    """The predictions of every model for its test graphs, at the best epoch so far.

    Models with an inner hold-out choose on it, each for itself; the others of one variant choose
    one epoch together. All epochs would take an epoch's memory each, and ROC-AUC over all folds
    cannot be had from the curves.

    Args:
        sizes: Test graphs of every model.
        outputs: Outputs per graph.
        joint: Groups of models that choose one epoch together.
        alone: Models that choose on their inner hold-out.
        higher: Whether more of the metric is better.
        window: Epochs over which the metric is averaged before an epoch is chosen.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        outputs: int,
        *,
        joint: Sequence[Sequence[int]],
        alone: Sequence[int],
        higher: bool,
        window: int = 1,
    ) -> None:
        self.values = torch.zeros(sum(sizes), outputs)
        self.epoch = torch.zeros(len(sizes), dtype=torch.int64)
        self.joint, self.alone = joint, alone
        self.best = partial(best_epoch, higher=higher, window=window)
        self._each = torch.split(self.values, list(sizes))

    def update(
        self, epoch: int, test: Tensor, validation: Tensor, predictions: Sequence[Tensor]
    ) -> None:
        """Take in an epoch, counted from 0, where it is the best so far.

        Args:
            epoch: Number of the epoch.
            test: Curves on the test graphs ``[K, E]``.
            validation: Curves on the inner hold-outs ``[K, E]``.
            predictions: Of every model for its test graphs.
        """
        chosen = [(group, test) for group in self.joint] + [([k], validation) for k in self.alone]
        for group, curves in chosen:
            if self.best(curves[list(group), : epoch + 1]) == epoch:
                for k in group:
                    self._each[k].copy_(predictions[k])
                    self.epoch[k] = epoch

    def of(self, model: int) -> Tensor:
        """The predictions of a model for its test graphs ``[n, O]``."""
        return self._each[model]

    def tensors(self) -> dict[str, Tensor]:
        """Everything that changes, by name."""
        return {"values": self.values, "epoch": self.epoch}

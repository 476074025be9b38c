"""Held-out predictions of the epoch that would be selected if training ended now."""

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from lgan.train.selection import best_epochs, mean_over_models


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
        self.best = partial(best_epochs, higher=higher, window=window)
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
        joint = [mean_over_models(test[list(group), : epoch + 1])[None] for group in self.joint]
        better = [int(self.best(mean)) == epoch for mean in joint]
        taken = [k for group, now in zip(self.joint, better, strict=True) if now for k in group]
        own = self.best(validation[list(self.alone), : epoch + 1]).tolist() if self.alone else []
        taken += [k for k, best in zip(self.alone, own, strict=True) if best == epoch]
        for k in taken:
            self._each[k].copy_(predictions[k])
            self.epoch[k] = epoch

    def of(self, model: int) -> Tensor:
        """The predictions of a model for its test graphs ``[n, O]``."""
        return self._each[model]

    def tensors(self) -> dict[str, Tensor]:
        """Everything that changes, by name."""
        return {"values": self.values, "epoch": self.epoch}

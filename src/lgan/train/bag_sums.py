"""Predictions of the members of bags, summed."""

from collections.abc import Sequence

import torch
from torch import Tensor

from lgan.train.jobs import Job


class BagSums:
    """The sum over members of what they say of the test graphs of their bag, for every epoch.

    Members of one bag may train in several groups, and which epoch is chosen is known when the last
    has ended. In double precision a few numbers of single precision add up without rounding, in
    whatever groups they come.

    Args:
        jobs: The models that train together.
        epochs: Number of epochs.
        outputs: Outputs per graph.
    """

    def __init__(self, jobs: Sequence[Job], epochs: int, outputs: int) -> None:
        self.keys = [(job.variant, job.bag) if job.bag >= 0 else None for job in jobs]
        self.graphs = {key: job.test for key, job in zip(self.keys, jobs, strict=True) if key}
        sizes = [graphs.numel() for graphs in self.graphs.values()]
        self.values = torch.zeros(epochs, sum(sizes), outputs, dtype=torch.float64)
        self._each = dict(zip(self.graphs, self.values.split(sizes, 1), strict=True))

    def add(self, epoch: int, predictions: Sequence[Tensor]) -> None:
        """Take in what all models say of their test graphs after an epoch, counted from 0."""
        for key, said in zip(self.keys, predictions, strict=True):
            if key is not None:
                self._each[key][epoch] += said

    def of(self, variant: int, bag: int) -> Tensor | None:
        """The sums of a bag ``[E, n, O]``; ``None`` where no member of it is here."""
        return self._each.get((variant, bag))

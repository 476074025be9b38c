"""Which graphs a batch holds."""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

__all__ = ["balanced_order", "drawn_graphs", "epoch_batches", "train_share"]


def balanced_order(groups: Tensor, rng: np.random.Generator) -> Tensor:
    """A random order of all graphs in which every stretch holds each group in its proportion.

    Args:
        groups: Group (test fold) of every graph ``[G]``.
        rng: Source of randomness.

    Example:
        >>> order = balanced_order(torch.tensor([0, 0, 0, 1, 1, 1]), np.random.default_rng(0))
        >>> (order // 3).view(3, 2).sum(1).tolist()  # one of each group in every stretch of two
        [1, 1, 1]
    """
    group = groups.numpy()
    shuffled = rng.permutation(group.size)
    by_group = shuffled[np.argsort(group[shuffled], kind="stable")]
    _, start, size = np.unique(group[by_group], return_index=True, return_counts=True)
    rank = np.arange(group.size) - np.repeat(start, size)
    # Graph number r of a group of s goes to a random place inside the r-th of s equal stretches.
    place = (rank + rng.random(group.size)) / np.repeat(size, size)
    return torch.from_numpy(by_group[np.argsort(place, kind="stable")])


def train_share(groups: Tensor) -> float:
    """Part of the graphs that a model trains on which holds one group out, on the average.

    It depends on the groups alone, not on which models train together, and so do the batches.

    Args:
        groups: Group of every graph ``[G]``; -1 for one that is never held out.

    Example:
        >>> train_share(torch.tensor([0, 0, 1, 1, -1, -1, -1, -1]))
        0.75
    """
    number = int(groups.max()) + 1
    return 1 - float((groups >= 0).double().mean()) / number if number else 1.0


def drawn_graphs(groups: Tensor, batch_size: int) -> int:
    """Graphs to draw so that a model which holds one group out trains on ``batch_size``."""
    return min(groups.numel(), round(batch_size / train_share(groups)))


def epoch_batches(
    groups: Tensor, *, iterations: int, batch_size: int, seed: int, epoch: int
) -> Iterator[Tensor]:
    """The graph ids of every batch of an epoch; a function of groups, seed and epoch alone.

    Args:
        groups: Group of every graph ``[G]``; -1 for one that is never held out.
        iterations: Number of batches; 0 for one pass over all graphs.
        batch_size: Graphs that one model trains on in a batch.
        seed: Seed of the run.
        epoch: Number of the epoch.
    """
    rng = np.random.default_rng([seed, epoch])
    size = drawn_graphs(groups, batch_size)
    if iterations == 0:
        steps = -(-round(groups.numel() * train_share(groups)) // batch_size)
        yield from torch.tensor_split(balanced_order(groups, rng), steps)
        return
    rest = torch.empty(0, dtype=torch.int64)
    for _ in range(iterations):
        if rest.numel() < size:
            # What is left of a pass is dropped: no graph is twice in one batch.
            rest = balanced_order(groups, rng)
        yield rest[:size]
        rest = rest[size:]

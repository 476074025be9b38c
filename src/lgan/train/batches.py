"""Which graphs a batch holds."""

from collections.abc import Iterator
from itertools import count

import numpy as np
import torch
from torch import Tensor

from lgan.graph.segments import concat_ranges


def balanced_order(groups: Tensor, rng: np.random.Generator) -> Tensor:
    """A random order of all graphs in which every stretch holds each group in its proportion.

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
    groups: Tensor,
    *,
    iterations: int,
    batch_size: int,
    seed: int,
    epoch: int,
    shard_ptr: Tensor | None = None,
    window: int = 0,
) -> Iterator[Tensor]:
    """The graph ids of every batch of an epoch; a function of the arguments alone.

    Args:
        groups: Group of every graph ``[G]``; -1 for one that is never held out.
        iterations: Number of batches; 0 for one pass over all graphs.
        batch_size: Graphs that one model trains on in a batch.
        seed: Seed of the run.
        epoch: Number of the epoch.
        shard_ptr: Where the graphs of every shard begin ``[S + 1]``, where they are in shards.
        window: Shards whose graphs are shuffled together: shards are shuffled, then the graphs of
            every window of them. All at once, and as without shards, where it covers them.
    """
    rng = np.random.default_rng([seed, epoch])
    if shard_ptr is None or window >= len(shard_ptr) - 1:
        shard_ptr, window = torch.tensor([0, groups.numel()]), 1
    size, share = drawn_graphs(groups, batch_size), train_share(groups)
    if iterations == 0:
        for order in _windows(groups, shard_ptr, window, rng):
            steps = -(-round(order.numel() * share) // batch_size)
            yield from torch.tensor_split(order, max(1, steps))
        return
    passes = (order for _ in count() for order in _windows(groups, shard_ptr, window, rng))
    rest = torch.empty(0, dtype=torch.int64)
    for _ in range(iterations):
        if rest.numel() < size:
            # What is left of a window is dropped: no graph is twice in one batch.
            rest = next(passes)
        yield rest[:size]
        rest = rest[size:]


def _windows(
    groups: Tensor, shard_ptr: Tensor, window: int, rng: np.random.Generator
) -> Iterator[Tensor]:
    """A pass over all graphs, window by window: each a random order of the graphs of its shards."""
    shards = torch.arange(len(shard_ptr) - 1)
    if len(shards) > 1:
        shards = torch.from_numpy(rng.permutation(len(shards)))
    for some in shards.split(window):
        starts = shard_ptr[some.sort().values]
        ids = concat_ranges(starts, shard_ptr[some.sort().values + 1] - starts)
        yield ids[balanced_order(groups[ids], rng)]

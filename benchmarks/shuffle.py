"""How well an epoch over windows of shards is shuffled."""

import torch
from torch import Tensor

from lgan.train.batches import epoch_batches

EPOCHS = 5


def epoch_order(graphs: int, shards: int, window: int, epoch: int) -> Tensor:
    """The graphs in the order in which an epoch trains on them ``[G]``."""
    ptr = torch.arange(shards + 1) * graphs // shards
    ungrouped = torch.full((graphs,), -1)
    batches = epoch_batches(
        ungrouped, iterations=0, batch_size=128, seed=0, epoch=epoch, shard_ptr=ptr, window=window
    )
    return torch.cat(list(batches))


def neighbour_correlation(values: Tensor) -> float:
    """The correlation of every value with the next one; about 0 in random order, and near 1 where
    values rise or come in long stretches.

    Example:
        >>> neighbour_correlation(torch.tensor([0, 1, 0, 1, 0, 1]))
        -1.0
    """
    pairs = torch.stack([values[:-1], values[1:]]).double()
    return round(float(torch.corrcoef(pairs)[0, 1]), 6)


def shuffle_quality(labels: Tensor, shards: int, window: int) -> dict[str, float]:
    """The correlation of neighbours' labels, and of their places in the table, in an epoch; the
    mean of five epochs.

    Sorted values have ``(S - w) / (w (S - 1))`` in expectation with windows of ``w`` of ``S``
    shards: what the means of the windows differ by.

    Args:
        labels: The label of every graph, in the order of the table ``[G]``.
        shards: Number of shards, all of one size.
        window: Shards that are shuffled together.
    """
    orders = [epoch_order(len(labels), shards, window, epoch) for epoch in range(EPOCHS)]
    return {
        "window": window,
        "labels": sum(neighbour_correlation(labels[order]) for order in orders) / EPOCHS,
        "places": sum(neighbour_correlation(order) for order in orders) / EPOCHS,
    }

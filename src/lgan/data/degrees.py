"""Degrees of nodes, and bins of them that graphs with hubs share."""

from itertools import pairwise
from math import ceil

import torch
from torch import Tensor

from lgan.data.raw import RawGraphs

# Smallest degrees of the bins: one each below 32, then twelve from a degree to its double.
_STARTS = torch.tensor([*range(32), *(ceil(32 * 2 ** (k / 12)) for k in range(26 * 12))])


def node_degrees(raw: RawGraphs) -> Tensor:
    """The number of neighbours of every node ``[N]``."""
    return torch.bincount(raw.pair_index.reshape(-1), minlength=raw.num_nodes)


def bins_of(degree: Tensor) -> Tensor:
    """The bins of degrees: one each below 32, larger ones with those within 6 %.

    Example:
        >>> bins_of(torch.tensor([0, 31, 32, 33, 34, 3000])).tolist()
        [0, 31, 32, 32, 33, 110]
    """
    return torch.searchsorted(_STARTS, degree, right=True) - 1


def bin_names(count: int) -> tuple[str, ...]:
    """The degrees in each of the first bins.

    Example:
        >>> bin_names(34)[-3:]
        ('31', '32-33', '34-35')
    """
    return tuple(
        str(first) if end == first + 1 else f"{first}-{end - 1}"
        for first, end in pairwise(_STARTS[: count + 1].tolist())
    )

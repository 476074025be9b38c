"""Colours of pairs by 2-FWL on near pairs: the strongest structural code of this library."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lgan.graph.interning import intern_integers, intern_tuples
from lgan.graph.near_pairs import NearPairs

__all__ = ["pair_colours", "refuse_dense"]

# Wedges a round may walk, in about a minute.
LARGEST = 1 << 31


def pair_colours(
    pair_index: Tensor,
    num_nodes: int,
    *,
    radius: int | None = 3,
    initial: Tensor | None = None,
    rounds: int | None = None,
) -> Tensor:
    """The stable colour of every pair under 2-FWL restricted to near nodes ``[P]`` int64.

    Ordered pairs at most ``radius`` apart begin with their distance (and, where adjacent, with
    ``initial``) and are refined by ``{{ (c(u, w), c(w, v)) : w near to both }}`` until nothing
    changes. The colour of an edge is that of both directions together. Equal colours mean equal
    signatures, exactly; the numbers themselves are shared by all graphs of the union given but
    mean nothing outside it. A round walks all wedges, about ``n`` times the squared size of a
    ball; memory is O(n times the size of a ball).

    Args:
        pair_index: Pairs ``[2, P]`` as ``undirected_pairs`` returns them, of a disjoint union.
        num_nodes: Number of nodes.
        radius: Distance up to which pairs are coloured; ``None`` for any.
        initial: A number for every pair ``[P]`` that refines its first colour.
        rounds: Stop after so many rounds; fewer rounds give fewer colours.

    Raises:
        ValueError: Where the wedges are too many to walk, as on COLLAB.

    Example:
        >>> path = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]])
        >>> pair_colours(path, 5).tolist()
        [0, 1, 1, 0]
    """
    pairs = pair_index.cpu().numpy().astype(np.int64)
    if radius is None or radius > 1:
        refuse_dense(np.bincount(pairs.reshape(-1), minlength=num_nodes))
    near = NearPairs.of(pairs, num_nodes, num_nodes if radius is None else radius)
    _refuse_beyond(near.count_wedges(LARGEST))
    forth, back = near.find(pairs[0], pairs[1]), near.find(pairs[1], pairs[0])
    colour = intern_integers(near.distance)
    if initial is not None:
        start = np.zeros(colour.size, np.int64)
        start[forth] = start[back] = intern_integers(initial.cpu().numpy()) + 1
        colour = intern_tuples(colour, start)
    count = done = 0
    while (found := int(colour.max(initial=-1)) + 1) > count and done != rounds:
        count, done = found, done + 1
        colour = near.refined(colour)
    low = np.minimum(colour[forth], colour[back])
    high = np.maximum(colour[forth], colour[back])
    return torch.from_numpy(intern_tuples(low, high).astype(np.int64)).to(pair_index.device)


def refuse_dense(degree: NDArray[np.int64]) -> None:
    """Raise an error where nodes of these degrees have too many wedges of distance 2 already."""
    _refuse_beyond(int(((degree + 1) ** 2).sum()))


def _refuse_beyond(wedges: int) -> None:
    if wedges > LARGEST:
        raise ValueError(
            f"Colours of pairs need a walk over all wedges, at most {LARGEST:,}; these graphs have "
            f"{wedges:,} or more. Choose the level 'full', or fewer or sparser graphs."
        )

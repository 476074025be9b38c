"""Colours of pairs by 2-FWL on near pairs: the strongest structural code of this library."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lgan.graph.near_pairs import NearPairs

# Wedges a round may walk, in about a minute.
LARGEST = 1 << 31


def pair_colours(
    pair_index: Tensor,
    num_nodes: int,
    *,
    radius: int | None = 3,
    rounds: int | None = 4,
    initial: Tensor | None = None,
) -> Tensor:
    """The colour of every pair after some rounds of 2-FWL on near nodes, ``[P]`` int64.

    Ordered pairs at most ``radius`` apart begin with their distance (and, where adjacent, with
    ``initial``); a round adds ``{{ (c(u, w), c(w, v)) : w near to both }}``. The colour of an
    edge is that of both directions together.

    A colour is a word of 63 bits that depends on the structure around the pair and on nothing
    else: the same in every graph, order of nodes and data set. It is a category; for a table of
    ``k`` embeddings take it modulo ``k``. That different signatures have different words is
    verified, for all pairs given, by comparing the signatures themselves.

    A round walks all wedges, about ``n`` times the squared size of a ball; memory is O(n times
    the size of a ball).

    Args:
        pair_index: Pairs ``[2, P]`` as ``undirected_pairs`` returns them, of a disjoint union.
        num_nodes: Number of nodes.
        radius: Distance up to which pairs are coloured; ``None`` for any.
        rounds: Number of rounds; ``None`` until nothing changes in the graphs given, whose
            colours then cannot be compared with those of other calls.
        initial: Integers of every pair, ``[P]`` or ``[P, c]``, for its first colour.

    Raises:
        ValueError: Where the wedges are too many to walk, as on COLLAB.

    Example:
        >>> path = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]])
        >>> first, second, third, fourth = pair_colours(path, 5).tolist()
        >>> first == fourth, second == third, first == second
        (True, True, False)
    """
    from lgan.graph.near_pairs_numba import join_words

    pairs = pair_index.cpu().numpy().astype(np.int64)
    if radius is None or radius > 1:
        refuse_dense(np.bincount(pairs.reshape(-1), minlength=num_nodes))
    near = NearPairs.of(pairs, num_nodes, num_nodes if radius is None else radius)
    _refuse_beyond(near.count_wedges(LARGEST))
    forth, back = near.find(pairs[0], pairs[1]), near.find(pairs[1], pairs[0])
    word = near.distance.astype(np.int64)
    if initial is not None:
        for column in initial.cpu().numpy().reshape(pairs.shape[1], -1).T.astype(np.int64):
            word[forth] = word[back] = join_words(word[forth], column)
    count = done = 0
    while done != rounds and (rounds is not None or np.unique(word).size > count):
        count, done = np.unique(word).size if rounds is None else 0, done + 1
        word = near.refined_words(word)
    low, high = np.minimum(word[forth], word[back]), np.maximum(word[forth], word[back])
    colour = join_words(low, high) & np.int64(2**63 - 1)
    return torch.from_numpy(colour).to(pair_index.device)


def refuse_dense(degree: NDArray[np.int64]) -> None:
    """Raise an error where nodes of these degrees have too many wedges of distance 2 already."""
    _refuse_beyond(int(((degree + 1) ** 2).sum()))


def _refuse_beyond(wedges: int) -> None:
    if wedges > LARGEST:
        raise ValueError(
            f"Colours of pairs need a walk over all wedges, at most {LARGEST:,}; these graphs have "
            f"{wedges:,} or more. Choose the level 'full', or fewer or sparser graphs."
        )

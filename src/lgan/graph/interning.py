"""Exact interning: equal signatures get equal colours, different ones never do.

Colours are integers numbered in the order of first occurrence, so that two arrays of colours
describe the same partition exactly if they are equal.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Colours = NDArray[np.integer[Any]]
Words = NDArray[np.uint64]

_NOTHING = np.empty(0, np.int64)


class Rows(NamedTuple):
    """Multisets over a common list of sources, row after row.

    Row ``r`` holds the sources ``source[ptr[r]:ptr[r + 1]]``; without ``source``, the sources
    ``ptr[r] … ptr[r + 1] - 1``. A source counts as often as its weight says, once without.
    """

    ptr: NDArray[np.int64]
    source: Colours | None = None
    weight: Colours | None = None

    @staticmethod
    def grouped(
        row: Colours, source: Colours, num_rows: int, weight: Colours | None = None
    ) -> "Rows":
        """Rows from a list of (row, source) entries."""
        from lgan.ops.listing_numba import counting_sort

        grouped, count = counting_sort(row, source, num_rows)
        return Rows(np.concatenate([[0], np.cumsum(count)]), grouped, weight)


def intern_integers(key: Colours) -> Colours:
    """Equal keys get equal ids ``[N]`` int32.

    Example:
        >>> intern_integers(np.array([7, -3, 7, 0])).tolist()
        [0, 1, 0, 2]
    """
    from lgan.graph.interning_numba import first_ids

    ids: Colours = first_ids(np.ascontiguousarray(key, np.int64))[0]
    return ids


def intern_tuples(*columns: Colours) -> Colours:
    """Equal rows of several columns of colours get equal ids ``[N]`` int32.

    Example:
        >>> intern_tuples(np.array([1, 1, 2]), np.array([5, 5, 5])).tolist()
        [0, 0, 1]
    """
    ids, *others = columns
    for other in others:
        bound = int(other.max(initial=0)) + 1
        assert int(ids.max(initial=0)) < 2**62 // bound, "ids are dense and fit in 31 bits"
        ids = intern_integers(ids.astype(np.int64) * bound + other)
    return ids if others else intern_integers(ids)


def intern_multisets(rows: Rows, value: Colours) -> Colours:
    """Rows with equal multisets of values get equal ids ``[num_rows]`` int32.

    Rows are grouped by a random 64-bit word, the sum of one word per element; all rows of a
    group are then compared by counting, and other words are drawn if two differ. O(entries).

    Args:
        rows: Which sources each row holds, and how often a source counts.
        value: The colour of every source, 0 or more.

    Example:
        >>> intern_multisets(Rows(np.array([0, 2, 3, 5])), np.array([4, 9, 4, 9, 4])).tolist()
        [0, 1, 0]
    """
    from lgan.graph.interning_numba import multiset_hashes, multisets_agree

    source = _NOTHING if rows.source is None else rows.source
    weight = _NOTHING if rows.weight is None else rows.weight
    value = np.ascontiguousarray(value, np.int64)
    assert weight.size in (0, value.size), "one weight a source"
    return intern_hashed(
        lambda seed: multiset_hashes(rows.ptr, source, value, weight, seed),
        lambda ids, order: multisets_agree(rows.ptr, source, value, weight, ids, order),
    )


def intern_hashed(
    hashes: Callable[[int], Colours],
    agree: Callable[[Colours, Colours], bool],
    *,
    attempts: int = 8,
) -> Colours:
    """Equal things get equal ids, if equal things have equal hashes and others can be noticed.

    Args:
        hashes: A word for every thing, given a seed.
        agree: Whether all things with one id are equal, given the ids and the things by id.
        attempts: How many seeds to try; a second is hardly ever needed.
    """
    from lgan.graph.interning_numba import first_ids
    from lgan.ops.listing_numba import counting_sort

    random = np.random.default_rng(0x16A)
    for _ in range(attempts):
        ids: Colours
        ids, count = first_ids(hashes(int(random.integers(2**62))))
        order, _ = counting_sort(ids, np.arange(ids.size), count)
        if agree(ids, order):
            return ids
    raise RuntimeError("Different signatures have the same 64-bit hash, which chance does not do.")


def mixed(word: Words) -> Words:
    """Words of 64 bits that depend on every bit of the given ones: the finaliser of SplitMix64.

    Features of saved models are told by it, so it never changes.
    """
    word = word + np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))

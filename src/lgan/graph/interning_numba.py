"""Compiled loops of exact interning: integers, and multisets of integers."""

from typing import Any

import numpy as np

from lgan.ops.jit import njit
from lgan.ops.numba_rows import Array


@njit(nogil=True, cache=True, inline="always")
def mixed(word: Any) -> Any:
    """The finaliser of SplitMix64, a bijection of 64-bit words."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@njit(nogil=True, cache=True)
def first_ids(key: Array) -> tuple[Array, int]:
    """Equal keys get equal ids, numbered in the order of first occurrence; and how many there are.

    Open addressing; keys themselves are compared, so the ids are exact.
    """
    size = 16
    while size < 2 * key.size:
        size *= 2
    mask = np.uint64(size - 1)
    slot_key = np.empty(size, np.int64)
    slot_id = np.full(size, -1, np.int32)
    ids = np.empty(key.size, np.int32)
    count = 0
    for i in range(key.size):
        slot = mixed(np.uint64(key[i])) & mask
        while slot_id[slot] >= 0 and slot_key[slot] != key[i]:
            slot = (slot + np.uint64(1)) & mask
        if slot_id[slot] < 0:
            slot_id[slot] = count
            slot_key[slot] = key[i]
            count += 1
        ids[i] = slot_id[slot]
    return ids, count


@njit(nogil=True, cache=True)
def multiset_hashes(ptr: Array, source: Array, value: Array, weight: Array, seed: int) -> Array:
    """One word per row: the sum of ``weight`` times a random word for every ``value``.

    Row ``r`` holds the sources ``source[ptr[r]:ptr[r + 1]]``; an empty ``source`` stands for
    ``0, 1, 2, …``, an empty ``weight`` for ones. Equal multisets have equal words.
    """
    share = np.empty(value.size, np.uint64)
    for s in range(value.size):
        share[s] = mixed(mixed(np.uint64(value[s]) + np.uint64(seed)))
        if weight.size:
            share[s] *= np.uint64(weight[s])
    word = np.empty(ptr.size - 1, np.int64)
    for row in range(ptr.size - 1):
        total = np.uint64(0)
        for e in range(ptr[row], ptr[row + 1]):
            total += share[source[e] if source.size else e]
        word[row] = np.int64(mixed(total))
    return word


@njit(nogil=True, cache=True)
def counting_table(longest: int) -> Array:
    """An empty table for :func:`as_often`: for every slot the group it was last used for, a value,
    how often the first row of the group has it, the row last counted, and how often that has it.
    """
    size = 16
    while size < 2 * longest:
        size *= 2
    table = np.zeros((size, 5), np.int64)
    table[:, 0] = -1
    return table


@njit(nogil=True, cache=True, inline="always")
def as_often(table: Array, slots: int, value: int, amount: int, group: int, row: int) -> bool:
    """Count a value of a row; whether the first row of its group has it as often so far or more.

    The first row of a group has its number, and comes first. The table is used up to ``slots``, a
    power of two.
    """
    mask = np.uint64(slots - 1)
    slot = mixed(np.uint64(value)) & mask
    while table[slot, 0] == group and table[slot, 1] != value:
        slot = (slot + np.uint64(1)) & mask
    entry = table[slot]
    if row == group:
        if entry[0] != group:
            entry[0], entry[1], entry[2], entry[3] = group, value, 0, row
        entry[2] += amount
        return True
    if entry[0] != group:
        return amount == 0
    if entry[3] != row:
        entry[3], entry[4] = row, 0
    entry[4] += amount
    enough: bool = entry[4] <= entry[2]
    return enough


@njit(nogil=True, cache=True)
def multisets_agree(
    ptr: Array, source: Array, value: Array, weight: Array, ids: Array, order: Array
) -> bool:
    """Whether all rows with one id hold the same multiset, by counting every value.

    ``order`` lists the rows by id. The first row of an id is counted in a table; another row
    agrees with it if no value occurs more often and the totals are equal.
    """
    longest = 0
    for row in range(ptr.size - 1):
        longest = max(longest, ptr[row + 1] - ptr[row])
    table = counting_table(longest)
    begin = 0
    while begin < order.size:
        first = order[begin]
        end = begin + 1
        while end < order.size and ids[order[end]] == ids[first]:
            end += 1
        slots = 16  # few for a short row: they stay in the cache
        while slots < 2 * (ptr[first + 1] - ptr[first]):
            slots *= 2
        total = 0
        for i in range(begin, end if end - begin > 1 else begin):
            seen = 0
            for e in range(ptr[order[i]], ptr[order[i] + 1]):
                s = source[e] if source.size else e
                amount = weight[s] if weight.size else 1
                if not as_often(table, slots, value[s], amount, begin, i):
                    return False
                seen += amount
            if i == begin:
                total = seen
            elif seen != total:
                return False
        begin = end
    return True

"""The compiled loops of the local 2-WL: pairs of classes of twins, and what they see."""

import numpy as np

from lgan.ops.jit import njit
from lgan.ops.numba_rows import Array

EQUAL, ADJACENT, APART = 0, 1, 2


@njit(nogil=True, cache=True)
def pairs_of_classes(
    class_ptr: Array, pair_ptr: Array, twins: Array, near_ptr: Array, near: Array
) -> tuple[Array, Array, Array, Array]:
    """For all pairs, graph after graph: both classes, how their nodes stand, and the turned pair.

    The pairs of a graph of ``k`` classes are ``(a, b)`` in lexicographic order, where ``(a, a)``
    is a node with itself, and then the pairs of two nodes of one class, whose place ``twins``
    tells for every class, -1 where it has but one node.
    """
    number = pair_ptr[-1]
    first, second = np.empty(number, np.int64), np.empty(number, np.int64)
    kind, turned = np.empty(number, np.int64), np.empty(number, np.int64)
    for g in range(class_ptr.size - 1):
        c0, c1 = class_ptr[g], class_ptr[g + 1]
        k = c1 - c0
        for a in range(c0, c1):
            row = pair_ptr[g] + (a - c0) * k
            for b in range(c0, c1):
                pair = row + b - c0
                first[pair], second[pair], kind[pair] = a, b, APART
                turned[pair] = pair_ptr[g] + (b - c0) * k + a - c0
            for e in range(near_ptr[a], near_ptr[a + 1]):
                kind[row + near[e] - c0] = ADJACENT
            kind[row + a - c0] = EQUAL
            pair = twins[a]
            if pair >= 0:
                first[pair], second[pair], kind[pair], turned[pair] = a, a, ADJACENT, pair
    return first, second, kind, turned


@njit(nogil=True, cache=True)
def seen_pairs(
    class_ptr: Array,
    pair_ptr: Array,
    twins: Array,
    near_ptr: Array,
    near: Array,
    first: Array,
    second: Array,
    itself: bool,
) -> tuple[Array, Array]:
    """The pairs ``(c, b)``, ``c`` near ``a``, for every pair ``(a, b)``, as rows.

    Where ``b`` is near ``a``, two nodes of ``b`` are among them. ``itself``: whether a class is
    near itself.
    """
    ptr = np.zeros(first.size + 1, np.int64)
    source = np.empty(0, np.int32)
    for filled in (False, True):  # lengths first
        if filled:
            ptr = np.cumsum(ptr)
            source = np.empty(ptr[-1], np.int32)
        for g in range(class_ptr.size - 1):
            c0, k = class_ptr[g], class_ptr[g + 1] - class_ptr[g]
            for pair in range(pair_ptr[g], pair_ptr[g + 1]):
                a, b = first[pair], second[pair]
                place = ptr[pair]
                length = 0
                for e in range(near_ptr[a], near_ptr[a + 1]):
                    c = near[e]
                    if c == a and not itself:
                        continue
                    if filled:
                        source[place + length] = pair_ptr[g] + (c - c0) * k + b - c0
                    length += 1
                    if c == b and twins[b] >= 0:
                        if filled:
                            source[place + length] = twins[b]
                        length += 1
                if not filled:
                    ptr[pair + 1] = length
    return ptr, source

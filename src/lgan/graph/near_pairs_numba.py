"""Compiled loops over pairs of nodes at a small distance."""

import numpy as np

from lgan.graph.interning_numba import as_often, counting_table, mixed
from lgan.ops.jit import njit
from lgan.ops.numba_rows import Array

START = np.uint64(0x9E3779B97F4A7C15)


@njit(nogil=True, cache=True)
def balls(ptr: Array, node: Array, radius: int) -> tuple[Array, Array, Array]:
    """All nodes within ``radius`` of each node: offsets, nodes in increasing order, distances."""
    num_nodes = ptr.size - 1
    start = np.zeros(num_nodes + 1, np.int64)
    capacity = max(4 * num_nodes, 16)
    member = np.empty(capacity, np.int32)
    distance = np.empty(capacity, np.int32)
    seen = np.full(num_nodes, -1, np.int64)
    far = np.empty(num_nodes, np.int32)
    queue = np.empty(num_nodes, np.int32)
    filled = 0
    for root in range(num_nodes):
        queue[0] = root
        seen[root] = root
        far[root] = 0
        head, tail = 0, 1
        while head < tail:
            v = queue[head]
            head += 1
            if far[v] == radius:
                break
            for e in range(ptr[v], ptr[v + 1]):
                w = node[e]
                if seen[w] != root:
                    seen[w] = root
                    far[w] = far[v] + 1
                    queue[tail] = w
                    tail += 1
        if filled + tail > capacity:
            capacity = max(2 * capacity, filled + tail)
            wider = np.empty(capacity, np.int32)
            wider[:filled] = member[:filled]
            member = wider
            wider = np.empty(capacity, np.int32)
            wider[:filled] = distance[:filled]
            distance = wider
        ball = np.sort(queue[:tail])
        for i in range(tail):
            member[filled + i] = ball[i]
            distance[filled + i] = far[ball[i]]
        filled += tail
        start[root + 1] = filled
    return start, member[:filled].copy(), distance[:filled].copy()


@njit(nogil=True, cache=True)
def count_wedges(start: Array, member: Array, limit: int) -> int:
    """How many wedges all near pairs have, or a number above ``limit``."""
    num_nodes = start.size - 1
    mark = np.full(num_nodes, -1, np.int64)
    total = 0
    for u in range(num_nodes):
        for i in range(start[u], start[u + 1]):
            mark[member[i]] = u
        for i in range(start[u], start[u + 1]):
            w = member[i]
            for j in range(start[w], start[w + 1]):
                total += mark[member[j]] == u
        if total > limit:
            break
    return total


@njit(nogil=True, cache=True)
def wedge_hashes(start: Array, member: Array, colour: Array, seed: int) -> Array:
    """One word per near pair: the sum of a random word for ``(c(u, w), c(w, v))`` over all ``w``.

    Wedges are walked, never stored. Pairs with equal multisets have equal words.
    """
    num_nodes = start.size - 1
    word = np.zeros(member.size, np.uint64)
    place = np.full(num_nodes, -1, np.int64)
    for u in range(num_nodes):
        for i in range(start[u], start[u + 1]):
            place[member[i]] = i
        for i in range(start[u], start[u + 1]):
            w = member[i]
            first = mixed(np.uint64(colour[i]) + np.uint64(seed))
            for j in range(start[w], start[w + 1]):
                uv = place[member[j]]
                if uv >= 0:
                    word[uv] += mixed(first + np.uint64(colour[j]))
        for i in range(start[u], start[u + 1]):
            place[member[i]] = -1
    return word.view(np.int64)


@njit(nogil=True, cache=True)
def join_words(a: Array, b: Array) -> Array:
    """One word for every two."""
    joined = np.empty(a.size, np.int64)
    for i in range(a.size):
        joined[i] = np.int64(mixed(mixed(np.uint64(a[i]) + START) + np.uint64(b[i])))
    return joined


@njit(nogil=True, cache=True)
def wedges_agree(
    start: Array, member: Array, reverse: Array, colour: Array, ids: Array, order: Array
) -> bool:
    """Whether all near pairs with one id see the same multiset ``(c(u, w), c(w, v))``.

    ``order`` lists the pairs by id and ``reverse`` gives the number of ``(v, u)``. The multiset of
    the first pair of an id is counted in a table; the others must not exceed it anywhere and must
    have as many elements.
    """
    num_nodes = start.size - 1
    largest = 0
    colours = np.int64(1)
    first_node = np.empty(member.size, np.int32)
    for u in range(num_nodes):
        largest = max(largest, start[u + 1] - start[u])
        for i in range(start[u], start[u + 1]):
            first_node[i] = u
            colours = max(colours, np.int64(colour[i]) + 1)
    table = counting_table(largest)
    place = np.full(num_nodes, -1, np.int64)
    begin = 0
    while begin < order.size:
        end = begin + 1
        while end < order.size and ids[order[end]] == ids[order[begin]]:
            end += 1
        total = 0
        for k in range(begin, end if end - begin > 1 else begin):
            u, v = first_node[order[k]], member[order[k]]
            for i in range(start[u], start[u + 1]):
                place[member[i]] = i
            seen = 0
            for j in range(start[v], start[v + 1]):
                uw = place[member[j]]
                if uw < 0:
                    continue
                key = colour[uw] * colours + colour[reverse[j]]
                if not as_often(table, table.shape[0], key, 1, begin, k):
                    return False
                seen += 1
            for i in range(start[u], start[u + 1]):
                place[member[i]] = -1
            if k == begin:
                total = seen
            elif seen != total:
                return False
        begin = end
    return True

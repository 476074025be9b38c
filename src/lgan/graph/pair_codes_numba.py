"""Compiled loops of the structural pair codes.

All counts are taken over *closed* neighbourhoods of classes, ``N[c] = N(c) ∪ {c}``, each class
weighed by the number ``k`` of nodes it stands for; a graph without merged twins has ``k = 1``.
"""

from typing import Any

import numpy as np

from lgan.ops.jit import njit
from lgan.ops.numba_rows import Array


@njit(nogil=True, cache=True)
def closed_lists(u: Array, v: Array, num_nodes: int) -> tuple[Array, Array, Array]:
    """The closed neighbourhoods as CSR: offsets, classes, and the pair of each (-1 for itself)."""
    ptr = np.zeros(num_nodes + 1, np.int64)
    for p in range(u.size):
        if u[p] != v[p]:
            ptr[u[p] + 1] += 1
            ptr[v[p] + 1] += 1
    for i in range(num_nodes):
        ptr[i + 1] += ptr[i] + 1
    place = ptr[:-1].copy()
    node = np.empty(ptr[-1], np.int32)
    pair = np.empty(ptr[-1], np.int32)
    for i in range(num_nodes):
        node[place[i]] = i
        pair[place[i]] = -1
        place[i] += 1
    for p in range(u.size):
        if u[p] != v[p]:
            for a, b in ((u[p], v[p]), (v[p], u[p])):
                node[place[a]] = b
                pair[place[a]] = p
                place[a] += 1
    return ptr, node, pair


@njit(nogil=True, cache=True)
def two_step_cost(ptr: Array, node: Array) -> Array:
    """Entries to read for all walks of two steps from each class."""
    cost = np.zeros(ptr.size - 1, np.int64)
    for p in range(ptr.size - 1):
        for i in range(ptr[p], ptr[p + 1]):
            cost[p] += ptr[node[i] + 1] - ptr[node[i]]
    return cost


@njit(nogil=True, cache=True)
def count_common(
    ptr: Array, node: Array, k: Array, order: Array, owner: Array, other: Array
) -> Array:
    """Weight of the closed common neighbourhood of every pair, as ``order`` lists them by owner."""
    closed = np.empty(order.size, np.int64)
    mark = np.full(ptr.size - 1, -1, np.int64)
    for e in order:
        p, t = owner[e], other[e]
        if mark[p] != p:
            for i in range(ptr[p], ptr[p + 1]):
                mark[node[i]] = p
        total = 0
        for i in range(ptr[t], ptr[t + 1]):
            if mark[node[i]] == p:
                total += k[node[i]]
        closed[e] = total
    return closed


@njit(nogil=True, cache=True)
def count_cycles(
    ptr: Array, node: Array, k: Array, order: Array, owner: Array, other: Array
) -> Array:
    """Cycles of length 4 on every pair ``(owner, other)``, as ``order`` lists them by owner.

    ``w[a]`` is the weight of the closed common neighbourhood of ``a`` and the owner ``p``. Each
    ``a ∈ N(t)`` other than ``p`` closes as many cycles ``t, a, b, p`` as there are common
    neighbours of ``a`` and ``p`` other than ``t``: ``w[a]``, less 1, less 2 if ``a ~ p``.
    """
    cycles = np.empty(order.size, np.int64)
    w = np.zeros(ptr.size - 1, np.int64)
    near = np.zeros(ptr.size - 1, np.int64)
    begin = 0
    while begin < order.size:
        p = owner[order[begin]]
        for i in range(ptr[p], ptr[p + 1]):
            near[node[i]] = 2
            for j in range(ptr[node[i]], ptr[node[i] + 1]):
                w[node[j]] += k[node[i]]
        while begin < order.size and owner[order[begin]] == p:
            t = other[order[begin]]
            total = 6 - w[t] - w[p]  # a = t and a = p do not count
            for j in range(ptr[t], ptr[t + 1]):
                a = node[j]
                total += k[a] * (w[a] - 1 - near[a])
            cycles[order[begin]] = total
            begin += 1
        for i in range(ptr[p], ptr[p + 1]):
            near[node[i]] = 0
            for j in range(ptr[node[i]], ptr[node[i] + 1]):
                w[node[j]] = 0
    return cycles


@njit(nogil=True, cache=True)
def count_k4(
    ptr: Array, node: Array, pair: Array, k: Array, u: Array, v: Array, closed: Array
) -> tuple[Array, Array]:
    """``Σ k_q`` and ``Σ k_q²`` over the triangles ``t, p, q`` on every pair.

    ``k_q`` is the weight of the closed common neighbourhood of the three nodes, less 3. Each
    triangle of classes is met once, at the pair opposite its class of least degree, whose list
    is read. Where ``q`` is a twin of an end, ``k_q`` is that of a pair: ``closed - 3``.
    """
    num_nodes = ptr.size - 1
    s1 = np.zeros(u.size, np.int64)
    s2 = np.zeros(u.size, np.int64)
    mark = np.full(num_nodes, -1, np.int64)
    to_t = np.empty(num_nodes, np.int32)  # the pair of a common neighbour with t
    to_p = np.empty(num_nodes, np.int32)
    common = np.empty(num_nodes, np.int32)
    for tp in range(u.size):
        t, p = u[tp], v[tp]
        twins = closed[tp] - 3
        s1[tp] += (k[t] + k[p] - 2) * twins
        s2[tp] += (k[t] + k[p] - 2) * twins * twins
        if t == p:  # a pair of twins: each class around them forms triangles with it
            s1[tp] -= k[t] * twins
            s2[tp] -= k[t] * twins * twins
            for i in range(ptr[t], ptr[t + 1]):
                if pair[i] >= 0:
                    weight = closed[pair[i]] - 3
                    s1[tp] += k[node[i]] * weight
                    s2[tp] += k[node[i]] * weight * weight
            continue
        count = 0
        for i in range(ptr[t], ptr[t + 1]):
            mark[node[i]] = 2 * tp
            to_t[node[i]] = pair[i]
        for i in range(ptr[p], ptr[p + 1]):
            q = node[i]
            if mark[q] == 2 * tp:
                mark[q] = 2 * tp + 1
                to_p[q] = pair[i]
                common[count] = q
                count += 1
        at_t, at_p = ptr[t + 1] - ptr[t], ptr[p + 1] - ptr[p]
        for c in range(count):
            q = common[c]
            degree = ptr[q + 1] - ptr[q]
            if q in (t, p) or (degree, q) > (at_t, t) or (degree, q) > (at_p, p):
                continue
            weight = -3
            for i in range(ptr[q], ptr[q + 1]):
                if mark[node[i]] == 2 * tp + 1:
                    weight += k[node[i]]
            for edge, opposite in ((np.int32(tp), q), (to_t[q], p), (to_p[q], t)):
                s1[edge] += k[opposite] * weight
                s2[edge] += k[opposite] * weight * weight
    return s1, s2


@njit(nogil=True, cache=True, inline="always")
def _ones(word: Any) -> Any:
    """The number of bits set."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    pairs = np.uint64(0x3333333333333333)
    word = (word & pairs) + ((word >> np.uint64(2)) & pairs)
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@njit(nogil=True, cache=True)
def count_claws(ptr: Array, node: Array, pair: Array, num_pairs: int) -> Array:
    """``Σ m²`` over the claws on every pair, ``m`` being the common neighbours of the leaves.

    The neighbourhoods of the neighbours of a centre are rows of bits over all nodes two steps
    away; three rows of a claw are intersected a word at a time.
    """
    total = np.zeros(num_pairs, np.int64)
    widest = 0
    for t in range(ptr.size - 1):
        reach = 0
        for i in range(ptr[t] + 1, ptr[t + 1]):
            reach += ptr[node[i] + 1] - ptr[node[i]]
        widest = max(widest, (ptr[t + 1] - ptr[t]) * (reach // 64 + 1))
    bits = np.empty(widest, np.uint64)
    place = np.full(ptr.size - 1, -1, np.int64)
    met = np.empty(ptr.size - 1, np.int64)
    for t in range(ptr.size - 1):
        first, stop = ptr[t] + 1, ptr[t + 1]  # a list begins with the node itself
        if stop - first < 3:
            continue
        count = 0
        for i in range(first, stop):
            for j in range(ptr[node[i]] + 1, ptr[node[i] + 1]):
                if place[node[j]] < 0:
                    place[node[j]] = count
                    met[count] = node[j]
                    count += 1
        words = count // 64 + 1
        rows = bits[: (stop - first) * words].reshape(stop - first, words)
        rows[:] = np.uint64(0)
        for i in range(first, stop):
            for j in range(ptr[node[i]] + 1, ptr[node[i] + 1]):
                where = place[node[j]]
                rows[i - first, where >> 6] |= np.uint64(1) << np.uint64(where & 63)
        for k in range(count):
            place[met[k]] = -1
        both = np.empty(words, np.uint64)
        for a in range(stop - first):
            for b in range(a):
                for w in range(words):
                    both[w] = rows[a, w] & rows[b, w]
                for c in range(b):
                    m = np.uint64(0)
                    for w in range(words):
                        m += _ones(both[w] & rows[c, w])
                    square = np.int64(m * m)
                    total[pair[first + a]] += square
                    total[pair[first + b]] += square
                    total[pair[first + c]] += square
    return total

"""Compiled loops of preparation on the CPU: triangle listing, grouping and cutting."""

import numpy as np

from lgan.ops.jit import njit
from lgan.ops.numba_rows import Array


@njit(nogil=True, cache=True)
def counting_sort(key: Array, value: Array, num_groups: int) -> tuple[Array, Array]:
    """Values grouped by key, stable, with the size of each group."""
    if value.size != key.size:
        raise ValueError("Keys and values must be as many.")
    count = np.zeros(num_groups, np.int64)
    for i in range(key.size):
        if key[i] < 0 or key[i] >= num_groups:
            raise ValueError("A key lies outside the groups. Check the ids.")
        count[key[i]] += 1
    place = np.empty(num_groups, np.int64)
    total = 0
    for group in range(num_groups):
        place[group] = total
        total += count[group]
    grouped = np.empty(value.size, value.dtype)
    for i in range(key.size):
        group = key[i]
        grouped[place[group]] = value[i]
        place[group] += 1
    return grouped, count


@njit(nogil=True, cache=True)
def cut_ranges(
    ends: Array, opposite: Array, count: Array, triangles: Array,
    pair_ptr: Array, opposite_ptr: Array, ids: Array, shift: Array,
) -> tuple[Array, Array, Array, Array]:  # fmt: skip
    """The ranges of some graphs, one after another, with what is to be added to their nodes."""
    pairs, entries = 0, 0
    for graph in ids:
        if graph < 0 or graph + 1 >= min(pair_ptr.size, opposite_ptr.size):
            raise ValueError("A graph lies outside the data set. Check the ids.")
        fits = 0 <= pair_ptr[graph] <= pair_ptr[graph + 1] <= ends.shape[1]
        if not fits or not 0 <= opposite_ptr[graph] <= opposite_ptr[graph + 1] <= opposite.size:
            raise ValueError("A graph lies outside the pairs. Check the pointers.")
        pairs += pair_ptr[graph + 1] - pair_ptr[graph]
        entries += opposite_ptr[graph + 1] - opposite_ptr[graph]
    if shift.size != ids.size or count.size != ends.shape[1] or triangles.size != ends.shape[1]:
        raise ValueError("Shifts, counts and triangles must be as many as graphs and pairs.")
    cut_ends, cut_opposite = np.empty((2, pairs), ends.dtype), np.empty(entries, opposite.dtype)
    cut_count, cut_triangles = np.empty(pairs, count.dtype), np.empty(pairs, triangles.dtype)
    pair, entry = 0, 0
    for i in range(ids.size):
        graph, more = ids[i], shift[i]
        for p in range(pair_ptr[graph], pair_ptr[graph + 1]):
            cut_ends[0, pair] = ends[0, p] + more
            cut_ends[1, pair] = ends[1, p] + more
            cut_count[pair] = count[p]
            cut_triangles[pair] = triangles[p]
            pair += 1
        for e in range(opposite_ptr[graph], opposite_ptr[graph + 1]):
            cut_opposite[entry] = opposite[e] + more
            entry += 1
    return cut_ends, cut_opposite, cut_count, cut_triangles


@njit(nogil=True, cache=True)
def orient(u: Array, v: Array, num_nodes: int) -> tuple[Array, Array, Array, Array]:
    """Pairs directed from lower to higher degree, as rows of a CSR over nodes in degree order.

    Returns row offsets, heads (as positions in degree order), pair ids, and for every row the
    number of wedges the forward algorithm will look at from it.
    """
    degree = np.zeros(num_nodes, np.int32)
    for p in range(u.size):
        if min(u[p], v[p]) < 0 or max(u[p], v[p]) >= num_nodes:
            raise ValueError("A pair lies outside the nodes. Check the ids.")
        degree[u[p]] += 1
        degree[v[p]] += 1
    largest = 0
    for i in range(num_nodes):
        largest = max(largest, degree[i])
    # Nodes in order of degree by counting sort; rank[i] is the position of node i.
    bucket = np.zeros(largest + 2, np.int64)
    for i in range(num_nodes):
        bucket[degree[i] + 1] += 1
    for d in range(largest + 1):
        bucket[d + 1] += bucket[d]
    rank = np.empty(num_nodes, np.int32)
    for i in range(num_nodes):
        rank[i] = bucket[degree[i]]
        bucket[degree[i]] += 1

    row_ptr = np.zeros(num_nodes + 1, np.int64)
    for p in range(u.size):
        row_ptr[min(rank[u[p]], rank[v[p]]) + 1] += 1
    for i in range(num_nodes):
        row_ptr[i + 1] += row_ptr[i]
    place = row_ptr[:-1].copy()
    head = np.empty(u.size, np.int32)
    pair = np.empty(u.size, np.int32)
    for p in range(u.size):
        a, b = rank[u[p]], rank[v[p]]
        tail = min(a, b)
        head[place[tail]] = max(a, b)
        pair[place[tail]] = p
        place[tail] += 1
    wedges = np.zeros(num_nodes, np.int64)
    for i in range(num_nodes):
        for e in range(row_ptr[i], row_ptr[i + 1]):
            wedges[i] += row_ptr[head[e] + 1] - row_ptr[head[e]]
    return row_ptr, head, pair, wedges


@njit(nogil=True, cache=True)
def list_oriented(
    row_ptr: Array,
    head: Array,
    pair: Array,
    row: int,
    edge: int,
    stop: int,
    near: Array,
    mark: Array,
    out: Array,
) -> tuple[int, int, int]:
    """Fill ``out [3, capacity]`` with triangles as pair ids, from ``(row, edge)`` to row ``stop``.

    ``near`` is all false over the nodes and is left so: one byte each, it stays in the first
    cache, while ``mark``, the ids of the pairs, is only read for a triangle. Returns the row and
    edge to go on from, and how many triangles were written; a triangle of rows i < j < k is
    ``(ij, ik, jk)``.
    """
    capacity = out.shape[1]
    filled = 0
    while row < stop:
        begin, end = row_ptr[row], row_ptr[row + 1]
        if end - begin > 1:
            for e in range(begin, end):
                near[head[e]] = True
                mark[head[e]] = pair[e]
            full = False
            e = max(edge, begin)
            while e < end:
                j = head[e]
                if filled + (row_ptr[j + 1] - row_ptr[j]) > capacity:
                    full = True
                    break
                far = head[row_ptr[j] : row_ptr[j + 1]]
                for f in range(far.size):
                    if near[np.uint32(far[f])]:
                        out[0, filled] = pair[e]
                        out[1, filled] = mark[far[f]]
                        out[2, filled] = pair[row_ptr[j] + f]
                        filled += 1
                e += 1
            for g in range(begin, end):
                near[head[g]] = False
            if full:
                return row, e, filled
        row += 1
        edge = 0
    return row, 0, filled

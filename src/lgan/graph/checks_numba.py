"""Compiled checks of structures on the CPU: on small graphs a tensor operation costs more."""

import numpy as np

from lgan.ops.jit import njit
from lgan.ops.numba_rows import Array, within


@njit(nogil=True, cache=True)
def lines_fit(
    pairs: Array,
    opposite: Array,
    count: Array,
    triangles: Array,
    multiplicity: Array,
    rows: Array,
    table_rows: int,
) -> bool:
    """Whether ego line graphs hold together, see :func:`lgan.graph.checks.check_lines`.

    ``rows`` is empty where the table of codes has a row for every pair.
    """
    nodes, total, most = multiplicity.size, 0, 2**31 - 1
    for p in range(pairs.shape[1]):
        u, v = pairs[0, p], pairs[1, p]
        if u < 0 or u > v or v >= nodes:
            return False
        if count[p] < 0 or count[p] > most or triangles[p] < -1 or triangles[p] > most:
            return False
        if p > 0 and (u < pairs[0, p - 1] or (u == pairs[0, p - 1] and v <= pairs[1, p - 1])):
            return False
        total += count[p]
    if not within(rows, table_rows) or not within(opposite, nodes):
        return False
    for i in range(nodes):
        if multiplicity[i] < 1 or multiplicity[i] > most:
            return False
    return total == opposite.size


@njit(nogil=True, cache=True)
def same_edges(edges: Array, pairs: Array, nodes: int) -> bool:
    """Whether edges ``[2, E]``, in any direction and number, are the pairs in order ``[2, P]``."""
    begin = np.zeros(nodes + 1, np.int64)  # where the pairs of each first node begin
    for p in range(pairs.shape[1]):
        begin[pairs[0, p] + 1] += 1
    for i in range(nodes):
        begin[i + 1] += begin[i]
    met = np.zeros(pairs.shape[1], np.bool_)
    for e in range(edges.shape[1]):
        low, high = min(edges[0, e], edges[1, e]), max(edges[0, e], edges[1, e])
        if low < 0 or high >= nodes:
            return False
        if low == high:
            continue
        p, end = begin[low], begin[low + 1]
        while end - p > 4:
            middle = (p + end) // 2
            if pairs[1, middle] <= high:
                p = middle
            else:
                end = middle
        while p < end and pairs[1, p] != high:
            p += 1
        if p == end:
            return False
        met[p] = True
    complete = True
    for p in range(met.size):
        complete &= met[p] or pairs[0, p] == pairs[1, p]
    return complete


@njit(nogil=True, cache=True)
def first_outside(ids: Array, ptr: Array, limit: Array) -> int:
    """One more than the first graph whose ids ``[M, e]`` leave its range; 0 where none do.

    The ids of graph ``g`` are the rows from ``ptr[g]`` on, and must lie within ``limit[g]`` and
    ``limit[g + 1]``; negative ones stand for nothing.
    """
    for g in range(ptr.size - 1):
        for i in range(ptr[g], ptr[g + 1]):
            for j in range(ids.shape[1]):
                if ids[i, j] >= limit[g + 1] or (0 <= ids[i, j] < limit[g]):
                    return g + 1
    return 0

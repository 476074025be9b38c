"""Compiled loops behind the list of all small graphs: canonical forms and extensions.

A graph of at most 10 nodes is one integer: bit ``j (j - 1) / 2 + i`` says whether nodes
``i < j`` are adjacent.
"""

from typing import Any

import numpy as np

from lgan.ops.jit import njit
from lgan.ops.numba_rows import Array


@njit(nogil=True, cache=True)
def _neighbours(code: int, n: int, near: Array) -> None:
    """The neighbours of every node as bits."""
    near[:n] = 0
    bit = 0
    for j in range(n):
        for i in range(j):
            if (code >> bit) & 1:
                near[i] |= 1 << j
                near[j] |= 1 << i
            bit += 1


@njit(nogil=True, cache=True)
def _refine(near: Array, n: int, colour: Array, key: Array) -> int:
    """1-WL until stable, with colours numbered in an order that names do not change."""
    cells = 0
    while True:
        for v in range(n):
            counts = 0  # neighbours of each colour, four bits each
            for w in range(n):
                if (near[v] >> w) & 1:
                    counts += 1 << (4 * colour[w])
            key[v] = (colour[v] << 44) + counts
        found = 0
        for v in range(n):
            colour[v] = 0
            first = True
            for w in range(n):
                if key[w] < key[v]:
                    colour[v] += 1
                elif w < v and key[w] == key[v]:
                    first = False
            found += first
        # A colour is the number of nodes before its cell: individualising keeps room.
        if found == cells:
            return found
        cells = found


@njit(nogil=True, cache=True)
def _canonical(code: Any, n: int) -> Any:
    """The largest code over all orders of the nodes that a search tree of 1-WL cells reaches."""
    near = np.zeros(n, np.int64)
    _neighbours(code, n, near)
    key = np.empty(n, np.int64)
    colours = np.zeros((n + 1, n), np.int64)
    left = np.zeros(n + 1, np.int64)  # nodes still to individualise, as bits, per level
    best = np.int64(-1)
    cells = _refine(near, n, colours[0], key)
    level = 0
    fresh = True
    while level >= 0:
        colour = colours[level]
        if fresh and cells == n:
            value = np.int64(0)
            for j in range(n):
                for i in range(n):
                    if (near[j] >> i) & 1 and colour[i] < colour[j]:
                        value |= 1 << (colour[j] * (colour[j] - 1) // 2 + colour[i])
            best = max(best, value)
            level -= 1
            fresh = False
            continue
        if fresh:
            left[level] = _first_cell(near, n, colour)
        if left[level] == 0:
            level -= 1
            fresh = False
            continue
        v = 0
        while not (left[level] >> v) & 1:
            v += 1
        left[level] &= left[level] - 1
        deeper = colours[level + 1]
        for w in range(n):
            deeper[w] = colour[w]
            if w != v and colour[w] == colour[v]:
                deeper[w] += 1
        cells = _refine(near, n, deeper, key)
        level += 1
        fresh = True
    return best


@njit(nogil=True, cache=True)
def _first_cell(near: Array, n: int, colour: Array) -> int:
    """The first cell of two nodes or more, as bits; of twins in it only one."""
    lowest = n
    for v in range(n):
        for w in range(v):
            if colour[v] == colour[w]:
                lowest = min(lowest, colour[v])
    cell = 0
    for v in range(n):
        if colour[v] == lowest:
            alone = True
            for w in range(v):
                both = ~((1 << v) | (1 << w))
                if (cell >> w) & 1 and (near[v] & both) == (near[w] & both):
                    alone = False
            if alone:
                cell |= 1 << v
    return cell


@njit(nogil=True, cache=True)
def extensions(code: Array, n: int) -> Array:
    """Canonical forms of all graphs with a new node ``n`` whose degree is the largest."""
    forms = np.empty(code.size << n, np.int64)
    near = np.zeros(n, np.int64)
    count = 0
    for g in range(code.size):
        _neighbours(code[g], n, near)
        for chosen in range(1 << n):
            size = 0
            for v in range(n):
                size += (chosen >> v) & 1
            largest = 0
            for v in range(n):
                degree = (chosen >> v) & 1
                for w in range(n):
                    degree += (near[v] >> w) & 1
                largest = max(largest, degree)
            if size >= largest:
                forms[count] = _canonical(code[g] | (chosen << (n * (n - 1) // 2)), n + 1)
                count += 1
    return forms[:count]

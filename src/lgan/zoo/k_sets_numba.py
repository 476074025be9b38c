"""Compiled listing of the sets of two and three nodes of all graphs, and of their neighbours."""

import numpy as np

from lgan.ops.jit import njit
from lgan.ops.numba_rows import Array


@njit(nogil=True, cache=True, inline="always")
def _multiset_of_two(a: int, b: int) -> int:
    """A number for the multiset ``{{a, b}}``, dense from 0."""
    low, high = min(a, b), max(a, b)
    return high * (high + 1) // 2 + low


@njit(nogil=True, cache=True, inline="always")
def _multiset_of_three(a: int, b: int, c: int) -> int:
    """A number for the multiset ``{{a, b, c}}``, dense from 0."""
    high, low = max(a, b, c), min(a, b, c)
    middle = a + b + c - high - low
    return high * (high + 1) * (high + 2) // 6 + middle * (middle + 1) // 2 + low


@njit(nogil=True, cache=True, inline="always")
def _pair_id(u: int, v: int, first: int, nodes: int, base: int) -> int:
    """The number of the set ``{u, v}`` in a graph of ``nodes`` nodes from ``first`` on."""
    low, high = min(u, v) - first, max(u, v) - first
    return base + low * (2 * nodes - low - 1) // 2 + high - low - 1


@njit(nogil=True, cache=True)
def fill_pairs(
    graphs: tuple[int, int],
    node_ptr: Array,
    set_ptr: Array,
    entry_ptr: Array,
    ptr: Array,
    node: Array,
    label: Array,
    labels: int,
    member: Array,
    kind: Array,
    receiver: Array,
    sender: Array,
) -> None:
    """All sets of two nodes of some graphs, their isomorphism types and their neighbours.

    A set is a neighbour of another if one node is replaced by a node adjacent to it. Sets of a
    graph are in lexicographic order.
    """
    mark = np.full(ptr.size, -1, np.int64)
    kinds = labels * (labels + 1) // 2
    for g in range(graphs[0], graphs[1]):
        first, last = node_ptr[g], node_ptr[g + 1]
        nodes, base, this, entry = last - first, set_ptr[g], set_ptr[g], entry_ptr[g]
        for u in range(first, last):
            for e in range(ptr[u], ptr[u + 1]):
                mark[node[e]] = u
            for v in range(u + 1, last):
                member[this, 0], member[this, 1] = u, v
                adjacent = 1 if mark[v] == u else 0
                kind[this] = adjacent * kinds + _multiset_of_two(label[u], label[v])
                for gone, kept in ((u, v), (v, u)):
                    for e in range(ptr[gone], ptr[gone + 1]):
                        if node[e] != kept:
                            receiver[entry] = this
                            sender[entry] = _pair_id(kept, node[e], first, nodes, base)
                            entry += 1
                this += 1
        assert this == set_ptr[g + 1]
        assert entry == entry_ptr[g + 1]


@njit(nogil=True, cache=True)
def fill_triples(
    graphs: tuple[int, int],
    node_ptr: Array,
    pair_ptr: Array,
    set_ptr: Array,
    ptr: Array,
    node: Array,
    label: Array,
    labels: int,
    connected: bool,
    below: Array,
    kind: Array,
) -> None:
    """Sets of three nodes of some graphs, all or the connected ones, and their types.

    ``below`` is filled with the three pairs of every set.
    """
    far = node_ptr[-1]  # beyond every node
    for g in range(graphs[0], graphs[1]):
        first, last = node_ptr[g], node_ptr[g + 1]
        nodes, base, this = last - first, pair_ptr[g], set_ptr[g]
        pair = base
        for a in range(first, last):
            of_a = ptr[a]
            for b in range(a + 1, last):
                while of_a < ptr[a + 1] and node[of_a] < b:
                    of_a += 1
                i, j = of_a, ptr[b]
                ab = i < ptr[a + 1] and node[i] == b
                i += 1 if ab else 0
                while j < ptr[b + 1] and node[j] <= b:
                    j += 1
                c = b
                while True:
                    at_a = node[i] if i < ptr[a + 1] else far
                    at_b = node[j] if j < ptr[b + 1] else far
                    c = min(at_a, at_b) if connected else c + 1
                    if c >= last:
                        break
                    ac, bc = at_a == c, at_b == c
                    i, j = i + (1 if ac else 0), j + (1 if bc else 0)
                    if connected and (1 if ab else 0) + (1 if ac else 0) + (1 if bc else 0) < 2:
                        continue
                    below[this, 0] = pair
                    below[this, 1] = _pair_id(a, c, first, nodes, base)
                    below[this, 2] = _pair_id(b, c, first, nodes, base)
                    kind[this] = _type_of_three(label[a], label[b], label[c], ab, ac, bc, labels)
                    this += 1
                pair += 1
        assert this == set_ptr[g + 1]


@njit(nogil=True, cache=True)
def _type_of_three(a: int, b: int, c: int, ab: bool, ac: bool, bc: bool, labels: int) -> int:
    """The isomorphism type of three labelled nodes: triangles, paths, one edge, no edge."""
    twos = labels * (labels + 1) // 2
    threes = twos * (labels + 2) // 3
    edges = (1 if ab else 0) + (1 if ac else 0) + (1 if bc else 0)
    if edges in (0, 3):
        block = 0 if edges == 3 else threes + 2 * labels * twos
        whole: int = block + _multiset_of_three(a, b, c)
        return whole
    # The one that differs: the centre of a path, or the node without an edge.
    odd = ab if edges == 1 else not ab
    if odd:
        alone, x, y = c, a, b
    elif ac if edges == 1 else not ac:
        alone, x, y = b, a, c
    else:
        alone, x, y = a, b, c
    block = threes + (0 if edges == 2 else labels * twos)
    kind: int = block + alone * twos + _multiset_of_two(x, y)
    return kind


@njit(nogil=True, cache=True, inline="always")
def _sum_of_nodes(member: Array, pairs: Array) -> int:
    """The sum of the three nodes of a set that is given by its pairs."""
    total: int = member[pairs[0], 0] + member[pairs[0], 1] + member[pairs[1], 1]
    return total


@njit(nogil=True, cache=True)
def triple_neighbours(
    sets: tuple[int, int],
    ptr: Array,
    node: Array,
    member: Array,
    start: Array,
    of_pair: Array,
    below: Array,
    touching: bool,
    receiver: Array,
    sender: Array,
) -> int:
    """Neighbours of some sets of three nodes among those listed, and how many there are.

    ``of_pair`` lists the sets that hold each pair of nodes, from ``start`` on. Sets that share a
    pair are neighbours if their other nodes are adjacent, or anyway where ``touching``.
    """
    entry = 0
    mark = np.full(ptr.size, -1, np.int64)
    for this in range(sets[0], sets[1]):
        for turn in range(3):
            side = turn if touching else 2 - turn  # the order of data sets that are stored
            pair = below[this, side]
            shared = member[pair, 0] + member[pair, 1]
            gone = _sum_of_nodes(member, below[this]) - shared
            if not touching:
                for e in range(ptr[gone], ptr[gone + 1]):
                    mark[node[e]] = 3 * this + side
            for e in range(start[pair], start[pair + 1]):
                other = of_pair[e]
                if other == this:
                    continue
                new = _sum_of_nodes(member, below[other]) - shared
                if touching or mark[new] == 3 * this + side:
                    receiver[entry] = this
                    sender[entry] = other
                    entry += 1
    return entry

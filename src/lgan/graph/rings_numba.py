"""Compiled search for chordless cycles."""

import numpy as np

from lgan.ops.jit import njit
from lgan.ops.numba_rows import Array


@njit(nogil=True, cache=True)
def list_rings(
    ptr: Array,
    node: Array,
    pair: Array,
    roots: tuple[int, int],
    longest: int,
    budget: int,
    start: Array,
    length: Array,
    member: Array,
    weight: Array,
    on_edge: Array,
) -> tuple[int, int, int]:
    """Every chordless cycle of 3 to ``longest`` nodes whose least node lies in a range, once.

    From its least node a cycle is walked in the direction of the smaller of that node's two
    neighbours in it. A path grows by a node that is adjacent to its end alone; where the node is
    also adjacent to the root, the cycle closes.

    Args:
        ptr: Where the neighbours of each node begin.
        node: Neighbours, increasing for each node.
        pair: The edge to each neighbour.
        roots: First least node, and the first beyond.
        longest: Nodes of the longest cycle.
        budget: Steps after which to give up.
        start: Filled with the least node of every cycle, as far as there is room.
        length: Filled with the number of its nodes.
        member: Filled with its edges, one after another.
        weight: How many nodes each node stands for.
        on_edge: For every edge and length, cycles on one of the edges that it stands for are
            added ``[P, longest + 1]``; nothing where it is empty.

    Returns:
        Cycles, their edges, and steps; all counted to the end even where there is no room, unless
        the budget is spent.
    """
    to_root, blocked = _untouched(ptr)
    path = np.empty((4, longest), np.int64)
    rings, edges, steps = 0, 0, 0
    for root in range(roots[0], roots[1]):
        for e in range(ptr[root], ptr[root + 1]):
            to_root[node[e]] = pair[e]
        for first in range(ptr[root], ptr[root + 1]):
            if node[first] < root:
                continue
            more = _walk(
                ptr, node, pair, root, first, longest, budget - steps, to_root, blocked, path,
                start[rings:], length[rings:], member[edges:], weight, on_edge,
            )  # fmt: skip
            rings, edges, steps = rings + more[0], edges + more[1], steps + more[2]
            if steps > budget:
                return rings, edges, steps
        for e in range(ptr[root], ptr[root + 1]):
            to_root[node[e]] = -1
    return rings, edges, steps


@njit(nogil=True, cache=True)
def sampled_steps(
    ptr: Array, node: Array, pair: Array, starts: Array, longest: int, budget: int
) -> int:
    """Steps of the same search from some first edges, at most ``budget`` counted for each.

    ``starts`` are roots and places of a larger neighbour in ``node`` ``[S, 2]``.
    """
    to_root, blocked = _untouched(ptr)
    path = np.empty((4, longest), np.int64)
    none, nothing, total = np.empty(0, np.int32), np.empty(0, np.int64), 0
    no_edges = np.empty((0, 0), np.int64)
    for i in range(starts.shape[0]):
        root, first = starts[i]
        for e in range(ptr[root], ptr[root + 1]):
            to_root[node[e]] = pair[e]
        _, _, steps = _walk(
            ptr, node, pair, root, first, longest, budget, to_root, blocked, path,
            none, none, none, nothing, no_edges,
        )  # fmt: skip
        total += min(steps, budget)
        for e in range(ptr[root], ptr[root + 1]):
            to_root[node[e]] = -1
    return total


@njit(nogil=True, cache=True)
def _untouched(ptr: Array) -> tuple[Array, Array]:
    """For every node: the edge to the root, where there is one, and how many inner nodes of the
    path are adjacent.
    """
    return np.full(ptr.size - 1, -1, np.int64), np.zeros(ptr.size - 1, np.int32)


@njit(nogil=True, cache=True)
def _walk(
    ptr: Array,
    node: Array,
    pair: Array,
    root: int,
    first: int,
    longest: int,
    budget: int,
    to_root: Array,
    blocked: Array,
    state: Array,
    start: Array,
    length: Array,
    member: Array,
    weight: Array,
    on_edge: Array,
) -> tuple[int, int, int]:
    """The cycles of one root and one first edge; ``blocked`` is left as it was found."""
    path, edge = state[0], state[1]
    place = state[2]  # the next neighbour to try, for each node of the path
    around = state[3]  # the weights of a cycle, from the root on
    rings, edges, steps = 0, 0, 0
    path[0], edge[0], place[0] = node[first], pair[first], ptr[node[first]]
    depth = 0
    while depth >= 0:
        end = path[depth]
        if place[depth] == ptr[end + 1] or steps > budget:
            depth -= 1
            if depth >= 0:
                for e in range(ptr[path[depth]], ptr[path[depth] + 1]):
                    blocked[node[e]] -= 1
            continue
        e = place[depth]
        place[depth] += 1
        steps += 1
        new = node[e]
        if new <= root or blocked[new] > 0 or (depth > 0 and new == path[depth - 1]):
            continue
        if to_root[new] >= 0:
            if new > path[0]:
                size = depth + 3
                if rings < start.size and edges + size <= member.size:
                    start[rings], length[rings] = root, size
                    for i in range(depth + 1):
                        member[edges + i] = edge[i]
                    member[edges + depth + 1] = pair[e]
                    member[edges + depth + 2] = to_root[new]
                if on_edge.size > 0:
                    around[0], around[size - 1] = weight[root], weight[new]
                    for i in range(depth + 1):
                        around[i + 1] = weight[path[i]]
                    for i in range(depth + 1):
                        on_edge[edge[i], size] += _others(around, size, i)
                    on_edge[pair[e], size] += _others(around, size, depth + 1)
                    on_edge[to_root[new], size] += _others(around, size, depth + 2)
                rings += 1
                edges += size
            continue
        # The root, the path, this node and one that closes the cycle.
        if depth + 4 > longest:
            continue
        for inner in range(ptr[end], ptr[end + 1]):
            blocked[node[inner]] += 1
        steps += 2 * (ptr[end + 1] - ptr[end])  # and back again
        depth += 1
        path[depth], edge[depth], place[depth] = new, pair[e], ptr[new]
    return rings, edges, steps


@njit(nogil=True, cache=True)
def _others(around: Array, size: int, first: int) -> int:
    """The product of the weights of a cycle, but for a node and the next one."""
    product = 1
    for i in range(first + 2, first + size):
        product *= around[i % size]
    return product

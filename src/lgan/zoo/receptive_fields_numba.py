"""Compiled loops over the receptive fields of PATCHY-SAN."""

import numpy as np

from lgan.ops.jit import njit
from lgan.ops.numba_rows import Array


@njit(nogil=True, cache=True)
def fill_fields(ptr: Array, neighbour: Array, rank: Array, begin: int, field: Array) -> None:
    """The receptive fields of the nodes from ``begin`` on, one a row of ``field``.

    Args:
        ptr: Where the neighbours of each node begin ``[N + 1]``.
        neighbour: The neighbours ``[2 P]``.
        rank: Place of every node in the order of the labelling, all different ``[N]``.
        begin: The first node.
        field: Filled with node ids, -1 where a component is smaller ``[rows, k]``.
    """
    rows, k = field.shape
    num_nodes = ptr.size - 1
    seen = np.full(num_nodes, -1, np.int64)
    queue = np.empty(num_nodes, np.int64)
    for row in range(rows):
        root = begin + row
        queue[0], seen[root] = root, root
        layer, tail, filled = 0, 1, 0
        while layer < tail and filled < k:
            # A layer of equal distance, complete: in the order of the labelling.
            members = queue[layer:tail]
            members = members[np.argsort(rank[members])]
            for i in range(min(members.size, k - filled)):
                field[row, filled + i] = members[i]
            filled += min(members.size, k - filled)
            end = tail
            if filled < k:
                for i in range(layer, end):
                    for e in range(ptr[queue[i]], ptr[queue[i] + 1]):
                        other = neighbour[e]
                        if seen[other] != root:
                            seen[other] = root
                            queue[tail] = other
                            tail += 1
            layer = end
        for i in range(filled, k):
            field[row, i] = -1

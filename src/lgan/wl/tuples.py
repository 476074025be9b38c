"""All tuples of k nodes of every graph, and arrays over them."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lgan.graph.interning import Colours, Rows, intern_multisets, intern_tuples
from lgan.wl.graphs import LabelledGraphs
from lgan.wl.refinement import Colouring

# Entries of the largest array a round may build, 8 bytes each.
LARGEST = 1 << 28


@dataclass(frozen=True, eq=False)
class TupleSpace:
    """The tuples ``(v_1, …, v_k)`` of every graph, in lexicographic order, graph after graph.

    Graphs of equal order are handled together: a *block* is an array ``[g, n, …, n]`` over all
    tuples of the graphs with ``n`` nodes.
    """

    graphs: LabelledGraphs
    k: int

    @staticmethod
    def of(graphs: LabelledGraphs, k: int, *, largest_power: int, test: str) -> "TupleSpace":
        """The tuples of all graphs, twins apart.

        Args:
            graphs: The graphs.
            k: Nodes in a tuple.
            largest_power: A round builds arrays with ``n`` to this power entries per graph.
            test: Name of the test, for the message if these would not fit in memory.
        """
        space = TupleSpace(graphs.expanded(), k)
        entries = sum(n**largest_power for n in space._sizes.tolist())
        if entries > LARGEST:
            raise ValueError(
                f"The test {test!r} needs arrays of {entries:,} entries for these graphs, the "
                f"limit is {LARGEST:,}. Refine fewer graphs at a time, or choose a test on nodes, "
                "such as 1-wl or lgan (`--test`)."
            )
        return space

    @cached_property
    def _sizes(self) -> NDArray[np.int64]:
        return np.diff(self.graphs.node_ptr)

    @cached_property
    def ptr(self) -> NDArray[np.int64]:
        """Where the tuples of each graph begin ``[G + 1]``."""
        return np.concatenate([[0], np.cumsum(self._sizes**self.k)])

    @cached_property
    def diagonal(self) -> NDArray[np.int64]:
        """The tuple ``(v, …, v)`` of every node ``[N]``."""
        n = np.repeat(self._sizes, self._sizes)
        stride = sum(n**i for i in range(self.k))
        return np.repeat(self.ptr[:-1], self._sizes) + self._place * stride

    @cached_property
    def _place(self) -> NDArray[np.int64]:
        """The number of every node within its graph ``[N]``."""
        return np.arange(self.graphs.num_nodes) - np.repeat(self.graphs.node_ptr[:-1], self._sizes)

    @cached_property
    def _members(self) -> list[tuple[int, NDArray[np.int64]]]:
        """Per order ``n``: the tuples of each graph of that order ``[g, n^k]``."""
        orders = np.unique(self._sizes[self._sizes > 0]).tolist()
        start = self.ptr[:-1]
        return [(n, start[self._sizes == n, None] + np.arange(n**self.k)) for n in orders]

    def split(self, colour: Colours) -> list[Colours]:
        """Values of all tuples as blocks."""
        return [colour[tuples].reshape(-1, *[n] * self.k) for n, tuples in self._members]

    def merge(self, blocks: list[Colours]) -> Colours:
        """The inverse of :meth:`split`."""
        values = np.empty(int(self.ptr[-1]), np.int64)
        for (n, tuples), block in zip(self._members, blocks, strict=True):
            full = np.broadcast_to(block, (tuples.shape[0], *[n] * self.k))
            values[tuples] = full.reshape(tuples.shape)
        return values

    def colouring(self, initial: Colours, step: Callable[[Colours], Colours]) -> Colouring:
        """A test on these tuples; a node has the colour of its diagonal tuple."""
        return Colouring(initial, step, self.ptr, self.diagonal, self.graphs.node_ptr)

    def isomorphism_types(self) -> Colours:
        """Equal numbers where ``v_i → w_i`` keeps labels, equality, adjacency and its labels."""
        relations = self._relations()
        columns = []
        for i, j in itertools.combinations_with_replacement(range(self.k), 2):
            blocks = []
            for (n, _), block in zip(self._members, relations, strict=True):
                part = np.diagonal(block, axis1=1, axis2=2) if i == j else block
                shape = [n if axis in (i, j) else 1 for axis in range(self.k)]
                blocks.append(part.reshape(-1, *shape))
            columns.append(self.merge(blocks))
        return intern_tuples(*columns)

    def set_types(self) -> Colours:
        """The same for unordered tuples: all orders of a tuple get the same number."""
        axes = list(itertools.permutations(range(1, self.k + 1)))
        blocks = self.split(self.isomorphism_types())
        least = [np.minimum.reduce([b.transpose(0, *order) for order in axes]) for b in blocks]
        return self.merge(least)

    def has_repeats(self) -> NDArray[np.bool_]:
        """Which tuples hold a node twice."""
        blocks = []
        for n, _ in self._members:
            grid = np.indices([n] * self.k)
            pairs = itertools.combinations(range(self.k), 2)
            blocks.append(np.logical_or.reduce([grid[i] == grid[j] for i, j in pairs]))
        return self.merge(blocks) > 0

    def _relations(self) -> list[Colours]:
        """Per pair of nodes ``[g, n, n]``: 0 apart, 1 + label of the edge, or beyond those the
        label of the node on the diagonal.
        """
        kind = 1 + self.graphs.edge_labels
        pairs = TupleSpace(self.graphs, 2)
        relation = np.zeros(int(pairs.ptr[-1]), np.int64)
        start = np.repeat(pairs.ptr[:-1], self._sizes)  # of the pairs of every node's graph
        n = np.repeat(self._sizes, self._sizes)
        for u, v in (self.graphs.pairs, self.graphs.pairs[::-1]):
            relation[start[u] + self._place[u] * n[u] + self._place[v]] = kind
        relation[pairs.diagonal] = 1 + int(kind.max(initial=0)) + self.graphs.labels
        return pairs.split(relation)


def replaced(block: Colours, position: int) -> Colours:
    """The colour of ``v[position→w]`` with ``w`` as a new last axis; the old axis has length 1."""
    axis = position + 1
    return np.expand_dims(np.moveaxis(block, axis, -1), axis)


def intern_last_axis(blocks: list[Colours]) -> list[Colours]:
    """Equal multisets along the last axis get equal numbers, over all blocks together."""
    lengths = [np.full(block.size // block.shape[-1], block.shape[-1]) for block in blocks]
    nothing = np.zeros(0, np.int64)
    ptr = np.concatenate([[0], np.cumsum(np.concatenate([nothing, *lengths]))])
    flat = np.concatenate([nothing, *(block.reshape(-1) for block in blocks)])
    ids = intern_multisets(Rows(ptr), flat)
    found, start = [], 0
    for block, length in zip(blocks, lengths, strict=True):
        found.append(ids[start : start + length.size].reshape(block.shape[:-1]))
        start += length.size
    return found

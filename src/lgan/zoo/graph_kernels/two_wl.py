"""The set-based 2-WL kernel."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from lgan.data.raw import RawGraphs
from lgan.graph.interning import Colours, Rows, intern_hashed, intern_multisets, intern_tuples
from lgan.wl.refinement import Colouring
from lgan.zoo.graph_kernels.gram import (
    Grams,
    Progress,
    check_labels,
    colour_counts,
    refinement_grams,
)

# Sets of two nodes, of all graphs together; each takes some 150 bytes at the peak.
LARGEST = 1 << 25
# Sets whose neighbours are compared at once.
CHUNK = 1 << 16


def two_wl(
    raw: RawGraphs, labels: Tensor, *, rounds: int = 5, progress: Progress | None = None
) -> Grams:
    r"""The 2-WL kernel on sets of two nodes (Morris et al., ICDM 2017; k-GNN, AAAI 2019).

    A set ``{u, v}`` begins with the isomorphism type of the subgraph on it (two labels, and
    whether they are adjacent) and sees all sets that share one node with it, in one multiset:

    .. math::
        c_{i+1}(u, v) = \bigl(c_i(u, v), \{\!\{ c_i(w, v) : w \ne u, v \}\!\} \uplus
                                         \{\!\{ c_i(u, w) : w \ne u, v \}\!\}\bigr)

    A round costs O(n²), not O(n³): the multiset is that of all sets at ``u`` and all sets at
    ``v``, less ``c_i(u, v)`` twice, which the colour tells anyway.

    Power: the test ``2-wl-union`` of :mod:`lgan.wl`: at most 1-WL. On unlabelled graphs of two to
    seven nodes it merges what 1-WL merges and one pair more, Whitney's exception: the star with
    three leaves, and the triangle with a node beside it. On labelled graphs it is weaker: edges
    ``02 03 13 23`` with labels 0101 and 1010.

    Args:
        raw: The graphs.
        labels: A category for every node ``[N]``.
        rounds: The largest number of rounds to choose from, 5 as in Morris et al.
        progress: Called with the fraction done.

    Raises:
        ValueError: Where the graphs have more than ``2^25`` sets of two nodes.
    """
    initial = check_labels(labels, raw.num_nodes)
    number = num_sets(raw)
    if number > LARGEST:
        raise ValueError(
            f"The kernel '2-wl' would colour {number:,} sets of two nodes for {raw.name}, the "
            f"limit is {LARGEST:,}. Choose 'wl', or a smaller set."
        )
    sets = _Sets(raw)
    colouring = Colouring(sets.types(initial), sets.refined, sets.graph_ptr)
    return refinement_grams(colouring, rounds, progress)


def num_sets(raw: RawGraphs) -> int:
    """The number of sets of two nodes of one graph, Σ n(n-1)/2."""
    size = np.diff(raw.node_ptr.numpy())
    return int((size * (size - 1) // 2).sum())


@dataclass(frozen=True, eq=False)
class _Sets:
    """All sets ``{u, v}``, ``u < v``, of two nodes of one graph, in lexicographic order."""

    raw: RawGraphs

    @cached_property
    def start(self) -> NDArray[np.int64]:
        """Where the sets with a given smaller node begin ``[N + 1]``."""
        node_ptr = self.raw.node_ptr.numpy()
        last = np.repeat(node_ptr[1:], np.diff(node_ptr)) - 1  # of every node's graph
        return np.concatenate([[0], np.cumsum(last - np.arange(last.size))])

    @property
    def graph_ptr(self) -> NDArray[np.int64]:
        """Where the sets of each graph begin ``[G + 1]``."""
        ptr: NDArray[np.int64] = self.start[self.raw.node_ptr.numpy()]
        return ptr

    @cached_property
    def first(self) -> NDArray[np.int32]:
        """The smaller node of every set ``[S]``."""
        nodes = np.arange(self.raw.num_nodes, dtype=np.int32)
        return np.repeat(nodes, np.diff(self.start))

    @cached_property
    def second(self) -> NDArray[np.int32]:
        """The larger node of every set ``[S]``."""
        place = np.arange(self.first.size) - self.start[self.first]
        return (self.first + 1 + place).astype(np.int32)

    @cached_property
    def rows(self) -> Rows:
        """The sets that hold a given node."""
        node = np.concatenate([self.first, self.second])
        ids = np.arange(self.first.size, dtype=np.int32)
        return Rows.grouped(node, np.tile(ids, 2), self.raw.num_nodes)

    def types(self, labels: Colours) -> Colours:
        """The isomorphism type of the subgraph on every set."""
        a, b = labels[self.first], labels[self.second]
        adjacent = np.zeros(self.first.size, np.int64)
        u, v = self.raw.pair_index.numpy()
        adjacent[self.start[u] + v - u - 1] = 1
        return intern_tuples(np.minimum(a, b), np.maximum(a, b), adjacent)

    def refined(self, colour: Colours) -> Colours:
        """The colours of the next round."""
        at_node = intern_multisets(self.rows, colour)
        a, b = at_node[self.first], at_node[self.second]
        both = intern_tuples(np.minimum(a, b), np.maximum(a, b))
        example = np.empty(int(both.max(initial=-1)) + 1, np.int64)
        example[both] = np.arange(both.size)  # any set will do
        return intern_tuples(colour, self._unions(example, colour)[both])

    def _unions(self, chosen: NDArray[np.int64], colour: Colours) -> Colours:
        """Equal numbers for sets whose two nodes see, in all, the same multiset ``[chosen]``."""
        assert self.rows.source is not None
        seen = colour_counts(colour[self.rows.source], self.rows.ptr)  # by every node
        u, v = self.first[chosen], self.second[chosen]

        def hashes(seed: int) -> Colours:
            random = np.random.default_rng(seed)
            share = random.integers(2**64, size=seen.shape[1], dtype=np.uint64)
            word = seen.astype(np.uint64) @ share  # modulo 2^64
            words: Colours = (word[u] + word[v]).view(np.int64)
            return words

        def agree(ids: Colours, order: Colours) -> bool:
            first = order[np.searchsorted(ids[order], ids)]  # with the same number
            others = np.flatnonzero(first != np.arange(ids.size))
            for i in range(0, others.size, CHUNK):
                some = others[i : i + CHUNK]
                difference = (
                    seen[u[some]] + seen[v[some]] != seen[u[first[some]]] + seen[v[first[some]]]
                )
                if difference.nnz:
                    return False
            return True

        return intern_hashed(hashes, agree)

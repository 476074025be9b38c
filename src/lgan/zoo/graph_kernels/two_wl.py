"""The set-based 2-WL kernel."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
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
    node_ptr = raw.node_ptr.numpy()
    size = np.diff(node_ptr)
    number = int((size * (size - 1) // 2).sum())
    if number > LARGEST:
        raise ValueError(
            f"The kernel '2-wl' would colour {number:,} sets of two nodes for {raw.name}, the "
            f"limit is {LARGEST:,}. Choose 'wl', or a smaller set."
        )
    # All sets {u, v}, u < v, in lexicographic order: where those of every u begin, u, and v.
    after = np.repeat(node_ptr[1:], size) - 1 - np.arange(raw.num_nodes)
    start = np.concatenate([[0], np.cumsum(after)])
    first = np.repeat(np.arange(raw.num_nodes, dtype=np.int32), after)
    second = (first + 1 + np.arange(number) - start[first]).astype(np.int32)
    ids = np.tile(np.arange(number, dtype=np.int32), 2)
    of_node = Rows.grouped(np.concatenate([first, second]), ids, raw.num_nodes)
    del ids  # there may be many

    def unordered(colour: Colours) -> tuple[Colours, Colours]:
        a, b = colour[first], colour[second]
        return np.minimum(a, b), np.maximum(a, b)

    def types() -> Colours:
        adjacent = np.zeros(number, np.int64)
        u, v = raw.pair_index.numpy()
        adjacent[start[u] + v - u - 1] = 1
        return intern_tuples(*unordered(initial), adjacent)

    def step(colour: Colours) -> Colours:
        both = intern_tuples(*unordered(intern_multisets(of_node, colour)))
        example = np.empty(int(both.max(initial=-1)) + 1, np.int64)
        example[both] = np.arange(number)  # any set will do
        assert of_node.source is not None
        seen = colour_counts(colour[of_node.source], of_node.ptr)  # by every node
        return intern_tuples(colour, _unions(seen, first[example], second[example])[both])

    return refinement_grams(Colouring(types(), step, start[node_ptr]), rounds, progress)


def _unions(seen: csr_array, u: NDArray[np.int32], v: NDArray[np.int32]) -> Colours:
    """Equal numbers for sets whose two nodes see, in all, the same multiset."""

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

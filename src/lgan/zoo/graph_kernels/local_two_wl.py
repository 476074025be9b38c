"""The kernels of the local 2-WL: ordered pairs of nodes that look along edges only."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from lgan.data.raw import RawGraphs
from lgan.graph.interning import Colours, Rows, intern_multisets, intern_tuples
from lgan.wl.graphs import LabelledGraphs
from lgan.wl.tuples import TupleSpace
from lgan.zoo.graph_kernels.gram import Grams, Progress, check_labels, refinement_grams

# Neighbours of all pairs together; each takes about 30 bytes while the rows are laid out.
LARGEST = 1 << 27


def local_two_wl(
    raw: RawGraphs,
    labels: Tensor,
    *,
    rounds: int = 5,
    plus: bool = False,
    progress: Progress | None = None,
) -> Grams:
    r"""δ-2-LWL of *Weisfeiler and Leman go sparse* (Morris, Rattan, Mutzel, NeurIPS 2020).

    Every ordered pair ``(u, v)`` of nodes of a graph, ``u = v`` included, begins with its
    isomorphism type and sees the pairs in which one node is replaced by a neighbour of it:

    .. math::
        c_{i+1}(u, v) = \bigl(c_i(u, v), \{\!\{ c_i(w, v) : w \in N(u) \}\!\},
                                         \{\!\{ c_i(u, w) : w \in N(v) \}\!\}\bigr)

    With ``plus`` (δ-2-LWL+, their equation 5) each seen colour carries a number: how many of
    *all* replacements at that place, neighbours or not, have this colour. It is used in every
    round, as the paper defines it (the authors' program uses it in the last round alone).

    Power: at least 1-WL at every depth, since ``c(u, v)`` tells the 1-WL colour of ``u``; at
    most 2-FWL (3-WL), which sees for every ``w`` whether it is a neighbour. One round separates
    two triangles from a hexagon, and all unlabelled graphs of up to seven nodes. On connected
    graphs δ-2-LWL+ is as strong as their δ-2-WL, which marks the neighbours among all
    replacements.

    Args:
        raw: The graphs.
        labels: A category for every node ``[N]``.
        rounds: The largest number of rounds to choose from; 5 in the paper.
        plus: δ-2-LWL+. The default, δ-2-LWL, is what the tables of LGAN's paper quote.
        progress: Called with the fraction done.

    Raises:
        ValueError: Where all pairs together see more than ``2^27`` pairs: ``n · 2m`` for a graph
            of ``n`` nodes and ``m`` edges.
    """
    initial = check_labels(labels, raw.num_nodes)
    entries = local_entries(raw)
    if entries > LARGEST:
        raise ValueError(
            f"The kernel 'delta-2-lwl' would read {entries:,} local neighbours of node pairs for "
            f"{raw.name}, the limit is {LARGEST:,}. Choose 'wl' or '2-wl', or a smaller set."
        )
    graphs = LabelledGraphs.build(raw.node_ptr.numpy(), raw.pair_index, initial)
    space = TupleSpace(graphs, 2)
    pairs = _Pairs.of(space)

    def seen(colour: Colours) -> Colours:
        """What ``(u, v)`` sees when ``u`` is replaced."""
        if plus:
            same = intern_tuples(pairs.second, colour)  # same colour, same second node
            colour = intern_tuples(colour, np.bincount(same)[same])
        return intern_multisets(pairs.rows, colour)

    def step(colour: Colours) -> Colours:
        # Replacing v in (u, v) is replacing the first node of (v, u) with all pairs turned.
        turned = seen(colour[pairs.turned])[pairs.turned]
        return intern_tuples(colour, seen(colour), turned)

    colouring = space.colouring(space.isomorphism_types(), step)
    return refinement_grams(colouring, rounds, progress)


def local_entries(raw: RawGraphs) -> int:
    """How many neighbours all pairs have when their first node is replaced: Σ n · 2m."""
    size = np.diff(raw.node_ptr.numpy())
    pair_ptr = np.searchsorted(raw.pair_index[0].numpy(), raw.node_ptr.numpy())
    return int((size * 2 * np.diff(pair_ptr)).sum())


@dataclass(frozen=True, eq=False)
class _Pairs:
    """All ordered pairs of nodes, in the order of :class:`TupleSpace`.

    Attributes:
        rows: The pairs ``(w, v)``, ``w ∈ N(u)``, for every pair ``(u, v)``.
        turned: The pair ``(v, u)`` for every pair ``(u, v)`` ``[T]``.
        second: The node ``v`` for every pair ``(u, v)`` ``[T]``.
    """

    rows: Rows
    turned: NDArray[np.int64]
    second: NDArray[np.int64]

    @staticmethod
    def of(space: TupleSpace) -> "_Pairs":
        graphs = space.graphs
        u, v = graphs.pairs
        num_nodes = graphs.num_nodes
        start = graphs.node_ptr[:-1]
        size = np.diff(graphs.node_ptr)
        n, first_node = np.repeat(size, size), np.repeat(start, size)  # of every node's graph
        block = np.repeat(space.ptr[:-1], size) + (np.arange(num_nodes) - first_node) * n
        # The pairs (u, ·) of a node u are `block[u] … block[u] + n - 1`.
        first = np.repeat(np.arange(num_nodes), n)
        place = np.arange(first.size) - block[first]
        second = first_node[first] + place
        turned = block[second] + first - first_node[first]

        near = Rows.grouped(np.concatenate([u, v]), np.concatenate([v, u]), num_nodes)
        assert near.source is not None
        degree = np.diff(near.ptr)[first]  # [T]
        ptr = np.concatenate([[0], np.cumsum(degree)])
        entry = np.arange(int(ptr[-1])) - np.repeat(ptr[:-1] - near.ptr[first], degree)
        source = block[near.source[entry]] + np.repeat(place, degree)
        return _Pairs(Rows(ptr, source), turned, second)

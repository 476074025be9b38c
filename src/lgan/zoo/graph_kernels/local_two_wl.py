"""The kernels of the local 2-WL: ordered pairs of nodes that look along edges only."""

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from lgan.data.raw import RawGraphs
from lgan.graph.interning import Colours, Rows, intern_integers, intern_multisets, intern_tuples
from lgan.wl.refinement import Colouring
from lgan.zoo.graph_kernels.gram import Grams, Progress, check_labels, refinement_grams
from lgan.zoo.graph_kernels.twin_graphs import TwinGraphs

# Neighbours of all pairs together, 4 bytes each; and eight times the pairs, some 100 bytes each.
LARGEST = 1 << 29


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
        ValueError: Where all pairs together see more than ``2^29`` pairs, ``n (2m + n)`` for a
            graph of ``n`` classes of true twins with ``m`` edges between them, or are more
            than ``2^26``.
    """
    initial = intern_integers(check_labels(labels, raw.num_nodes))
    # With `plus`, what a pair sees of itself would tell more than its colour does: a pair may
    # then not be among those it sees, and with twins merged it is.
    graphs = TwinGraphs.of(raw, initial, merged=not plus)
    classes = np.diff(graphs.ptr)
    degrees = np.concatenate([[0], np.cumsum(graphs.degree)])
    # When the first node is replaced, the pairs themselves among them: Σ n · (2m + n).
    entries, number = int(classes @ np.diff(degrees[graphs.ptr])), int((classes**2).sum())
    if max(entries, 8 * number) > LARGEST:
        raise ValueError(
            f"The kernel 'delta-2-lwl' would read {entries:,} local neighbours of {number:,} node "
            f"pairs for {raw.name}, the limit is {LARGEST:,} of {LARGEST // 8:,}. Choose 'wl' or "
            "'2-wl', or a smaller set."
        )
    types, rows, turned, second, number_of, ptr = _pairs(graphs, itself=not plus)

    def seen(colour: Colours) -> Colours:
        """What ``(u, v)`` sees when ``u`` is replaced."""
        if plus:
            same = intern_tuples(second, colour)  # same colour, same second node
            colour = intern_tuples(colour, np.bincount(same)[same])
        return intern_multisets(rows, colour)

    def step(colour: Colours) -> Colours:
        # Replacing v in (u, v) is replacing the first node of (v, u) with all pairs turned.
        other = seen(colour[turned])[turned]
        return intern_tuples(colour, seen(colour), other)

    return refinement_grams(Colouring(types, step, ptr, weight=number_of), rounds, progress)


def _pairs(
    graphs: TwinGraphs, *, itself: bool
) -> tuple[Colours, Rows, Colours, Colours, Colours, NDArray[np.int64]]:
    """All ordered pairs ``(u, v)`` of nodes, where pairs that twins can be exchanged for are one:
    for classes ``a ≠ b`` there is ``(a, b)``, for a class a pair of a node with itself and, where
    it has two, one of different nodes.

    Returns:
        For every pair its isomorphism type; the pairs ``(w, v)`` it sees, ``w`` a neighbour of
        ``u`` or, where ``itself``, ``u``: its colour is known anyway, and twins see the same with
        it; the pair ``(v, u)``; the class of ``v``; and how many pairs of nodes it stands for.
        Then where the pairs of each graph begin.
    """
    from lgan.zoo.graph_kernels.local_two_wl_numba import EQUAL, pairs_of_classes, seen_pairs

    size, classes, several = graphs.size, np.diff(graphs.ptr), graphs.size > 1
    before = np.concatenate([[0], np.cumsum(several)])  # classes of several nodes
    ptr = np.concatenate([[0], np.cumsum(classes**2)]) + before[graphs.ptr]
    last = np.repeat(ptr[1:] - before[graphs.ptr[1:]], classes)
    twins = np.where(several, last + before[:-1], -1)
    place = (graphs.ptr, ptr, twins, graphs.near.ptr, graphs.near.source)
    first, second, kind, turned = pairs_of_classes(*place)
    near_ptr, near = seen_pairs(*place, first, second, itself)
    # How many nodes u stands for, given v.
    same = first == second
    weight = np.where(same, np.where(kind == EQUAL, 1, size[first] - 1), size[first])
    types = intern_tuples(graphs.labels[first], graphs.labels[second], kind)
    return types, Rows(near_ptr, near, weight), turned, second, weight * size[second], ptr

"""The engine shared by all tests: refine colours round by round until nothing changes.

A test colours *elements* of the graphs (nodes, or tuples of nodes). All graphs are refined
together, with one numbering of colours, so that colours of different graphs can be compared.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lgan.graph.interning import Colours, Rows, intern_multisets, intern_tuples


@dataclass(frozen=True, eq=False)
class Colouring:
    """What a test colours, and how.

    Attributes:
        initial: The colour of every element before the first round ``[M]``.
        step: The colours of the next round from those of the last; a pure function.
        graph_ptr: Where the elements of each graph begin ``[G + 1]``.
        node_element: The element that stands for each node ``[N]``, and
        node_ptr: where the nodes of each graph begin ``[G + 1]``; both ``None`` where the
            elements are the nodes.
        weight: How often an element counts in its graph ``[M]``; once each without.
        include_input: Whether the initial colours are part of an element's history.
    """

    initial: Colours
    step: Callable[[Colours], Colours]
    graph_ptr: NDArray[np.int64]
    node_element: NDArray[np.int64] | None = None
    node_ptr: NDArray[np.int64] | None = None
    weight: Colours | None = None
    include_input: bool = True


@dataclass(frozen=True, eq=False)
class RefinementResult:
    """What a test says about some graphs.

    Attributes:
        test: Name of the test.
        signatures: After every round, a number for each graph ``[rounds + 1, G]``; two graphs
            have the same exactly if the test has not separated them by then.
        colours: How many histories of colours there are after each round. Where the input is
            not part of the history, there is one before the first round.
        node_colours: The last colour of every node ``[N]``, graph after graph; a node without
            twins merged is a row of the graph given, in its order.
        node_ptr: Where the nodes of each graph begin ``[G + 1]``.
    """

    test: str
    signatures: Colours
    colours: tuple[int, ...]
    node_colours: Colours
    node_ptr: NDArray[np.int64]

    @property
    def rounds(self) -> int:
        """Rounds until nothing changed any more, or the number asked for."""
        return len(self.colours) - 1

    @property
    def classes(self) -> Colours:
        """The class of every graph ``[G]``: graphs not separated share a number."""
        last: Colours = self.signatures[-1]
        return last

    @property
    def num_classes(self) -> int:
        """How many graphs the test tells apart."""
        return int(np.unique(self.classes).size)

    @property
    def unseparated_pairs(self) -> int:
        """How many pairs of the graphs the test does not tell apart."""
        size = np.unique(self.classes, return_counts=True)[1]
        return int((size * (size - 1) // 2).sum())

    def separates(self, i: int, j: int) -> bool:
        """Whether the test tells graph ``i`` from graph ``j``."""
        return bool(self.classes[i] != self.classes[j])

    def separating_round(self, i: int, j: int) -> int | None:
        """The first round after which graphs ``i`` and ``j`` differ, or ``None``."""
        differ = np.flatnonzero(self.signatures[:, i] != self.signatures[:, j])
        return int(differ[0]) if differ.size else None

    def colours_of(self, i: int) -> Colours:
        """The last colour of every node of graph ``i``."""
        colours: Colours = self.node_colours[self.node_ptr[i] : self.node_ptr[i + 1]]
        return colours


def run_refinement(
    colouring: Colouring,
    test: str,
    *,
    rounds: int | None = None,
    until_separated: bool = False,
) -> RefinementResult:
    """Refine until nothing changes.

    The next partition is a function of the last one. So once a partition occurs a second time,
    every later one has been seen, and histories can no longer be refined.

    Args:
        colouring: What to refine.
        test: Name of the test, for the result.
        rounds: Stop after so many rounds; by default, when nothing changes.
        until_separated: Stop as soon as all graphs are told apart.
    """
    graphs = Rows(colouring.graph_ptr, weight=colouring.weight)
    colour = intern_tuples(colouring.initial)
    if colouring.include_input:
        history, signature = colour, intern_multisets(graphs, colour)
    else:
        history = np.zeros_like(colour)
        signature = np.zeros(graphs.ptr.size - 1, np.int32)
    signatures, counts, seen = [signature], [_count(history)], [colour]
    while rounds is None or len(counts) <= rounds:
        if until_separated and _count(signature) == signature.size:
            break
        colour = intern_tuples(colouring.step(colour))
        stable = any(np.array_equal(colour, earlier) for earlier in reversed(seen))
        history = intern_tuples(history, colour)
        # Without the input, the first round has news even if it leaves the partition as it is.
        news = _count(history) > counts[-1] or (len(counts) == 1 and not colouring.include_input)
        if news or not stable:
            signature = intern_multisets(graphs, history)
            signatures.append(signature)
            counts.append(_count(history))
        if stable:
            break
        # A colour that tells the whole history makes all earlier partitions superfluous.
        seen = [colour] if _count(colour) == _count(history) else [*seen, colour]
    nodes = history if colouring.node_element is None else history[colouring.node_element]
    node_ptr = colouring.graph_ptr if colouring.node_ptr is None else colouring.node_ptr
    return RefinementResult(test, np.stack(signatures), tuple(counts), nodes, node_ptr)


def _count(colour: Colours) -> int:
    return int(colour.max(initial=-1)) + 1

"""Rings: the chordless cycles of all graphs of a union at once."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from lgan.graph.edges import Integers, neighbour_lists

MAX_RINGS = 1 << 24
# Steps of the search, about a minute: a graph can have many long paths and yet few rings.
MAX_STEPS = 1 << 34
# First edges of the search that are tried before it begins; each may take so many times its share
# of the steps allowed.
SAMPLE, SHARE = 512, 8
# How sure a refusal must be that follows from the sample: wrong once in a billion sets.
DOUBT = 1e-9
# Parts of the search between which progress is told.
PARTS = 64
NO_LIMIT = int(np.iinfo(np.int64).max)
# Arrays that are not to be filled.
NO_ROOM, NO_WEIGHT = np.empty(0, np.int32), np.empty(0, np.int64)
NO_COUNTS = np.empty((0, 0), np.int64)

Progress = Callable[[float], None]


class RingSearch:
    """The search for the chordless cycles of up to so many nodes.

    Args:
        pair_index: Canonical pairs ``[2, P]``.
        num_nodes: Number of nodes.
        longest: Nodes of the longest ring.
        name: What an error calls the graphs.
        advice: What an error says to choose where there are too many rings.
    """

    def __init__(
        self, pair_index: Tensor, num_nodes: int, longest: int, *, name: str = "", advice: str
    ) -> None:
        if longest < 3:
            raise ValueError(f"A ring has 3 nodes or more, got a longest of {longest}.")
        self.name, self.longest, self.advice = name or "The set", longest, advice
        self.ptr, self.node, self.pair = neighbour_lists(pair_index, num_nodes)
        entries = np.linspace(0, self.node.size, PARTS + 1)[1:-1]
        cuts = np.searchsorted(self.ptr[1:], entries)
        self.parts = np.unique(np.concatenate([[0], cuts, [self.ptr.size - 1]])).tolist()

    def count(
        self,
        max_rings: int = MAX_RINGS,
        max_steps: int = MAX_STEPS,
        progress: Progress = lambda _: None,
    ) -> tuple[int, int]:
        """How many rings there are and how many edges they have in all."""
        return self._run(max_rings, max_steps, progress)

    def fill(
        self, rings: int, edges: int, progress: Progress = lambda _: None
    ) -> tuple[Integers, Integers, Integers]:
        """Least node and length of every ring, and the edges of all, each ring's in a round."""
        start, length = np.empty(rings, np.int32), np.empty(rings, np.int32)
        member = np.empty(edges, np.int32)
        self._run(rings, NO_LIMIT, progress, room=(start, length, member))
        return start, length, member

    def on_edges(self, weight: Integers, max_steps: int) -> Integers:
        """Rings of every length on every edge ``[P, longest + 1]``, not listed.

        Args:
            weight: Nodes that each node stands for ``[num_nodes]``: a ring on an edge counts as
                often as its other nodes can be chosen.
            max_steps: Steps the search may take.
        """
        found = np.zeros((self.node.size // 2, self.longest + 1), np.int64)
        self._run(NO_LIMIT, max_steps, lambda _: None, weight=weight, on_edge=found)
        return found

    def _run(
        self,
        max_rings: int,
        max_steps: int,
        progress: Progress,
        *,
        room: tuple[Integers, Integers, Integers] = (NO_ROOM, NO_ROOM, NO_ROOM),
        weight: Integers = NO_WEIGHT,
        on_edge: Integers = NO_COUNTS,
    ) -> tuple[int, int]:
        from lgan.graph.rings_numba import list_rings

        self._refuse_hopeless(max_steps)
        start, length, member = room
        rings = edges = steps = 0
        for i in range(len(self.parts) - 1):
            roots = (self.parts[i], self.parts[i + 1])
            more = list_rings(
                *(self.ptr, self.node, self.pair, roots, self.longest, max_steps - steps),
                *(start[rings:], length[rings:], member[edges:], weight, on_edge),
            )
            rings, edges, steps = rings + more[0], edges + more[1], steps + more[2]
            if rings > max_rings:
                raise ValueError(
                    f"{self.name} has {rings:,} rings of up to {self.longest} nodes or more, above "
                    f"the limit of {max_rings:,}. {self.advice}"
                )
            if steps > max_steps:
                raise self._too_long(max_steps)
            progress((i + 1) / (len(self.parts) - 1))
        return rings, edges

    def _refuse_hopeless(self, max_steps: int) -> None:
        """Raise at once what the search would find out after ``max_steps``, where a sample tells.

        The search begins with every edge once. Some of them are drawn and followed, no further
        than some steps; what they take on average, less what chance could have added (Hoeffding's
        inequality), is a lower bound on what all edges take.
        """
        from lgan.graph.rings_numba import sampled_steps

        root = np.repeat(np.arange(self.ptr.size - 1), np.diff(self.ptr))
        first = np.flatnonzero(self.node > root)
        most = SHARE * max_steps // max(first.size, 1)
        if first.size <= SAMPLE * SHARE:  # the sample would take as long as the search
            return
        drawn = np.random.default_rng(0x516).choice(first, SAMPLE, replace=False)
        starts = np.stack([root[drawn], drawn], axis=1)
        total = sampled_steps(self.ptr, self.node, self.pair, starts, self.longest, most)
        chance = most * np.sqrt(-np.log(DOUBT) / (2 * SAMPLE))
        if (total / SAMPLE - chance) * first.size > max_steps:
            raise self._too_long(max_steps)

    def _too_long(self, max_steps: int) -> ValueError:
        return ValueError(
            f"{self.name}: the search for rings of up to {self.longest} nodes takes more "
            f"than {max_steps:,} steps. {self.advice}"
        )


def ring_counts(pair_index: Tensor, multiplicity: Tensor, longest: int) -> Tensor:
    """Rings of 4, 5, … ``longest`` nodes on an edge of every pair ``[P, longest - 3]`` int64.

    Two true twins never lie on one ring of four nodes or more, since a neighbour of one would be
    a chord to the other. So the rings of the graph are those of its classes; on one edge a ring
    counts as often as its other nodes can be chosen from their classes, and a pair of a class
    with itself has none.

    Args:
        pair_index: Pairs ``[2, P]`` of nodes or of classes of twins, on the CPU.
        multiplicity: Twins each node stands for ``[num_nodes]``.
        longest: Nodes of the longest ring.

    Example:
        >>> square = torch.tensor([[0, 0, 1, 2], [1, 2, 3, 3]])
        >>> ring_counts(square, torch.tensor([1, 2, 1, 1]), 5).tolist()  # 1 stands for two
        [[1, 0], [2, 0], [1, 0], [2, 0]]
    """
    k = multiplicity.long()
    apart = pair_index[0] != pair_index[1]
    advice = "Choose another pair code, such as 'full', or sparser graphs."
    search = RingSearch(pair_index[:, apart], k.numel(), longest, advice=advice)
    counts = torch.zeros((pair_index.size(1), longest - 3), dtype=torch.int64)
    counts[apart] = torch.from_numpy(search.on_edges(k.numpy(), MAX_STEPS))[:, 4:]
    return counts

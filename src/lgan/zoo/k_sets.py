"""The sets of two and three nodes that 1-2-3-GNN passes messages between.

*Weisfeiler and Leman Go Neural* (Morris et al., AAAI 2019). Two sets are local neighbours if one
arises from the other by replacing a node with a node adjacent to it. Between connected sets of
three nodes in graphs with few short cycles there are hardly any: none at all in MUTAG. There the
published experiments let the new node be adjacent to any node of the set.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from lgan.graph import Cells, GraphUnion, Lift
from lgan.graph.cells import NODES
from lgan.graph.edges import Integers, neighbour_lists
from lgan.graph.segments import lengths_to_ptr
from lgan.zoo.incidences import incidence_cells, refuse_merged_twins

# Families of sets, of sets on sets, and of neighbours.
PAIRS, TRIPLES = "pairs", "triples"
PAIR_NODES, TRIPLE_PAIRS = "pair_nodes", "triple_pairs"
NODE_NEIGHBOURS = "node_neighbours"
PAIR_NEIGHBOURS, TRIPLE_NEIGHBOURS = "pair_neighbours", "triple_neighbours"

# Neighbours of sets in a data set: 8 bytes each in memory and in the cache.
MAX_NEIGHBOURS = 1 << 27
# Rows of the table of isomorphism types; beyond, types tell edges and no labels.
MAX_TYPES = 1 << 13
# Parts of the work between which progress is told.
PARTS = 64


def types_of_two(labels: int) -> int:
    """Number of isomorphism types of two labelled nodes, adjacent or not."""
    return labels * (labels + 1)


def types_of_three(labels: int, connected: bool) -> int:
    """Number of isomorphism types of three labelled nodes.

    Example:
        >>> types_of_three(1, True), types_of_three(1, False)
        (2, 4)
    """
    twos = labels * (labels + 1) // 2
    each = twos * (labels + 2) // 3 + labels * twos
    return each if connected else 2 * each


def type_labels(num_features: int, connected: bool) -> int:
    """How many labels isomorphism types tell apart: all, or one where the types are too many."""
    return num_features if types_of_three(num_features, connected) <= MAX_TYPES else 1


def node_labels(x: Tensor) -> Tensor:
    """The label of every node ``[n]``: its category, and 0 for all where features are no labels."""
    if not x.is_floating_point():
        return x.long()
    label = x.argmax(1) if x.size(1) else x.new_zeros(x.size(0), dtype=torch.int64)
    categories = torch.nn.functional.one_hot(label, max(x.size(1), 1)).to(x.dtype)
    return label if x.size(1) and torch.equal(categories, x) else torch.zeros_like(label)


@dataclass(frozen=True)
class Sizes:
    """How many sets and neighbours every graph has, known without listing any.

    Attributes:
        pairs: Sets of two nodes ``[G]``.
        pair_neighbours: Their neighbours ``[G]``.
        triples: Sets of three nodes ``[G]``.
        triple_neighbours: At most so many local neighbours they have ``[G]``.
    """

    pairs: Tensor
    pair_neighbours: Tensor
    triples: Tensor
    triple_neighbours: Tensor

    @staticmethod
    def of(union: GraphUnion, *, connected: bool) -> "Sizes":
        """The sizes of a data set."""
        n, m = torch.diff(union.node_ptr), torch.diff(union.pair_ptr)
        pairs, pair_neighbours = _pair_sizes(n, m)
        if not connected:
            triples = pairs * (n - 2).clamp(min=0) // 3
            others = (n - 1) * (n - 2) // 2 - (n - 2)  # sets around an edge's end, less the edge
            return Sizes(pairs, pair_neighbours, triples, 2 * m * others.clamp(min=0))
        u, v = union.lines.pair_index.long()
        ends = torch.cat([u, v])
        degree = torch.bincount(ends, minlength=union.lines.num_nodes)
        around = torch.zeros_like(degree).index_add_(0, ends, torch.cat([degree[v], degree[u]]))
        on_pair = union.lines.pair_triangles.long()
        at_node = torch.zeros_like(degree).index_add_(0, ends, on_pair.repeat(2)) // 2
        wedges = degree * (degree - 1) // 2
        # A path is one wedge and a triangle is three; a node leads out of a set by its edges that
        # do not stay in it.
        sums = (degree - 1) * around + wedges * degree - 2 * degree * at_node
        per_graph = torch.stack([wedges, at_node, sums])
        cut = torch.nn.functional.pad(per_graph.cumsum(1), (1, 0))[:, union.node_ptr]
        wedge, three_times, total = torch.diff(cut)
        triangles = three_times // 3
        inside = 2 * (wedge - 3 * triangles) + 3 * triangles
        return Sizes(pairs, pair_neighbours, wedge - 2 * triangles, total - 2 * inside)


def k_sets(
    *, connected: bool = True, touching: bool = False, max_neighbours: int = MAX_NEIGHBOURS
) -> Lift:
    """A transform that adds all sets of two nodes and sets of three.

    Args:
        connected: Only those sets of three that induce a connected graph, as in the experiments
            of the paper; otherwise all of them.
        touching: Connected sets of three are neighbours if they share two nodes, that is, if the
            new node is adjacent to any node of the set and not only to the one it replaces.
        max_neighbours: Sets of one size, and neighbours of sets, that a data set may have.
    """
    if touching and not connected:
        raise ValueError(
            "`touching` is defined for connected sets of three nodes, got `connected=False`. "
            "Leave one of the two out."
        )

    def refuse(name: str, pair_index: Tensor, node_ptr: Tensor) -> None:
        # Known at once, and no graph has more triangles than a sixth of these neighbours.
        m = torch.diff(torch.searchsorted(pair_index[0].contiguous(), node_ptr))
        pairs, neighbours = _pair_sizes(torch.diff(node_ptr), m)
        total = int(pairs.sum())
        _refuse(name, f"{total:,} of two nodes", total, int(neighbours.sum()), max_neighbours)

    def apply(union: GraphUnion, progress: Callable[[float], None]) -> dict[str, Cells]:
        refuse_merged_twins(union.lines.multiplicity, "Sets of nodes")
        sizes = Sizes.of(union, connected=connected)
        if touching:  # a node of the set can be left out in two more ways for every new one
            sizes = replace(sizes, triple_neighbours=2 * sizes.triple_neighbours)
        total = int(sizes.pair_neighbours.sum() + sizes.triple_neighbours.sum())
        pairs, triples = int(sizes.pairs.sum()), int(sizes.triples.sum())
        sets = f"{pairs:,} of two nodes and {triples:,} of three"
        _refuse(union.name, sets, max(pairs, triples), total, max_neighbours)
        return _Listing(union, sizes, connected, touching).cells(progress)

    return Lift(
        f"k-sets connected={connected} touching={touching} max_types={MAX_TYPES}", apply, refuse
    )


def _pair_sizes(n: Tensor, m: Tensor) -> tuple[Tensor, Tensor]:
    """Sets of two nodes and their neighbours, of graphs with n nodes and m edges."""
    return n * (n - 1) // 2, 2 * m * (n - 2).clamp(min=0)


def _refuse(name: str, sets: str, number: int, neighbours: int, limit: int) -> None:
    if max(number, neighbours) > limit:
        raise ValueError(
            f"{name or 'The set'} has so many sets of nodes: {sets}, with up to {neighbours:,} "
            f"neighbours, above the limit of {limit:,} for 1-2-3-GNN. Choose a data set of smaller "
            "graphs, or a model that needs no sets of nodes."
        )


class _Listing:
    """The sets of all graphs at once."""

    def __init__(self, union: GraphUnion, sizes: Sizes, connected: bool, touching: bool) -> None:
        self.union, self.sizes = union, sizes
        self.connected, self.touching = connected, touching
        self.ptr, self.node, _ = neighbour_lists(union.lines.pair_index, union.lines.num_nodes)
        self.labels = type_labels(union.num_features, connected)
        label = (
            node_labels(union.features) if self.labels > 1 else torch.zeros(union.lines.num_nodes)
        )
        self.label = label.to(torch.int32).numpy()
        self.node_ptr = union.node_ptr.numpy()
        self.pair_ptr, self.triple_ptr = lengths_to_ptr(sizes.pairs), lengths_to_ptr(sizes.triples)

    def cells(self, progress: Callable[[float], None]) -> dict[str, Cells]:
        """All families."""
        families = self._nodes() | self._pairs(lambda done: progress(done / 3))
        member = families[PAIR_NODES]["lower"].view(-1, 2).numpy()
        return families | self._triples(member, lambda done: progress((1 + 2 * done) / 3))

    def _nodes(self) -> dict[str, Cells]:
        receiver = np.repeat(np.arange(self.ptr.size - 1, dtype=np.int32), np.diff(self.ptr))
        return {NODE_NEIGHBOURS: _neighbours(2 * self.union.pair_ptr, receiver, self.node, NODES)}

    def _pairs(self, progress: Callable[[float], None]) -> dict[str, Cells]:
        from lgan.zoo.k_sets_numba import fill_pairs

        ptr, entry_ptr = self.pair_ptr, lengths_to_ptr(self.sizes.pair_neighbours)
        number, entries = int(ptr[-1]), int(entry_ptr[-1])
        member, kind = np.empty((number, 2), np.int32), np.empty(number, np.int32)
        receiver, sender = np.empty(entries, np.int32), np.empty(entries, np.int32)
        for graphs, done in self._parts(self.sizes.pair_neighbours + self.sizes.pairs):
            fill_pairs(
                *(graphs, self.node_ptr, ptr.numpy(), entry_ptr.numpy(), self.ptr, self.node),
                *(self.label, self.labels, member, kind, receiver, sender),
            )
            progress(done)
        nodes, names = self.ptr.size - 1, (PAIR_NODES, PAIRS, NODES)
        return {
            PAIRS: Cells(ptr, {"type": torch.from_numpy(kind)}),
            PAIR_NODES: _subsets(ptr, torch.from_numpy(member), nodes, names),
            PAIR_NEIGHBOURS: _neighbours(entry_ptr, receiver, sender, PAIRS),
        }

    def _triples(self, member: Integers, progress: Callable[[float], None]) -> dict[str, Cells]:
        from lgan.zoo.k_sets_numba import fill_triples, triple_neighbours

        ptr, pairs, number = self.triple_ptr, int(self.pair_ptr[-1]), int(self.triple_ptr[-1])
        below, kind = np.empty((number, 3), np.int32), np.empty(number, np.int32)
        pointers = (self.node_ptr, self.pair_ptr.numpy(), ptr.numpy(), self.ptr, self.node)
        room = self.sizes.triple_neighbours
        parts = [*self._parts(room + self.sizes.pairs + self.sizes.triples)]
        for graphs, _ in parts:
            fill_triples(graphs, *pointers, self.label, self.labels, self.connected, below, kind)
        names = (TRIPLE_PAIRS, TRIPLES, PAIRS)
        subsets = _subsets(ptr, torch.from_numpy(below), pairs, names)
        by_pair = subsets["order"].long()
        pair_ptr = torch.searchsorted(subsets["lower"][by_pair], torch.arange(pairs + 1).int())
        of_pair = (pair_ptr.numpy(), subsets["upper"][by_pair].numpy())

        found: list[tuple[Integers, Integers]] = []
        for graphs, done in parts:
            most = int(room[graphs[0] : graphs[1]].sum())
            receiver, sender = np.empty(most, np.int32), np.empty(most, np.int32)
            sets = (int(ptr[graphs[0]]), int(ptr[graphs[1]]))
            filled = triple_neighbours(
                *(sets, self.ptr, self.node, member, *of_pair, below, self.touching),
                *(receiver, sender),
            )
            found.append((receiver[:filled].copy(), sender[:filled].copy()))
            progress(done)
        receiver, sender = (np.concatenate(side) for side in zip(*found, strict=True))
        entry_ptr = torch.searchsorted(torch.from_numpy(receiver), ptr.int())
        return {
            TRIPLES: Cells(ptr, {"type": torch.from_numpy(kind)}),
            TRIPLE_PAIRS: subsets,
            TRIPLE_NEIGHBOURS: _neighbours(entry_ptr, receiver, sender, TRIPLES),
        }

    def _parts(self, work: Tensor) -> Iterator[tuple[tuple[int, int], float]]:
        """Ranges of graphs of about the same work, with the share done after each."""
        total = torch.cumsum(work, 0).double()
        wanted = torch.linspace(0, 1, PARTS + 1)[1:-1] * (total[-1] if len(total) else 0)
        cuts = torch.searchsorted(total, wanted.double()).tolist()
        bounds = sorted({0, *cuts, work.numel()})
        for first, last in pairwise(bounds):
            yield (first, last), float(total[last - 1] / total[-1].clamp(min=1))


def _neighbours(ptr: Tensor, receiver: Integers, sender: Integers, of: str) -> Cells:
    fields = {"receiver": torch.from_numpy(receiver), "sender": torch.from_numpy(sender)}
    return Cells(ptr, fields, {"receiver": of, "sender": of})


def _subsets(ptr: Tensor, below: Tensor, num_lower: int, names: tuple[str, str, str]) -> Cells:
    """The sets of one node less that lie in every set ``[S, k]``."""
    number, each = below.shape
    upper = torch.arange(number, dtype=torch.int32).repeat_interleave(each)
    return incidence_cells(each * ptr, upper, below.reshape(-1), num_lower, names=names)

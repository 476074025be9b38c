"""The multisets a node or a pair sees, for graphs whose true twins may have been merged."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lgan.graph.interning import Colours, Rows, intern_multisets, intern_tuples
from lgan.wl.graphs import LabelledGraphs
from lgan.wl.refinement import Colouring


@dataclass(frozen=True, eq=False)
class Neighbourhoods:
    """Who sees what, as rows over lists of sources.

    With ``P`` pairs ``(u, v)``, source ``p < P`` is the pair ``p`` as ``u`` sees it, ``P + p`` as
    ``v`` sees it, and ``2 P + p`` as a node opposite to it in a triangle sees it. Their weights
    are the entries of the two incidence matrices.
    """

    graphs: LabelledGraphs

    def colouring(self, seen: Callable[[Colours], Colours]) -> Colouring:
        """``c_t, {{ what t sees of p : p ∈ N(t) }}``, the latter for the sources of
        :attr:`neighbours`.
        """

        def step(colour: Colours) -> Colours:
            return intern_tuples(colour, intern_multisets(self.neighbours, seen(colour)))

        graphs = self.graphs
        return Colouring(graphs.labels, step, graphs.node_ptr, weight=graphs.multiplicity)

    @cached_property
    def _merged(self) -> bool:
        return bool((self.graphs.multiplicity > 1).any())

    @cached_property
    def _weights(self) -> tuple[Colours, ...]:
        return tuple(part.numpy() for part in self.graphs.lines.weights())

    @cached_property
    def neighbours(self) -> Rows:
        """Each node sees its pairs: sources ``0 … 2 P - 1``."""
        at_u, at_v, *_ = self._weights
        num_nodes, sources = self.graphs.num_nodes, np.arange(self.graphs.pairs.size)
        weight = np.concatenate([at_u, at_v])
        return Rows.grouped(self.graphs.pairs.reshape(-1), sources, num_nodes, weight)

    @cached_property
    def ends(self) -> Rows:
        """Each node sees the ends of its pairs: the far ends as sources ``0 … 2 P - 1`` and,
        for each of them, itself as sources ``2 P … 4 P - 1``.
        """
        at_u, at_v, *_ = self._weights
        num_nodes, sources = self.graphs.num_nodes, np.arange(2 * self.graphs.pairs.size)
        weight = np.concatenate([at_u, at_v] * 2)
        return Rows.grouped(np.tile(self.graphs.pairs.reshape(-1), 2), sources, num_nodes, weight)

    @cached_property
    def neighbour_triangles(self) -> Rows:
        """The same as :attr:`neighbours`, each as often as there are triangles on the edge."""
        at_u, at_v, *_ = self._weights
        triangles = self.graphs.lines.pair_triangles.numpy().astype(np.int64)
        weight = np.concatenate([at_u * triangles, at_v * triangles])
        return self.neighbours._replace(weight=weight)

    @cached_property
    def triangles(self) -> Rows:
        """Each node sees the pairs opposite to it: sources ``0 … 3 P - 1``."""
        *_, at_u, at_v, across = self._weights
        lines, num_pairs = self.graphs.lines, self.graphs.pairs.shape[1]
        row = lines.opposite_index.numpy()
        opposite = lines.opposite_pair().to(lines.opposite_index.dtype)
        source = opposite.numpy() + row.dtype.type(2 * num_pairs)
        if self._merged:  # only then does a pair lie opposite its own ends
            row = np.concatenate([self.graphs.pairs.reshape(-1).astype(row.dtype), row])
            source = np.concatenate([np.arange(2 * num_pairs, dtype=source.dtype), source])
        weight = np.concatenate([at_u, at_v, across])
        return Rows.grouped(row, source, self.graphs.num_nodes, weight)

    @cached_property
    def common(self) -> Rows:
        """Each pair sees its common neighbours: source ``t < N`` is the node ``t``; ``N + p`` and
        ``N + P + p`` are the twins of the ends of the pair ``p`` other than the ends themselves.
        """
        k, (u, v) = self.graphs.multiplicity, self.graphs.pairs
        lines, num_nodes, num_pairs = self.graphs.lines, k.size, u.size
        ptr = lines.opposite_ptr.numpy()
        if not self._merged:
            return Rows(ptr, lines.opposite_index.numpy())
        row = np.concatenate([lines.opposite_pair().numpy(), *[np.arange(num_pairs)] * 2])
        twins = num_nodes + np.arange(2 * num_pairs)
        source = np.concatenate([lines.opposite_index.numpy().astype(np.int64), twins])
        own = u == v
        ends = [k[u] - np.where(own, 2, 1), np.where(own, 0, k[v] - 1)]
        return Rows.grouped(row, source, num_pairs, np.concatenate([k, *ends]))

    def far(self, colour: Colours) -> Colours:
        """The colour at the other end, for the sources of :attr:`neighbours` ``[2 P]``."""
        u, v = self.graphs.pairs
        return np.concatenate([colour[v], colour[u]])

    def across(self, colour: Colours) -> Colours:
        """The same together with the label of the edge."""
        return self._with_edges(self.far(colour), np.tile(self.graphs.edge_labels, 2))

    def ends_of_pairs(self, colour: Colours) -> Colours:
        """The unordered colours of the ends of every pair with the label of the edge ``[P]``."""
        a, b = colour[self.graphs.pairs]
        both = intern_tuples(np.minimum(a, b), np.maximum(a, b))
        return self._with_edges(both, self.graphs.edge_labels)

    def thirds(self, colour: Colours) -> Colours:
        """Each entry of ``opposite_index`` as the two ends of its pair see it, ``[2 M]``: its
        colour, the label of the edge to it, and that of its edge to the other end. Twins must not
        have been merged.
        """
        seen = np.tile(colour[self.graphs.lines.opposite_index.numpy()], 2)
        if not self.graphs.labelled_edges:
            return seen
        _, first, second = self.graphs.edge_labels[self.graphs.lines.entry_pairs.numpy()]
        own, other = np.concatenate([first, second]), np.concatenate([second, first])
        return intern_tuples(seen, own, other)

    @cached_property
    def third_rows(self) -> Rows:
        """The :meth:`thirds` that each source of :attr:`neighbours` sees."""
        ptr = self.graphs.lines.opposite_ptr.numpy()
        return Rows(np.concatenate([ptr, ptr[-1] + ptr[1:]]))

    def common_neighbours(self, colour: Colours) -> Colours:
        """What the common neighbours of a pair are, for the sources of :attr:`neighbours`."""
        if self.graphs.labelled_edges:
            return intern_multisets(self.third_rows, self.thirds(colour))
        sources = np.concatenate([colour, self.near(colour)]) if self._merged else colour
        return np.tile(intern_multisets(self.common, sources), 2)

    def _with_edges(self, seen: Colours, label: Colours) -> Colours:
        return intern_tuples(seen, label) if self.graphs.labelled_edges else seen

    def near(self, colour: Colours) -> Colours:
        """The colour of the node that sees, for the sources of :attr:`neighbours` ``[2 P]``."""
        return colour[self.graphs.pairs.reshape(-1)]

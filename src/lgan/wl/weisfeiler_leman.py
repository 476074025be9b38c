"""The classical tests: colour refinement of nodes, and oblivious k-WL on tuples and sets.

k-WL replaces one node of a tuple at a time and looks at the colours of all replacements::

    c'(v) = c(v), {{ c(v[1→w]) : w ∈ V }}, …, {{ c(v[k→w]) : w ∈ V }}
"""

import numpy as np

from lgan.graph.interning import Colours, intern_tuples
from lgan.wl.graphs import LabelledGraphs
from lgan.wl.neighbourhoods import Neighbourhoods
from lgan.wl.refinement import Colouring
from lgan.wl.tuples import TupleSpace, intern_last_axis, replaced


def one_wl(graphs: LabelledGraphs) -> Colouring:
    """1-WL: ``c_t, {{ c_p : p ∈ N(t) }}``, each ``c_p`` with the label of the edge to it."""
    sees = Neighbourhoods(graphs)
    return sees.colouring(sees.across)


def k_wl(graphs: LabelledGraphs, k: int) -> Colouring:
    """Oblivious k-WL on ordered tuples, one multiset for every position.

    The multiset of a position does not depend on the node in it: there are ``k n^(k-1)`` of
    them, and a round costs ``O(k n^k)``.
    """
    space = TupleSpace.of(graphs, k, largest_power=k, test=f"{k}-wl")

    def step(colour: Colours) -> Colours:
        blocks, columns = space.split(colour), []
        for position in range(k):
            seen = intern_last_axis([replaced(block, position) for block in blocks])
            columns.append(space.merge(seen))
        return intern_tuples(colour, *columns)

    return space.colouring(space.isomorphism_types(), step)


def k_wl_sets(graphs: LabelledGraphs, k: int) -> Colouring:
    """k-WL as the paper writes it: tuples become sets, and the ``k`` multisets are unordered.

    ``w`` runs over all nodes, so that ``{a, b}`` may become the singleton ``{b, b}``.
    """
    space = TupleSpace.of(graphs, k, largest_power=k, test=f"{k}-wl-set")

    def step(colour: Colours) -> Colours:
        # Colours do not depend on the order of a tuple, so neither does what is seen.
        last = intern_last_axis([replaced(block, k - 1) for block in space.split(colour)])
        seen = [np.squeeze(ids, k) for ids in last]
        columns = [space.merge([np.expand_dims(ids, i + 1) for ids in seen]) for i in range(k)]
        return intern_tuples(colour, *np.sort(np.stack(columns), axis=0))

    return space.colouring(space.set_types(), step)


def k_wl_union(graphs: LabelledGraphs, k: int) -> Colouring:
    """k-WL on sets of exactly ``k`` nodes with one multiset for all positions: a weaker reading."""
    space = TupleSpace.of(graphs, k, largest_power=k + 1, test=f"{k}-wl-union")
    smaller = space.has_repeats()  # not sets of k nodes: they keep one colour of their own

    def step(colour: Colours) -> Colours:
        blocks = []
        for block in space.split(colour):
            shape = (*block.shape, block.shape[-1])
            seen = [np.broadcast_to(replaced(block, position), shape) for position in range(k)]
            blocks.append(np.concatenate(seen, axis=-1))
        refined = intern_tuples(colour, space.merge(intern_last_axis(blocks)))
        return np.where(smaller, 0, refined + 1)

    initial = np.where(smaller, 0, space.set_types() + 1)
    return space.colouring(initial, step)

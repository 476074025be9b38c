"""Folklore k-WL: all positions are replaced by the same node at once.

::

    c'(v) = c(v), {{ ( c(v[1→w]), …, c(v[k→w]) ) : w ∈ V }}

k-FWL separates the same graphs as (k+1)-WL.
"""

import numpy as np

from lgan.graph.interning import Colours, intern_tuples
from lgan.wl.graphs import LabelledGraphs
from lgan.wl.refinement import Colouring
from lgan.wl.tuples import TupleSpace, intern_last_axis, replaced


def k_fwl(graphs: LabelledGraphs, k: int) -> Colouring:
    """k-FWL on ordered tuples; a round costs ``O(n^(k+1))``."""
    space = TupleSpace.of(graphs, k, largest_power=k + 1, test=f"{k}-fwl")
    return space.colouring(space.isomorphism_types(), lambda c: _step(space, c, ordered=True))


def k_fwl_sets(graphs: LabelledGraphs, k: int) -> Colouring:
    """k-FWL as the paper writes it: tuples become sets, and so do the vectors of colours."""
    space = TupleSpace.of(graphs, k, largest_power=k + 1, test=f"{k}-fwl-set")
    return space.colouring(space.set_types(), lambda c: _step(space, c, ordered=False))


def _step(space: TupleSpace, colour: Colours, *, ordered: bool) -> Colours:
    k, bound = space.k, int(colour.max(initial=0)) + 1
    if bound**k >= 2**63:
        raise ValueError(
            f"{k}-FWL met {bound:,} colours, whose {k}-tuples do not fit in 64 bits. "
            "Refine fewer graphs at a time."
        )
    blocks = []
    for block in space.split(colour.astype(np.int64)):
        seen = [replaced(block, position) for position in range(k)]
        if not ordered:
            seen = _sorted(seen)
        key = seen[0]
        for other in seen[1:]:
            key = key * bound + other
        blocks.append(key)
    return intern_tuples(colour, space.merge(intern_last_axis(blocks)))


def _sorted(columns: list[Colours]) -> list[Colours]:
    """Columns with every row in increasing order; for two or three this beats ``np.sort``."""
    columns = list(columns)
    for last in range(len(columns) - 1, 0, -1):
        for i in range(last):
            a, b = columns[i], columns[i + 1]
            columns[i], columns[i + 1] = np.minimum(a, b), np.maximum(a, b)
    return columns

"""The refinements of LGAN and of its relatives.

``c`` is the colour of a node in the last round, ``{{ }}`` a multiset, ``{a, b}`` an unordered
pair, ``Δ(t)`` the edges inside ``N(t)`` and ``T_tp`` the number of triangles on the edge ``tp``.
Where edges have labels, the label of an edge stands beside every pair of its ends.
"""

import numpy as np

from lgan.graph.interning import Colours, intern_integers, intern_multisets, intern_tuples
from lgan.graph.pair_codes import pair_codes
from lgan.wl.graphs import LabelledGraphs
from lgan.wl.neighbourhoods import Neighbourhoods
from lgan.wl.refinement import Colouring


def lgan_wl(
    graphs: LabelledGraphs, *, residual: bool = False, include_input: bool = False
) -> Colouring:
    """``{{ {c_t, c_p} : p ∈ N(t) }}, {{ {c_p, c_q} : pq ∈ Δ(t) }}``, the power of an LGAN.

    Args:
        graphs: The graphs.
        residual: Put ``c_t`` in front, as LGAN-res does.
        include_input: Let the skip-cat begin with the input rather than with the first layer.
    """
    sees = Neighbourhoods(graphs)

    def step(colour: Colours) -> Colours:
        pair = sees.ends_of_pairs(colour)
        target = intern_multisets(sees.neighbours, np.tile(pair, 2))
        neighbour = intern_multisets(sees.triangles, np.tile(pair, 3))
        return intern_tuples(*([colour] if residual else []), target, neighbour)

    nodes, weight = graphs.node_ptr, graphs.multiplicity
    history = residual or include_input
    return Colouring(graphs.labels, step, nodes, weight=weight, include_input=history)


def linear_wl(graphs: LabelledGraphs) -> Colouring:
    """LGAN with the linear pair sum: ``d_t [c_t] + Σ_p [c_p]`` and ``Σ_p T_tp [c_p]``.

    ``[c]`` is the unit vector of the colour ``c``; the sums are what a layer computes from
    one-hot colours, see ``LGAN(comb="linear")``; labels of edges have sums of their own.
    """
    sees = Neighbourhoods(graphs)
    edges: list[Colours] = []
    if graphs.labelled_edges:
        label = graphs.edge_labels
        edges = [
            intern_multisets(sees.neighbours, np.tile(label, 2)),
            intern_multisets(sees.triangles, np.tile(label, 3)),
        ]

    def step(colour: Colours) -> Colours:
        far, near = sees.far(colour), sees.near(colour)
        target = intern_multisets(sees.ends, np.concatenate([far, near]))
        return intern_tuples(target, intern_multisets(sees.neighbour_triangles, far), *edges)

    nodes, weight = graphs.node_ptr, graphs.multiplicity
    return Colouring(graphs.labels, step, nodes, weight=weight, include_input=False)


def edge_triangles_wl(graphs: LabelledGraphs) -> Colouring:
    """``c_t, {{ (c_p, T_tp) : p ∈ N(t) }}``: 1-WL with one static number on each edge."""
    return _edge_feature_wl(graphs, graphs.lines.pair_triangles.numpy())


def code_wl(graphs: LabelledGraphs, level: str = "full") -> Colouring:
    """``c_t, {{ (c_p, code_tp) : p ∈ N(t) }}`` with a structural code of the edge."""
    lines = graphs.lines
    code = pair_codes(lines.pair_index, lines.num_nodes, level, multiplicity=lines.multiplicity)
    columns = [intern_integers(column) for column in code.numpy().T]
    return _edge_feature_wl(graphs, intern_tuples(*columns))


def nested_wl(graphs: LabelledGraphs) -> Colouring:
    """``c_t, {{ (c_p, {{ c_q : q common neighbour of t and p }}) : p ∈ N(t) }}``."""
    sees = Neighbourhoods(graphs.expanded() if graphs.labelled_edges else graphs)
    return sees.colouring(lambda c: intern_tuples(sees.across(c), sees.common_neighbours(c)))


def _edge_feature_wl(graphs: LabelledGraphs, feature: Colours) -> Colouring:
    sees = Neighbourhoods(graphs)
    both = np.tile(feature, 2)
    return sees.colouring(lambda colour: intern_tuples(sees.across(colour), both))

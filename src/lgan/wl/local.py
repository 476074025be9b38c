"""Relatives of LGAN that look further into a node's surroundings.

They say what a stronger layer, or a stronger code of pairs, could bring. True twins are taken
apart first.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from lgan.graph.interning import Colours, Rows, intern_multisets, intern_tuples
from lgan.graph.near_pairs import NearPairs
from lgan.wl.graphs import LabelledGraphs
from lgan.wl.lgan_wl import lgan_wl
from lgan.wl.neighbourhoods import Neighbourhoods
from lgan.wl.refinement import Colouring, run_refinement
from lgan.wl.weisfeiler_leman import one_wl

__all__ = ["ego_net_wl", "line_edges_wl", "local_fwl", "nested_k4_wl", "triangles_wl", "two_hop_wl"]


def triangles_wl(graphs: LabelledGraphs) -> Colouring:
    """1-WL that begins with the number of triangles at every node."""
    graphs = graphs.expanded()
    at_node = np.diff(Neighbourhoods(graphs).triangles.ptr)
    return one_wl(replace(graphs, labels=intern_tuples(graphs.labels, at_node)))


def local_fwl(graphs: LabelledGraphs, radius: int) -> Colouring:
    """2-FWL restricted to pairs of nodes at most ``radius`` apart.

    ``c'(u, v) = c(u, v), {{ (c(u, w), c(w, v)) : d(u, w), d(w, v) ≤ radius }}``; a pair begins
    with its labels and its distance. With radius 1 these are edge states that persist.
    """
    graphs = graphs.expanded()
    near = NearPairs.of(graphs.pairs, graphs.num_nodes, radius)
    labels, nodes = graphs.labels, np.arange(graphs.num_nodes)
    initial = intern_tuples(near.distance, labels[near.first], labels[near.second])
    diagonal = near.find(nodes, nodes)
    return Colouring(initial, near.refined, near.ptr[graphs.node_ptr], diagonal, graphs.node_ptr)


def two_hop_wl(graphs: LabelledGraphs) -> Colouring:
    """LGAN on ego networks of two hops: ``c_t``, and the pairs in it typed by distance from t."""
    graphs = graphs.expanded()
    near, nets = _ego_nets(graphs, 2)
    u, v = nets.pairs
    rows = Rows.grouped(near.first[u], np.arange(u.size), graphs.num_nodes, np.ones(u.size, int))

    def step(colour: Colours) -> Colours:
        member = intern_tuples(colour[near.second], near.distance)
        a, b = member[u], member[v]
        pair = intern_tuples(np.minimum(a, b), np.maximum(a, b))
        return intern_tuples(colour, intern_multisets(rows, pair))

    return Colouring(graphs.labels, step, graphs.node_ptr)


def ego_net_wl(
    graphs: LabelledGraphs, radius: int, inner: Callable[[LabelledGraphs], Colouring]
) -> Colouring:
    """``c_t``, and what a test says about the ego network of ``t``, nodes labelled with ``c``.

    Args:
        graphs: The graphs.
        radius: Nodes at most so far from ``t`` are in its ego network, and know how far.
        inner: The test, run to stability in every round.
    """
    graphs = graphs.expanded()
    near, nets = _ego_nets(graphs, radius)

    def step(colour: Colours) -> Colours:
        labels = intern_tuples(colour[near.second], near.distance)
        inside = run_refinement(inner(replace(nets, labels=labels)), "ego network")
        return intern_tuples(colour, inside.classes)

    return Colouring(graphs.labels, step, graphs.node_ptr)


def line_edges_wl(graphs: LabelledGraphs) -> Colouring:
    """LGAN-res with the edges of its line graphs between neighbour pairs.

    ``{{ ({c_p, c_r}, c_q, pr ∈ E) : pq, qr ∈ Δ(t) }}`` is seen as well.
    """
    graphs = graphs.expanded()
    plain = lgan_wl(graphs, residual=True)
    pair, i, j, closed = _wedges_on_pairs(graphs)
    opposite = graphs.lines.opposite_index.numpy()
    p, r = opposite[i], opposite[j]
    # The wedge p - q - r lies in the neighbourhood of t, and p - t - r in that of q.
    t, q = np.concatenate([graphs.pairs[:, pair], graphs.pairs[::-1, pair]], axis=1)
    rows = Rows.grouped(t, np.arange(t.size), graphs.num_nodes, np.ones(t.size, np.int64))
    closes = np.tile(closed.astype(np.int64), 2)

    def step(colour: Colours) -> Colours:
        low = np.tile(np.minimum(colour[p], colour[r]), 2)
        high = np.tile(np.maximum(colour[p], colour[r]), 2)
        wedge = intern_tuples(low, high, colour[q], closes)
        return intern_tuples(plain.step(colour), intern_multisets(rows, wedge))

    return Colouring(graphs.labels, step, graphs.node_ptr)


def nested_k4_wl(graphs: LabelledGraphs) -> Colouring:
    """NEST one step deeper: each common neighbour of an edge with those of the triangle.

    ``c_t, {{ (c_p, {{ (c_q, {{ c_r : r ~ t, p, q }}) : q ~ t, p }}) : p ∈ N(t) }}``
    """
    graphs = graphs.expanded()
    sees = Neighbourhoods(graphs)
    _, i, j, closed = _wedges_on_pairs(graphs)
    i, j = i[closed], j[closed]
    opposite, ptr = graphs.lines.opposite_index.numpy(), sees.common.ptr
    # Source e < M is the entry e of `opposite`; it is seen by the other entries of its pair.
    row, source = np.concatenate([i, j]), np.concatenate([j, i])
    ones = np.ones(opposite.size, np.int64)
    fourth = Rows.grouped(row, source, opposite.size, ones)

    def step(colour: Colours) -> Colours:
        third = colour[opposite]
        third = intern_tuples(third, intern_multisets(fourth, third))
        pair = intern_multisets(Rows(ptr), third)
        seen = intern_tuples(sees.far(colour), np.tile(pair, 2))
        return intern_tuples(colour, intern_multisets(sees.neighbours, seen))

    return Colouring(graphs.labels, step, graphs.node_ptr)


def _ego_nets(graphs: LabelledGraphs, radius: int) -> tuple[NearPairs, LabelledGraphs]:
    """The subgraph within ``radius`` of every node: its nodes as pairs, and one graph per node."""
    near = NearPairs.of(graphs.pairs, graphs.num_nodes, radius)
    u, v = graphs.pairs
    # Distance is symmetric: the centres near to u are the nodes near to u.
    length = np.diff(near.ptr)[u]
    stop = np.cumsum(length)
    place = np.repeat(near.ptr[u] - stop + length, length) + np.arange(int(length.sum()))
    centre, end = near.second[place], np.repeat(v, length)
    kept = near.contains(centre, end)
    centre, start, end = centre[kept], np.repeat(u, length)[kept], end[kept]
    edges = np.stack([near.find(centre, start), near.find(centre, end)])
    return near, LabelledGraphs.build(near.ptr, torch.from_numpy(edges))


def _wedges_on_pairs(
    graphs: LabelledGraphs,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Two common neighbours of a pair: the pair, two entries of ``opposite_index``, adjacent?"""
    ptr = graphs.lines.opposite_ptr.numpy()
    pair = graphs.lines.opposite_pair().numpy()
    opposite = graphs.lines.opposite_index.numpy().astype(np.int64)
    entry = np.arange(pair.size)
    later = ptr[pair + 1] - entry - 1  # entries of the same pair that follow
    i = np.repeat(entry, later)
    j = i + 1 + np.arange(i.size) - np.repeat(np.cumsum(later) - later, later)
    low, high = np.minimum(opposite[i], opposite[j]), np.maximum(opposite[i], opposite[j])
    u, v = graphs.pairs
    key, wanted = u * graphs.num_nodes + v, low * graphs.num_nodes + high
    found = np.minimum(np.searchsorted(key, wanted), max(key.size - 1, 0))
    closed = key[found] == wanted if key.size else np.zeros(0, bool)
    return pair[i], i, j, closed

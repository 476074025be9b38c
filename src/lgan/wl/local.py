"""Relatives of LGAN that look further into a node's surroundings.

They say what a stronger layer, or a stronger code of pairs, could bring. True twins are taken
apart first. Where edges have labels, each edge that a test looks at comes with its own.
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


def triangles_wl(graphs: LabelledGraphs) -> Colouring:
    """1-WL that begins with the number of triangles at every node."""
    graphs = graphs.expanded()
    at_node = np.diff(Neighbourhoods(graphs).triangles.ptr)
    return one_wl(replace(graphs, labels=intern_tuples(graphs.labels, at_node)))


def local_fwl(graphs: LabelledGraphs, radius: int) -> Colouring:
    """2-FWL restricted to pairs of nodes at most ``radius`` apart.

    ``c'(u, v) = c(u, v), {{ (c(u, w), c(w, v)) : d(u, w), d(w, v) ≤ radius }}``; a pair begins
    with its labels, its distance and the label of its edge. With radius 1 these are edge states
    that persist.
    """
    graphs = graphs.expanded()
    near = NearPairs.of(graphs.pairs, graphs.num_nodes, radius)
    labels, nodes = graphs.labels, np.arange(graphs.num_nodes)
    on_edge = np.zeros(near.distance.size, np.int64)
    for u, v in (graphs.pairs, graphs.pairs[::-1]):
        on_edge[near.find(u, v)] = graphs.edge_labels
    initial = intern_tuples(near.distance, labels[near.first], labels[near.second], on_edge)
    diagonal = near.find(nodes, nodes)
    return Colouring(initial, near.refined, near.ptr[graphs.node_ptr], diagonal, graphs.node_ptr)


def two_hop_wl(graphs: LabelledGraphs) -> Colouring:
    """LGAN on ego networks of two hops: ``c_t``, and the pairs in it typed by distance from t."""
    graphs = graphs.expanded()
    near, nets = _ego_nets(graphs, 2)
    u, v = nets.pairs
    rows = Rows.grouped(near.first[u], np.arange(u.size), graphs.num_nodes)

    def step(colour: Colours) -> Colours:
        member = intern_tuples(colour[near.second], near.distance)
        a, b = member[u], member[v]
        pair = intern_tuples(np.minimum(a, b), np.maximum(a, b), nets.edge_labels)
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
    pair, i, j, closing = _wedges_on_pairs(graphs)
    opposite = graphs.lines.opposite_index.numpy()
    p, r = opposite[i], opposite[j]
    label = graphs.edge_labels
    _, first, second = label[graphs.lines.entry_pairs.numpy()]
    # Of the edges qp, then qr, for the wedges that follow.
    on_wedge = np.concatenate([second[i], first[i], second[j], first[j]])
    # The wedge p - q - r lies in the neighbourhood of t, and p - t - r in that of q.
    t, q = np.concatenate([graphs.pairs[:, pair], graphs.pairs[::-1, pair]], axis=1)
    rows = Rows.grouped(t, np.arange(t.size), graphs.num_nodes)
    closes = np.tile(_on_closing(label, closing), 2)

    def step(colour: Colours) -> Colours:
        ends = np.concatenate([colour[p], colour[p], colour[r], colour[r]])
        a, b = np.split(intern_tuples(ends, on_wedge), 2)
        wedge = intern_tuples(np.minimum(a, b), np.maximum(a, b), colour[q], closes)
        return intern_tuples(plain.step(colour), intern_multisets(rows, wedge))

    return Colouring(graphs.labels, step, graphs.node_ptr)


def nested_k4_wl(graphs: LabelledGraphs) -> Colouring:
    """NEST one step deeper: each common neighbour of an edge with those of the triangle.

    ``c_t, {{ (c_p, {{ (c_q, {{ c_r : r ~ t, p, q }}) : q ~ t, p }}) : p ∈ N(t) }}``
    """
    graphs = graphs.expanded()
    sees = Neighbourhoods(graphs)
    _, i, j, closing = _wedges_on_pairs(graphs)
    closed = closing >= 0
    i, j, size = i[closed], j[closed], graphs.lines.opposite_index.numel()
    # An entry of `thirds` sees the entries of its pair that it is adjacent to, from either end.
    row = np.concatenate([i, j, i + size, j + size])
    seen_there = np.concatenate([j, i, j + size, i + size])
    closes = np.tile(_on_closing(graphs.edge_labels, closing[closed]), 4)
    fourth = Rows.grouped(row, np.arange(row.size), 2 * size)

    def seen(colour: Colours) -> Colours:
        third = sees.thirds(colour)
        around = intern_multisets(fourth, intern_tuples(third[seen_there], closes))
        pair = intern_multisets(sees.third_rows, intern_tuples(third, around))
        return intern_tuples(sees.across(colour), pair)

    return sees.colouring(seen)


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
    edges = torch.from_numpy(np.stack([near.find(centre, start), near.find(centre, end)]))
    labels = np.repeat(graphs.edge_labels, length)[kept]
    return near, LabelledGraphs.build(near.ptr, edges, edge_labels=labels)


def _on_closing(label: Colours, closing: NDArray[np.int64]) -> Colours:
    """The label of the edge that closes each wedge, counted from 1, or 0 where none does."""
    return np.where(closing >= 0, 1 + np.append(label, 0)[closing], 0)


def _wedges_on_pairs(
    graphs: LabelledGraphs,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Two common neighbours of a pair: the pair, two entries of ``opposite_index``, and the pair
    between them or -1.
    """
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
    closing = np.where(key[found] == wanted, found, -1) if key.size else found
    return pair[i], i, j, closing

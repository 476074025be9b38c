"""Slow and obviously right: what the library must agree with."""

from itertools import combinations

import networkx as nx
import torch
from torch import Tensor

from lgan import EgoLines, LGANConv
from lgan.nn.linear import Linear

Pair = tuple[int, int]

NAMED: dict[str, nx.Graph] = {
    "no nodes": nx.empty_graph(0),
    "one node": nx.empty_graph(1),
    "five isolated nodes": nx.empty_graph(5),
    "one edge": nx.path_graph(2),
    "path": nx.path_graph(6),
    "star": nx.star_graph(5),
    "triangle": nx.complete_graph(3),
    "K5": nx.complete_graph(5),
    "K5 minus an edge": nx.from_edgelist(sorted(nx.complete_graph(5).edges)[1:]),
    "cube": nx.convert_node_labels_to_integers(nx.cubical_graph()),
    "prism": nx.circular_ladder_graph(3),
    "Petersen": nx.petersen_graph(),
    "self-loops": nx.from_edgelist([(0, 0), (0, 1), (1, 2), (2, 0), (3, 3)]),
}

TRIANGLES = {
    "no nodes": 0,
    "one node": 0,
    "five isolated nodes": 0,
    "one edge": 0,
    "path": 0,
    "star": 0,
    "triangle": 1,
    "K5": 10,
    "K5 minus an edge": 7,
    "cube": 0,
    "prism": 2,
    "Petersen": 0,
    "self-loops": 1,
}


def edge_index(graph: nx.Graph) -> Tensor:
    """The edges of a graph on the nodes 0 … n - 1, one direction each."""
    return torch.tensor(list(graph.edges), dtype=torch.long).reshape(-1, 2).t()


def simple(graph: nx.Graph) -> nx.Graph:
    """The graph without its self-loops."""
    loops = list(nx.selfloop_edges(graph))
    if loops:
        graph = graph.copy()
        graph.remove_edges_from(loops)
    return graph


def pairs(graph: nx.Graph) -> list[Pair]:
    return sorted((min(e), max(e)) for e in simple(graph).edges)


def pair_index(graph: nx.Graph) -> Tensor:
    """The same as a tensor ``[2, P]``."""
    return torch.tensor(pairs(graph), dtype=torch.long).reshape(-1, 2).t()


def triangles(graph: nx.Graph) -> set[frozenset[int]]:
    return {
        frozenset(three)
        for three in combinations(graph.nodes, 3)
        if all(graph.has_edge(a, b) for a, b in combinations(three, 2))
    }


def ego_line_pairs(graph: nx.Graph, target: int) -> tuple[list[Pair], list[Pair]]:
    """The nodes of the line graph of an ego network: target pairs and neighbour pairs."""
    line_graph = nx.line_graph(nx.ego_graph(graph, target))
    found = [(min(pair), max(pair)) for pair in line_graph.nodes]
    return [p for p in found if target in p], [p for p in found if target not in p]


def incidence(graph: nx.Graph) -> tuple[Tensor, Tensor]:
    """``B_t`` and ``B_n``, dense ``[n, P]`` int64, by building every ego line graph."""
    graph = simple(graph)
    column = {pair: i for i, pair in enumerate(pairs(graph))}
    B_t, B_n = (torch.zeros(len(graph), len(column), dtype=torch.long) for _ in range(2))
    for t in graph.nodes:
        target_pairs, neighbour_pairs = ego_line_pairs(graph, t)
        for pair in target_pairs:
            B_t[t, column[pair]] += 1
        for pair in neighbour_pairs:
            B_n[t, column[pair]] += 1
    return B_t, B_n


def twin_classes(graph: nx.Graph, x: Tensor | None = None) -> list[int]:
    """Classes of nodes with equal closed neighbourhoods and features, by first member."""
    graph = simple(graph)
    seen: dict[object, int] = {}
    classes = []
    for node in range(len(graph)):
        closed = frozenset({node, *graph.neighbors(node)})
        feature = None if x is None else repr(x[node].tolist())
        classes.append(seen.setdefault((closed, feature), len(seen)))
    return classes


def opposite_sets(lines: EgoLines) -> list[list[int]]:
    """The nodes opposite every pair, whose order within a pair is free."""
    parts = torch.split(lines.opposite_index, lines.opposite_count.tolist())
    return [sorted(part.tolist()) for part in parts]


def conv(
    layer: LGANConv,
    x: Tensor,
    graph: nx.Graph,
    edges: dict[Pair, Tensor] | None = None,
    arcs: set[Pair] | None = None,
) -> Tensor:
    """One layer in training mode, straight from the paper's equations, node after node.

    Args:
        layer: The layer.
        x: Node features.
        graph: The graph.
        edges: The features of every edge ``u < v`` as a vector, where the layer reads any.
        arcs: The arcs of the graph, where the layer reads their direction.
    """
    graph, width = simple(graph), layer.out_channels
    W, b = layer.pair.weight, layer.pair.bias
    assert b is not None

    def comb(pair: Pair, branch: slice) -> Tensor:
        # The bias enters with each of the two nodes.
        z = sum((x[node] @ W[:, branch] + b[branch] for node in pair), start=x.new_zeros(()))
        if edges is not None:
            assert layer.edge is not None
            z = z + edges[pair] @ layer.edge.weight[:, branch]
        if arcs is not None:
            z = z + arrows(pair, branch)
        return z.relu() if layer.comb == "deepsets" else z

    def arrows(pair: Pair, branch: slice) -> Tensor:
        assert arcs is not None
        assert layer.direction is not None
        z, (u, v) = x.new_zeros(()), pair
        for source, target in ((u, v), (v, u)):
            if (source, target) in arcs and (target, source) not in arcs:
                z = z + (x[source] - x[target]) @ layer.direction.ends.weight[:, branch]
                z = z + layer.direction.alone.weight[0, branch]
        return z

    def flow(node: int) -> Tensor:
        assert arcs is not None
        assert layer.direction is not None
        total = x.new_zeros(width)
        for source, target in arcs:
            if (target, source) in arcs or node not in (source, target):
                continue
            each = x.new_ones(1)
            if edges is not None:
                pair = (min(source, target), max(source, target))
                each = torch.cat([each, edges[pair].to(x.dtype)])
            along = each @ layer.direction.flow.weight
            total = total + (along if node == source else -along)
        return total

    rows = []
    for t in range(len(graph)):
        target_pairs, neighbour_pairs = ego_line_pairs(graph, t)
        T, S = x.new_zeros(width), x.new_zeros(width)
        for pair in target_pairs if layer.branches != "neighbour" else ():
            T = T + comb(pair, slice(width))
        for pair in neighbour_pairs if layer.branches != "target" else ():
            S = S + comb(pair, slice(width, 2 * width))
        if layer.squash:
            T, S = T.asinh(), S.asinh()
        hidden = _mapped(_fused(layer, T, S), layer.fuse)
        if layer.residual is not None:
            hidden = hidden + x[t] @ layer.residual.weight
        if arcs is not None:
            hidden = hidden + flow(t)
        rows.append(hidden)
    hidden = NORMS[layer.norm.kind](torch.stack(rows), layer.norm.scale, layer.norm.shift).relu()
    out = _mapped(hidden, layer.out)
    return NORMS[layer.norm.kind](out, layer.out_norm.scale, layer.out_norm.shift).relu()


def _mapped(x: Tensor, linear: Linear) -> Tensor:
    out = x @ linear.weight
    return out if linear.bias is None else out + linear.bias


def _fused(layer: LGANConv, T: Tensor, S: Tensor) -> Tensor:
    if layer.fusion == "concat":
        return T if layer.branches == "target" else torch.cat([T, S])
    if layer.fusion == "sum":
        return T + S
    if layer.fusion == "mean":
        return (T + S) / 2
    assert layer.gate is not None
    share = torch.sigmoid(torch.cat([T, S]) @ layer.gate.weight + layer.gate.bias)
    return share * T + (1 - share) * S


def batch_norm(x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    """Batch normalisation in training mode; the variance is the biased one."""
    mean = sum(x) / len(x)
    var = sum((row - mean) ** 2 for row in x) / len(x)
    return (x - mean) / torch.sqrt(var + 1e-5) * scale + shift


def layer_norm(x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    """Every row normalised by itself; the variance is the biased one."""
    rows = [(row - row.mean()) / torch.sqrt(row.var(correction=0) + 1e-5) for row in x]
    return torch.stack(rows) * scale + shift


NORMS = {"batch": batch_norm, "layer": layer_norm, "none": lambda x, scale, shift: x}


def first_occurrence(things: list[object]) -> list[int]:
    """Equal things get equal numbers, in the order in which they first occur."""
    number: dict[object, int] = {}
    return [number.setdefault(thing, len(number)) for thing in things]

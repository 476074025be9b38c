"""The transform of PATCHY-SAN: which nodes each place of its convolution reads."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor

from lgan.graph import Cells, GraphUnion, Lift
from lgan.graph.cells import NODES
from lgan.graph.interning import Words, mixed
from lgan.zoo.incidences import refuse_merged_twins

FAMILY = "receptive fields"
# Node ids of all fields of a data set, 4 bytes each.
LIMIT = 1 << 30
# Nodes whose fields are found between two reports of progress.
PIECE = 1 << 16
# The second convolution reads ten fields.
LEAST = 10


def mean_size(union: GraphUnion, options: Mapping[str, Any]) -> dict[str, int]:
    """The width ``w`` of the paper: the average number of nodes of a graph, at least ten.

    Args:
        union: The data set.
        options: Options of the network; a ``num_fields`` among them stays.
    """
    if "num_fields" in options:
        return {}
    return {"num_fields": _width(union.original_nodes, union.num_graphs)}


def _width(nodes: int, graphs: int) -> int:
    return max(round(nodes / max(graphs, 1)), LEAST)


def receptive_fields(options: Mapping[str, Any]) -> Lift:
    """The transform: for every graph ``num_fields`` rows of ``field_size`` node ids.

    Rows are the first nodes of the graph in the order of :func:`node_order`, rows of -1 where
    there are fewer (Algorithm 1 of the paper, stride 1). A row holds the nodes that a breadth-first
    search reaches first, nearer ones before farther ones and equally near ones in the order of the
    labelling, -1 where a component is smaller (Algorithms 2 to 4).
    """
    size = int(options.get("field_size", 10))
    given = options.get("num_fields")

    def refuse(name: str, pair_index: Tensor, node_ptr: Tensor) -> None:
        graphs, nodes = node_ptr.numel() - 1, int(node_ptr[-1])
        width = int(given or _width(nodes, graphs))
        entries = max(graphs * width, nodes) * size
        if entries > LIMIT:
            raise ValueError(
                f"The receptive fields of {name or 'the set'} ({graphs:,} graphs, {nodes:,} nodes, "
                f"{width} fields of {size} nodes for each graph) hold {entries:,} node ids, more "
                f"than the limit of {LIMIT:,}. Choose fewer or smaller fields (`num_fields`, "
                "`field_size`), or another model."
            )

    def apply(union: GraphUnion, progress: Callable[[float], None]) -> dict[str, Cells]:
        refuse_merged_twins(union.lines.multiplicity, "Receptive fields")
        refuse(union.name, union.lines.pair_index, union.node_ptr)
        width = int(given or _width(union.original_nodes, union.num_graphs))
        neighbours = adjacency_matrix(union.lines.pair_index, union.lines.num_nodes)
        features = union.features
        category = None if features.is_floating_point() else features.numpy()
        colour = node_order(neighbours, category)
        progress(0.3)
        field = _all_fields(neighbours, colour, size, lambda part: progress(0.3 + 0.6 * part))
        kept = _sequence(field, colour, union.node_ptr.numpy(), width)
        progress(1.0)
        ptr = torch.arange(union.num_graphs + 1) * width
        return {FAMILY: Cells(ptr, {"nodes": torch.from_numpy(field[kept])}, {"nodes": NODES})}

    return Lift(f"receptive fields {given or 'mean'} x {size}", apply, refuse)


def _all_fields(
    neighbours: csr_array, colour: NDArray[np.int64], size: int, progress: Callable[[float], None]
) -> NDArray[np.int32]:
    """The field of every node, and a last one of -1 for no node ``[N + 1, k]``."""
    from lgan.zoo.receptive_fields_numba import fill_fields

    nodes = colour.size
    rank = np.empty(nodes, np.int64)
    rank[np.argsort(colour, kind="stable")] = np.arange(nodes)
    field = np.full((nodes + 1, size), -1, np.int32)
    for begin in range(0, nodes, PIECE):
        end = min(begin + PIECE, nodes)
        fill_fields(neighbours.indptr, neighbours.indices, rank, begin, field[begin:end])
        progress(end / nodes)
    return field


def _sequence(
    field: NDArray[np.int32], colour: NDArray[np.int64], ptr: NDArray[np.int64], width: int
) -> NDArray[np.int64]:
    """The first nodes of every graph, graph after graph ``[G w]``; -1 where there are fewer.

    Nodes of one colour whose fields look different come in the order of what they see, so that
    the names of nodes decide only between those that the network cannot tell apart.
    """
    seen = np.append(colour, -1)[field[:-1]]
    graph = np.repeat(np.arange(ptr.size - 1), np.diff(ptr))
    order = np.lexsort([*seen.T[::-1], colour, graph])
    place = np.arange(graph.size) - ptr[graph]
    inside = place < width
    kept = np.full(width * (ptr.size - 1), -1, np.int64)
    kept[graph[inside] * width + place[inside]] = order[inside]
    return kept


def adjacency_matrix(pair_index: Tensor, num_nodes: int) -> csr_array:
    """The graphs as a matrix ``[N, N]`` whose products are taken modulo 2^64."""
    u, v = pair_index.numpy()
    place = (np.concatenate([u, v]), np.concatenate([v, u]))
    return csr_array((np.ones(2 * u.size, np.uint64), place), (num_nodes, num_nodes))


def node_order(neighbours: csr_array, category: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """The labelling: stable colours of 1-WL, numbered in an order that renaming nodes keeps.

    Nodes of higher degree come first; colours of one degree come in the order of a hash of what
    1-WL sees, which depends on the colour alone. The structure decides before the categories do.
    How two nodes compare depends on their own graphs only, not on what else is in the data set.
    """
    degree = np.diff(neighbours.indptr).astype(np.uint64)
    start = mixed(degree)
    colour = _ranked(-degree.astype(np.int64), start)
    colour = _refined(neighbours, colour, start)
    if category is None:
        return colour
    label = category.astype(np.uint64)
    return _refined(neighbours, _ranked(colour, label), mixed(start + mixed(label)))


def _refined(neighbours: csr_array, colour: NDArray[np.int64], word: Words) -> NDArray[np.int64]:
    """Colours split by rounds of 1-WL until its words stay as many.

    Further rounds would split nothing more, so that the order does not depend on their number,
    nor on the graphs that need the most of them.
    """
    number = -1
    while number < (number := np.unique(word).size):
        colour = _ranked(colour, word)
        word = mixed(word + neighbours @ mixed(word))
    return colour


def _ranked(first: NDArray[np.int64], second: Words) -> NDArray[np.int64]:
    """Dense ranks of pairs."""
    order = np.lexsort([second, first])
    a, b = first[order], second[order]
    step = np.concatenate([[False], (a[1:] != a[:-1]) | (b[1:] != b[:-1])])[: order.size]
    rank = np.empty(order.size, np.int64)
    rank[order] = np.cumsum(step)
    return rank

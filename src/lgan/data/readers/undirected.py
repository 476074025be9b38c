"""Edges in any direction as pairs, with features that both directions share."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lgan.data.columns import Columns
from lgan.graph.edge_features import pair_direction

# Makes the error for features that differ: which ("labels", "attributes"), the edge, and the
# first edge between the same nodes.
Complaint = Callable[[str, int, int], ValueError]
# What to do about arcs whose features differ, said after what they are.
REDUCE = "Make them agree, or reduce them where they are loaded, `lgan.load(..., symmetrise=True)`."
NOT_DIRECTED = (
    "`directed` keeps which way arcs go, and one set of features for the arcs between two nodes. "
    "Make them agree, or load them with `symmetrise` in place of `directed`."
)
# What works where nothing is loaded: estimators and predictors have no such options.
OPTIONS = (
    "These are options where a source is loaded, as `lgan.load(..., directed=True)`; for "
    "estimators convert the graphs with `networkx.Graph(graph)` or "
    "`torch_geometric.utils.to_undirected`."
)


def refuse_half(reasons: Mapping[int, str], count: int) -> None:
    """Refuse a list where half of its graphs or more are not undirected: then it is not some rows
    that are wrong, but something is to be said of all.
    """
    if reasons and 2 * len(reasons) >= count:
        row, reason = next(iter(reasons.items()))
        raise ValueError(f"Graph {row} {reason}. {OPTIONS}")


def undirected_columns(
    ends: NDArray[Any],
    num_nodes: int,
    edges: Columns,
    *,
    symmetrise: bool,
    complaint: Complaint,
) -> tuple[NDArray[np.int64], Columns]:
    """The sorted pairs ``[2, P]`` of edges ``[M, 2]`` in any direction, number and order, and their
    features.

    Loops are dropped. Where the edges of a pair differ in their features, that is an error, or,
    with ``symmetrise``, the smallest category and the mean of the numbers are taken.
    """
    from lgan.data.readers.parse_numba import pair_edges

    dtype = np.int32 if len(ends) < 2**31 else np.int64
    pair_of: NDArray[Any] = np.empty(len(ends), dtype)
    pairs: NDArray[np.int64] = pair_edges(ends, num_nodes, np.empty_like(pair_of), pair_of)
    if not edges.num_columns:
        return pairs, Columns.empty(pairs.shape[1])
    lines = torch.from_numpy(np.flatnonzero(pair_of >= 0))
    pair = torch.from_numpy(pair_of).long()[lines]
    first = torch.full((pairs.shape[1],), len(ends)).scatter_reduce(0, pair, lines, "amin")
    chosen, listed = edges[first], edges[lines]
    if symmetrise:
        return pairs, _reduced(chosen, listed, pair)
    for part, values, each in (
        ("labels", chosen.categories, listed.categories),
        ("attributes", chosen.numbers, listed.numbers),
    ):
        unlike = (values[pair] != each) & ~(values[pair].isnan() & each.isnan())
        differ = unlike.any(1).nonzero()
        if len(differ):
            place = int(differ[0, 0])
            raise complaint(part, int(lines[place]), int(first[pair[place]]))
    return pairs, chosen


def kept_direction(
    ends: Tensor, pair_index: NDArray[np.int64], *, directed: bool, symmetrise: bool
) -> Tensor | None:
    """The direction of every pair of arcs ``[2, M]``, ``[P]`` int8, where it is to be kept."""
    if not directed:
        return None
    if symmetrise:
        raise ValueError(
            "`symmetrise` reads directed graphs as undirected ones and `directed` keeps their "
            "directions, got both. Choose one."
        )
    pairs = torch.from_numpy(pair_index)
    nodes = int(ends.max()) + 1 if ends.numel() else 0
    return pair_direction(ends, pairs, nodes).to(torch.int8)


def _reduced(chosen: Columns, listed: Columns, pair: Tensor) -> Columns:
    """For every pair the smallest category and the mean number of all edges that list it."""
    to = pair[:, None]
    categories = chosen.categories.scatter_reduce(
        0, to.expand_as(listed.categories), listed.categories, "amin"
    )
    numbers = chosen.numbers.scatter_reduce(
        0, to.expand_as(listed.numbers), listed.numbers, "mean", include_self=False
    )
    return Columns(categories, chosen.names, chosen.vocabularies, numbers, chosen.number_names)

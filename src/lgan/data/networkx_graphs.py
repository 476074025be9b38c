"""Networkx graphs as `RawGraphs`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from lgan.data.columns import Columns
from lgan.data.raw import RawGraphs
from lgan.data.undirected import NOT_DIRECTED, REDUCE, kept_direction, undirected_columns
from lgan.data.values import attribute_columns

if TYPE_CHECKING:
    import networkx as nx

TARGET = "target"  # the attribute of a graph that is predicted unless others are named


def from_networkx(
    graphs: "Sequence[nx.Graph]",
    *,
    node_features: Sequence[str] | None = None,
    edge_features: Sequence[str] | None = None,
    targets: Sequence[str] | None = None,
    columns: Sequence[str] = (),
    symmetrise: bool = False,
    directed: bool = False,
    progress: Callable[[float], None] | None = None,
) -> RawGraphs:
    """Graphs of networkx with their attributes as features and targets.

    Loops are dropped. Missing targets (no attribute, or ``None``) are allowed.

    Args:
        graphs: The graphs.
        node_features: Attributes of nodes that become features, by their names or those of the
            columns that lists become; all that some node has unless given.
        edge_features: Attributes of edges that become features, likewise.
        targets: Attributes of graphs that are predicted; by default ``target``, where some graph
            has it.
        columns: Further attributes of graphs to keep, for groups or splits.
        symmetrise: Read directed graphs, and graphs with several edges between two nodes, as
            undirected ones; features that differ become their mean, or the smallest category.
        directed: Keep the direction of arcs, for a model that reads it.
        progress: Called with the fraction done.

    Example:
        >>> import networkx as nx
        >>> raw = from_networkx([nx.path_graph(3), nx.cycle_graph(4)])
        >>> raw.node_ptr.tolist(), raw.num_pairs
        ([0, 3, 7], 6)
    """
    sizes: list[int] = []
    ends: list[tuple[int, int]] = []
    edge_graph: list[int] = []
    nodes: list[Mapping[str, Any]] = []
    edges: list[Mapping[str, Any]] = []
    start = 0
    for number, graph in enumerate(graphs):
        _check_graph(graph, number, symmetrise=symmetrise, directed=directed)
        place = {node: start + i for i, node in enumerate(graph)}
        nodes.extend(attributes for _, attributes in graph.nodes(data=True))
        for u, v, attributes in graph.edges(data=True):
            if u == v:
                continue
            ends.append((place[u], place[v]))
            edges.append(attributes)
            if directed and not graph.is_directed():
                ends.append((place[v], place[u]))
                edges.append(attributes)
        edge_graph.extend([number] * (len(ends) - len(edge_graph)))
        sizes.append(len(place))
        start += len(place)
        if progress is not None:
            progress((number + 1) / len(graphs))

    def complaint(part: str, edge: int, _: int) -> ValueError:
        return ValueError(
            f"Graph {edge_graph[edge]} must have the same {part} on all edges between two nodes, "
            f"got others. {NOT_DIRECTED if directed else REDUCE}"
        )

    arcs = np.array(ends, dtype=np.int64).reshape(-1, 2)
    pair_index, pairs = undirected_columns(
        arcs,
        start,
        _columns(edges, edge_features, "the edges"),
        symmetrise=symmetrise,
        complaint=complaint,
    )
    told = [graph.graph for graph in graphs]
    wanted = targets if targets is not None else _known([TARGET], told)
    return RawGraphs(
        name="graphs",
        node_ptr=torch.tensor([0, *np.cumsum(sizes).tolist()]),
        pair_index=torch.from_numpy(pair_index),
        nodes=_columns(nodes, node_features, "the nodes"),
        pairs=pairs,
        targets={key: _graph_values(told, key) for key in wanted},
        columns={key: _graph_values(told, key) for key in columns},
        direction=kept_direction(
            torch.from_numpy(arcs.T), pair_index, directed=directed, symmetrise=symmetrise
        ),
        symmetrised=symmetrise,
    )


def _check_graph(graph: Any, number: int, *, symmetrise: bool, directed: bool) -> None:
    import networkx as nx

    if not isinstance(graph, nx.Graph):
        raise TypeError(
            f"Expected networkx graphs, got {type(graph).__name__} as graph {number}. "
            "Pass a list of graphs of one kind."
        )
    if symmetrise:
        return
    arcs = graph.is_directed() and not directed
    for wrong, what in ((arcs, "directed"), (graph.is_multigraph(), "a multigraph")):
        if wrong:
            remedy = ", or keep its directions with `directed`" if arcs else ""
            raise ValueError(
                f"Graph {number} must be undirected and simple, got one that is {what}. Convert it "
                f"with `networkx.Graph(graph)`, or ask for `symmetrise`{remedy}."
            )


def _columns(rows: list[Mapping[str, Any]], wanted: Sequence[str] | None, of: str) -> Columns:
    names = _attributes(wanted, rows) if wanted is not None else _known(None, rows)
    values: dict[str, list[Any]] = {}
    for name in names:
        missing = sum(name not in row for row in rows)
        if missing:
            there = ", ".join(map(repr, _known(None, rows))) or "none"
            raise ValueError(
                f"All of {of} must have the attribute {name!r}, got {missing} of {len(rows)} "
                f"without; there are {there}. Fill it in, or name the features to read."
            )
        values[name] = [row[name] for row in rows]
    return attribute_columns(values, len(rows), of)


def _attributes(names: Iterable[str], rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """The attributes that are named, or that columns such as ``place_1`` are a place of."""
    there, found = set(_known(None, rows)), dict[str, None]()
    for name in names:
        whole, _, place = name.rpartition("_")
        is_place = name not in there and whole in there and place.isdecimal()
        found[whole if is_place else name] = None
    return list(found)


def _known(names: Iterable[str] | None, rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Those names that some row has; all that some row has unless given."""
    there = dict.fromkeys(key for row in rows for key in row)
    return list(there) if names is None else [name for name in names if name in there]


def _graph_values(graphs: list[dict[str, Any]], key: str) -> list[Any]:
    if not any(key in graph for graph in graphs):
        there = ", ".join(map(repr, _known(None, graphs))) or "none"
        raise ValueError(
            f"Some graph must have the attribute {key!r}, got graphs with {there}. Set it on the "
            "graph (`graph.graph[...]`), or name another."
        )
    return [graph.get(key) for graph in graphs]

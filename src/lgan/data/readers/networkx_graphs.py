"""Networkx graphs as `RawGraphs`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from lgan.data.columns import Columns, unlike_most
from lgan.data.raw import RawGraphs
from lgan.data.readers.undirected import (
    NOT_DIRECTED,
    REDUCE,
    kept_direction,
    refuse_half,
    undirected_columns,
)

if TYPE_CHECKING:
    import networkx as nx

TARGET = "target"  # the attribute of a graph that is predicted unless others are named
# Up to so many different integers are categories rather than a quantity.
MOST_NUMBERED = 64
LARGEST = torch.finfo(torch.float32).max


def from_networkx(
    graphs: "Sequence[nx.Graph | None]",
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

    Loops are dropped. Missing targets (no attribute, or ``None``) are allowed. A graph with an
    attribute that is missing on some nodes or edges, that cannot be read, or that is of another
    kind than in most graphs (text, numbers, lists of so many) becomes an error of its row, and so
    does ``None``, and one that is directed, or has several edges between two nodes, where most
    graphs are not.

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
    strange = _not_simple(graphs, symmetrise=symmetrise, directed=directed)
    graphs = [None if row in strange else graph for row, graph in enumerate(graphs)]
    edge_rows = [[row for _, _, row in _arcs(graph, directed=False)] for graph in graphs]
    node_names = _names(node_features, list(map(_node_rows, graphs)), "the nodes")
    edge_names = _names(edge_features, edge_rows, "the edges")

    def read(some: "Sequence[nx.Graph | None]") -> tuple[Columns, Columns]:
        nodes = [row for graph in some for row in _node_rows(graph)]
        edges = [row for graph in some for _, _, row in _arcs(graph, directed=directed)]
        return _columns(nodes, node_names, "the nodes"), _columns(edges, edge_names, "the edges")

    def kinds(graph: "nx.Graph | None") -> dict[tuple[str, str], str]:
        nodes, edges = _node_rows(graph), [row for *_, row in _arcs(graph, directed=False)]
        return _kinds(nodes, node_names, "the nodes") | _kinds(edges, edge_names, "the edges")

    nodes, edges, errors = _read_or_left_out(graphs, read, kinds)
    errors |= strange
    rows = [row for row in range(len(graphs)) if row not in errors]
    sizes: list[int] = []
    ends: list[tuple[int, int]] = []
    edge_graph: list[int] = []
    start = 0
    for row in rows:
        place = {node: start + i for i, node in enumerate(graphs[row] or ())}
        ends.extend((place[u], place[v]) for u, v, _ in _arcs(graphs[row], directed=directed))
        edge_graph.extend([row] * (len(ends) - len(edge_graph)))
        sizes.append(len(place))
        start += len(place)
        if progress is not None:
            progress((row + 1) / len(graphs))

    def complaint(part: str, edge: int, _: int) -> ValueError:
        return ValueError(
            f"Graph {edge_graph[edge]} must have the same {part} on all edges between two nodes, "
            f"got others. {NOT_DIRECTED if directed else REDUCE}"
        )

    arcs = np.array(ends, dtype=np.int64).reshape(-1, 2)
    pair_index, pairs = undirected_columns(
        arcs, start, edges, symmetrise=symmetrise, complaint=complaint
    )
    told = [{} if graph is None else graph.graph for graph in graphs]
    wanted = targets if targets is not None else [TARGET] if TARGET in _known(told) else []
    return RawGraphs(
        name="graphs",
        node_ptr=torch.tensor([0, *np.cumsum(sizes).tolist()]),
        pair_index=torch.from_numpy(pair_index),
        nodes=nodes,
        pairs=pairs,
        targets={key: _graph_values(told, key, rows) for key in wanted},
        columns={key: _graph_values(told, key, rows) for key in columns},
        rows=torch.tensor(rows, dtype=torch.int64),
        errors=tuple(sorted(errors.items())),
        direction=kept_direction(
            torch.from_numpy(arcs.T), pair_index, directed=directed, symmetrise=symmetrise
        ),
        symmetrised=symmetrise,
    )


def _not_simple(graphs: Sequence[Any], *, symmetrise: bool, directed: bool) -> dict[int, str]:
    """Why graphs that are directed, or have several edges between two nodes, are left out, by their
    row; an error where those are half of the graphs or more.
    """
    import networkx as nx

    found: dict[int, str] = {}
    for number, graph in enumerate(graphs):
        if graph is None:
            continue
        if not isinstance(graph, nx.Graph):
            raise TypeError(
                f"Expected networkx graphs, got {type(graph).__name__} as graph {number}. "
                "Pass a list of graphs of one kind."
            )
        arcs = graph.is_directed() and not directed
        if symmetrise or not (arcs or graph.is_multigraph()):
            continue
        remedy = ", or keep its directions with `directed`" if arcs else ""
        found[number] = (
            "must be undirected and simple, got one that is "
            f"{'directed' if arcs else 'a multigraph'}. Convert it with `networkx.Graph(graph)`, "
            f"or ask for `symmetrise`{remedy}"
        )
    refuse_half(found, sum(graph is not None for graph in graphs))
    return found


def _node_rows(graph: "nx.Graph | None") -> list[Mapping[str, Any]]:
    return [] if graph is None else [attributes for _, attributes in graph.nodes(data=True)]


def _arcs(graph: "nx.Graph | None", *, directed: bool) -> list[tuple[Any, Any, Mapping[str, Any]]]:
    """The edges of a graph without loops; both ways where it has no directions to keep."""
    if graph is None:
        return []
    both, found = directed and not graph.is_directed(), []
    for u, v, attributes in graph.edges(data=True):
        if u != v:
            found.append((u, v, attributes))
            if both:
                found.append((v, u, attributes))
    return found


def _names(wanted: Sequence[str] | None, each: list[list[Mapping[str, Any]]], of: str) -> list[str]:
    """The attributes to read of the nodes or edges of every graph; an error for one that no graph
    has or, unless it is named, that most graphs lack.
    """
    rows = [row for own in each for row in own]
    names = _attributes(wanted, rows) if wanted is not None else _known(rows)
    filled = [own for own in each if own]
    for name in names:
        lack = sum(any(name not in row for row in own) for own in filled)
        if lack > len(filled) / 2 if wanted is None else not any(name in row for row in rows):
            _check_there(rows, name, of)
    return names


def _read_or_left_out(
    graphs: "Sequence[nx.Graph | None]",
    read: "Callable[[Sequence[nx.Graph | None]], tuple[Columns, Columns]]",
    kinds: "Callable[[nx.Graph | None], dict[tuple[str, str], str]]",
) -> tuple[Columns, Columns, dict[int, str]]:
    """The columns of nodes and edges, and why some graphs are not among them, by their row."""
    errors = {row: "there is no graph" for row, graph in enumerate(graphs) if graph is None}
    try:
        return *read(graphs), errors
    except (TypeError, ValueError):
        for row, graph in enumerate(graphs):
            try:
                read([graph])
            except (TypeError, ValueError) as error:
                errors[row] = str(error).removesuffix(".")
        errors |= _unlike({row: kinds(g) for row, g in enumerate(graphs) if row not in errors})
    return *read([graph for row, graph in enumerate(graphs) if row not in errors]), errors


def _unlike(kinds: dict[int, dict[tuple[str, str], str]]) -> dict[int, str]:
    """Why graphs do not go with most of the others, by their row."""
    found: dict[int, str] = {}
    for of, name in dict.fromkeys(key for own in kinds.values() for key in own):
        there = {row: own[of, name] for row, own in kinds.items() if (of, name) in own}
        for row, (most, kind) in unlike_most(there).items():
            found[row] = (
                f"The attribute {name!r} of {of} must be {most}, as in most graphs, got {kind}. "
                "Correct it, or leave it out"
            )
    return found


def _kinds(rows: list[Mapping[str, Any]], names: list[str], of: str) -> dict[tuple[str, str], str]:
    """What the attributes of the nodes or edges of a graph are: ``text``, ``[number, number]``."""
    found = {}
    for name in names if rows else []:
        parts = _flat(name, [row[name] for row in rows], of)
        words = ", ".join(_kind(cells[0], part, of) for part, cells in parts.items())
        found[of, name] = words if name in parts else f"[{words}]"
    return found


def _columns(rows: list[Mapping[str, Any]], names: list[str], of: str) -> Columns:
    for name in names:
        _check_there(rows, name, of)
    return _attribute_columns({name: [row[name] for row in rows] for name in names}, len(rows), of)


def _attribute_columns(values: dict[str, list[Any]], length: int, of: str) -> Columns:
    """Attributes of nodes or edges as named features.

    Text, truth values and few different integers are categories; other numbers, ``3.0`` too, stay
    numbers, and lists of numbers become a column for each place. Messages say what the rows are
    ``of``.
    """
    categories: dict[str, Sequence[Any]] = {}
    numbers: dict[str, list[float]] = {}
    for name, column in values.items():
        for part, cells in _flat(name, column, of).items():
            if part in categories or part in numbers:
                raise ValueError(
                    f"The attributes of {of} must have different names, got {part!r} beside a "
                    f"list {part.rpartition('_')[0]!r}, of which it is a place. Rename one of them."
                )
            kinds = {_kind(cell, part, of) for cell in cells}
            if kinds == {"text", "number"}:
                raise ValueError(
                    f"The attribute {part!r} of {of} must be numbers or text, got both. "
                    "Correct it, or leave it out."
                )
            whole = all(isinstance(cell, Integral) for cell in cells)
            if kinds == {"number"} and not (whole and len(set(cells)) <= MOST_NUMBERED):
                numbers[part] = [float(cell) for cell in cells]
            else:
                categories[part] = [_spelled(cell) for cell in cells]
    columns = Columns.of_categories(categories) if categories else Columns.empty(length)
    if not numbers:
        return columns
    return columns.with_numbers(torch.tensor(list(numbers.values())).T.contiguous(), tuple(numbers))


def _flat(name: str, column: list[Any], of: str) -> dict[str, list[Any]]:
    """A column of lists as one column for each place."""
    plain = [cell.tolist() if hasattr(cell, "tolist") else cell for cell in column]
    lengths = {len(cell) if isinstance(cell, list | tuple) else -1 for cell in plain}
    if lengths <= {-1}:
        return {name: plain}
    if len(lengths) > 1:
        raise ValueError(
            f"The attribute {name!r} of {of} must have the same number of values everywhere, got "
            f"{sorted(max(n, 1) for n in lengths)}. Fill it up, or leave it out."
        )
    return {f"{name}_{i + 1}": [cell[i] for cell in plain] for i in range(lengths.pop())}


def _kind(cell: Any, name: str, of: str) -> str:
    if isinstance(cell, str | bool):
        return "text"
    if isinstance(cell, Real):
        if not abs(cell) <= LARGEST:  # type: ignore[operator]
            raise ValueError(
                f"The attribute {name!r} of {of} must be finite in single precision, got "
                f"{str(cell)[:40]}. Repair it, or leave it out."
            )
        return "number"
    raise TypeError(
        f"The attribute {name!r} of {of} must be text, a number or a list of numbers, got "
        f"{cell!r}. Convert it, or leave it out."
    )


def _spelled(cell: Any) -> str:
    return str(cell) if isinstance(cell, str | bool) else str(int(cell))


def _check_there(rows: list[Mapping[str, Any]], name: str, of: str) -> None:
    """Refuse nodes or edges of which some lack an attribute."""
    if missing := sum(name not in row for row in rows):
        there = ", ".join(map(repr, _known(rows))) or "none"
        raise ValueError(
            f"All of {of} must have the attribute {name!r}, got {missing} of {len(rows)} "
            f"without; there are {there}. Fill it in, or name the features to read."
        )


def _attributes(names: Iterable[str], rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """The attributes that are named, or that columns such as ``place_1`` are a place of."""
    there, found = set(_known(rows)), dict[str, None]()
    for name in names:
        whole, _, place = name.rpartition("_")
        is_place = name not in there and whole in there and place.isdecimal()
        found[whole if is_place else name] = None
    return list(found)


def _known(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """The names that some row has."""
    return list(dict.fromkeys(key for row in rows for key in row))


def _graph_values(graphs: list[dict[str, Any]], key: str, rows: list[int]) -> list[Any]:
    """An attribute of some of the graphs, where one of all has it."""
    if not any(key in graph for graph in graphs):
        there = ", ".join(map(repr, _known(graphs))) or "none"
        raise ValueError(
            f"Some graph must have the attribute {key!r}, got graphs with {there}. Set it on the "
            "graph (`graph.graph[...]`), or name another."
        )
    return [graphs[row].get(key) for row in rows]

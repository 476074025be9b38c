"""PyG graphs as `RawGraphs`."""

import re
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lgan.data.columns import Columns, column_names, unlike_most
from lgan.data.raw import RawGraphs
from lgan.data.readers.undirected import (
    NOT_DIRECTED,
    REDUCE,
    kept_direction,
    refuse_half,
    undirected_columns,
)

READ = {"x", "edge_index", "edge_attr", "edge_weight", "y", "smiles", "num_nodes", "batch", "ptr"}
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
NODES, EDGES = ("x",), ("edge_attr", "edge_weight")  # the fields of features


def from_pyg(
    graphs: Sequence[Any],
    *,
    node_features: Sequence[str] | None = None,
    edge_features: Sequence[str] | None = None,
    targets: Sequence[str] | None = None,
    symmetrise: bool = False,
    directed: bool = False,
) -> RawGraphs:
    """A list of PyG ``Data`` (or a PyG data set).

    Integer ``x`` and ``edge_attr`` are categories, real ones numbers; their columns are called
    ``x_1``, ``x_2`` and so on. ``y`` gives the targets ``y``, or ``y_1``, ``y_2`` and so on, with
    NaN for missing. ``smiles`` names the graphs. Loops are dropped. A graph without its edges or
    features, with some that are not finite, or of another type or width than in most graphs,
    becomes an error of its row, and so do ``None`` and one with an edge in one direction only where
    most graphs have both.

    Args:
        graphs: The graphs.
        node_features: Columns of nodes; a field of which none is named is not looked at.
        edge_features: Columns of edges, likewise.
        targets: Names of the targets, one for each column of ``y``.
        symmetrise: Read directed graphs as undirected ones, and take the mean, or the smallest
            category, where the two directions of an edge differ.
        directed: Keep the direction of arcs, for a model that reads it.

    Example:
        >>> from torch_geometric.data import Data
        >>> edge_index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
        >>> from_pyg([Data(x=torch.tensor([6, 6, 8]), edge_index=edge_index)]).nodes.vocabularies
        (('6', '8'),)
    """
    fields = _fields(NODES, node_features) + _fields(EDGES, edge_features)
    every, errors = graphs, _unreadable(graphs, fields)
    if not (symmetrise or directed):
        errors |= _one_way({row: g for row, g in enumerate(every) if row not in errors})
    rows = [row for row in range(len(every)) if row not in errors]
    graphs = [every[row] for row in rows]
    sizes = [int(graph.num_nodes) for graph in graphs]
    ends, node_ptr = _together(graphs)
    counts = torch.tensor([graph.edge_index.size(1) for graph in graphs], dtype=torch.int64)
    edge_graph = torch.repeat_interleave(torch.arange(len(graphs)), counts)

    def complaint(part: str, edge: int, _: int) -> ValueError:
        return ValueError(
            f"Both directions of an edge must have the same {part}, got others in graph "
            f"{rows[int(edge_graph[edge])]}. {NOT_DIRECTED if directed else REDUCE}"
        )

    def columns(key: str, lengths: list[int]) -> Columns:
        values = [getattr(g, key, None) if key in fields else None for g in graphs]
        return _columns(values, lengths, key)

    edges = _joined(*(columns(key, counts.tolist()) for key in EDGES))
    pair_index, pairs = undirected_columns(
        np.ascontiguousarray(ends.T.numpy()),
        int(node_ptr[-1]),
        edges,
        symmetrise=symmetrise,
        complaint=complaint,
    )
    told = _targets([getattr(graph, "y", None) for graph in every], targets)
    smiles: list[Any] = [getattr(graph, "smiles", None) for graph in graphs]
    ignored = {key for graph in graphs for key in graph.keys()} - READ  # noqa: SIM118
    if ignored:
        warnings.warn(
            f"Fields of the graphs that are not read: {', '.join(sorted(ignored))}. Put into `x` "
            "or `edge_attr` what a model should see.",
            stacklevel=2,
        )
    return RawGraphs(
        name="graphs",
        node_ptr=node_ptr,
        pair_index=torch.from_numpy(pair_index),
        nodes=columns("x", sizes),
        pairs=pairs,
        targets={name: [column[row] for row in rows] for name, column in told.items()},
        rows=torch.tensor(rows, dtype=torch.int64),
        errors=tuple(sorted(errors.items())),
        ids=tuple(smiles) if all(isinstance(text, str) for text in smiles) else None,
        direction=kept_direction(ends, pair_index, directed=directed, symmetrise=symmetrise),
        symmetrised=symmetrise,
    )


def _fields(fields: tuple[str, ...], names: Sequence[str] | None) -> tuple[str, ...]:
    """The fields that hold some of the columns of these names."""
    wanted = {re.sub(r"_\d+$", "", name): name for name in names or ()}
    if strange := [name for field, name in wanted.items() if field not in fields]:
        raise ValueError(
            f"The features of PyG graphs must be columns of {' or '.join(fields)} "
            f"(`{fields[0]}_1`, say), got {strange[0]!r}. Name some of these, or put it there."
        )
    return fields if names is None else tuple(field for field in fields if field in wanted)


def _unreadable(graphs: Sequence[Any], fields: tuple[str, ...]) -> dict[int, str]:
    """Why graphs cannot be read, by their row."""
    from torch_geometric.data import Data

    for number, graph in enumerate(graphs):
        if graph is not None and not isinstance(graph, Data):
            raise TypeError(
                f"Expected graphs of PyG's class `Data`, got {type(graph).__name__} as graph "
                f"{number}. Convert it (`to_homogeneous`), or pass a list of one kind."
            )
    there = [graph for graph in graphs if graph is not None]
    # A field that most graphs have is one that all should have.
    usual = {
        key
        for key in fields
        if 2 * sum(getattr(graph, key, None) is not None for graph in there) >= len(there)
    }
    found = {row: _flaw(graph, fields, usual) for row, graph in enumerate(graphs)}
    for key in fields:
        of = {row: getattr(graphs[row], key, None) for row, reason in found.items() if not reason}
        kinds = {row: _kind(value) for row, value in of.items() if value is not None and len(value)}
        for row, (most, kind) in unlike_most(kinds).items():
            found[row] = f"`{key}` must be {most}, as in most graphs, got {kind}; make it so"
    return {row: reason for row, reason in found.items() if reason}


def _kind(value: Tensor) -> str:
    width = value.size(1) if value.ndim == 2 else 1
    return f"{'reals' if value.is_floating_point() else 'integers'} of width {width}"


def _flaw(graph: Any, fields: tuple[str, ...], usual: set[str]) -> str:
    """Why a graph cannot be read; nothing where it can."""
    if graph is None:
        return "there is no graph"
    index = graph.edge_index
    tensor = isinstance(index, Tensor)
    fits = tensor and index.dtype in INTEGERS and index.ndim == 2 and index.size(0) == 2
    if index is not None and not fits:
        told = f"{index.dtype} of shape {list(index.shape)}" if tensor else type(index).__name__
        return f"`edge_index` must be integers of shape [2, E], got {told}"
    if index is None or graph.num_nodes is None:
        return "a graph must have `edge_index` and `x` or `num_nodes`, got neither; set them"
    if index.numel() and not 0 <= int(index.min()) <= int(index.max()) < graph.num_nodes:
        return (
            f"`edge_index` must name nodes from 0 to {graph.num_nodes - 1}, got "
            f"{int(index.min())} to {int(index.max())}; correct it, or set `num_nodes`"
        )
    for key in fields:
        value = getattr(graph, key, None)
        length = graph.num_nodes if key == "x" else index.size(1)
        if value is None and (key not in usual or length == 0):
            continue
        if not isinstance(value, Tensor) or value.ndim not in (1, 2) or len(value) != length:
            got = (
                f"shape {list(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
            )
            wanted = f"{length} rows, a tensor of shape [{length}] or [{length}, F]"
            return f"`{key}` must have {wanted}, got {got}; set it so on every graph"
        if value.is_complex() or value.layout != torch.strided:
            return f"`{key}` must be plain numbers, got {value.dtype} of layout {value.layout}"
        if not bool(value.float().isfinite().all()):
            return f"`{key}` must be finite, got NaN or infinite values; repair it"
    return ""


def _together(graphs: Sequence[Any]) -> tuple[Tensor, Tensor]:
    """The edges of graphs as those of one, and where the nodes of each begin."""
    node_ptr = torch.tensor([0, *np.cumsum([int(graph.num_nodes) for graph in graphs]).tolist()])
    own = [g.edge_index.cpu().long() + p for g, p in zip(graphs, node_ptr, strict=False)]
    return torch.cat(own, 1) if own else torch.zeros(2, 0, dtype=torch.int64), node_ptr


def _one_way(graphs: Mapping[int, Any]) -> dict[int, str]:
    """Why graphs with edges that are listed in one direction only are left out, by their row; an
    error where those are half of the graphs or more.
    """
    ends, node_ptr = _together(list(graphs.values()))
    total = int(node_ptr[-1])
    u, v = ends[:, ends[0] != ends[1]]
    there, back = torch.unique(u * total + v), v * total + u
    alone = u[~torch.isin(back, there)]
    reason = (
        "must be undirected, both directions of every edge in `edge_index`, got an edge in one "
        "direction. Use `torch_geometric.transforms.ToUndirected()`, ask for `symmetrise`, or keep "
        "the directions with `directed`"
    )
    rows, places = list(graphs), torch.searchsorted(node_ptr, alone, right=True) - 1
    found = {rows[place]: reason for place in places.unique().tolist()}
    refuse_half(found, len(graphs))
    return found


def _columns(values: list[Any], lengths: list[int], name: str) -> Columns:
    """A field of all graphs as columns: integers are categories, real values numbers."""
    present = [value for value in values if value is not None]
    # A field without rows is of no type: `torch.tensor([])` where there are no edges.
    present = [value for value in present if len(value)] or present[:1]
    if not present:
        return Columns.empty(sum(lengths))
    missing = sum(v is None and n > 0 for v, n in zip(values, lengths, strict=True))
    if missing:
        raise ValueError(
            f"`{name}` must be on all graphs or on none, got {missing} of {len(values)} graphs "
            "without. Set it on every graph."
        )
    filled = [present[0][:0] if value is None or not len(value) else value for value in values]
    flat = [value.cpu() if value.ndim == 2 else value.cpu()[:, None] for value in filled]
    if len({(value.size(1), value.is_floating_point()) for value in flat}) > 1:
        raise ValueError(
            f"`{name}` must have the same type and number of columns in all graphs, got "
            f"{sorted({(str(v.dtype), v.size(1)) for v in flat})}. Make them agree."
        )
    table = torch.cat(flat)
    names = column_names(name, table.size(1))
    if table.is_floating_point():
        return Columns.empty(len(table)).with_numbers(table.float(), names)
    numbered = [torch.unique(column, return_inverse=True) for column in table.T]
    return Columns(
        torch.stack([ids for _, ids in numbered], 1).int(),
        names,
        tuple(tuple(map(str, words.tolist())) for words, _ in numbered),
    )


def _joined(a: Columns, b: Columns) -> Columns:
    return Columns(
        torch.cat([a.categories, b.categories], 1),
        a.names + b.names,
        a.vocabularies + b.vocabularies,
        torch.cat([a.numbers, b.numbers], 1),
        a.number_names + b.number_names,
    )


def _targets(values: list[Any], names: Sequence[str] | None) -> dict[str, list[Any]]:
    if names is not None and not names:
        return {}
    if all(value is None for value in values):
        if names:
            raise ValueError(f"The targets {tuple(names)} need a field `y`, got graphs without.")
        return {}
    rows = [None if v is None else _numbers(v, number) for number, v in enumerate(values)]
    widths = {len(row) for row in rows if row is not None}
    if len(widths) != 1:
        raise ValueError(
            f"`y` must have the same number of targets in all graphs, got {sorted(widths)}. "
            "Give every graph one value per target; a label per node is no target of a graph."
        )
    width = widths.pop()
    chosen = tuple(names) if names is not None else column_names("y", width)
    if len(chosen) != width:
        raise ValueError(
            f"`targets` must name the {width} columns of `y`, got {chosen}. Name each of them."
        )
    return {
        target: [None if row is None else row[i] for row in rows] for i, target in enumerate(chosen)
    }


def _numbers(value: Any, number: int) -> list[Any]:
    """The field ``y`` of a graph as a list."""
    try:
        return list(torch.as_tensor(value).reshape(-1).tolist())
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"`y` of graph {number} must be a number or a tensor, got {value!r}. Number the "
            "classes from 0 on."
        ) from error

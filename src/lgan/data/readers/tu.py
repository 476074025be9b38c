"""Reader of graph data sets in the layout of the TU Dortmund collection."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from lgan.data.columns import Columns, column_names
from lgan.data.raw import RawGraphs
from lgan.data.readers.tu_files import LAYOUT, TUFiles, open_tu
from lgan.data.readers.undirected import NOT_DIRECTED, kept_direction, undirected_columns
from lgan.task import Task

CLASS = "class"  # what the column of graph labels is called
_WHOLE = 2.0**53 - 1  # the last whole number that no other is rounded to in float64
_LARGEST = float(np.finfo(np.float32).max) * (1 + 2.0**-26)  # what is above rounds to infinity
_TABLE = 1024  # labels between the smallest and the largest up to which gaps keep their places


def read_tu(
    path: Path,
    name: str | None = None,
    progress: Callable[[float], None] | None = None,
    *,
    symmetrise: bool = False,
    directed: bool = False,
) -> RawGraphs:
    """Read a data set from its zip archive, of which nothing is extracted, or from a folder.

    Edges may be listed in one direction or both, more than once, and as loops; loops are
    dropped and every other edge becomes one pair. Graph labels become the target ``class``,
    numbered by value; a set with graph attributes and no labels is a regression. Labels are
    numbers of a table (of atoms, say): its vocabulary holds all numbers from the smallest label to
    the largest, whether they occur or not, unless these are more than a thousand.

    Args:
        path: A zip file or a folder with ``NAME_A.txt``, ``NAME_graph_indicator.txt`` and
            ``NAME_graph_labels.txt`` or ``NAME_graph_attributes.txt``; optionally with labels and
            attributes of nodes and edges. Capitals in the names of files do not matter.
        name: The name of the set, as in the file names; by default that of the only set there.
        progress: Called with the fraction done, from 0 to 1.
        symmetrise: Where the two directions of an edge differ, take the mean of their attributes
            and the smaller of their labels, instead of refusing them.
        directed: Keep the direction of edges that are listed one way alone.

    Raises:
        ValueError: Where the archive is damaged or unsafe, a file is missing, or its lines are
            not what the layout asks for. The message names the file and the line.
    """
    with open_tu(path, name, progress) as files:
        graph_of = _graph_indicator(files)
        num_nodes, num_graphs = len(graph_of), int(graph_of[-1]) + 1
        targets, task = _targets(files, num_graphs)
        ends = _edges(files, graph_of)
        nodes = _columns(files, "node", num_nodes, "nodes")
        edges = _columns(files, "edge", len(ends), f"edges of {files.file('A')}")
        pair_index, pairs = _pairs(
            files, ends, num_nodes, edges, symmetrise=symmetrise, directed=directed
        )
        arcs = torch.from_numpy(ends.T)
        direction = kept_direction(arcs, pair_index, directed=directed, symmetrise=symmetrise)
        del ends, arcs
        node_ptr = np.searchsorted(graph_of, np.arange(num_graphs + 1))
        raw = RawGraphs(
            name=files.name,
            node_ptr=torch.from_numpy(node_ptr.astype(np.int64)),
            pair_index=torch.from_numpy(pair_index),
            nodes=nodes,
            pairs=pairs,
            targets=targets,
            task=task,
            direction=direction,
            symmetrised=symmetrise,
        )
        if progress is not None:
            progress(1.0)
        return raw


def _numbers(
    files: TUFiles,
    part: str,
    what: str,
    *,
    dtype: type[np.generic],
    columns: int | None = 1,
    low: float = -_WHOLE,
    high: float = _WHOLE,
    whole: bool = True,
    count: int | None = None,
    of: str = "",
) -> NDArray[Any]:
    """The numbers of a file, ``[lines, columns]``; its first line tells the columns unless given.

    Messages say ``what`` a number must be, and ``of`` what there must be ``count`` lines; reading
    ends where there are more.
    """
    from lgan.data.readers.parse_numba import OK, parse_lines

    blocks: list[NDArray[Any]] = []
    lines, blank = 0, False
    out = np.empty(0)
    for text in files.lines(part):
        if columns is None:
            first = text.split(b"\n", 1)[0]
            columns = max(1, len(first.replace(b",", b" ").split()))
        if len(out) < len(text) // 2 + 1:
            out = np.empty(len(text) // 2 + 1)
        buffer = np.frombuffer(text, np.uint8)
        read, status, begin, end, blank = parse_lines(buffer, columns, low, high, whole, blank, out)
        if status != OK:
            complaint = _complaint(status, text[begin:end], what, columns)
            raise ValueError(f"{files.where(part)}, line {lines + read + 1}: {complaint}")
        blocks.append(out[: read * columns].astype(dtype).reshape(read, columns))
        lines += read
        if count is not None and lines > count:
            break
    if count is not None and lines != count:
        raise ValueError(
            f"{files.where(part)}: expected {count} lines, one for each of the {of}, got "
            f"{'more' if lines > count else lines}. Remove or add lines, or fetch the set again."
        )
    return np.concatenate(blocks) if blocks else np.empty((0, columns or 1), dtype)


def _complaint(status: int, text: bytes, what: str, columns: int) -> str:
    from lgan.data.readers.parse_numba import BLANK_LINE, EMPTY_COLUMN, WRONG_COUNT

    shown = repr(text[:60].decode(errors="replace").strip())
    values = "value" if columns == 1 else "values"
    if status == BLANK_LINE:
        return f"expected {what}, got a blank line before the end of the file. Remove it."
    if status == EMPTY_COLUMN:
        return f"expected {columns} {values} ({what}), got an empty one in {shown}. Fill it in."
    if status == WRONG_COUNT:
        got = len(text.replace(b",", b" ").split())
        return f"expected {columns} {values} ({what}), got {got} in {shown}. Correct the line."
    return f"expected {what}, got {shown}. Correct the line."


def _graph_indicator(files: TUFiles) -> NDArray[np.int64]:
    """The graph of every node, counted from 0."""
    part = "graph_indicator"
    graph_of = _numbers(files, part, "a graph id of 1 or more", dtype=np.int64, low=1)[:, 0] - 1
    if len(graph_of) == 0:
        raise ValueError(
            f"{files.where(part)}: expected one line per node, got an empty file. {LAYOUT}."
        )
    steps = np.diff(graph_of, prepend=0)
    wrong = (steps < 0) | (steps > 1)
    wrong[0] = graph_of[0] != 0
    if wrong.any():
        line = int(wrong.argmax())
        before = f"{graph_of[line - 1] + 1} or {graph_of[line - 1] + 2}" if line else "1"
        raise ValueError(
            f"{files.where(part)}, line {line + 1}: expected graph {before} (nodes listed graph by "
            f"graph, no graph left out), got {graph_of[line] + 1}. "
            "Sort the nodes by graph and number the graphs without gaps."
        )
    return graph_of


def _targets(files: TUFiles, num_graphs: int) -> tuple[dict[str, list[Any]], Task | None]:
    """The targets by name, and the task where the files decide it."""
    targets: dict[str, list[Any]] = {}
    task = None
    if files.has("graph_labels"):
        labels = _labels(files, "graph_labels", num_graphs, "graphs", columns=1)[:, 0]
        targets[CLASS] = labels.tolist()
        classes = tuple(map(str, np.unique(labels).tolist()))
        if len(classes) > 1:  # graph labels are classes, however many
            task = Task("binary" if len(classes) == 2 else "multiclass", (CLASS,), classes)
    if files.has("graph_attributes"):
        values = _attributes(files, "graph_attributes", num_graphs, "graphs").astype(np.float64)
        names = column_names("target", values.shape[1])
        targets |= {name: column.tolist() for name, column in zip(names, values.T, strict=True)}
        task = task or Task("regression", names)
    if not targets:
        raise ValueError(
            f"{files.path} has no targets: expected the file {files.file('graph_labels')} or "
            f"{files.file('graph_attributes')}, got {files.listing()}. "
            "Choose a set for graph classification or regression."
        )
    return targets, task


def _columns(files: TUFiles, of: str, count: int, what: str) -> Columns:
    """The labels and attributes of nodes or edges."""
    columns = Columns.empty(count)
    if files.has(f"{of}_labels"):
        values = _labels(files, f"{of}_labels", count, what, columns=None)
        numbered = [_numbered(column) for column in values.T]
        columns = Columns(
            categories=torch.from_numpy(np.stack([ids for ids, _ in numbered], 1)),
            names=column_names("label", values.shape[1]),
            vocabularies=tuple(words for _, words in numbered),
        )
    if files.has(f"{of}_attributes"):
        numbers = _attributes(files, f"{of}_attributes", count, what)
        names = column_names("attribute", numbers.shape[1])
        columns = columns.with_numbers(torch.from_numpy(numbers), names)
    return columns


def _labels(
    files: TUFiles, part: str, count: int, of: str, *, columns: int | None
) -> NDArray[np.int64]:
    return _numbers(
        files, part, "a whole number", dtype=np.int64, columns=columns, count=count, of=of
    )


def _attributes(files: TUFiles, part: str, count: int, of: str) -> NDArray[np.float32]:
    return _numbers(
        files,
        part,
        "a number of single precision",
        dtype=np.float32,
        columns=None,
        low=-_LARGEST,
        high=_LARGEST,
        whole=False,
        count=count,
        of=of,
    )


def _numbered(labels: NDArray[np.int64]) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    """The place of every label in a vocabulary, and the vocabulary."""
    if len(labels) == 0:
        return labels.astype(np.int32), ()
    low, high = int(labels.min()), int(labels.max())
    if high - low < _TABLE:
        return (labels - low).astype(np.int32), tuple(map(str, range(low, high + 1)))
    values, ids = np.unique(labels, return_inverse=True)
    return ids.astype(np.int32), tuple(map(str, values.tolist()))


def _edges(files: TUFiles, graph_of: NDArray[np.int64]) -> NDArray[Any]:
    """The two nodes of every line of the edge file, counted from 0, ``[M, 2]``."""
    num_nodes = len(graph_of)
    ends = _numbers(
        files,
        "A",
        f"a node id from 1 to {num_nodes}",
        dtype=np.int32 if num_nodes < 2**31 else np.int64,
        columns=2,
        low=1,
        high=num_nodes,
    )
    ends -= 1
    step = 1 << 22
    for begin in range(0, len(ends), step):
        u, v = ends[begin : begin + step].T
        across = np.flatnonzero(graph_of[u] != graph_of[v])
        if len(across):
            line = begin + int(across[0])
            u, v = ends[line]
            raise ValueError(
                f"{files.where('A')}, line {line + 1}: expected two nodes of one graph, got "
                f"{u + 1} of graph {graph_of[u] + 1} and {v + 1} of graph {graph_of[v] + 1}. "
                "Correct the line or the graph indicator."
            )
    return ends


def _pairs(
    files: TUFiles,
    ends: NDArray[Any],
    num_nodes: int,
    edges: Columns,
    *,
    symmetrise: bool,
    directed: bool,
) -> tuple[NDArray[np.int64], Columns]:
    """The pairs ``[2, P]`` and their features."""

    def complaint(part: str, line: int, first: int) -> ValueError:
        u, v = (ends[line] + 1).tolist()
        remedy = (
            "Correct it, or ask for `symmetrise` to take the smaller label and the mean of the "
            "attributes."
        )
        return ValueError(
            f"{files.where(f'edge_{part}')}, line {line + 1}: expected the same for both "
            f"directions of the edge between nodes {u} and {v}, got another value than in line "
            f"{first + 1}. {NOT_DIRECTED if directed else remedy}"
        )

    return undirected_columns(ends, num_nodes, edges, symmetrise=symmetrise, complaint=complaint)

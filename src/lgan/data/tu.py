"""Reader of graph data sets in the layout of the TU Dortmund collection."""

import lzma
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lgan.data.raw import RawGraphs

_CHUNK = 1 << 24  # bytes of text parsed at a time
_WHOLE = 2.0**53  # whole numbers up to here are exact in float64
_LAYOUT = "Use an archive in the layout of the TU Dortmund collection"


def read_tu(archive: Path, name: str, progress: Callable[[float], None] | None = None) -> RawGraphs:
    """Read the data set ``name`` straight from its zip archive; nothing is extracted.

    Edges may be listed in one direction or both, more than once, and as loops; loops are
    dropped and every other edge becomes one pair. Graph labels are numbered by their value.
    Node and edge labels keep their values, less the smallest one.

    Args:
        archive: A zip file with ``NAME_A.txt``, ``NAME_graph_indicator.txt`` and
            ``NAME_graph_labels.txt``, and optionally node labels, node attributes and edge
            labels.
        name: The name of the set, as in the file names.
        progress: Called with the fraction done, from 0 to 1.

    Raises:
        ValueError: Where the archive is damaged or unsafe, a file is missing, or its lines are
            not what the layout asks for. The message names the file and the line.
    """
    with _open(archive, name, progress) as files:
        graph_of = _graph_indicator(files)
        num_nodes, num_graphs = len(graph_of), int(graph_of[-1]) + 1
        graph_labels = _whole_numbers(files, "graph_labels", num_graphs, "graphs")
        if graph_labels is None:
            raise ValueError(
                f"{archive} has no graph labels: expected the file {name}_graph_labels.txt, got "
                f"{files.listing()}. Choose a set for graph classification."
            )
        ends = _edges(files, graph_of)
        node_labels = _whole_numbers(files, "node_labels", num_nodes, "nodes")
        edge_labels = _whole_numbers(files, "edge_labels", len(ends), f"edges of {name}_A.txt")
        node_attributes = _attributes(files, num_nodes)
        classes, y = np.unique(graph_labels, return_inverse=True)
        pairs, pair_labels = _pairs(files, ends, num_nodes, edge_labels)
        del ends
        node_ptr = np.searchsorted(graph_of, np.arange(num_graphs + 1))
        raw = RawGraphs(
            name=name,
            node_ptr=torch.from_numpy(node_ptr.astype(np.int64)),
            pair_index=torch.from_numpy(pairs),
            y=torch.from_numpy(y.astype(np.int64)),
            classes=tuple(str(label) for label in classes),
            node_labels=None if node_labels is None else _from_zero(node_labels),
            node_attributes=node_attributes,
            pair_labels=None if pair_labels is None else _from_zero(pair_labels),
        )
        if progress is not None:
            progress(1.0)
        return raw


@dataclass
class _Files:
    """The files of one data set inside its open archive."""

    archive: Path
    name: str
    zip_file: zipfile.ZipFile
    members: dict[str, zipfile.ZipInfo]  # by file name, without the folder
    progress: Callable[[float], None] | None
    done: int = 0
    total: int = field(init=False)

    def __post_init__(self) -> None:
        self.total = max(1, sum(member.file_size for member in self.members.values()))

    def file(self, part: str) -> str:
        return f"{self.name}_{part}.txt"

    def has(self, part: str) -> bool:
        return self.file(part) in self.members

    def listing(self) -> str:
        return ", ".join(sorted(self.members)) or "an empty archive"

    def lines(self, part: str) -> Iterator[bytes]:
        """The text of a file in pieces that end with a newline."""
        rest = b""
        with _unpacking(self.archive):
            stream = self.zip_file.open(self.members[self.file(part)])
        with stream:
            while piece := self._read(stream):
                self.done += len(piece)
                if self.progress is not None:
                    self.progress(min(1.0, self.done / self.total))
                text = rest + piece if rest else piece
                cut = text.rfind(b"\n") + 1
                rest = text[cut:]
                if len(rest) > _CHUNK:
                    raise ValueError(
                        f"{self.file(part)} in {self.archive}: expected lines of text, got one of "
                        f"more than {_CHUNK} bytes. {_LAYOUT}."
                    )
                if cut:
                    yield text[:cut]
        if rest:
            yield rest + b"\n"

    def _read(self, stream: IO[bytes]) -> bytes:
        with _unpacking(self.archive):
            return stream.read(_CHUNK)


@contextmanager
def _open(archive: Path, name: str, progress: Callable[[float], None] | None) -> Iterator[_Files]:
    """The set's files, of which those that every set has are there."""
    archive = Path(archive)
    if not archive.is_file():
        raise FileNotFoundError(
            f"Expected the archive of {name} at {archive}, got no such file. "
            "Check the path, or the folder given as mirror."
        )
    with _unpacking(archive):
        zip_file = zipfile.ZipFile(archive)
    with zip_file:
        members = {}
        for member in zip_file.infolist():
            _check_inside(archive, member)
            path = PurePosixPath(member.filename)
            if path.name.startswith(f"{name}_") and not member.is_dir():
                members[path.name] = member
        files = _Files(archive, name, zip_file, members, progress)
        for part in ("A", "graph_indicator"):
            if not files.has(part):
                raise ValueError(
                    f"{archive} lacks the file {files.file(part)}: expected it among the files of "
                    f"{name}, got {files.listing()}. {_LAYOUT}."
                )
        yield files


@contextmanager
def _unpacking(archive: Path) -> Iterator[None]:
    """Whatever the readers of zip files raise, as one clear error."""
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError) as error:
        raise ValueError(
            f"{archive} is damaged or truncated: expected a complete zip archive, got "
            f"{type(error).__name__}: {error}. Delete it and fetch it again."
        ) from error
    except (NotImplementedError, RuntimeError) as error:
        raise ValueError(
            f"{archive} cannot be unpacked: expected a plain zip archive (stored, deflate, bzip2 "
            f"or LZMA, no password), got {error}. Pack it again."
        ) from error


def _check_inside(archive: Path, member: zipfile.ZipInfo) -> None:
    # Nothing is extracted here, but users unpack what we have accepted.
    path = member.orig_filename.replace("\\", "/")
    if path.startswith("/") or re.match(r"[A-Za-z]:", path) or ".." in path.split("/"):
        raise ValueError(
            f"{archive} is unsafe: expected members inside one folder, got the path "
            f"{member.orig_filename!r}, which leaves it. Do not unpack it; get it from elsewhere."
        )


def _numbers(
    files: _Files,
    part: str,
    what: str,
    *,
    dtype: type[np.generic],
    columns: int | None = 1,
    low: float = -_WHOLE,
    high: float = _WHOLE,
    whole: bool = True,
) -> NDArray[Any]:
    """The numbers of a file, ``[lines, columns]``; ``columns=None`` takes them as they come."""
    from lgan.data.parse_numba import OK, parse_lines

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
        count, status, begin, end, blank = parse_lines(
            buffer, columns, low, high, whole, blank, out
        )
        if status != OK:
            where = f"{files.file(part)} in {files.archive}, line {lines + count + 1}"
            raise ValueError(f"{where}: {_complaint(status, text[begin:end], what, columns)}")
        blocks.append(out[: count * columns].astype(dtype).reshape(count, columns))
        lines += count
    return np.concatenate(blocks) if blocks else np.empty((0, columns or 1), dtype)


def _complaint(status: int, text: bytes, what: str, columns: int) -> str:
    from lgan.data.parse_numba import BLANK_LINE, WRONG_COUNT

    shown = repr(text[:60].decode(errors="replace").strip())
    if status == BLANK_LINE:
        return f"expected {what}, got a blank line before the end of the file. Remove it."
    if status == WRONG_COUNT:
        got = len(text.replace(b",", b" ").split())
        values = "value" if columns == 1 else "values"
        return f"expected {columns} {values} ({what}), got {got} in {shown}. Correct the line."
    return f"expected {what}, got {shown}. Correct the line."


def _graph_indicator(files: _Files) -> NDArray[np.int64]:
    """The graph of every node, counted from 0."""
    part = "graph_indicator"
    graph_of = _numbers(files, part, "a graph id of 1 or more", dtype=np.int64, low=1)[:, 0] - 1
    if len(graph_of) == 0:
        raise ValueError(
            f"{files.file(part)} in {files.archive}: expected one line per node, got an empty "
            f"file. {_LAYOUT}."
        )
    steps = np.diff(graph_of, prepend=0)
    wrong = (steps < 0) | (steps > 1)
    wrong[0] = graph_of[0] != 0
    if wrong.any():
        line = int(wrong.argmax())
        before = f"{graph_of[line - 1] + 1} or {graph_of[line - 1] + 2}" if line else "1"
        raise ValueError(
            f"{files.file(part)} in {files.archive}, line {line + 1}: expected graph {before} "
            f"(nodes listed graph by graph, no graph left out), got {graph_of[line] + 1}. "
            "Sort the nodes by graph and number the graphs without gaps."
        )
    return graph_of


def _check_count(files: _Files, part: str, got: int, expected: int, of: str) -> None:
    if got != expected:
        raise ValueError(
            f"{files.file(part)} in {files.archive}: expected {expected} lines, one for each of "
            f"the {of}, got {got}. Remove or add lines, or fetch the archive again."
        )


def _whole_numbers(files: _Files, part: str, count: int, of: str) -> NDArray[np.int64] | None:
    if not files.has(part):
        return None
    values = _numbers(files, part, "a whole number", dtype=np.int64)[:, 0]
    _check_count(files, part, len(values), count, of)
    return values


def _attributes(files: _Files, num_nodes: int) -> Tensor | None:
    part = "node_attributes"
    if not files.has(part):
        return None
    largest = float(np.finfo(np.float32).max) * (1 + 2.0**-26)  # what is above rounds to infinity
    values = _numbers(
        files,
        part,
        "a number of single precision",
        dtype=np.float32,
        columns=None,
        low=-largest,
        high=largest,
        whole=False,
    )
    _check_count(files, part, len(values), num_nodes, "nodes")
    return torch.from_numpy(values)


def _edges(files: _Files, graph_of: NDArray[np.int64]) -> NDArray[Any]:
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
                f"{files.file('A')} in {files.archive}, line {line + 1}: expected two nodes of "
                f"one graph, got {u + 1} of graph {graph_of[u] + 1} and {v + 1} of graph "
                f"{graph_of[v] + 1}. Correct the line or the graph indicator."
            )
    return ends


def _pairs(
    files: _Files,
    ends: NDArray[Any],
    num_nodes: int,
    edge_labels: NDArray[np.int64] | None,
) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
    """The pairs ``[2, P]`` and their labels ``[P]``."""
    from lgan.data.parse_numba import pair_edges

    dtype = np.int32 if len(ends) < 2**31 else np.int64
    pair_of: NDArray[Any] = np.empty(len(ends), dtype)
    pairs: NDArray[np.int64] = pair_edges(ends, num_nodes, np.empty_like(pair_of), pair_of)
    if edge_labels is None:
        return pairs, None
    lines = np.flatnonzero(pair_of >= 0)
    pair_labels = np.empty(pairs.shape[1], np.int64)
    pair_labels[pair_of[lines]] = edge_labels[lines]
    differ = lines[pair_labels[pair_of[lines]] != edge_labels[lines]]
    if len(differ):
        line = int(differ[0])
        u, v = ends[line] + 1
        raise ValueError(
            f"{files.file('edge_labels')} in {files.archive}, line {line + 1}: expected one label "
            f"for the edge between nodes {u} and {v}, got {edge_labels[line]} here and "
            f"{pair_labels[pair_of[line]]} elsewhere. Give both directions the same label."
        )
    return pairs, pair_labels


def _from_zero(labels: NDArray[np.int64]) -> Tensor:
    # Atom tables go by value, so gaps between labels stay.
    return torch.from_numpy(labels - labels.min() if len(labels) else labels)

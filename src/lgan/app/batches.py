"""Dropped files: predicted one after another, block by block, watched and stopped from outside."""

import csv
import gzip
import io
import shutil
import zlib
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from secrets import token_urlsafe
from tempfile import mkdtemp
from threading import Event, Lock
from time import monotonic
from typing import Any

from lgan.app.limits import Limits, RefusedError
from lgan.app.one_thread import OneThread
from lgan.app.subjects import reads_molecules
from lgan.data import RawGraphs
from lgan.data.molecules.tables import choose_structures
from lgan.data.readers.tables import open_table, safe_cell
from lgan.data.readers.tu_files import open_tu
from lgan.predictor import Predictor
from lgan.predictor.prediction_cells import predicted_columns
from lgan.predictor.prediction_rows import PredictionRows, read_with_targets

MOLECULE_FORMATS = ("csv", "tsv", "tab", "smi", "smiles", "sdf", "sd")
GRAPH_FORMATS = ("jsonl", "ndjson", "graphml")
# What is asked of the model at once, so that questions in between do not wait long: rows, the
# cubes of their numbers of atoms (a molecule of 160 alone), and seconds after which a turn ends.
BLOCK, WORK, SECONDS = 64, 64 * 40**3, 0.25
PIECE = 1 << 20


@dataclass
class Batch:
    """A dropped file and how far its prediction is.

    Attributes:
        id: What the page calls it; nobody else can guess it.
        path: Where the file is kept until it has been read.
        state: ``waiting``, ``running``, ``done``, ``cancelled`` or ``failed``.
        total: Rows, as far as that is known.
        columns: The columns of the table.
        structures: The column that holds molecules; empty for graphs.
        rows: What has been predicted so far.
        graphs: The graphs of a file that holds no molecules, with the targets it has.
        error: Why it failed.
        stop: Set to cancel it.
    """

    id: str
    path: Path
    total: int
    columns: list[str]
    structures: str = ""
    state: str = "waiting"
    rows: list[dict[str, Any]] = field(default_factory=list)
    graphs: RawGraphs | None = None
    error: str = ""
    stop: Event = field(default_factory=Event)

    @property
    def over(self) -> bool:
        """Whether nothing more will come."""
        return self.state in ("done", "cancelled", "failed")

    def to_json(self) -> dict[str, Any]:
        """Where it stands."""
        return {
            "id": self.id,
            "state": self.state,
            "done": len(self.rows),
            "total": max(self.total, len(self.rows)),
            "columns": self.columns,
            "structures": self.structures,
            "error": self.error,
        }


class Batches:
    """The dropped files of a session, and the thread that works them off."""

    def __init__(self, predictor: Predictor, model: OneThread, limits: Limits):
        self.predictor, self.model, self.limits = predictor, model, limits
        self._kept: dict[str, Batch] = {}
        self._lock, self._worker = Lock(), OneThread(limits)

    @cached_property
    def folder(self) -> Path:
        """Where files are kept until they are read."""
        return Path(mkdtemp(prefix="lgan-app-"))

    def new_path(self, kind: str) -> Path:
        """Where a file of this format is kept while it is needed."""
        wanted = file_formats(self.predictor)
        if kind not in wanted:
            raise RefusedError(
                422,
                f"This model reads files in {', '.join(wanted)}, got {kind[:20]!r}. Convert it.",
            )
        with self._lock:
            if sum(not batch.over for batch in self._kept.values()) >= self.limits.batches:
                raise RefusedError(
                    429, f"{self.limits.batches} files are waiting. Drop it again later."
                )
        return self.folder / f"{token_urlsafe(9)}.{kind}"

    def add(self, path: Path) -> Batch:
        """Look at a file and queue it; raises where it cannot be read at all."""
        try:
            batch = self._looked_at(path)
        except (ValueError, TypeError, OSError) as error:
            raise RefusedError(422, _words(error, path)) from error
        with self._lock:
            self._kept[batch.id] = batch
            over = [one for one in self._kept.values() if one.over]
            for old in over[: max(0, len(self._kept) - self.limits.batches)]:
                del self._kept[old.id]
        self._worker.submit(lambda: self._work(batch))
        return batch

    def find(self, name: str) -> Batch:
        """A file by its id."""
        with self._lock:
            batch = self._kept.get(name)
        if batch is None:
            raise RefusedError(404, "This file is not kept any more. Drop it again.")
        return batch

    def cancel(self, batch: Batch) -> None:
        """Stop at the next block; what is predicted stays."""
        batch.stop.set()
        with self._lock:  # or it might begin meanwhile
            if batch.state == "waiting":
                batch.state = "cancelled"
                batch.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Stop all and remove what was kept."""
        self._worker.close()
        with self._lock:
            for batch in self._kept.values():
                batch.stop.set()
        if "folder" in vars(self):
            shutil.rmtree(self.folder, ignore_errors=True)

    def _looked_at(self, path: Path) -> Batch:
        most = self.limits.file_bytes
        if _unpacked(path, most) > most:
            raise RefusedError(
                413,
                f"Expected {most:,} bytes at most when unpacked, got more. Use `lgan predict` for "
                "larger files, or drop it in parts.",
            )
        batch = Batch(token_urlsafe(9), path, 0, predicted_columns(self.predictor.task))
        if reads_molecules(self.predictor):
            table = open_table(path)
            batch.total = table.rows
            batch.structures = choose_structures(table.names)
        else:
            batch.graphs = read_with_targets(self.predictor, path)
            batch.total = batch.graphs.num_rows
        if batch.total > self.limits.file_rows:
            raise RefusedError(
                413,
                f"Expected {self.limits.file_rows:,} rows at most, got {batch.total:,}. Use "
                "`lgan predict` for larger files, or drop it in parts.",
            )
        return batch

    def _work(self, batch: Batch) -> None:
        with self._lock:
            if batch.over:  # cancelled before its turn
                return
            batch.state = "running"
        try:
            self._predict(batch)
        except Exception as error:  # whatever it is, the page must be told
            batch.error = _words(error, batch.path)
            batch.state = "failed"  # last: whoever sees it finds the words
        batch.path.unlink(missing_ok=True)

    def _predict(self, batch: Batch) -> None:
        blocks = self._blocks(batch)
        try:
            while not batch.stop.is_set():
                block = self.model.submit(lambda: next(blocks, None)).result()
                if block is None:
                    batch.state = "done"
                    return
                batch.rows += block
            batch.state = "cancelled"
        finally:
            blocks.close()  # and with it the processes that read molecules

    def _blocks(self, batch: Batch) -> Generator[list[dict[str, Any]], None, None]:
        source = batch.path if batch.graphs is None else batch.graphs
        found = PredictionRows.of(self.predictor, source, block=BLOCK, work=WORK)
        batch.columns = found.columns
        begin, block = monotonic(), list[dict[str, Any]]()
        for row in found.rows:
            block.append(row)
            if len(block) == BLOCK or monotonic() - begin > SECONDS:
                yield block
                begin, block = monotonic(), []
        yield block


def file_formats(predictor: Predictor) -> tuple[str, ...]:
    """How the names of files end that can be dropped on the page of a model."""
    plain = MOLECULE_FORMATS if reads_molecules(predictor) else GRAPH_FORMATS
    archives = () if reads_molecules(predictor) else ("zip",)
    return (*plain, *archives, *(f"{name}.gz" for name in plain))


def csv_of(batch: Batch) -> Iterator[str]:
    """The table as `lgan predict` writes it, some lines at a time."""
    text = io.StringIO()
    writer = csv.DictWriter(text, batch.columns)
    writer.writeheader()
    for number, row in enumerate(list(batch.rows)):
        writer.writerow({name: safe_cell(value) for name, value in row.items()})
        if number % BLOCK == 0:
            yield text.getvalue()
            text.seek(0)
            text.truncate()
    yield text.getvalue()


def _words(error: Exception, path: Path) -> str:
    """What is wrong with a file, without the place where it is kept."""
    text = str(error).replace(str(path), "the file").replace(path.name, "the file")
    return f"The{text[3:]}" if text.startswith("the file") else text


def _unpacked(path: Path, most: int) -> int:
    """Bytes that a file holds when it is unpacked; no more than a little above `most` is read."""
    if path.suffix == ".zip":  # of which no more is read than it says
        with open_tu(path) as files:
            return files.total
    size = path.stat().st_size
    if path.suffix == ".gz":
        size = 0
        try:
            with gzip.open(path) as stream:
                while size <= most and (piece := stream.read(PIECE)):
                    size += len(piece)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(
                f"{path} must be compressed by gzip, got {error}. Save it again."
            ) from error
    return size

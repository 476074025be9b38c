"""Predictions as rows of a table: what came in, what the model says, and what went wrong."""

import csv
import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lgan.catalogue import DATASETS
from lgan.data import RawGraphs, replaced
from lgan.data.molecules.descriptors import descriptors
from lgan.data.molecules.features import MoleculeFeatures
from lgan.data.molecules.graphs import molecule_graphs
from lgan.data.molecules.parallel import FOLDER
from lgan.data.molecules.tables import choose_structures, molecules_of_blocks
from lgan.data.readers.tables import (
    BLOCK,
    Table,
    TableBlock,
    is_table,
    open_table,
    plain_cell,
    safe_cell,
)
from lgan.predictor.prediction_cells import (
    Row,
    cells_of,
    near_cells,
    near_columns,
    predicted_columns,
    renamed,
    said_cells,
)
from lgan.predictor.predictor import Predictor

# Rows of files up to which their targets are compared with: a few hundred MB in memory.
MOST_COMPARED = 10_000_000
# Rows of a table up to which the descriptors of its molecules are kept: 35 MB.
MOST_KEPT = 20_000
NOT_FINITE = "the answer of the model is not finite: numbers of this row are too large for it"


@dataclass
class PredictionRows:
    """The rows of a prediction, one per row of its source and in its order, and what was found on
    the way.

    Attributes:
        predictor: The model.
        given: The columns of the source.
        on_error: ``skip`` or ``raise``, see `of`.
        progress: Called with the fraction of the rows done.
        nearest: How many training molecules are told that a molecule is most like.
        work: Cubes of the numbers of nodes up to which graphs are predicted at once.
        rows: The rows; they are computed as they are read, in bounded memory.
        failed: Rows without a prediction so far.
        known: Rows so far that the model was trained on.
        count: Rows so far.
        unseen: How often values occurred so far that the model was not trained on, by column.
        truth: Targets of the rows, block by block, where the source has their columns.
        answers: What the model said of these rows.
        trained_on: Whether it was trained on these rows.
        no_score: Why the targets of the source cannot be compared with, where that is so.
    """

    predictor: Predictor
    given: Sequence[str]
    on_error: str = "skip"
    progress: Callable[[float], None] | None = None
    nearest: int = 0
    work: int | None = None
    rows: Iterator[Row] = field(default_factory=lambda: iter(()))
    failed: int = 0
    known: int = 0
    count: int = 0
    unseen: dict[str, Counter[str]] = field(default_factory=dict)
    truth: list[Tensor] = field(default_factory=list)
    answers: list[Tensor] = field(default_factory=list)
    trained_on: list[Tensor] = field(default_factory=list)
    no_score: str = ""

    @staticmethod
    def of(
        predictor: Predictor,
        source: Any,
        *,
        smiles_column: str | None = None,
        on_error: str = "skip",
        progress: Callable[[float], None] | None = None,
        block: int = BLOCK,
        nearest: int = 0,
        work: int | None = None,
        **reading: Any,
    ) -> "PredictionRows":
        """Predict a source.

        Args:
            predictor: The model.
            source: Whatever :func:`lgan.load` reads. Tables of molecules are read block by block.
            smiles_column: The column of a table that holds the molecules.
            on_error: ``skip`` keeps rows that cannot be read, with the reason; ``raise`` stops.
            progress: Called with the fraction of the rows done.
            block: Rows that are predicted at once; of a table also that are read at once.
            nearest: How many training molecules to tell that a molecule is most like, and whether
                it is unlike all of them.
            work: Cubes of the numbers of nodes up to which graphs are predicted at once, as some
                descriptors take that long; a larger graph is predicted alone.
            reading: Further options of :func:`lgan.data.load_raw`; below the folder ``root``
                descriptors of molecules are kept for the next time, as in training, of tables of at
                most 20,000 rows.
        """
        if nearest and predictor.checkpoint.molecules is None:
            raise ValueError(
                "The model keeps no molecules to compare with, which `nearest` asks for: it was "
                "trained on other graphs. Leave it out, or train on molecules."
            )
        if on_error not in ("skip", "raise"):
            raise ValueError(f"`on_error` must be 'skip' or 'raise', got {on_error!r}.")
        if isinstance(source, str | os.PathLike) and is_table(Path(source)):
            table = open_table(Path(source))
            return PredictionRows.of_blocks(
                predictor, table, table.blocks(block), smiles_column=smiles_column,
                on_error=on_error, progress=progress, nearest=nearest, work=work,
                root=reading.get("root") if table.rows <= MOST_KEPT else None,
            )  # fmt: skip
        raw = read_with_targets(predictor, source, smiles_column=smiles_column, **reading)
        cells = cells_of(source, raw)
        found = PredictionRows(predictor, list(cells), on_error, progress, nearest, work)
        found.rows = found._all(raw, cells, block)
        return found

    @staticmethod
    def of_blocks(
        predictor: Predictor,
        table: Table,
        blocks: Iterable[TableBlock],
        *,
        smiles_column: str | None = None,
        on_error: str = "skip",
        progress: Callable[[float], None] | None = None,
        nearest: int = 0,
        work: int | None = None,
        root: Path | str | None = None,
    ) -> "PredictionRows":
        """Predict some blocks of a table of molecules; see `of`."""
        made = predictor.encoder.featuriser
        if made is None:
            raise ValueError(
                f"{table.path} is a table of molecules, and the model was trained on graphs of "
                f"another kind ({predictor.checkpoint.dataset}). Give graphs of that kind, or "
                "train on molecules."
            )
        structures = choose_structures(table.names, smiles_column)
        found = PredictionRows(predictor, table.names, on_error, progress, nearest, work)
        features = MoleculeFeatures.from_json(made)
        cache = None if root is None else Path(root) / FOLDER
        found.rows = found._streamed(table, blocks, features, structures, cache)
        return found

    @staticmethod
    def of_graphs(
        predictor: Predictor,
        raw: RawGraphs,
        cells: Mapping[str, Sequence[Any]],
        members: Tensor | None = None,
    ) -> list[Row]:
        """The rows of graphs that were read already.

        Args:
            predictor: The model.
            raw: What :meth:`Predictor.read` gave.
            cells: Columns that come first, one cell for every row that was read or not.
            members: What each member says of the graphs, where that is known already.
        """
        found = PredictionRows(predictor, list(cells))
        return list(found._rows(raw, cells, members=members))

    @property
    def columns(self) -> list[str]:
        """The columns of every row."""
        return renamed(self.given, self._own) + self._own

    @property
    def _own(self) -> list[str]:
        """The columns that come behind those of the source."""
        return predicted_columns(self.predictor.task) + near_columns(self.nearest)

    def written(self, path: Path) -> Iterator[Row]:
        """The rows, each after it was written to a CSV file, which is there when all are."""
        with (
            replaced(path) as temporary,
            temporary.open("w", newline="", encoding="utf-8") as file,
        ):
            writer = csv.DictWriter(file, self.columns)
            writer.writeheader()
            for row in self.rows:
                writer.writerow({name: safe_cell(value) for name, value in row.items()})
                yield row

    @staticmethod
    def of_written(
        predictor: Predictor, names: Sequence[str], paths: Iterable[Path]
    ) -> "PredictionRows":
        """What is known of rows that :meth:`written` wrote of a table with these columns: counts,
        and the metrics, by the digits that the files hold.

        Of more than `MOST_COMPARED` rows there are no metrics, so that memory is bounded.
        """
        found = PredictionRows(predictor, names)
        new = dict(zip(names, renamed(names, found._own), strict=True))
        task = predictor.task
        targets = {name: new[name] for name in task.targets if name in new}
        shares = task.classes if task.has_classes else task.classes[1:]
        said = [f"{t}_probability_{name}" for t in task.targets for name in shares]
        said = said or [f"{t}_predicted" for t in task.targets]
        try:
            for path in paths:
                with path.open(newline="", encoding="utf-8") as file:
                    rows = csv.DictReader(file)
                    while block := list(islice(rows, BLOCK)):
                        found.count += len(block)
                        answered = [row for row in block if not row["error"]]
                        found.failed += len(block) - len(answered)
                        known = torch.tensor([row["seen"] == "yes" for row in answered])
                        found.known += int(known.sum())
                        if found.count > MOST_COMPARED:
                            found.no_score = f"they are more than {MOST_COMPARED:,}"
                        answers = torch.tensor([[float(row[n]) for n in said] for row in answered])
                        cells = {
                            name: [plain_cell(row[own]) for row in answered]
                            for name, own in targets.items()
                        }
                        found._compare(cells, answers, known)
        except csv.Error as error:  # a cell that is longer than Python reads
            found.no_score = str(error)
        return found

    @property
    def fresh(self) -> Tensor:
        """Which of the rows that are compared have a target and were not trained on ``[n]``."""
        known = self.predictor.task.present(torch.cat(self.truth)).any(1)
        return known & ~torch.cat(self.trained_on)

    def metrics(self) -> dict[str, float]:
        """Every metric of the task, where the source has the targets: on the rows with a target
        that the model was not trained on, or on all where it was trained on all of them.
        """
        if not self.truth or self.no_score:
            return {}
        y, answers, task = torch.cat(self.truth), torch.cat(self.answers), self.predictor.task
        fresh = self.fresh
        if bool(fresh.any()):
            y, answers = y[fresh], answers[fresh]
        if not bool(task.present(y).any()):
            return {}
        each = task.metrics.items()
        measured = {name: metric(y.numpy(), answers.numpy()) for name, metric in each}
        return {name: value for name, value in measured.items() if np.isfinite(value)}

    def _streamed(
        self,
        table: Table,
        blocks: Iterable[TableBlock],
        features: MoleculeFeatures,
        structures: str,
        cache: Path | None,
    ) -> Iterator[Row]:
        done, graphs = 0, self.predictor.encoder.graphs
        targets = [name for name in self.predictor.task.targets if name in table.names]
        # What features of whole graphs come from, as far as it is there.
        told = [] if graphs is None else [name for name in graphs.columns if name in table.names]
        for block, molecules in molecules_of_blocks(blocks, structures, features):
            raw = molecule_graphs(
                molecules,
                features,
                name=table.path.name,
                targets={name: block.columns[name] for name in targets},
                columns={name: block.columns[name] for name in told},
                structures=block.columns[structures],
            )
            if cache is not None and graphs is not None and "rdkit2d" in graphs.asked:
                with suppress(OSError):  # a folder that cannot be written to keeps none
                    descriptors(raw, cache=cache)  # the encoder then finds them in memory
            yield from self._in_parts(raw, block.columns, block.first)
            done += len(block)
            if self.progress is not None:
                self.progress(min(1.0, done / max(table.rows, 1)))

    def _all(self, raw: RawGraphs, cells: Mapping[str, Sequence[Any]], block: int) -> Iterator[Row]:
        for first in range(0, raw.num_rows, block):
            last = min(first + block, raw.num_rows)
            own = {name: column[first:last] for name, column in cells.items()}
            yield from self._in_parts(raw.rows_between(first, last), own, first)
            if self.progress is not None:
                self.progress(last / raw.num_rows)

    def _in_parts(
        self, raw: RawGraphs, cells: Mapping[str, Sequence[Any]], first: int
    ) -> Iterator[Row]:
        """The rows of a block, of no more work at once than was asked for."""
        if self.work is None:
            yield from self._rows(raw, cells, first)
            return
        taken = np.zeros(raw.num_rows)
        taken[raw.rows.numpy()] = raw.node_ptr.diff().double().numpy() ** 3
        start, so_far = 0, 0.0
        for row, own in enumerate([*taken, math.inf]):
            so_far += own
            if so_far > self.work and row > start:
                part = {name: column[start:row] for name, column in cells.items()}
                yield from self._rows(raw.rows_between(start, row), part, first + start)
                start, so_far = row, own

    def _compare(
        self, targets: Mapping[str, Sequence[Any]], answers: Tensor, known: Tensor
    ) -> None:
        """Keep what graphs are beside what the model says of them."""
        if not targets or not len(answers) or self.no_score:
            return
        absent = dict.fromkeys(self.predictor.task.targets, [None] * len(answers))
        try:
            self.truth.append(self.predictor.task.encode({**absent, **targets}))
        except ValueError as error:  # predictions need no targets
            self.no_score = str(error)
        self.answers.append(answers)
        self.trained_on.append(known)

    def _rows(
        self,
        raw: RawGraphs,
        cells: Mapping[str, Sequence[Any]],
        first: int = 0,
        members: Tensor | None = None,
    ) -> Iterator[Row]:
        reasons = dict(raw.errors)
        self._stop_at(reasons, first, "cannot be read")
        if members is None:
            members = self.predictor.member_answers(raw)
        known = self.predictor.seen(raw)
        answers, seen = self.predictor.joint(members), known.tolist()
        for column, words in self.predictor.encoder.unseen(raw).items():
            self.unseen.setdefault(column, Counter()).update(words)
        fine = answers.isfinite().all(1)
        endless = dict.fromkeys(raw.rows[~fine].tolist(), NOT_FINITE)
        self._stop_at(endless, first, "has no prediction")
        reasons |= endless
        self.count += raw.num_rows
        self.failed += len(reasons)
        self.known += int(known[fine].sum())
        there = fine.nonzero()[:, 0].tolist()
        targets = {name: [values[g] for g in there] for name, values in raw.targets.items()}
        self._compare(targets, answers[fine], known[fine])
        said = said_cells(self.predictor, answers, members)
        near: list[Row] = [{}] * raw.num_graphs
        if self.nearest and raw.num_graphs:
            near = near_cells(self.predictor, raw, self.nearest)
        names = renamed(self.given, self._own)
        blank = dict.fromkeys(self._own, "")
        for row, graph in enumerate(raw.by_row(range(raw.num_graphs))):
            given = {new: cells[old][row] for old, new in zip(cells, names, strict=True)}
            if graph is None or row in reasons:
                yield {**given, **blank, "error": reasons[row]}
                continue
            also = {"seen": "yes" if seen[graph] else "", **near[graph]}
            yield {**given, **blank, **said[graph], **also}

    def _stop_at(self, reasons: Mapping[int, str], first: int, what: str) -> None:
        """Stop at the first bad row, where that was asked for."""
        if reasons and self.on_error == "raise":
            row, reason = next(iter(reasons.items()))
            raise ValueError(
                f"Row {first + row + 1} {what}: {reason}. Correct it, or keep such rows without a "
                "prediction (`--on-error skip`)."
            )


def read_with_targets(predictor: Predictor, source: Any, **reading: Any) -> RawGraphs:
    """The graphs of a source as a model reads them, with its targets where the source has them."""
    if isinstance(source, str) and source in DATASETS:  # whose targets have names of their own
        return predictor.read(source, targets=None, **reading)
    try:
        raw = predictor.read(source, targets=list(predictor.task.targets), **reading)
    except (TypeError, ValueError):  # it has no such targets
        raw = predictor.read(source, **reading)
    known = set(predictor.task.targets) <= set(raw.targets)
    return raw if known else raw.with_targets({})

"""What `lgan explain` does: scores of whatever a model reads, as a table, pictures, a file."""

import csv
from collections.abc import Collection, Mapping
from dataclasses import asdict, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
import typer
from torch import Tensor

from lgan._optional import require
from lgan._version import __version__
from lgan.cli.options import bad_usage
from lgan.cli.screen import activity, log, note, print_json, reading_progress, table
from lgan.data import DATASETS, RawGraphs, replaced
from lgan.data.readers.tables import safe_cell
from lgan.explain import MOLECULES, Attribution, GalleryItem, Report, Scale, save
from lgan.explain.attribution import plain
from lgan.explain.fragment_table import COLUMNS, FragmentRow, fragment_tables
from lgan.explain.gallery import choose_for_gallery
from lgan.explain.methods import DEFAULT, method_spec
from lgan.explain.report import confusion_tables
from lgan.predictor import Predictor
from lgan.predictor.explaining import (
    SCORE_COLUMNS,
    coloured_output,
    explain_graphs,
    explained_items,
    explained_output_of,
    known_classes,
    output_names,
    score_rows,
)
from lgan.train.environment import typed_command

# Edges of a graph, and fragments of a set for and against, that are shown on the screen.
TOP = 5
# Graphs that are explained together: enough to fill a pass, few enough to be told.
TOGETHER = 64
SHOWN = 20


def explain_source(
    predictor: Predictor,
    source: Any,
    *,
    index: list[int] | None,
    target: str | None,
    asked: dict[str, Any],
    reading: dict[str, Any],
    output: Path | None,
    report: Path | None,
    gallery: int,
    every: bool,
    as_json: bool,
) -> None:
    """Explain a source with the model's own encoder, and write or show what was found.

    The arguments are options of the command, but for ``asked`` (options of :func:`explain_graphs`),
    ``reading`` (of :func:`lgan.data.load_raw`) and ``every``: explain all graphs for a page too, so
    that its tables of fragments hold them.
    """
    explained = coloured_output(predictor)
    if target is not None:
        with bad_usage("`--class`: "):
            explained = explained_output_of(predictor, target)
    _check_packages(predictor, output, report)
    raw = _read(predictor, source, reading)
    held_out = None
    if isinstance(source, str) and source in DATASETS:
        held_out = predictor.checkpoint.held_out(source, int(reading["seed"]))
    named = bool(index) or isinstance(source, list)
    truth = known_classes(predictor, raw)
    confusions: dict[str, Tensor] = {}
    if report is not None and truth is not None and raw.num_graphs:
        confusions, worth_a_look = overview(predictor, raw, truth, gallery, held_out)
        index = index or (None if every else worth_a_look)
    chosen = _chosen(raw, index)
    found: list[Attribution] = []
    with activity() as tell:
        for first in range(0, chosen.num_graphs, TOGETHER):
            tell(f"explaining {first + 1} of {chosen.num_graphs}")
            part = chosen.select(range(first, min(first + TOGETHER, chosen.num_graphs)))
            found += explain_graphs(predictor, part, target=explained, **asked)
    if raw.errors:
        note(f"{len(raw.errors):,} rows cannot be read and have no scores.")
    names = output_names(predictor)
    items = explained_items(
        predictor, chosen, found, names=names, held_out=held_out,
        intervals=_intervals(predictor, chosen),
    )  # fmt: skip
    if output is not None and output.suffix.lower() == ".csv":
        _write(output, predictor, chosen, found)
        note(f"scores: {output}")
    elif output is not None:
        shared = Scale.joint(item.picture.scale for item in items)
        save([item.picture.on_scale(shared) for item in items], output)
        log.print(f"picture: {output}", soft_wrap=True)
    tables = {names[output]: rows for output, rows in fragment_tables(found).items()}
    if report is not None:
        page = explained_report(
            predictor, chosen, items if named else items[:gallery], method=asked["method"],
            confusions=confusions, fragments=tables,
        )  # fmt: skip
        page.save(report)
        log.print(f"report: {report}", soft_wrap=True)
    if as_json:
        parts = [
            {"explained": n} | plain(asdict(row)) for n, rows in tables.items() for row in rows
        ]
        print_json({"graphs": [item.to_json() for item in items], "fragments": parts})
        return
    if output is None and report is None:
        show_scores(items[:SHOWN])
    for name, rows in tables.items():
        _show_fragments(name, rows)


def overview(
    predictor: Predictor,
    raw: RawGraphs,
    truth: Tensor,
    count: int,
    held_out: Collection[int] | None,
) -> tuple[dict[str, Tensor], list[int]]:
    """Tables of right and wrong, and the rows of some graphs that are worth a look: held-out ones,
    where it is known which these are.
    """
    probability = predictor.answers(raw)
    among = None if held_out is None else torch.tensor(sorted(held_out))
    worth = choose_for_gallery(probability, truth, count, among=among)
    rows = [int(raw.rows[graph]) for graph in worth]
    return confusion_tables(probability, truth, raw.name, held_out), rows


def explained_report(
    predictor: Predictor,
    raw: RawGraphs,
    items: list[GalleryItem],
    *,
    method: str = DEFAULT,
    confusions: Mapping[str, Tensor] | None = None,
    fragments: Mapping[str, list[FragmentRow]] | None = None,
) -> Report:
    """A page of explained graphs, and how it came about."""
    stored = predictor.checkpoint
    width = f"width {stored.hidden_channels}"
    options = (f"{key} {value}" for key, value in stored.options.items())
    training = (f"{key} {value}" for key, value in stored.info.get("config", {}).items())
    lead = f"A model trained on {stored.dataset}, and {raw.num_graphs:,} graphs that it explains."
    if raw.num_graphs > len(items):
        lead += f" The first {len(items)} are shown; the tables of fragments hold all."
    return Report(
        title=f"Why {stored.model} says what it says of {raw.name}",
        lead=lead,
        items=items,
        confusions=confusions or {},
        fragments=fragments or {},
        facts={
            "command": typed_command(),
            "version": f"lgan {__version__}",
            "model": ", ".join([f"{stored.model} trained on {stored.dataset}", width, *options]),
            "node features": f"{stored.features} ({stored.in_channels})",
            "training": ", ".join(training),
            "method": f"{method}: {method_spec(method).reference}",
        },
    )


def show_scores(items: list[GalleryItem]) -> None:
    """The strongest edges of every graph."""
    rows = []
    for item in items:
        best = "  ".join(f"{name} {score:+.3f}" for name, score in item.picture.top(TOP))
        rows.append([
            item.name,
            "" if item.truth is None else item.classes[item.truth],
            item.said,
            item.picture.red,
            best or "no edges",
        ])  # fmt: skip
    columns = ["graph", "class", "predicted", "scores speak", "strongest edges"]
    sums = all(item.attribution.complete for item in items)
    told = (
        ["scores add up to the change of the output from the graph without edges"] if sums else []
    )
    if any(item.attribution.withheld for item in items):
        told += [
            "they speak of the structure alone: of the output without what is told of whole graphs"
        ]
    table("Which edges mattered", columns, rows, "\n".join(told))


def _check_packages(predictor: Predictor, output: Path | None, report: Path | None) -> None:
    """Ask for what drawing needs before anything is computed."""
    scores = output is not None and output.suffix.lower() == ".csv"
    if scores:
        require("pandas")
    molecules = predictor.encoder.featuriser is not None
    molecules |= predictor.checkpoint.dataset in MOLECULES and find_spec("rdkit") is not None
    if (output is not None and not scores) or (report is not None and not molecules):
        require("matplotlib")


def _read(predictor: Predictor, source: Any, reading: dict[str, Any]) -> RawGraphs:
    """The graphs of a source; molecules that were typed by hand must all be readable."""
    if isinstance(source, list):
        raw = predictor.read(source)
        if raw.errors:
            row, reason = raw.errors[0]
            raise ValueError(f"{source[row]}: {reason}")
        names = [text.split(maxsplit=1)[-1] for text in source]  # after a space, where it has one
        return replace(raw, ids=tuple(names))
    with reading_progress(str(source)) as progress:
        raw = predictor.read(source, **reading, progress=progress)
    if not raw.structures or not raw.ids or (raw.featuriser or {}).get("standardise", True):
        return raw
    # Unless it was standardised, nodes are numbered as in the SMILES that was given. The first line
    # of a mol block is its name.
    given = (str(text).partition("\n")[0].strip() for text in raw.structures)
    return replace(raw, ids=tuple(a or b for a, b in zip(given, raw.ids, strict=True)))


def _chosen(raw: RawGraphs, index: list[int] | None) -> RawGraphs:
    """The graphs of some rows, or all."""
    if not index:
        return raw
    place = raw.graph_of_row
    wrong = [row for row in index if row not in place]
    if wrong:
        raise typer.BadParameter(
            f"`--index` must name a row of {raw.name} that can be read, from 0 to "
            f"{raw.num_rows - 1}, got {wrong[0]}."
        )
    return raw.select([place[row] for row in index])


def _write(path: Path, predictor: Predictor, raw: RawGraphs, found: list[Attribution]) -> None:
    with replaced(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, SCORE_COLUMNS)
        writer.writeheader()
        for row in score_rows(raw, found, output_names(predictor)):
            writer.writerow(
                {key: safe_cell("" if value != value else value) for key, value in row.items()}
            )


def _intervals(predictor: Predictor, raw: RawGraphs) -> Tensor | None:
    """The intervals of numbers that are predicted ``[G, T, 2]``, where the model knows them."""
    known = predictor.task.kind == "regression" and predictor.checkpoint.out_of_fold is not None
    return predictor.intervals(predictor.member_answers(raw)) if known else None


def _show_fragments(name: str, rows: list[FragmentRow]) -> None:
    shown = rows if len(rows) <= 2 * TOP else [*rows[:TOP], *rows[-TOP:]]
    table(
        f"Fragments for and against {name}",
        list(COLUMNS),
        [list(row.cells) for row in shown],
        "" if len(shown) == len(rows) else f"{len(rows) - len(shown)} more between them",
    )

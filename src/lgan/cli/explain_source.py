"""`lgan explain MODEL SOURCE`: scores of whatever a model reads, as a table, pictures, a file."""

import csv
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import typer

from lgan._version import __version__
from lgan.cli.screen import activity, log, note, print_json, table
from lgan.data import RawGraphs, replaced
from lgan.data.tables import safe_cell
from lgan.explain import Attribution, GalleryItem, Report, Scale, save
from lgan.explain.attribution import plain
from lgan.explain.fragment_table import FragmentRow, fragment_tables
from lgan.explain.methods import method_spec
from lgan.predictor import Predictor
from lgan.predictor.explaining import SCORE_COLUMNS, explain_graphs, explained_item, score_rows
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
    as_json: bool,
) -> None:
    """Explain a source with the model's own encoder, and write or show what was found."""
    raw = _chosen(predictor.read(source, **reading), index)
    if isinstance(source, list):  # SMILES, and after a space a name where it has one
        names = [text.split(maxsplit=1)[-1] for text in source]
        raw = replace(raw, ids=tuple(names[row] for row in raw.rows.tolist()))
    if target is None and predictor.task.kind == "binary":
        target = predictor.task.classes[1]  # one class for a whole table
    found: list[Attribution] = []
    with activity() as tell:
        for first in range(0, raw.num_graphs, TOGETHER):
            tell(f"explaining {first + 1} of {raw.num_graphs}")
            part = raw.select(range(first, min(first + TOGETHER, raw.num_graphs)))
            found += explain_graphs(predictor, part, target=target, **asked)
    if raw.errors:
        note(f"{len(raw.errors):,} rows cannot be read and have no scores.")
    items = _items(predictor, raw, found)
    if output is not None and output.suffix.lower() == ".csv":
        _write(output, predictor, raw, found)
        note(f"scores: {output}")
    elif output is not None:
        shared = Scale.joint(item.picture.scale for item in items)
        save([item.picture.on_scale(shared) for item in items], output)
        log.print(f"picture: {output}", soft_wrap=True, markup=False, highlight=False)
    outputs = predictor.task.classes if predictor.task.has_classes else predictor.task.targets
    tables = {outputs[target]: rows for target, rows in fragment_tables(found).items()}
    if report is not None:
        _report(predictor, raw, items[:gallery], tables, asked).save(report)
        log.print(f"report: {report}", soft_wrap=True, markup=False, highlight=False)
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
    told = "scores add up to the change of the output from the graph without edges" if sums else ""
    table("Which edges mattered", columns, rows, told)


def _chosen(raw: RawGraphs, index: list[int] | None) -> RawGraphs:
    """The graphs of some rows, or all."""
    if not index:
        return raw
    place = {row: graph for graph, row in enumerate(raw.rows.tolist())}
    wrong = [row for row in index if row not in place]
    if wrong:
        raise typer.BadParameter(
            f"`--index` must name rows of {raw.name} that can be read, counted from 0, got "
            f"{wrong[0]}; it has {raw.num_graphs + len(raw.errors)} rows."
        )
    return raw.select([place[row] for row in index])


def _write(path: Path, predictor: Predictor, raw: RawGraphs, found: list[Attribution]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with replaced(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, SCORE_COLUMNS)
        writer.writeheader()
        for row in score_rows(raw, found, predictor.task):
            writer.writerow(
                {key: safe_cell("" if value != value else value) for key, value in row.items()}
            )


def _items(predictor: Predictor, raw: RawGraphs, found: list[Attribution]) -> list[GalleryItem]:
    """The explained graphs with their pictures, and with intervals where numbers are predicted."""
    ends: list[Any] = [None] * len(found)
    if found and predictor.task.kind == "regression" and predictor.checkpoint.out_of_fold:
        known = predictor.intervals(predictor.member_answers(raw)).tolist()  # [G, T, 2]
        ends = [tuple(known[g][each.target]) for g, each in enumerate(found)]
    return [explained_item(predictor, raw, g, each, ends[g]) for g, each in enumerate(found)]


def _report(
    predictor: Predictor,
    raw: RawGraphs,
    items: list[GalleryItem],
    tables: dict[str, list[FragmentRow]],
    asked: dict[str, Any],
) -> Report:
    stored, method = predictor.checkpoint, str(asked["method"])
    left = raw.num_graphs - len(items)
    return Report(
        title=f"Why {stored.model} says what it says of {raw.name}",
        lead=f"A model trained on {stored.dataset}, and {raw.num_graphs:,} graphs that it explains."
        + (f" The first {len(items)} are shown; the tables of fragments hold all." if left else ""),
        items=items,
        fragments=tables,
        facts={
            "command": typed_command(),
            "version": f"lgan {__version__}",
            "model": f"{stored.model} trained on {stored.dataset}",
            "method": f"{method}: {method_spec(method).reference}",
        },
    )


def _show_fragments(name: str, rows: list[FragmentRow]) -> None:
    shown = rows if len(rows) <= 2 * TOP else [*rows[:TOP], *rows[-TOP:]]
    table(
        f"Fragments for and against {name}",
        ["fragment", "graphs", "occurrences", "mean score", "standard error", "same sign"],
        [
            [r.fragment, f"{r.graphs}", f"{r.occurrences}", f"{r.mean:+.3f}", f"{r.error:.3f}",
             f"{r.agree:.0%}"]
            for r in shown
        ],
        "" if len(shown) == len(rows) else f"{len(rows) - len(shown)} more between them",
    )  # fmt: skip

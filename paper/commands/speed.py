"""`lgan table speed`: what the benchmarks measured, from their records."""

from pathlib import Path
from typing import Annotated

import typer

from benchmarks import BENCHMARKS, Record, Row
from benchmarks.command import cells
from lgan.cli import options
from paper.commands.tabular import Format, Records, show
from paper.render import Grid

COLUMNS = ["benchmark", "case", "measured", "lgan", "peer", "its time", "result", "bar", "holds"]
NOTES = [
    "Medians; both sides in the same run. N× is the peer's time over ours, a bare number ours over "
    "the peer's, a percentage the share of a physical limit.",
]


def speed(
    form: Format = None,
    as_json: options.Json = False,
    records: Records = Path("results/bench"),
    brief: Annotated[bool, typer.Option("--brief", help="One row for a benchmark.")] = False,
) -> None:
    """Everything that has a bar, one table a machine; measure with `lgan bench`.

    Example: lgan table speed --format md
    """
    found = [Record.load(path) for path in sorted(records.glob("*.json"))]
    if not found:
        raise ValueError(
            f"There is no record (NAME.json) in {records}. Measure with `lgan bench`, or name "
            "another `--records`."
        )
    order = list(BENCHMARKS)
    found.sort(key=lambda record: order.index(record.benchmark))
    machines = dict.fromkeys(str(record.environment["device"]) for record in found)
    grid = _brief if brief else _grid
    show([grid(machine, found) for machine in machines], form, as_json=as_json)


def _grid(machine: str, records: list[Record]) -> Grid:
    rows, notes = [], list(NOTES)
    for record in records:
        if record.environment["device"] != machine:
            continue
        for row in record.rows:
            if row.bar is None:
                continue
            label = row.name
            if row.note:
                if row.note not in notes:
                    notes.append(row.note)
                label += f" [{notes.index(row.note)}]"
            text = {"benchmark": record.benchmark, "case": label, "measured": row.what}
            text |= {name: cell.replace("\n", ", ") for name, cell in cells(row).items()}
            rows.append([text[column] for column in COLUMNS])
    notes[1:] = [f"[{number}] {note}" for number, note in enumerate(notes[1:], 1)]
    return Grid(f"Speed on {machine}", COLUMNS, rows, notes)


def _brief(machine: str, records: list[Record]) -> Grid:
    """One row for a benchmark and a kind of bar: from the worst figure to the best."""
    found: dict[tuple[str, str, str], list[Row]] = {}
    for record in records:
        for row in record.rows:
            if record.environment["device"] != machine or row.figure is None:
                continue
            if row.peer and row.bar:
                key = (record.benchmark, row.peer, row.bar.figure)
                found.setdefault(key, []).append(row)
    rows = []
    for (benchmark, peer, _), some in found.items():
        ranked = sorted(some, key=lambda row: row.figure or 0.0)
        ends = (ranked[0], ranked[-1])
        told = dict.fromkeys(row.bar.text(row.figure) for row in ends if row.bar and row.figure)
        held = sum(bool(row.holds) for row in some)
        rows.append([benchmark, peer, " to ".join(told), f"{held} of {len(some)}"])
    return Grid(f"Speed on {machine}", ["benchmark", "peer", "result", "bars held"], rows, NOTES)

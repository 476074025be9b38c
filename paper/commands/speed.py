"""`lgan table speed`: what the benchmarks measured, from their records."""

from pathlib import Path

from benchmarks import BENCHMARKS, Record
from benchmarks.command import cells
from paper.commands.tabular import Format, Records, show
from paper.render import Grid

__all__ = ["speed"]

COLUMNS = ["benchmark", "case", "measured", "lgan", "peer", "its time", "result", "bar", "holds"]
NOTES = [
    "Medians; both sides in the same run. N× is the peer's time over ours, a bare number ours over "
    "the peer's, a percentage the share of a physical limit.",
]


def speed(form: Format = None, records: Records = Path("results/bench")) -> None:
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
    show([_grid(machine, found) for machine in machines], form)


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
            text |= cells(row)
            rows.append([text[column] for column in COLUMNS])
    notes[1:] = [f"[{number}] {note}" for number, note in enumerate(notes[1:], 1)]
    return Grid(f"Speed on {machine}", COLUMNS, rows, notes)

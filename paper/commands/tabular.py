"""How the commands of `lgan table` show what they have."""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from lgan.cli import options
from lgan.cli.screen import console, print_json, table
from paper.records import Run, read_runs
from paper.render import FORMATS, Grid, render

T = TypeVar("T")

Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="text, md, latex or csv.",
        show_default="text on a terminal, else md",
        **options.one_of(FORMATS, "format"),
    ),
]


def some_runs(folder: Path, make: str) -> list[Run]:
    """The cross-validation records of a folder, or an error that says how one is made."""
    runs = read_runs(folder)
    if not runs:
        raise ValueError(
            f"There is no record (NAME.json) in {folder}. Make one with `lgan cv {make}` and copy "
            "its result.json there, or name another `--records`."
        )
    return runs


def some_rows(rows: Iterable[T], records: Path, make: str) -> list[T]:
    """The rows of records, or an error that says how they are made."""
    found = list(rows)
    if not found:
        raise ValueError(
            f"There is no row in {records}. Make some with `{make}`, or name another `--records`."
        )
    return found


Records = Annotated[Path, typer.Option(help="Folder with the records.")]


def show(grids: Sequence[Grid], form: str | None, *, as_json: bool = False) -> None:
    """Tables on the terminal, as text in a format, or as one JSON document."""
    if as_json:
        print_json({"tables": [asdict(grid) for grid in grids]})
        return
    form = form or ("text" if console.is_terminal else "md")
    if form != "text":
        sys.stdout.write(render(grids, form))
        return
    for grid in grids:
        table(grid.title, grid.columns, grid.rows, "\n".join(grid.notes))

"""What a person sees: progress, tables, and errors without a stack trace."""

import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from lgan.train import Curves, OnEpoch

console = Console()
# Progress and notes go to standard error, so that standard output is the result alone.
# Markup is for our own texts alone: a message may hold brackets, as `lgan[plot]` does.
log = Console(stderr=True, markup=False, highlight=False)
# Seconds between lines about progress where there is no terminal that could show a bar.
QUIET = 30.0


def note(text: str | Text) -> None:
    """A line for the person at the screen; wrapped between words there, whole in a file."""
    log.print(text, soft_wrap=not log.is_terminal)


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:.1f}/s" if task.speed else "", style="progress.data.speed")


class _Lines:
    """Tells a line now and then where there is no terminal that could show a bar."""

    def __init__(self, *, at_once: bool = False) -> None:
        self.said = -math.inf if at_once else time.monotonic()

    def __call__(self, line: str) -> None:
        if not log.is_terminal and time.monotonic() >= self.said + QUIET:
            self.said = time.monotonic()
            note(line)


@contextmanager
def activity(*, at_once: bool = True) -> Iterator[Callable[[str], None]]:
    """A spinner beside a text that changes; where there is no terminal a line at the beginning,
    unless what is done is often over at once, and then now and then.
    """
    lines = _Lines(at_once=at_once)
    with log.status("") as status:

        def update(text: str) -> None:
            status.update(escape(text))
            lines(text)

        yield update


@contextmanager
def epoch_progress(title: str, epochs: int, fold_sizes: list[int]) -> Iterator["OnEpoch"]:
    """A bar over epochs with rate, remaining time and the accuracy so far; where there is no
    terminal a line now and then, the first one at once where training takes long.
    """
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}", markup=False),
    )
    with Progress(*columns, console=log, disable=not log.is_terminal) as progress:
        task = progress.add_task(title, total=epochs, note="")
        lines, soon = _Lines(), _Lines(at_once=True)

        def update(epoch: int, curves: "Curves") -> None:
            folds = min(len(fold_sizes), curves.test.size(0))
            values, metric = curves.test[:folds, :epoch].nanmean(0), curves.metric
            best = values.max() if metric.higher_is_better else values.min()
            form = "{:.1%}" if metric.name == "accuracy" else "{:.3f}"
            held_out = f"held-out {form.format(values[-1])}  best epoch {form.format(best)}"
            note = f"loss {float(curves.loss[:, epoch - 1].mean()):.3f}  {held_out}"
            progress.update(task, completed=epoch, note=note)
            left = float(curves.seconds[:epoch].median()) * (epochs - epoch)
            told = f"about {left:,.0f} s left" if left > 1 else ""
            tell = soon if epoch == 2 and left > QUIET else lines  # the first one may compile
            tell(f"{title.strip()}: epoch {epoch} of {epochs}  {note}  {told}".rstrip())

        yield update


@contextmanager
def reading_progress(name: str, *, doing: str = "reading") -> Iterator[Any]:
    """A bar over the files of a data set, maybe one over the descriptors of its molecules, and then
    a spinner while its structure is built; or one over what else is done (``fitting``,
    ``predicting``). A line now and then where there is no terminal.
    """
    builds, doing, lines = doing == "reading", f"{doing} {name}", _Lines()
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=log, transient=True, disable=not log.is_terminal) as progress:
        task = progress.add_task(doing, total=1.0)

        def update(done: float, stage: str | None = None) -> None:
            own = doing if stage is None else f"{stage} of {name}"
            progress.update(task, completed=done)
            if stage is not None:
                progress.update(task, description=own, total=1.0)
            if done < 1 or not builds:
                lines(f"{own}: {done:.0%}")
                return
            building = f"building {name}: twins, triangles, pair codes"
            progress.update(task, description=building, total=None)
            lines(building)

        yield update


@contextmanager
def row_progress(title: str) -> Iterator[Callable[[int, int], None]]:
    """A bar over the rows of a table with rate and remaining time; a line now and then where there
    is no terminal. What was done before is no part of the rate.
    """
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}", markup=False),
    )
    with Progress(*columns, console=log, disable=not log.is_terminal) as progress:
        task, lines = progress.add_task(title, total=None, note=""), _Lines()
        begin, before = time.monotonic(), -1

        def update(done: int, rows: int) -> None:
            nonlocal before
            before = done if before < 0 else before
            rate = (done - before) / max(time.monotonic() - begin, 1e-9)
            left = f", {(rows - done) / rate:.0f} s left" if rate else ""
            told = f"{rate:,.0f} rows/s{left}"
            progress.update(task, completed=done, total=rows, note=told)
            lines(f"{title}: {done:,} of {rows:,} rows, {told}")

        yield update


# Characters of a cell that is still a number, with its deviation or its bounds, and of the longest
# word that keeps its column wide.
WIDEST, WORD = 30, 16


def table(title: str, columns: list[str], rows: list[list[str]], note: str = "") -> None:
    """Print a table; columns of numbers are aligned to the right.

    Where room is short words wrap, and numbers stay whole; where it is too short for that, the
    columns come in several tables, each with the first of them.
    """
    cells = [[column, *(row[k] for row in rows)] for k, column in enumerate(columns)]
    numbers = [k > 0 and all(map(_is_number, some[1:])) for k, some in enumerate(cells)]
    whole = [max(map(_width, some)) for some in cells]
    least = [_least(some, number=own) for some, own in zip(cells, numbers, strict=True)]
    console.print(title, style="table.title", markup=False, highlight=False)
    for group in _groups(least, console.width):
        shown = Table()
        for k, width in zip(group, _widths(group, least, whole, console.width), strict=True):
            shown.add_column(escape(columns[k]), justify="right" if numbers[k] else "left",
                             width=width, overflow="fold")  # fmt: skip
        for row in rows:
            shown.add_row(*(escape(row[k]) for k in group))
        console.print(shown)
    if note:
        console.print(note, style="table.caption", markup=False, highlight=False)


def _is_number(cell: str) -> bool:
    return cell[:1] in "0123456789[≤≥-+" and len(cell) <= WIDEST


def _least(cells: list[str], *, number: bool) -> int:
    """The width in which numbers stay whole, and words that are not very long."""
    words = [word for cell in (cells[:1] if number else cells) for word in cell.split()]
    longest = min(max(map(cell_len, words), default=0), WORD)
    return max(longest, *(map(_width, cells[1:] if number else ())), 1)


def _width(cell: str) -> int:
    return max(map(cell_len, cell.split("\n")))


def _groups(least: list[int], room: int) -> list[list[int]]:
    """Columns that fit beside each other, each group with the first; a border takes 1, a column
    two blanks and a border.
    """
    groups, used = [[0]], least[0] + 4
    for k, width in enumerate(least[1:], 1):
        if len(groups[-1]) > 1 and used + width + 3 > room:
            groups.append([0])
            used = least[0] + 4
        groups[-1].append(k)
        used += width + 3
    return groups


def _widths(group: list[int], least: list[int], whole: list[int], room: int) -> list[int]:
    """The widths of columns beside each other: what is left is shared by those that lack most."""
    left = max(room - 1 - sum(least[k] + 3 for k in group), 0)
    widths = {}
    for place, k in enumerate(sorted(group, key=lambda k: whole[k] - least[k])):
        more = min(max(whole[k] - least[k], 0), left // (len(group) - place))
        widths[k] = least[k] + more
        left -= more
    return [widths[k] for k in group]


def print_json(value: Any) -> None:
    """Print a value as one line of JSON: dates as text, numbers that are not finite as null."""
    text = json.dumps(value, default=str)
    finite = json.loads(text, parse_constant=lambda _: None)
    sys.stdout.write(json.dumps(finite) + "\n")

"""Tables as text: Markdown, LaTeX and CSV from one grid of strings."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Grid:
    """What a table shows.

    Attributes:
        title: Its heading.
        columns: Names of the columns.
        rows: Text of every cell, row by row.
        notes: What a reader must know, below the table.
    """

    title: str
    columns: list[str]
    rows: list[list[str]]
    notes: list[str] = field(default_factory=list)


FORMATS = ("text", "md", "latex", "csv")

_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "±": r"$\pm$", "▼": r"$^{\downarrow}$", "▲": r"$^{\uparrow}$", "‡": r"$^{\ddagger}$",
    "δ": r"$\delta$", "×": r"$\times$", "≥": r"$\geq$", "≤": r"$\leq$", "–": "--",
    "°": r"$^{\circ}$", "<": "$<$", ">": "$>$", "`": "",
}  # fmt: skip


def render(grids: Sequence[Grid], form: str) -> str:
    """Grids one after another, as ``md``, ``latex`` or ``csv``."""
    writers = {"md": markdown, "latex": latex, "csv": lambda g: csv_text(g.columns, g.rows)}
    if form not in writers:
        raise ValueError(f"`form` must be one of {', '.join(writers)}, got {form!r}.")
    return "\n".join(writers[form](grid) for grid in grids)


def markdown(grid: Grid) -> str:
    """A grid as a Markdown table.

    Example:
        >>> print(markdown(Grid("t", ["a", "b"], [["1", "x|y"]])), end="")
        **t**
        <BLANKLINE>
        | a | b |
        |---|---|
        | 1 | x\\|y |
    """
    lines = [f"**{grid.title}**", ""]
    lines += [_pipes(grid.columns), "|" + "---|" * len(grid.columns)]
    lines += [_pipes(row) for row in grid.rows]
    if grid.notes:
        lines += ["", *(f"- {note}" for note in grid.notes)]
    return "\n".join(lines) + "\n"


def latex(grid: Grid) -> str:
    """A grid as a LaTeX table with booktabs rules."""
    rows = [" & ".join(map(_escaped, row)) + r" \\" for row in (grid.columns, *grid.rows)]
    lines = [
        r"\begin{table}[ht]", r"\centering",
        rf"\begin{{tabular}}{{l{'c' * (len(grid.columns) - 1)}}}", r"\toprule", rows[0],
        r"\midrule", *rows[1:], r"\bottomrule", r"\end{tabular}",
        rf"\caption{{{' '.join(map(_escaped, [f'{grid.title}.', *grid.notes]))}}}", r"\end{table}",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def csv_text(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Rows as CSV with a heading."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()


def _pipes(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _escaped(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in text)

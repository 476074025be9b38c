"""`lgan table`: the tables of the library, from records."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from lgan.train.selection import RULES
from paper.ablation import ablation_grid
from paper.classification import CSV_COLUMNS, Classification
from paper.commands.explanations import explanations
from paper.commands.figure3 import figure3
from paper.commands.measuring import expressivity, runtime
from paper.commands.speed import speed
from paper.commands.tabular import Format, Records, show
from paper.missing import read_refusals
from paper.records import read_runs
from paper.render import csv_text
from paper.searches import read_searches, search_grid

__all__ = ["app"]

app = typer.Typer(
    no_args_is_help=True, add_completion=False, help="Tables from records: accuracy, power, speed."
)
app.command()(expressivity)
app.command()(runtime)
app.command()(figure3)
app.command()(explanations)
app.command()(speed)


def _rule(name: str) -> str:
    if name not in RULES:
        raise typer.BadParameter(f"must be one of {', '.join(RULES)}, got {name!r}.")
    return name


@app.command()
def classification(
    form: Format = None,
    records: Records = Path("results/cv"),
    refusals: Annotated[
        Path, typer.Option(help="Folder with runtime records, for why a model cannot do a set.")
    ] = Path("results/runtime"),
) -> None:
    """Accuracies of all models on the paper's sets, by every selection rule.

    Examples: lgan table classification, lgan table classification --format csv
    """
    runs = read_runs(records)
    if not runs:
        raise ValueError(
            f"There is no record (NAME.json) in {records}. Make one with `lgan cv MUTAG --model "
            "lgan --splits FOLDER` and copy its result.json there, or name another `--records`."
        )
    shown = Classification(runs, read_refusals(refusals))
    if form == "csv":
        sys.stdout.write(csv_text(CSV_COLUMNS, shown.csv_rows()))
        return
    show(shown.grids(), form)


@app.command()
def ablation(
    form: Format = None,
    records: Records = Path("results/ablation"),
    rule: Annotated[str, typer.Option(help="gin, fold-max or fair.", callback=_rule)] = "gin",
) -> None:
    """What each part of LGAN is worth on each set.

    Example: lgan table ablation --format md
    """
    runs = read_runs(records)
    if not runs:
        raise ValueError(
            f"There is no record (NAME.json) in {records}. Make one with `lgan cv MUTAG --set "
            "branches=target` and copy its result.json there, or name another `--records`."
        )
    show([ablation_grid(runs, rule)], form)


@app.command()
def searches(
    form: Format = None,
    records: Records = Path("results/sweep"),
    fresh: Annotated[
        Path, typer.Option(help="Folder with cross-validation records of the winners.")
    ] = Path("results/cv"),
) -> None:
    """What the searches for settings found, beside the winners trained with fresh seeds.

    Example: lgan table searches --format md
    """
    found = read_searches(records)
    if not found:
        raise ValueError(
            f"There is no search by the rule gin in {records}. Make one with `lgan sweep MUTAG`, "
            "or name another `--records`."
        )
    show([search_grid(found, read_runs(fresh))], form)

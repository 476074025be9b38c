"""`lgan table`: the tables of the library, from records."""

import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from benchmarks import Record
from lgan.cli import options
from lgan.cli.options import check_file
from lgan.cli.screen import note, print_json
from lgan.train import CVResult
from lgan.train.selection import RULES
from paper.ablation import ablation_grid
from paper.bonds import bond_grids
from paper.classification import CSV_COLUMNS, Classification, read_refusals
from paper.commands.explanations import explanations
from paper.commands.figure3 import figure3
from paper.commands.measuring import expressivity, runtime
from paper.commands.rules import rules
from paper.commands.speed import speed
from paper.commands.tabular import Format, Records, show, some_rows, some_runs
from paper.molecule_table import CSV_COLUMNS as CELL_COLUMNS
from paper.molecule_table import brief_grid, csv_rows, draw, molecule_grids
from paper.records import read_runs
from paper.render import Grid, csv_text
from paper.scale import scale_grids
from paper.searches import read_searches, search_grid
from paper.summary import summary_grid

app = typer.Typer(
    no_args_is_help=True, add_completion=False, help="Tables from records: accuracy, power, speed."
)
app.command()(expressivity)
app.command()(runtime)
app.command()(figure3)
app.command()(explanations)
app.command()(rules)
app.command()(speed)

SEES = {
    "gin": "sums over neighbours; at most 1-WL",
    "lgan": "sums over the edges and triangles of every ego network",
    "lgan-res": "the same with a residual path",
}


@app.command()
def scale(
    form: Format = None,
    as_json: options.Json = False,
    records: Records = Path("results"),
) -> None:
    """What shards and processes cost and would cost; `lgan bench scale`, `benchmarks.kills`.

    Example: lgan table scale --format md
    """
    paths = [records / "bench" / name for name in ("scale-cuda.json", "scale.json")]
    found = [Record.load(path) for path in paths if path.is_file()]
    path = records / "scale" / "kills.json"
    kills = json.loads(path.read_text()) if path.is_file() else None
    show(scale_grids(found, kills), form, as_json=as_json)


@app.command()
def classification(
    form: Format = None,
    as_json: options.Json = False,
    records: Records = Path("results/cv"),
    refusals: Annotated[
        Path, typer.Option(help="Folder with runtime records, for why a model cannot do a set.")
    ] = Path("results/runtime"),
    brief: Annotated[
        bool, typer.Option("--brief", help="One row for a set: the best LGAN beside GIN.")
    ] = False,
) -> None:
    """Accuracies of all models on the paper's sets, by every selection rule.

    Examples: lgan table classification, lgan table classification --format csv
    """
    runs = some_runs(records, "MUTAG --model lgan --split published:FOLDER")
    shown = Classification(runs, read_refusals(refusals))
    if brief:
        show([summary_grid(shown)], form, as_json=as_json)
        return
    if as_json:
        rows = [
            {name: _number(text) for name, text in zip(CSV_COLUMNS, row, strict=True)}
            for row in shown.csv_rows()
        ]
        print_json({"rows": rows})
        return
    if form == "csv":
        sys.stdout.write(csv_text(CSV_COLUMNS, shown.csv_rows()))
        return
    show(shown.grids(), form, as_json=as_json)


def _number(text: str) -> float | str | None:
    with suppress(ValueError):
        return float(text)
    return text or None


@app.command()
def demo(
    form: Format = None,
    as_json: options.Json = False,
    records: Records = Path("results/demo"),
) -> None:
    """What a run of `lgan demo` gave.

    Example: lgan table demo --format md
    """
    columns = ["model", "held-out accuracy, last epoch, 10 folds", "what it sees"]
    rows = []
    for name, sees in SEES.items():
        if (path := records / f"{name}.json").exists():
            result = CVResult.load(path)
            last = result.test[:, -1]
            rows.append([name, f"{last.mean():.1%} ± {last.std(correction=0):.1%}", sees])
    if not rows:
        raise ValueError(f"There is no record in {records}. Copy those of `lgan demo` there.")
    show([Grid("Graphs in pairs that 1-WL cannot separate", columns, rows)], form, as_json=as_json)


@app.command()
def ablation(
    form: Format = None,
    as_json: options.Json = False,
    records: Records = Path("results/ablation"),
    rule: Annotated[
        str, typer.Option(help="gin, fold-max, fair or bagged.", **options.one_of(RULES, "rule"))
    ] = "gin",
) -> None:
    """What each part of LGAN is worth on each set.

    Example: lgan table ablation --format md
    """
    runs = some_runs(records, "MUTAG --set branches=target")
    show([ablation_grid(runs, rule)], form, as_json=as_json)


@app.command()
def bonds(
    form: Format = None,
    as_json: options.Json = False,
    records: Records = Path("results/bonds"),
    plain: Annotated[Path, typer.Option(help="Folder with records without bonds.")] = Path(
        "results/cv"
    ),
) -> None:
    """What bonds add on sets of molecules, by the rules gin, fair and bagged.

    Example: lgan table bonds --format md
    """
    runs = some_runs(records, "MUTAG --model lgan-res --edge-features labels --fair")
    show(bond_grids([*runs, *read_runs(plain)]), form, as_json=as_json)


@app.command()
def recipe(
    form: Format = None,
    as_json: options.Json = False,
    records: Records = Path("results/recipe"),
) -> None:
    """The study behind the default recipe: what each choice is worth on each set.

    Example: lgan table recipe --format md
    """
    from paper.recipe_study import recipe_grids
    from paper.recipe_study import records as measured

    rows = some_rows(measured(records), records, "python -m paper.recipe_study run")
    show(recipe_grids(rows), form, as_json=as_json)


@app.command()
def stopping(
    form: Format = None,
    as_json: options.Json = False,
    records: Records = Path("results/cv"),
) -> None:
    """What it would change to stop training early, from the curves of complete runs.

    Example: lgan table stopping --format md
    """
    from paper.stopping import stopping_grid

    names = list(records.glob("*-default-*.json"))
    paths = some_rows(names, records, "cv MUTAG --recipe default --bagged")
    show([stopping_grid(paths)], form, as_json=as_json)


@app.command()
def coverage(
    form: Format = None,
    as_json: options.Json = False,
    records: Annotated[Path, typer.Option(help="File with the records.")] = Path(
        "results/coverage/splits.jsonl"
    ),
) -> None:
    """How often intervals and sets hold the truth, and how large they are.

    Example: lgan table coverage --format md
    """
    from benchmarks.coverage import records as measured
    from paper.coverage import coverage_grid

    if records.is_dir():
        raise typer.BadParameter(f"`--records` must be a file, but {records} is a folder.")
    rows = some_rows(measured(records), records, "python -m benchmarks.coverage TABLE.csv")
    if not all({"table", "kind", "found"} <= set(row) for row in rows):
        raise ValueError(
            f"Expected rows of `python -m benchmarks.coverage` in {records}, got others. Name "
            "another `--records`."
        )
    show([coverage_grid(rows)], form, as_json=as_json)


@app.command()
def molecules(
    form: Format = None,
    as_json: options.Json = False,
    records: Records = Path("results/molecules"),
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw a panel for every set as PNG.")
    ] = None,
    brief: Annotated[
        bool, typer.Option("--brief", help="One model of ours beside one of chemprop.")
    ] = False,
) -> None:
    """Molecules, head to head: ours, chemprop, fingerprints and GINE on the same rows.

    Examples: lgan table molecules, lgan table molecules --format csv
    """
    from paper.molecules import records as measured

    cells = some_rows(measured(records), records, "python -m paper.molecules run")
    if plot is not None:
        check_file("--plot", plot, (".png",))
        draw(cells, plot)
        note(f"picture: {plot}")
    if not brief and (as_json or form == "csv"):
        rows = csv_rows(cells)
        if as_json:
            print_json({"rows": [dict(zip(CELL_COLUMNS, row, strict=True)) for row in rows]})
        else:
            sys.stdout.write(csv_text(CELL_COLUMNS, rows))
        return
    show([brief_grid(cells)] if brief else molecule_grids(cells), form, as_json=as_json)


@app.command()
def searches(
    form: Format = None,
    as_json: options.Json = False,
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
    show([search_grid(found, read_runs(fresh))], form, as_json=as_json)

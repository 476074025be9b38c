"""`lgan table expressivity` and `lgan table runtime`, which measure before they show."""

from functools import partial
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import torch
import typer

from benchmarks.child import call_in_child
from lgan.cli import options
from lgan.cli.screen import activity, log
from lgan.cli.setup import choose_device
from lgan.data import DATASETS
from lgan.data.pairs import load_brec
from lgan.train.environment import environment
from lgan.zoo import MODELS
from paper.commands.tabular import Format, show
from paper.expressivity import (
    NETWORKS,
    REFINEMENTS,
    ExpressivityRecord,
    brec_grids,
    measure_network,
    measure_refinement,
    measure_trained,
)
from paper.published import SETS
from paper.runtime import Cost, RuntimeRecord, draw, measure_costs


def expressivity(
    form: Format = None,
    as_json: options.Json = False,
    brec: Annotated[
        Path | None,
        typer.Option(help="Folder with the raw graphs of BREC: measure before showing."),
    ] = None,
    rows: Annotated[
        list[str] | None,
        typer.Option(
            "--row", help="Only these rows, again and again.", **options.one_of(REFINEMENTS, "row")
        ),
    ] = None,
    trained: Annotated[
        bool,
        typer.Option(
            "--trained", help="Measure networks trained by BREC's protocol (minutes a row) instead."
        ),
    ] = False,
    output: Annotated[Path, typer.Option(help="Folder of the records.")] = Path(
        "results/expressivity"
    ),
) -> None:
    """Pairs of BREC that our tests and networks tell apart, beside the published counts.

    Examples: lgan table expressivity, lgan table expressivity --brec FOLDER --row lgan-res
    """
    if brec is None and (rows or trained):
        raise typer.BadParameter(
            "`--row` and `--trained` say what to measure: add `--brec FOLDER`."
        )
    if brec is not None:
        _measure_brec(brec, rows, output, trained=trained)
    paths = sorted(output.glob("*.json"))
    if not paths:
        raise ValueError(
            f"There is no record (NAME.json) in {output}. Measure with `lgan table expressivity "
            "--brec FOLDER`, or name another `--output`."
        )
    told = [count for path in paths for count in ExpressivityRecord.load(path).counts]
    show(brec_grids(told), form, as_json=as_json)


def _keep(path: Path, lost: int, what: str) -> None:
    """Refuse to write part of a record over the whole: its parts are from one run."""
    if lost:
        raise ValueError(
            f"{path} holds {lost} {what} that would not be measured again, and a record is of one "
            "run. Choose another `--output`, or measure all of them."
        )


def _measure_brec(brec: Path, rows: list[str] | None, output: Path, *, trained: bool) -> None:
    """Measure row after row; what is measured is on disk before the next begins."""
    pairs, counts = load_brec(brec), []
    path = output / ("brec-trained.json" if trained else "brec.json")
    if path.exists():
        before = {count.row for count in ExpressivityRecord.load(path).counts}
        _keep(path, len(before - set(rows or REFINEMENTS)), "rows")
    measures: list[Any] = [measure_trained] if trained else [measure_refinement, measure_network]
    with activity() as tell:
        for name in rows or REFINEMENTS:
            for measure in measures:
                if measure is not measure_refinement and name not in NETWORKS:
                    continue
                title = f"{name}: {measure.__name__.removeprefix('measure_')}"
                tell(title)
                shown = {"progress": lambda done, t=title: tell(f"{t}, {done:.0%}")}
                counts.append(measure(name, pairs, **(shown if trained else {})))
                ExpressivityRecord(counts, environment(torch.device("cpu"))).save(path)


def runtime(
    form: Format = None,
    as_json: options.Json = False,
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--model", help="Only these models, again and again.", **options.one_of(MODELS, "model")
        ),
    ] = None,
    datasets: Annotated[
        list[str] | None,
        typer.Option(
            "--dataset",
            help="Only these sets, again and again.",
            **options.one_of(DATASETS, "data set"),
        ),
    ] = None,
    epochs: Annotated[int, typer.Option(min=1, help="Epochs that count, after a first.")] = 3,
    limit: Annotated[
        float, typer.Option(min=1, help="Seconds a cell may take; then it is given up.")
    ] = 900,
    only_show: Annotated[
        bool, typer.Option("--show", help="Measure nothing, show the records there are.")
    ] = False,
    output: Annotated[Path, typer.Option(help="Folder of records and plot.")] = Path(
        "results/runtime"
    ),
    seed: options.Seed = 0,
    device: options.Device = "auto",
    root: options.Root = Path("data"),
    mirror: options.Mirror = None,
) -> None:
    """Measure one epoch, preparation and peak memory of every model on every set it can do.

    Examples: lgan table runtime --mirror FOLDER, lgan table runtime --model lgan --model gin
    --dataset MUTAG, lgan table runtime --show
    """
    if not only_show:
        place = choose_device(device)
        arguments = {
            "epochs": epochs, "root": str(root.absolute()), "mirror": mirror, "seed": seed,
            "device": str(place),
        }  # fmt: skip
        chosen, sets = list(models or MODELS), list(datasets or SETS)
        _measure_costs(chosen, sets, arguments, limit, output, place)
    paths = sorted(output.glob("*.json"))
    if not paths:
        raise ValueError(f"There is no record in {output}. Measure with `lgan table runtime`.")
    show(
        [grid for path in paths for grid in RuntimeRecord.load(path).grids()], form, as_json=as_json
    )


def _measure_costs(
    models: list[str],
    datasets: list[str],
    arguments: dict[str, Any],
    limit: float,
    output: Path,
    place: torch.device,
) -> None:
    where, path = environment(place), output / f"{place.type}.json"
    if path.exists():
        before = {(cell.model, cell.dataset) for cell in RuntimeRecord.load(path).cells}
        _keep(path, len(before - set(product(models, datasets))), "cells")
    cells: list[Cost] = []
    of = len(models) * len(datasets)
    with activity() as tell:

        def told(cost: Cost) -> None:
            cells.append(cost)
            RuntimeRecord(cells, where).save(path)  # hours of measuring should not end in nothing
            tell(f"{len(cells)} of {of} cells, last {cost.model} on {cost.dataset}")

        tell(f"0 of {of} cells")
        run = partial(call_in_child, timeout=limit)
        measure_costs(models, datasets, run, arguments, told)
    if any(cell.epoch is not None for cell in cells) and find_spec("matplotlib") is not None:
        draw(RuntimeRecord(cells, where), path.with_suffix(".png"))
        log.print(f"record: {path}, plot: {path.with_suffix('.png')}", soft_wrap=True,
                  highlight=False)  # fmt: skip

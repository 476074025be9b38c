"""`lgan explain`: which edges made a model say what it says, as pictures, numbers and a report."""

from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from lgan.cli import options
from lgan.cli.explain_source import explain_source
from lgan.cli.groups import SourceOptions
from lgan.cli.screen import log
from lgan.cli.setup import choose_device
from lgan.data import DATASETS
from lgan.explain import FRAGMENTS, MOLECULE_FRAGMENTS
from lgan.explain import Path as PointsOfPath
from lgan.explain.draw import check_ending
from lgan.explain.methods import DEFAULT, METHODS
from lgan.explain.question import Over
from lgan.predictor import load_model


def explain(
    checkpoint: options.ModelFile,
    source: Annotated[
        str | None,
        typer.Argument(metavar="[SOURCE]", help="What to explain, as in `lgan predict`."),
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option(
            help="Data set of the graphs, see `lgan data list`.",
            show_default="the one the model was trained on",
            **options.one_of(DATASETS, "data set"),
        ),
    ] = None,
    index: Annotated[
        list[int] | None, typer.Option(help="Graph to explain, counted from 0; several times.")
    ] = None,
    smiles: Annotated[
        list[str] | None,
        typer.Option(help="Molecule to explain, as SMILES or 'SMILES name'; several times."),
    ] = None,
    explained_class: Annotated[
        str | None,
        typer.Option(
            "--class",
            help="Class that red speaks for, by name or number from 0.",
            show_default="the active one of two, else the predicted one",
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(help="Class it is compared with.", show_default="all others together"),
    ] = None,
    target: Annotated[int | None, typer.Option(min=0, hidden=True)] = None,
    method: Annotated[
        str,
        typer.Option(
            help=f"How edges are scored: {', '.join(METHODS)}.", **options.one_of(METHODS, "method")
        ),
    ] = DEFAULT,
    over: Annotated[
        str,
        typer.Option(
            help="What is taken away, by methods that do: edges, nodes, fragments.",
            **options.one_of(get_args(Over), "word"),
        ),
    ] = "edges",
    fragments: Annotated[
        str | None,
        typer.Option(
            help=f"Parts to score: {', '.join(MOLECULE_FRAGMENTS)} of molecules, "
            f"{', '.join(FRAGMENTS)} of any graph.",
            show_default="the groups of molecules",
        ),
    ] = None,
    features: Annotated[
        bool,
        typer.Option("--features", help="Score the features of nodes and edges too."),
    ] = False,
    steps: Annotated[int, typer.Option(min=2, help="Points of the path to begin with.")] = 32,
    smiles_column: options.SmilesColumn = None,
    symmetrise: options.Symmetrise = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Picture to write: .svg or .png; all scores: .csv."),
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Report to write: one .html file.")] = None,
    gallery: Annotated[
        int, typer.Option(min=1, help="Graphs in a report where none are named.")
    ] = 24,
    device: options.Device = "auto",
    root: options.Root = Path("data"),
    mirror: options.Mirror = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Show which edges made a model say what it says.

    \b
    Examples:
      lgan explain runs/active/model.safetensors new.csv --output scores.csv
      lgan explain runs/mutag/model.safetensors --index 7 --index 12 -o out.svg
      lgan explain runs/mutag/model.safetensors --smiles "CCO" --report out.html
    """
    if target is not None:
        log.print("`--target` is now `--class`; the old name goes with the next release.")
        explained_class = str(target)
    _check_usage(index, smiles, source, dataset, output, report)
    place = choose_device(device)
    predictor = load_model(checkpoint).to(place)
    chosen = source or dataset
    if chosen is not None:
        SourceOptions(root=root, mirror=mirror).check(chosen)
    elif not smiles:
        chosen = predictor.checkpoint.dataset
        if chosen not in DATASETS:
            raise typer.BadParameter(
                f"the model was trained on {chosen}, which is no known data set. Name the SOURCE "
                "whose graphs are to be explained."
            )
    asked: dict[str, Any] = {
        "method": method, "over": over, "fragments": fragments, "seed": seed,
        "path": PointsOfPath(steps=steps), "features": features, "against": against,
    }  # fmt: skip
    reading = {
        "root": root, "mirror": mirror, "smiles_column": smiles_column, "seed": seed,
        "symmetrise": symmetrise,
    }  # fmt: skip
    explain_source(
        predictor, chosen or smiles, index=index, target=explained_class, asked=asked,
        reading=reading, output=output, report=report, gallery=gallery,
        every=source is not None or bool(smiles), as_json=as_json,
    )  # fmt: skip


def _check_usage(
    index: list[int] | None,
    smiles: list[str] | None,
    source: str | None,
    dataset: str | None,
    output: Path | None,
    report: Path | None,
) -> None:
    if smiles and (index or source or dataset):
        raise typer.BadParameter(
            "`--smiles` excludes SOURCE, `--index`, `--dataset`: molecules are read as those the "
            "model was trained on. Choose one."
        )
    if not (index or smiles or source or report):
        raise typer.BadParameter(
            "say what to explain: a SOURCE, `--index 7` a graph of the data set, `--smiles TEXT` a "
            "molecule, or `--report FILE` a choice of graphs."
        )
    for option, path in (("--output", output), ("--report", report)):
        if path is not None and path.is_dir():
            raise typer.BadParameter(f"`{option}` must be a file, but {path} is a folder.")
    if output is not None and output.suffix.lower() != ".csv":
        try:
            check_ending(output)
        except ValueError as error:
            raise typer.BadParameter(
                f"{error} A table of scores ends with .csv; `--report` writes a page."
            ) from error

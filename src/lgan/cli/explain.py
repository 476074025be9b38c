"""`lgan explain`: which edges made a model say what it says, as pictures, numbers and a report."""

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, get_args

import torch
import typer
from torch import Tensor

from lgan._optional import require
from lgan.cli import options
from lgan.cli.explain_source import explain_source, show_scores
from lgan.cli.groups import SourceOptions
from lgan.cli.screen import activity, log, print_json, reading_progress
from lgan.cli.setup import choose_device, load_union
from lgan.data import DATASETS, RawGraphs, load_raw
from lgan.experiment.explain import check_fits, explainer_of, report_of, settings_of
from lgan.explain import FRAGMENTS, MOLECULE_FRAGMENTS
from lgan.explain import Path as PointsOfPath
from lgan.explain.atoms import MOLECULES, molecule_spec
from lgan.explain.draw import check_ending, save
from lgan.explain.explainer import class_names
from lgan.explain.gallery import choose_for_gallery
from lgan.explain.methods import DEFAULT, METHODS
from lgan.explain.question import Over
from lgan.explain.report import confusion_tables
from lgan.explain.scale import Scale
from lgan.predictor import load_model
from lgan.train import predict as predict_logits
from lgan.train.checkpoint import Checkpoint


def explain(
    checkpoint: Annotated[
        Path, typer.Argument(metavar="MODEL", help="File `model.safetensors` of `lgan train`.")
    ],
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
        typer.Option(
            help="Class it is compared with (SOURCE).", show_default="all others together"
        ),
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
        typer.Option("--features", help="Score the features of nodes and edges too (SOURCE)."),
    ] = False,
    steps: Annotated[int, typer.Option(min=2, help="Points of the path to begin with.")] = 32,
    smiles_column: options.SmilesColumn = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Picture to write: .svg or .png; scores of SOURCE: .csv."
        ),
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
    _check_usage(index, smiles, dataset or source, output, report, whole=source is not None)
    place = choose_device(device)
    stored = Checkpoint.load(checkpoint)
    if source is not None or (smiles and stored.encoder.get("featuriser")):
        if source is not None:
            SourceOptions(root=root, mirror=mirror).check(source)
        how: dict[str, Any] = {"method": method, "over": over, "fragments": fragments, "seed": seed,
                 "path": PointsOfPath(steps=steps), "features": features,
                 "against": against}  # fmt: skip
        reading = {"root": root, "mirror": mirror, "smiles_column": smiles_column}
        explain_source(
            load_model(checkpoint).to(place), source or smiles, index=index,
            target=explained_class, asked=how, reading=reading, output=output, report=report,
            gallery=gallery, as_json=as_json,
        )  # fmt: skip
        return
    if features or against is not None:
        raise typer.BadParameter(
            "`--features` and `--against` are for a SOURCE. Name one, the data set itself, say."
        )
    name = dataset or stored.dataset
    _check_packages(output, report, smiles, name)
    raw: RawGraphs | None = None
    if not smiles:
        with reading_progress(name) as progress:
            raw = load_raw(name, root=root, mirror=mirror, seed=seed, progress=progress)
        check_fits(stored, raw)
        _check_index(index or [], raw)
    classes = molecule_spec(name).classes if raw is None else class_names(raw)
    wanted = _class(explained_class, classes)
    explainer = explainer_of(
        stored, name, device=place, seed=seed, target=wanted, method=method, steps=steps
    )
    confusions: dict[str, Tensor] = {}
    if raw is not None and report is not None:
        union = load_union(
            settings_of(stored, name), root=root, mirror=mirror, seed=seed, device=place
        )
        probability = predict_logits(explainer.model, union).softmax(-1).cpu()
        confusions = confusion_tables(probability, raw.y, name, explainer.held_out)
        among = None if explainer.held_out is None else torch.tensor(sorted(explainer.held_out))
        index = index or choose_for_gallery(probability, raw.y, gallery, among=among)
    with activity() as tell:
        asked = replace(explainer, progress=tell)
        items = (
            asked.molecules(smiles or [], name) if raw is None else asked.graphs(raw, index or [])
        )
    if output is not None:
        shared = Scale.joint(item.picture.scale for item in items)
        save([item.picture.on_scale(shared) for item in items], output)
        log.print(f"picture: {output}", soft_wrap=True, markup=False, highlight=False)
    if report is not None:
        report_of(stored, name, explainer, items, confusions).save(report)
        log.print(f"report: {report}", soft_wrap=True, markup=False, highlight=False)
    if as_json:
        print_json([item.to_json() for item in items])
    else:
        show_scores(items)


def _check_usage(
    index: list[int] | None,
    smiles: list[str] | None,
    dataset: str | None,
    output: Path | None,
    report: Path | None,
    *,
    whole: bool,
) -> None:
    if smiles and (index or dataset):
        raise typer.BadParameter(
            "`--smiles` excludes SOURCE, `--index`, `--dataset`: molecules are read as those the "
            "model was trained on. Choose one."
        )
    if not index and not smiles and report is None and not whole:
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


def _check_packages(
    output: Path | None, report: Path | None, smiles: list[str] | None, name: str
) -> None:
    """Ask for what drawing needs before anything is computed."""
    molecules = bool(smiles) or (name in MOLECULES and find_spec("rdkit") is not None)
    if smiles:
        require("rdkit.Chem")
    if output is not None or (report is not None and not molecules):
        require("matplotlib")


def _check_index(index: list[int], raw: RawGraphs) -> None:
    for graph in index:
        if not 0 <= graph < raw.num_graphs:
            raise typer.BadParameter(
                f"`--index` must be from 0 to {raw.num_graphs - 1}, got {graph}: {raw.name} has "
                f"{raw.num_graphs} graphs."
            )


def _class(wanted: str | None, classes: tuple[str, ...]) -> int | None:
    if wanted is None or wanted in classes:
        return None if wanted is None else classes.index(wanted)
    if wanted.isdecimal() and int(wanted) < len(classes):
        return int(wanted)
    raise typer.BadParameter(
        f"`--class` must be one of {', '.join(classes)}, or a number from 0 to "
        f"{len(classes) - 1}, got {wanted!r}."
    )

"""`lgan explain`: which edges made a model say what it says, as pictures, numbers and a report."""

from pathlib import Path
from typing import Annotated

import torch
import typer
from torch import Tensor

from lgan.cli import options
from lgan.cli.explaining import Explainer, confusion_tables
from lgan.cli.screen import log, print_json, reading_progress, table
from lgan.cli.setup import choose_device, load_union
from lgan.data import RawGraphs, dataset_spec, load_raw
from lgan.explain.atoms import molecule_spec
from lgan.explain.draw import check_ending, save
from lgan.explain.entry import Entry, class_names
from lgan.explain.integrated_gradients import METHOD
from lgan.explain.methods import METHODS
from lgan.explain.report import choose_for_gallery
from lgan.explain.scale import Scale
from lgan.train import predict as predict_logits
from lgan.train.checkpoint import Checkpoint

__all__ = ["explain"]

TOP = 5


def _dataset(name: str | None) -> str | None:
    try:
        return None if name is None else dataset_spec(name).name
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def _method(name: str) -> str:
    if name not in METHODS:
        raise typer.BadParameter(f"must be one of {', '.join(METHODS)}, got {name!r}.")
    return name


def explain(
    checkpoint: Annotated[Path, typer.Argument(help="File `model.safetensors` of `lgan train`.")],
    dataset: Annotated[
        str | None,
        typer.Option(
            help="Data set of the graphs, see `lgan data list`.",
            show_default="the one the model was trained on",
            callback=_dataset,
        ),
    ] = None,
    index: Annotated[
        list[int] | None, typer.Option(help="Graph to explain, counted from 0; several times.")
    ] = None,
    smiles: Annotated[
        list[str] | None, typer.Option(help="Molecule to explain, as SMILES; several times.")
    ] = None,
    target: Annotated[
        int | None,
        typer.Option(min=0, help="Class to explain.", show_default="the predicted one"),
    ] = None,
    method: Annotated[
        str, typer.Option(help=f"How edges are scored: {', '.join(METHODS)}.", callback=_method)
    ] = METHOD,
    steps: Annotated[int, typer.Option(min=2, help="Points of the path to begin with.")] = 32,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Picture to write: .svg or .png.")
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

    Examples: lgan explain runs/mutag/model.safetensors --index 7 --index 12 -o out.svg;
    lgan explain runs/mutag/model.safetensors --smiles "Nc1ccccc1" --report out.html
    """
    _check_usage(index, smiles, dataset, output, report)
    place = choose_device(device)
    stored = Checkpoint.load(checkpoint)
    if target is not None and target >= stored.out_channels:
        raise typer.BadParameter(
            f"`--target` must be from 0 to {stored.out_channels - 1}, got {target}: the model has "
            f"{stored.out_channels} classes."
        )
    name = dataset or stored.dataset
    explainer = Explainer.restore(
        stored, name, place, target=target, steps=steps, method=method, seed=seed
    )
    confusions: dict[str, Tensor] = {}
    if smiles:
        classes, entries = molecule_spec(name).classes, explainer.molecules(smiles)
    else:
        with reading_progress(name) as progress:
            raw = load_raw(name, root=root, mirror=mirror, seed=seed, progress=progress)
        explainer.check(raw)
        _check_index(index or [], raw)
        held_out = explainer.held_out
        if report is not None:
            union = load_union(
                explainer.settings, root=root, mirror=mirror, seed=seed, device=place
            )
            probability = predict_logits(explainer.model, union).softmax(-1).cpu()
            confusions = confusion_tables(probability, raw.y, name, held_out)
            among = None if held_out is None else torch.tensor(sorted(held_out))
            index = index or choose_for_gallery(probability, raw.y, gallery, among=among)
        classes, entries = class_names(raw), explainer.graphs(raw, index or [])
    if output is not None:
        shared = Scale.joint(entry.picture.scale for entry in entries)
        save([entry.picture.with_scale(shared) for entry in entries], output)
        log.print(f"picture: {output}", soft_wrap=True, markup=False, highlight=False)
    if report is not None:
        explainer.report(entries, classes, confusions).save(report)
        log.print(f"report: {report}", soft_wrap=True, markup=False, highlight=False)
    if as_json:
        print_json([entry.to_json(classes) for entry in entries])
    else:
        _show(entries, classes)


def _check_usage(
    index: list[int] | None,
    smiles: list[str] | None,
    dataset: str | None,
    output: Path | None,
    report: Path | None,
) -> None:
    if smiles and (index or dataset):
        raise typer.BadParameter(
            "`--smiles` excludes `--index` and `--dataset`: molecules are read in the labels of "
            "the set the model was trained on. Choose one."
        )
    if not index and not smiles and report is None:
        raise typer.BadParameter(
            "say what to explain: `--index 7` a graph of the data set, `--smiles TEXT` a molecule, "
            "or `--report FILE` a choice of graphs."
        )
    for option, path in (("--output", output), ("--report", report)):
        if path is not None and path.is_dir():
            raise typer.BadParameter(f"`{option}` must be a file, but {path} is a folder.")
    if output is not None:
        try:
            check_ending(output)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from error


def _check_index(index: list[int], raw: RawGraphs) -> None:
    for graph in index:
        if not 0 <= graph < raw.num_graphs:
            raise typer.BadParameter(
                f"`--index` must be from 0 to {raw.num_graphs - 1}, got {graph}: {raw.name} has "
                f"{raw.num_graphs} graphs."
            )


def _show(entries: list[Entry], classes: tuple[str, ...]) -> None:
    rows = []
    for entry in entries:
        scores = entry.attribution
        best = "  ".join(f"{name} {score:+.3f}" for name, score in entry.picture.top(TOP))
        rows.append([
            entry.name,
            "" if entry.truth is None else classes[entry.truth],
            f"{classes[scores.predicted]} ({entry.probability:.1%})",
            classes[scores.target],
            best or "no edges",
        ])  # fmt: skip
    columns = ["graph", "class", "predicted", "explained", "strongest edges"]
    sums = all(entry.attribution.complete for entry in entries)
    note = "scores add up to the change of the output from the graph without edges" if sums else ""
    table("Which edges mattered", columns, rows, note)

"""`lgan demo`: the main job on generated data."""

import shlex
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import torch

from lgan.cli import options
from lgan.cli.explain_source import explained_report, overview
from lgan.cli.screen import console, epoch_progress, print_json, table
from lgan.cli.setup import compile_loops, output_folder
from lgan.data import load
from lgan.experiment import Reading, factory, network_spec, settings_for, stored_model
from lgan.experiment.source import ReadSource
from lgan.predictor import Predictor
from lgan.predictor.explaining import explain_graphs, explained_items
from lgan.train import TrainConfig, cross_validate, train_ensemble

SHOWN = {
    "gin": "sums over neighbours; at most 1-WL",
    "lgan": "sums over edges and triangles of every ego network",
    "lgan-res": "the same with a residual path",
}

EXPLAINED = 12
MODEL = "model.safetensors"


def demo(
    epochs: Annotated[int, options.number(min=1, help="Number of epochs.")] = 30,
    folds: Annotated[int, options.number(min=2, max=100, help="Number of folds.")] = 10,
    seed: options.Seed = 0,
    output: options.Output = None,
    as_json: options.Json = False,
) -> None:
    """Train GIN, LGAN and LGAN-res on graphs that 1-WL cannot tell apart.

    Every graph has a partner in the other class with the same number of nodes, the same degrees
    and the same colours under 1-WL; only one of the two has triangles. No download is needed.
    It ends with a report of which edges decided, one HTML file, where matplotlib is installed.
    """
    folder = output_folder(output, "demo", resume=False, overwrite=True)
    if not as_json:
        console.print(
            "Graphs come in pairs that the 1-WL test cannot separate: two covers of one base.\n"
            "In class 1 every triangle of the base lifts to two triangles, in class 0 to a\n"
            "hexagon (the paper's Figures 1 and 3). Partners stay in the same fold.\n"
        )
    compile_loops("lgan", torch.device("cpu"), _train_a_step)
    config = TrainConfig(epochs=epochs, iterations=0, seed=seed)
    rows, results = [], {}
    for name, meaning in SHOWN.items():
        spec = network_spec(name)
        union = load("triangles", compress=spec.compress, seed=seed)
        # Partners share a fold: otherwise what is learnt of one by heart is wrong for the other.
        fold = torch.arange(union.num_graphs) // 2 % folds
        build = partial(spec.build, union.num_features, 16, union.num_classes, num_layers=3)
        sizes = torch.bincount(fold).tolist()
        with epoch_progress(f"{name:<8}", epochs, sizes) as on_epoch:
            result = cross_validate(
                build, union, folds=fold, config=config, output=folder / name,
                model={"name": name, "hidden": 16, "num_layers": 3}, on_epoch=on_epoch,
            )  # fmt: skip
        # The last epoch, chosen by nobody: no rule can flatter it.
        last = result.test[:, -1]
        results[name] = {
            "last_epoch": float(last.mean()),
            "std": float(last.std(unbiased=False)),
            "seconds": float(result.seconds.sum()),
        }
        rows.append(
            [name, f"{last.mean():.1%} ± {last.std(unbiased=False):.1%}",
             f"{float(result.seconds.sum()):.1f} s", meaning]
        )  # fmt: skip
    report = folder / "report.html"
    drawn = find_spec("matplotlib") is not None
    if drawn:
        _explain(folder, report, epochs=epochs, folds=folds, seed=seed)
    if as_json:
        print_json(results)
        return
    table(
        f"Accuracy on held-out pairs after epoch {epochs}, {folds} folds",
        ["model", "accuracy", "time", "what it sees"],
        rows,
        f"chance is 50 %; records: {folder}",
    )
    told = f"which edges decided, in pictures: {report}" if drawn else (
        "for a report of which edges decided: pip install 'lgan[plot]'"
    )  # fmt: skip
    if drawn:
        told += f"\nask the model on a page of its own: lgan app {shlex.quote(str(folder / MODEL))}"
    console.print(told, soft_wrap=True, highlight=False, markup=False)


def _train_a_step() -> None:
    """Compile all that the networks train with, so that their time is that of training."""
    for name in SHOWN:
        spec = network_spec(name)
        union = load("triangles", compress=spec.compress)
        build = partial(spec.build, union.num_features, 16, union.num_classes, num_layers=3)
        fold = torch.arange(union.num_graphs) // 2 % 2
        cross_validate(build, union, folds=fold, config=TrainConfig(epochs=1, iterations=1))


def _explain(folder: Path, report: Path, *, epochs: int, folds: int, seed: int) -> None:
    """Train one model, keep it, and report on some of the graphs it was not trained on."""
    settings = settings_for(
        "lgan-res", "triangles", hidden=16, num_layers=3, epochs=epochs, iterations=0, seed=seed
    )
    found = ReadSource.of(settings, "triangles", Reading(seed=seed))
    raw, union = found.raw, found.union
    fold = torch.arange(union.num_graphs) // 2 % folds
    trained = train_ensemble(
        factory(settings, union), union, members=1, folds=fold, config=settings.training
    )
    stored = stored_model(settings, found, trained)
    stored.save(folder / MODEL)
    predictor, held_out = Predictor.of(stored), stored.held_out(raw.name, seed)
    confusions, chosen = overview(predictor, raw, raw.y, EXPLAINED, held_out)
    shown = raw.select(chosen)
    scores = explain_graphs(predictor, shown, target="triangles")
    items = explained_items(predictor, shown, scores, held_out=held_out)
    explained_report(predictor, shown, items, confusions=confusions).save(report)

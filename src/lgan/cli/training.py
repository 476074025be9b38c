"""`lgan train` and `lgan cv`."""

import sys
from contextlib import nullcontext
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from lgan.catalogue import DATASETS, shown
from lgan.cli import options
from lgan.cli.groups import NetworkOptions, SourceOptions, grouped
from lgan.cli.joined import (
    all_or_none,
    check_same_data,
    check_same_state,
    joined_processes,
    restarted,
)
from lgan.cli.ray_training import train_on_ray, without_ray
from lgan.cli.screen import console, epoch_progress, note, print_json, reading_progress, table
from lgan.cli.setup import (
    check_fold_count,
    checked_folds,
    choose_device,
    choose_split,
    compile_loops,
    drawn_folds,
    metric_name,
    output_folder,
    read_source,
    resumable,
    tell_undefined,
)

# The library is read by the functions that use it: a mistyped option needs no torch.
if TYPE_CHECKING:
    from lgan.data import Split
    from lgan.experiment import Reading, ReadSource, Settings
    from lgan.train import CVResult, TrainedEnsemble
    from lgan.train.checkpoint import Checkpoint


@grouped
def cv(
    source: options.Source,
    data: SourceOptions,
    *,
    model: options.Model = "lgan",
    metric: options.Metric = None,
    split: options.Split = None,
    folds: options.Folds = None,
    fair: options.Fair = False,
    bagged: options.Bagged = False,
    bagged_members: options.BaggedMembers = None,
    network: NetworkOptions,
    seed: options.Seed = 0,
    seeds: options.Seeds = 1,
    device: options.Device = "auto",
    output: options.Output = None,
    resume: options.Resume = False,
    overwrite: options.Overwrite = False,
    splits: options.Splits = None,
    as_json: options.Json = False,
) -> None:
    """Cross-validate a model: all folds train side by side, and every rule is read off one run.

    Settings that are not given are, on the sets of the paper, those that won a search on these
    very folds (the rule `fair` is fair about the epoch, not about them) or those of the model's
    own paper; on other data the usual ones.

    \b
    Examples:
      lgan cv MUTAG --model lgan-res --epochs 100
      lgan cv PROTEINS --seeds 3 --fair
      lgan cv MUTAG --bagged
      lgan cv molecules.csv --target active --split scaffold --metric roc-auc
    """
    data.check(source)
    how = choose_split(split, splits, folds)
    if bagged_members is not None and not bagged:
        raise typer.BadParameter("`--bagged-members` says how many `--bagged` averages: add that.")
    nested = "--bagged" if bagged else "--fair" if fair else None
    check_fold_count(folds, fair=nested)
    place = choose_device(device)
    name = Path(source).name
    settings = network.settings(model, name, seed=seed)
    reading = data.reading(seed=seed, columns=how.columns)
    folder = output_folder(output, f"{name}-{model}", resume=resume, overwrite=overwrite)

    import torch

    from lgan.experiment import run_network, with_data_options
    from lgan.train import over_seeds
    from lgan.zoo import KernelSpec, model_spec

    if isinstance(model_spec(model), KernelSpec):
        if resume:
            raise typer.BadParameter(
                f"`--resume` is for networks: {model} keeps no state. Add `--overwrite` instead."
            )
        if seeds > 1:
            raise typer.BadParameter(f"`--seeds` is for networks: {model} has no initial weights.")
        if bagged:
            raise typer.BadParameter(
                f"`--bagged` is for networks: {model} chooses inside the training part as it is. "
                "Leave it out, and read the rule fair."
            )
        for setting in ("epochs", "iterations", "batch_size", "hidden", "lr", "class_weight"):
            if getattr(network, setting) is not None:
                note(f"{model} takes no steps: `--{setting.replace('_', '-')}` changes nothing")
        if metric not in (None, "accuracy"):
            raise typer.BadParameter(f"{model} is measured by its accuracy, not by {metric}.")
        results = [_fit_kernel(settings, source, reading, folder, how, folds, overwrite=overwrite)]
    else:
        found = read_source(settings, source, reading, device=place)
        measured = metric_name(found.union, metric)
        fold = checked_folds(how, found, folds, seed)
        tell_undefined(found.union, fold, measured)
        settings = with_data_options(settings, found.union)
        sizes = torch.bincount(fold[fold >= 0]).tolist()
        compile_loops(model, place)
        with (
            resumable(folder, resume=resume, overwrite=overwrite),
            epoch_progress(f"{name} {model}", settings.training.epochs, sizes) as on_epoch,
        ):
            results = run_network(
                settings, found.whole, fold, seeds=seeds, metric=metric, fair=fair,
                bagged=bagged and (bagged_members or True), device=place, output=folder,
                resume=resume, on_epoch=on_epoch,
            )  # fmt: skip
    if as_json:
        summaries = [_summary(result, folder, seeds) for result in results]
        print_json(
            summaries[0] if seeds == 1 else {"seeds": summaries, "results": over_seeds(results)}
        )
        return
    _show(results, folder)


def _fit_kernel(
    settings: "Settings",
    source: str,
    reading: "Reading",
    folder: Path,
    split: "Split",
    folds: int | None,
    *,
    overwrite: bool,
) -> "CVResult":
    from lgan.experiment import run_kernel

    with reading_progress(settings.dataset) as progress:
        raw = reading.raw(source, progress)
    if not raw.known_task.has_classes:
        raise ValueError(
            f"The kernel {settings.model!r} tells classes apart, got the task {raw.known_task}. "
            "Choose a network, or one target with classes."
        )
    fold = drawn_folds(split, raw, raw.known_task, folds, settings.training.seed)
    with (
        resumable(folder, resume=False, overwrite=overwrite),
        reading_progress(settings.model, doing="fitting") as progress,
    ):
        return run_kernel(settings, raw, fold, output=folder, progress=progress)


@grouped
def train(
    source: options.Source,
    data: SourceOptions,
    *,
    model: options.Model = "lgan",
    metric: options.Metric = None,
    split: options.Split = None,
    folds: options.Folds = None,
    members: options.Members = 10,
    window: options.Window = None,
    network: NetworkOptions,
    seed: options.Seed = 0,
    device: options.Device = "auto",
    ray: options.Ray = None,
    workers: options.Workers = None,
    output: options.Output = None,
    resume: options.Resume = False,
    overwrite: options.Overwrite = False,
    report: options.Report = True,
    training_data: options.TrainingData = True,
    as_json: options.Json = False,
) -> None:
    """Train members side by side, each with another fold held out, and keep them as one model for
    `lgan predict`.

    \b
    Examples:
      lgan train molecules.csv --target active --output runs/active
      lgan train PROTEINS --members 1 --recipe paper --output runs/proteins
      torchrun --nproc-per-node 8 -m lgan train shards --output runs/large
    """
    with joined_processes() as leader:
        resume = resume or restarted()
        with all_or_none():
            data.check(source)
            how = choose_split(split, None, folds)
            place = choose_device(device)
            name = Path(source).name
            network = replace(network, recipe=network.recipe or "default")
            settings = network.settings(model, name, seed=seed)
            reading = data.reading(seed=seed, columns=how.columns)
            folder = output_folder(
                output, f"{name}-{model}-train", resume=resume, overwrite=overwrite
            )
            if ray is not None:
                if overwrite:
                    raise typer.BadParameter(
                        "`--ray` goes on where it stopped: remove the output first."
                    )
                words = without_ray(sys.argv[1:])
                gpus = place.type == "cuda"
                train_on_ray(words, ray, workers=workers or 1, gpus=gpus, output=folder)
                return
            if workers is not None:
                raise typer.BadParameter("`--workers` is for `--ray`; on one machine use torchrun.")

            from lgan.experiment import (
                as_the_network_needs,
                factory,
                network_spec,
                stored_model,
                with_data_options,
            )
            from lgan.experiment.training_report import by_target, estimate_words
            from lgan.train import train_ensemble

            network_spec(model)  # a kernel is refused before its data are read
            found = read_source(settings, source, reading, device=place, window=window)
            union = found.union
            metric_name(union, metric)
            usual = 10 if members == 1 else max(5, members)
            fold = checked_folds(how, found, folds, seed, usual=usual, parts=True)
        check_same_data(union, fold)
        if resume:
            check_same_state(folder)
        settings = with_data_options(settings, union)
        path = folder / "model.safetensors"
        made = int(fold.max()) + 1
        sizes = [int((fold == k % made).sum()) for k in range(members)]
        if leader:
            side = f"{members} members side by side" if members > 1 else "one model"
            each = "each without another" if members > 1 else "without one"
            held = f"{each} of {made} folds" if made > 1 else "without what is held out"
            training = settings.training
            waits = 0 < training.patience < training.epochs
            early = f", until {training.patience} bring nothing better" if waits else ""
            note(f"training {side}, {held}, up to {training.epochs} epochs{early}")
            compile_loops(model, place)
        with (
            resumable(folder, resume=resume, overwrite=overwrite) if leader else nullcontext(),
            epoch_progress(f"{name} {model}", settings.training.epochs, sizes) as on_epoch,
        ):
            trained = train_ensemble(
                factory(settings, union), union, members=members, folds=fold,
                config=settings.training, metric=metric, device=place, output=folder,
                resume=resume, model=settings.about(), on_epoch=on_epoch,
                **as_the_network_needs(settings, union),
            )  # fmt: skip
            if not leader:
                return
            stored = stored_model(settings, found, trained, training_data=training_data)
            stored.save(path)
        written = _report(found, trained, stored, folder) if report else None
    if stored.molecules is not None:
        kept = "SMILES, fingerprints" if training_data else "fingerprints"
        less = " (`--no-training-data` leaves SMILES out)" if training_data else ""
        note(f"the model keeps {kept} and targets of the training molecules{less}")
    if stored.companion is not None:
        number = len(stored.companion.landmarks)
        note(f"beside its members answers a companion, which keeps features of {number:,} graphs")
    measured = str(trained.info["metric"])
    if as_json:
        about = {"checkpoint": str(path), "report": written and str(written)}
        print_json({**about, measured: trained.score, **stored.info})
        return
    figure, caveat = estimate_words(trained)
    console.print(f"out-of-fold {measured}: [bold]{figure}[/]", highlight=False)
    assert stored.out_of_fold is not None  # a model of this version has them
    if each := by_target(stored.out_of_fold, union.known_task):
        console.print(each, soft_wrap=True, markup=False, highlight=False)
    note(caveat)
    console.print(f"model: {path}", soft_wrap=True, markup=False, highlight=False)
    if written:
        console.print(f"report: {written}", soft_wrap=True, markup=False, highlight=False)


def _report(
    found: "ReadSource", trained: "TrainedEnsemble", stored: "Checkpoint", folder: Path
) -> Path | None:
    """Write what was found as a page beside the model, where it can be drawn."""
    from lgan.data import replaced
    from lgan.experiment.training_report import training_report

    if find_spec("matplotlib") is None:
        note("for a report of this training: pip install 'lgan[plot]'")
        return None
    path = folder / "report.html"
    with replaced(path) as temporary:
        temporary.write_text(training_report(found, trained, stored), encoding="utf-8")
    return path


def _summary(result: "CVResult", folder: Path, seeds: int) -> dict[str, Any]:
    from lgan.experiment import record_name

    plain = result.to_json()
    keep = ("dataset", "model", "config", "metric", "results", "pooled", "fold_sizes")
    seconds = float(result.seconds.sum())
    return {**{key: plain[key] for key in keep}, "seconds": seconds,
            "peak_memory": result.info["peak_memory"],
            "record": str(folder / record_name(result.config["seed"], seeds))}  # fmt: skip


def _show(results: list["CVResult"], folder: Path) -> None:
    from lgan.experiment import record_name
    from lgan.train import over_seeds
    from lgan.zoo import KernelSpec, model_spec

    if isinstance(model_spec(results[0].model["name"]), KernelSpec):
        _show_kernel(results[0], folder)
        return
    meaning = {
        "gin": "one epoch for all folds, best mean (optimistic)",
        "fold-max": "each fold's own best epoch (flatters)",
        "fair": "epoch chosen on an inner hold-out",
        "bagged": f"{results[0].bagged_members} models a fold, their epoch on inner hold-outs",
    }
    result, means, rows = results[0], over_seeds(results), []
    metric, searched = result.metric, result.dataset in DATASETS
    searched = searched and "recipe" not in result.model
    for rule, text in meaning.items():
        if rule not in means:
            rows.append([rule, "not measured", "", f"add --{rule}"])
            continue
        chosen = [each.selected(rule) for each in results]
        epochs = sorted({epoch for each in chosen for epoch in each.epochs})
        span = f"{epochs[0]}" if len(epochs) == 1 else f"{epochs[0]}–{epochs[-1]}"
        if len(results) > 1:
            text = "seeds: " + ", ".join(shown(metric, each.mean) for each in chosen)
        mean, std = (shown(metric, means[rule][key]) for key in ("mean", "std"))
        rows.append([rule, f"{mean} ± {std}", span, text])
    several = f", mean of {len(results)} seeds" if len(results) > 1 else ""
    table(
        f"{result.dataset}, model {result.model['name']}, {len(result.fold_sizes)} folds, "
        f"{result.test.size(1)} epochs{several}",
        ["rule", metric, "epoch", "how the epoch is chosen" if not several else ""],
        rows,
        f"{float(result.seconds.sum()):.1f} s in all; "
        f"record: {folder / record_name('*', len(results))}"
        + ("\ndefault settings were searched on these very graphs" if searched else ""),
    )


def _show_kernel(result: "CVResult", folder: Path) -> None:
    """The one figure of a kernel, which has no epochs: all rules read the same."""
    found = result.selected("fair")
    mean, std = (shown(result.metric, value) for value in (found.mean, found.std))
    seconds = float(result.seconds.sum()) + (result.info["gram_seconds"] or 0.0)
    table(
        f"{result.dataset}, kernel {result.model['name']}, {len(result.fold_sizes)} folds",
        ["rule", result.metric, "how C and the kernel's options are chosen"],
        [["fair", f"{mean} ± {std}", "inside the training part"]],
        f"{seconds:.1f} s in all; record: {folder / 'result.json'}",
    )

"""`lgan train`, `lgan cv` and `lgan predict`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lgan.cli import options
from lgan.cli.screen import console, epoch_progress, print_json, reading_progress, table
from lgan.cli.setup import (
    choose_device,
    choose_settings,
    fold_count,
    load_union,
    output_folder,
    resumable,
)

# The library is read by the functions that use it: a mistyped option needs no torch.
if TYPE_CHECKING:
    from torch import Tensor

    from lgan.data import RawGraphs
    from lgan.experiment import Settings
    from lgan.train import CVResult

__all__ = ["cv", "predict", "train"]


def cv(
    dataset: options.Dataset,
    model: options.Model = "lgan",
    epochs: options.Epochs = None,
    iterations: options.Iterations = None,
    folds: options.Folds = None,
    splits: options.Splits = None,
    fair: options.Fair = False,
    batch_size: options.BatchSize = None,
    hidden: options.Hidden = None,
    layers: options.Layers = None,
    dropout: options.Dropout = None,
    lr: options.LearningRate = None,
    readout: options.Readout = None,
    pair_code: options.PairCode = None,
    features: options.Features = None,
    compress: options.Compress = True,
    more: options.Option = None,
    seed: options.Seed = 0,
    seeds: options.Seeds = 1,
    device: options.Device = "auto",
    root: options.Root = Path("data"),
    mirror: options.Mirror = None,
    output: options.Output = None,
    resume: options.Resume = False,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
) -> None:
    """Cross-validate a model: all folds train side by side, and every rule is read off one run.

    Settings that are not given are those that won a search for this model and data set, on these
    very folds (the rule `fair` is fair about the epoch, not about them), or those of the model's
    own paper.

    \b
    Examples:
      lgan cv MUTAG --model lgan-res --epochs 100
      lgan cv PROTEINS --seeds 3 --fair
    """
    import torch

    from lgan.data import choose_folds
    from lgan.experiment import run_network
    from lgan.train import over_seeds
    from lgan.zoo import KernelSpec, model_spec

    place = choose_device(device)
    settings = choose_settings(
        model, dataset, more, epochs=epochs, iterations=iterations, batch_size=batch_size,
        hidden=hidden, num_layers=layers, dropout=dropout, lr=lr, readout=readout,
        pair_code=pair_code, features=features, compress=compress, seed=seed,
    )  # fmt: skip
    num_folds = fold_count(folds, splits, fair="--fair" if fair else None)
    folder = output_folder(output, f"{dataset}-{model}", resume=resume, overwrite=overwrite)
    if isinstance(model_spec(model), KernelSpec):
        if resume:
            raise typer.BadParameter(
                f"`--resume` is for networks: {model} keeps no state. Add `--overwrite` instead."
            )
        if seeds > 1:
            raise typer.BadParameter(f"`--seeds` is for networks: {model} has no initial weights.")
        results = [
            _fit_kernel(settings, folder, splits, num_folds, root, mirror, overwrite=overwrite)
        ]
    else:
        union = load_union(settings, root=root, mirror=mirror, seed=seed, device=place)
        fold = choose_folds(dataset, splits, union.y, num_folds, seed=seed)
        sizes = torch.bincount(fold[fold >= 0]).tolist()
        with (
            resumable(folder, resume=resume, overwrite=overwrite),
            epoch_progress(f"{dataset} {model}", settings.training.epochs, sizes) as on_epoch,
        ):
            results = run_network(
                settings, union, fold, seeds=seeds, fair=fair, device=place, output=folder,
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
    folder: Path,
    splits: Path | None,
    folds: int,
    root: Path,
    mirror: str | None,
    *,
    overwrite: bool,
) -> "CVResult":
    from lgan.data import choose_folds, load_raw
    from lgan.experiment import run_kernel

    with reading_progress(settings.dataset) as progress:
        seed = settings.training.seed
        raw = load_raw(settings.dataset, root=root, mirror=mirror, seed=seed, progress=progress)
    fold = choose_folds(settings.dataset, splits, raw.y, folds, seed=seed)
    with (
        resumable(folder, resume=False, overwrite=overwrite),
        reading_progress(settings.model, fitting=True) as progress,
    ):
        return run_kernel(settings, raw, fold, output=folder, progress=progress)


def train(
    dataset: options.Dataset,
    model: options.Model = "lgan",
    epochs: options.Epochs = 100,
    iterations: options.Iterations = 0,
    folds: options.Folds = None,
    batch_size: options.BatchSize = None,
    hidden: options.Hidden = None,
    layers: options.Layers = None,
    dropout: options.Dropout = None,
    lr: options.LearningRate = None,
    readout: options.Readout = None,
    pair_code: options.PairCode = None,
    features: options.Features = None,
    compress: options.Compress = True,
    more: options.Option = None,
    seed: options.Seed = 0,
    device: options.Device = "auto",
    root: options.Root = Path("data"),
    mirror: options.Mirror = None,
    output: options.Output = None,
    resume: options.Resume = False,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
) -> None:
    """Train one model, with one of the folds held out, and keep it for `lgan predict`.

    \b
    Example:
      lgan train PROTEINS --model lgan-res --epochs 50 --output runs/proteins
    """
    from lgan.data import choose_folds, load_raw
    from lgan.experiment import factory, feature_names, network_spec, with_data_options
    from lgan.train import train_one
    from lgan.train.checkpoint import Checkpoint

    place = choose_device(device)
    settings = choose_settings(
        model, dataset, more, epochs=epochs, iterations=iterations, batch_size=batch_size,
        hidden=hidden, num_layers=layers, dropout=dropout, lr=lr, readout=readout,
        pair_code=pair_code, features=features, compress=compress, seed=seed,
    )  # fmt: skip
    spec = network_spec(model)
    folder = output_folder(output, f"{dataset}-{model}-train", resume=resume, overwrite=overwrite)
    union = load_union(settings, root=root, mirror=mirror, seed=seed, device=place)
    fold = choose_folds(dataset, None, union.y, fold_count(folds), seed=seed)
    settings, epochs = with_data_options(settings, union), settings.training.epochs
    raw = load_raw(dataset, root=root, mirror=mirror, seed=seed)
    path = folder / "model.safetensors"
    with (
        resumable(folder, resume=resume, overwrite=overwrite),
        epoch_progress(f"{dataset} {model}", epochs, [int((fold == 0).sum())]) as on_epoch,
    ):
        trained = train_one(
            factory(settings, union), union, folds=fold, config=settings.training,
            captured=spec.captured, device=place, output=folder, resume=resume,
            model=settings.about(), on_epoch=on_epoch,
        )  # fmt: skip
        Checkpoint(
            model=model,
            options=settings.options,
            in_channels=union.num_features,
            hidden_channels=settings.hidden,
            out_channels=union.num_classes,
            dataset=dataset,
            features=settings.features,
            state=trained.state,
            info={**trained.info, "compress": settings.compress},
            feature_names=feature_names(raw, settings.features),
            classes=raw.classes,
        ).save(path)
    report = {"checkpoint": str(path), "accuracy": trained.accuracy, **trained.info}
    if as_json:
        print_json(report)
        return
    console.print(f"held-out accuracy after epoch {epochs}: [bold]{trained.accuracy:.1%}[/] "
                  f"on {trained.info['held_out']} graphs")  # fmt: skip
    console.print(f"checkpoint: {path}", soft_wrap=True, markup=False, highlight=False)


def predict(
    checkpoint: Annotated[Path, typer.Argument(help="File `model.safetensors` of `lgan train`.")],
    dataset: options.Dataset,
    device: options.Device = "auto",
    root: options.Root = Path("data"),
    mirror: options.Mirror = None,
    seed: options.Seed = 0,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="CSV file for one row per graph."),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Predict the class of every graph of a data set with a trained model.

    \b
    Example:
      lgan predict runs/proteins/model.safetensors PROTEINS -o predictions.csv
    """
    import torch

    from lgan.data import load_raw
    from lgan.experiment import feature_names, network_spec, settings_for
    from lgan.train import predict as predict_logits
    from lgan.train.checkpoint import Checkpoint

    place = choose_device(device)
    if output is not None and output.is_dir():
        raise typer.BadParameter(f"`--output` must be a CSV file, but {output} is a folder.")
    stored = Checkpoint.load(checkpoint)
    settings = settings_for(
        stored.model, dataset, features=stored.features, hidden=stored.hidden_channels,
        compress=stored.compress, **stored.options,
    )  # fmt: skip
    raw = load_raw(dataset, root=root, mirror=mirror, seed=seed)
    stored.check_meaning(dataset, feature_names(raw, stored.features), raw.classes)
    network = stored.restore(network_spec(stored.model).build).to(place)
    union = load_union(settings, root=root, mirror=mirror, seed=seed, device=place)
    probability = predict_logits(network, union).softmax(-1).cpu()
    guess, y = probability.argmax(-1), union.y.cpu()
    classes = raw.classes
    pairs = torch.bincount(y * len(classes) + guess, minlength=len(classes) ** 2)
    confusion = pairs.view(len(classes), len(classes))
    accuracy = float((guess == y).double().mean())
    held_out = stored.held_out(dataset, seed)
    rows = _prediction_rows(raw, probability, held_out)
    if output is not None:
        _write_csv(output, rows)
    if as_json:
        print_json({"accuracy": accuracy, "confusion": confusion.tolist(), "rows": rows})
        return
    counts = zip(classes, confusion.tolist(), strict=True)
    table(
        f"{dataset}: accuracy {accuracy:.1%} on {union.num_graphs} graphs",
        ["true \\ predicted", *(f"class {name}" for name in classes)],
        [[f"class {name}", *map(str, row)] for name, row in counts],
        "" if held_out is None else
        f"The model was trained on {union.num_graphs - len(held_out)} of them.",
    )  # fmt: skip


def _prediction_rows(
    raw: "RawGraphs", probability: "Tensor", held_out: set[int] | None
) -> list[dict[str, Any]]:
    """A row for every graph: its class, the predicted one, all probabilities, whether the model
    was trained on it.
    """
    return [
        {
            "graph": graph,
            "class": raw.classes[label],
            "class_predicted": raw.classes[guess],
            **{
                f"class_probability_{name}": round(value, 6)
                for name, value in zip(raw.classes, values, strict=True)
            },
            "seen": "yes" if held_out is not None and graph not in held_out else "",
            "error": "",
        }
        for graph, (label, guess, values) in enumerate(
            zip(raw.y.tolist(), probability.argmax(-1).tolist(), probability.tolist(), strict=True)
        )
    ]


def _summary(result: "CVResult", folder: Path, seeds: int) -> dict[str, Any]:
    from lgan.experiment import record_name

    plain = result.to_json()
    keep = ("dataset", "model", "config", "metric", "results", "fold_sizes")
    seconds = float(result.seconds.sum())
    return {**{key: plain[key] for key in keep}, "seconds": seconds,
            "peak_memory": result.info["peak_memory"],
            "record": str(folder / record_name(result.config["seed"], seeds))}  # fmt: skip


def _show(results: list["CVResult"], folder: Path) -> None:
    from lgan.experiment import record_name
    from lgan.train import over_seeds

    meaning = {
        "gin": "one epoch for all folds, best mean (optimistic)",
        "fold-max": "each fold's own best epoch (flatters)",
        "fair": "epoch chosen on an inner hold-out (default settings: searched on these folds)",
    }
    form = "{:.1%}" if results[0].metric == "accuracy" else "{:.3f}"
    result, means, rows = results[0], over_seeds(results), []
    for rule, text in meaning.items():
        if rule not in means:
            rows.append([rule, "not measured", "", "add --fair"])
            continue
        chosen = [each.selected(rule) for each in results]
        epochs = sorted({epoch for each in chosen for epoch in each.epochs})
        span = f"{epochs[0]}" if len(epochs) == 1 else f"{epochs[0]}–{epochs[-1]}"
        if len(results) > 1:
            text = "seeds: " + ", ".join(form.format(each.mean) for each in chosen)
        mean, std = (form.format(means[rule][key]) for key in ("mean", "std"))
        rows.append([rule, f"{mean} ± {std}", span, text])
    several = f", mean of {len(results)} seeds" if len(results) > 1 else ""
    table(
        f"{result.dataset}, {result.model['name']}, {len(result.fold_sizes)} folds, "
        f"{result.test.size(1)} epochs{several}",
        ["rule", result.metric, "epoch", "how the epoch is chosen" if not several else ""],
        rows,
        f"{float(result.seconds.sum()):.1f} s in all; "
        f"record: {folder / record_name('*', len(results))}",
    )


def _write_csv(path: Path, rows: list[dict[str, Any]]) -> None:
    import csv

    from lgan.data import replaced

    with replaced(path) as temporary, temporary.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)

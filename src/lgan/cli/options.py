"""Options that mean the same in every command."""

from pathlib import Path
from typing import Annotated

import typer

from lgan.data import DATASETS
from lgan.data.sources import FEATURES
from lgan.graph.pair_codes import LEVELS
from lgan.zoo import MODELS

__all__ = [
    "BatchSize",
    "Compress",
    "Dataset",
    "Device",
    "Dropout",
    "Epochs",
    "Fair",
    "Features",
    "Folds",
    "Hidden",
    "Iterations",
    "Json",
    "Layers",
    "LearningRate",
    "Mirror",
    "Model",
    "Option",
    "Output",
    "Overwrite",
    "PairCode",
    "Readout",
    "Resume",
    "Root",
    "Seed",
    "Seeds",
    "Splits",
]


def _known(names: dict[str, object], what: str, name: str) -> str:
    from difflib import get_close_matches

    if name in names:
        return name
    by_lower = {known.lower(): known for known in names}
    close = get_close_matches(name.lower(), by_lower, 1, 0.5)
    hint = f" Did you mean {by_lower[close[0]]}?" if close else ""
    raise typer.BadParameter(f"unknown {what} {name!r}.{hint} Choose one of: {', '.join(names)}.")


def _dataset(name: str) -> str:
    return _known(dict(DATASETS), "data set", name)


def _model(name: str) -> str:
    return _known(dict(MODELS), "model", name)


def _features(name: str | None) -> str | None:
    if name is not None and name not in FEATURES:
        raise typer.BadParameter(f"must be one of {', '.join(FEATURES)}, got {name!r}.")
    return name


def _readout(name: str | None) -> str | None:
    if name not in (None, "sum", "mean", "max"):
        raise typer.BadParameter(f"must be sum, mean or max, got {name!r}.")
    return name


def _pair_code(level: str | None) -> str | None:
    if level is not None and level not in LEVELS:
        raise typer.BadParameter(f"must be one of {', '.join(LEVELS)}, got {level!r}.")
    return level


def _dropout(rate: float | None) -> float | None:
    if rate is not None and not 0 <= rate < 1:  # the limits of an option let NaN pass
        raise typer.BadParameter(f"must be at least 0 and below 1, got {rate}.")
    return rate


Dataset = Annotated[str, typer.Argument(help="Data set, see `lgan data list`.", callback=_dataset)]
Model = Annotated[str, typer.Option(help=f"Model: {', '.join(MODELS)}.", callback=_model)]
Root = Annotated[Path, typer.Option(help="Folder for downloads and prepared data.")]
Mirror = Annotated[
    str | None,
    typer.Option(
        envvar="LGAN_MIRROR", help="Folder or address that holds NAME.zip, to work offline."
    ),
]
Output = Annotated[
    Path | None, typer.Option(help="Folder for records and checkpoints.", show_default="runs/…")
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for scripts.")]
Seed = Annotated[
    int, typer.Option(min=0, max=2**32 - 1, help="Fixes weights, batches, folds and dropout.")
]
Seeds = Annotated[
    int,
    typer.Option(min=1, help="Trainings side by side, with this seed and the next ones."),
]
Device = Annotated[str, typer.Option(help="Where to compute: cpu, cuda, or auto.")]
BY = "by model and data set"
Epochs = Annotated[int | None, typer.Option(min=1, help="Number of epochs.", show_default=BY)]
Iterations = Annotated[
    int | None,
    typer.Option(
        min=0, help="Steps in an epoch; 0 is one pass over the training part.", show_default=BY
    ),
]
Folds = Annotated[
    int | None, typer.Option(min=2, help="Number of stratified folds.", show_default="10")
]
Splits = Annotated[
    Path | None,
    typer.Option(
        help="Folder with published folds (test_idx-K.txt) to use instead.",
        exists=True, file_okay=False,
    ),
]  # fmt: skip
BatchSize = Annotated[int | None, typer.Option(min=1, help="Graphs in a batch.", show_default=BY)]
Hidden = Annotated[int | None, typer.Option(min=1, help="Width of every layer.", show_default=BY)]
Layers = Annotated[int | None, typer.Option(min=1, help="Number of layers.", show_default=BY)]
Dropout = Annotated[
    float | None,
    typer.Option(help="Dropout before the head.", callback=_dropout, show_default=BY),
]
LearningRate = Annotated[
    float | None, typer.Option("--lr", help="Learning rate of Adam.", show_default=BY)
]
Readout = Annotated[
    str | None,
    typer.Option(help="sum, mean or max.", show_default=BY, callback=_readout),
]
PairCode = Annotated[
    str | None,
    typer.Option(
        help=f"Structural code of the pairs, for lgan and lgan-res: {', '.join(LEVELS)}.",
        show_default=BY,
        callback=_pair_code,
    ),
]
Option = Annotated[
    list[str] | None,
    typer.Option(
        "--set", help="Any other setting of the model or the training, as NAME=VALUE; repeatable."
    ),
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on after an interruption.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what is in the output.")]
Fair = Annotated[
    bool,
    typer.Option("--fair", help="Train ten more models with an inner hold-out, for that rule."),
]
Features = Annotated[
    str | None,
    typer.Option(
        help="labels, attributes, labels+attributes, degree or constant.",
        show_default=BY,
        callback=_features,
    ),
]
Compress = Annotated[
    bool,
    typer.Option(help="Merge true twins where the model allows; the results stay the same."),
]

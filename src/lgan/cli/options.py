"""Options that mean the same in every command."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from lgan.catalogue import DATASETS, FEATURES, MODELS, PAIR_CODES, known

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
    "check_file",
]


def _one_of(names: Iterable[str], what: str) -> dict[str, Any]:
    """Check a name that was typed, and complete one that is being typed."""

    def check(name: str | None) -> str | None:
        try:
            return None if name is None else known(name, names, what)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from error

    return {"callback": check, "autocompletion": lambda: list(names)}


def check_file(option: str, path: Path, endings: tuple[str, ...] = ()) -> None:
    """Refuse, before any work, a file that cannot be written or whose ending says nothing."""
    problem = None
    if endings and path.suffix.lower() not in endings:
        problem = f"must end in {' or '.join(endings)}, got {path}"
    elif path.is_dir():
        problem = f"must be a file, but {path} is a folder"
    elif not path.absolute().parent.is_dir():
        problem = f"must be in a folder that exists, and {path.parent} does not"
    elif not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
        problem = f"must be a file that may be written to, and {path} may not"
    if problem is not None:
        raise typer.BadParameter(f"`{option}` {problem}.")


def _dropout(rate: float | None) -> float | None:
    if rate is not None and not 0 <= rate < 1:  # the limits of an option let NaN pass
        raise typer.BadParameter(f"must be at least 0 and below 1, got {rate}.")
    return rate


Dataset = Annotated[
    str,
    typer.Argument(
        metavar="DATASET", help="Data set, see `lgan data list`.", **_one_of(DATASETS, "data set")
    ),
]
Model = Annotated[
    str,
    typer.Option(metavar="NAME", help=f"Model: {', '.join(MODELS)}.", **_one_of(MODELS, "model")),
]
Root = Annotated[
    Path, typer.Option(metavar="FOLDER", help="Folder for downloads and prepared data.")
]
Mirror = Annotated[
    str | None,
    typer.Option(
        metavar="FOLDER",
        envvar="LGAN_MIRROR",
        help="Folder or address that holds NAME.zip, to work offline.",
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="FOLDER", help="Folder for records and checkpoints.",
        show_default="runs/…",
    ),
]  # fmt: skip
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for scripts.")]
Seed = Annotated[
    int,
    typer.Option(
        min=0, max=2**32 - 1, metavar="N", help="Fixes weights, batches, folds and dropout."
    ),
]
Seeds = Annotated[
    int,
    typer.Option(
        min=1, metavar="N", help="Trainings side by side, with this seed and the next ones."
    ),
]
Device = Annotated[str, typer.Option(metavar="NAME", help="Where to compute: cpu, cuda or auto.")]
Epochs = Annotated[int | None, typer.Option(min=1, metavar="N", help="Number of epochs.")]
Iterations = Annotated[
    int | None,
    typer.Option(
        min=0, metavar="N", help="Steps in an epoch; 0 is one pass over the training part."
    ),
]
Folds = Annotated[
    int | None,
    typer.Option(min=2, metavar="N", help="Number of stratified folds.", show_default="10"),
]
Splits = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="Folder with published folds (test_idx-K.txt) to use instead.",
        exists=True,
        file_okay=False,
    ),
]
BatchSize = Annotated[int | None, typer.Option(min=1, metavar="N", help="Graphs in a batch.")]
Hidden = Annotated[int | None, typer.Option(min=1, metavar="N", help="Width of every layer.")]
Layers = Annotated[int | None, typer.Option(min=1, metavar="N", help="Number of layers.")]
Dropout = Annotated[
    float | None,
    typer.Option(metavar="RATE", help="Dropout before the head.", callback=_dropout),
]
LearningRate = Annotated[
    float | None, typer.Option("--lr", metavar="RATE", help="Learning rate of Adam.")
]
Readout = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="How node values are combined: sum, mean or max.",
        **_one_of(("sum", "mean", "max"), "read-out"),
    ),
]
PairCode = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help=f"Structural code of the pairs, for lgan and lgan-res: {', '.join(PAIR_CODES)}.",
        **_one_of(PAIR_CODES, "pair code"),
    ),
]
Option = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="Any other setting of model or training; repeatable."
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
        metavar="NAME",
        help=f"Node features: {', '.join(FEATURES)}.",
        **_one_of(FEATURES, "kind of features"),
    ),
]
Compress = Annotated[
    bool,
    typer.Option(help="Merge true twins where the model allows; the results stay the same."),
]

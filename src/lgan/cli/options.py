"""Options that mean the same in every command."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from lgan.catalogue import (
    DATASETS,
    EDGE_FEATURES,
    FEATURES,
    METRICS,
    MODELS,
    PAIR_CODES,
    TASKS,
    known,
)


@contextmanager
def bad_usage(before: str = "") -> Iterator[None]:
    """What the library refuses inside is bad usage, told in its words."""
    try:
        yield
    except ValueError as error:
        raise typer.BadParameter(f"{before}{error}") from error


def one_of(names: Iterable[str], what: str) -> dict[str, Any]:
    """Check a name that was typed, or several, and complete one that is being typed."""

    def check(typed: Any) -> Any:
        with bad_usage():
            for name in [typed] if isinstance(typed, str) else typed or []:
                known(name, names, what)
        return typed

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


# Options by what is typed behind them.
column = partial(typer.Option, metavar="COLUMN")
folder = partial(typer.Option, metavar="FOLDER")
name = partial(typer.Option, metavar="NAME")
names = partial(typer.Option, metavar="NAMES")
number = partial(typer.Option, metavar="N")
rate = partial(typer.Option, metavar="RATE")
word = partial(typer.Option, metavar="WORD")

Source = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="A name (`lgan data list`), a table of molecules (.csv, .tsv, .smi, .sdf, .parquet), "
        "a folder of shards (`lgan data prepare`), a TU archive or folder, or graphs (.graphml, "
        ".jsonl).",
        autocompletion=lambda: list(DATASETS),
    ),
]
Target = Annotated[
    list[str] | None,
    column(
        "--target",
        help="What to predict; repeatable, `all` for all columns.",
        show_default="the only one",
    ),
]
TaskKind = Annotated[
    str | None,
    typer.Option(
        "--task", metavar="KIND", help=f"Kind of task: {', '.join(TASKS)}.",
        show_default="found from the values", **one_of(TASKS, "kind of task"),
    ),
]  # fmt: skip
Metric = Annotated[
    str | None,
    name(
        help=f"Metric: {', '.join(METRICS)}.",
        show_default="that of the task",
        **one_of(METRICS, "metric"),
    ),
]
Split = Annotated[
    str | None,
    word(
        help="How folds are made: stratified, random, scaffold, group:COLUMN, column:NAME or "
        "published:FOLDER.",
        show_default="stratified",
    ),
]
SmilesColumn = Annotated[
    str | None, column(help="Column with the molecules.", show_default="smiles")
]
Atoms = Annotated[
    str,
    names(
        help="Features of atoms, with commas: element, degree, charge, hydrogens, hybridisation, "
        "aromatic, ring, chirality."
    ),
]
Bonds = Annotated[
    str, names(help="Features of bonds, with commas, or none: order, conjugated, ring, stereo.")
]
NodeAttributes = Annotated[
    str, names(help="Attributes of nodes to read from .graphml and .jsonl, with commas.")
]
EdgeAttributes = Annotated[
    str, names(help="Attributes of their edges to read, with commas, or none.")
]
Symmetrise = Annotated[
    bool, typer.Option("--symmetrise", help="Read directed graphs as undirected ones.")
]
Directed = Annotated[
    bool, typer.Option("--directed", help="Keep the direction of edges, for a model that reads it.")
]
Hydrogens = Annotated[bool, typer.Option("--hydrogens", help="Hydrogens are nodes too.")]
Standardise = Annotated[
    bool,
    typer.Option("--standardise", help="Clean up molecules: largest fragment, neutral form."),
]
ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", help="File `model.safetensors` of `lgan train`.")
]
Model = Annotated[str, name(help=f"Model: {', '.join(MODELS)}.", **one_of(MODELS, "model"))]
Root = Annotated[Path, folder(help="Folder for downloads and prepared data.")]
Mirror = Annotated[
    str | None,
    folder(envvar="LGAN_MIRROR", help="Folder or address that holds NAME.zip, to work offline."),
]
Output = Annotated[
    Path | None,
    folder("--output", "-o", help="Folder for records and checkpoints.", show_default="runs/…"),
]
Shards = Annotated[int | None, number(min=1, help="Number of shards, of 100,000 rows at most.")]
KeptColumns = Annotated[
    str | None,
    names(
        "--columns",
        help="Further columns to keep, with commas, for `--split group:COLUMN` and `column:NAME`.",
    ),
]
Processes = Annotated[int, number(min=1, help="Processes that read molecules.")]
Ray = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Work on the machines of an existing Ray cluster."),
]
Workers = Annotated[int | None, number(min=1, help="Workers that share every batch on Ray.")]
Window = Annotated[
    int | None,
    number(
        min=1,
        help="Shards in memory and shuffled together.",
        show_default="512 MiB, more on a GPU",
    ),
]
ShardFolder = Annotated[
    Path | None,
    folder("--output", "-o", help="Folder for the shards.", show_default="ROOT/shards/NAME"),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for scripts.")]
Seed = Annotated[
    int, number(min=0, max=2**32 - 1, help="Fixes weights, batches, folds and dropout.")
]
Seeds = Annotated[
    int, number(min=1, help="Trainings side by side, with this seed and the next ones.")
]
Device = Annotated[str, name(help="Where to compute: cpu, cuda or auto.")]
Epochs = Annotated[
    int | None,
    number(
        min=1,
        help="Number of epochs at most: by the recipe training stops when a third of them, 20 or "
        "more, bring nothing better (`--set patience=0`: never).",
        show_default="60, fewer beyond 20,000 graphs; by the recipe",
    ),
]
Iterations = Annotated[
    int | None, number(min=0, help="Steps in an epoch; 0 is one pass over the training part.")
]
Folds = Annotated[int | None, number(min=2, help="Number of folds.", show_default="10")]
Splits = Annotated[
    Path | None,
    folder(
        help="Old spelling of --split published:FOLDER.",
        exists=True,
        file_okay=False,
        hidden=True,
    ),
]
BatchSize = Annotated[int | None, number(min=1, help="Graphs in a batch.")]
Hidden = Annotated[int | None, number(min=1, help="Width of every layer.")]
Layers = Annotated[int | None, number(min=1, help="Number of layers.")]
Dropout = Annotated[float | None, rate(help="Dropout before the head.", callback=_dropout)]
LearningRate = Annotated[float | None, rate("--lr", help="Learning rate of Adam.")]
ClassWeight = Annotated[
    str | None,
    word(
        help="`balanced` gives every class the same share of the loss.",
        show_default="none",
        **one_of(("none", "balanced"), "class weight"),
    ),
]


def _readouts(name: str | None) -> str | None:
    with bad_usage():
        for each in name.split("+") if name else ():
            known(each, ("sum", "mean", "max", "squashed"), "read-out")
    return name


Readout = Annotated[
    str | None,
    name(
        help="How node values are combined: sum, mean, max or squashed, or several: sum+mean.",
        callback=_readouts,
    ),
]
PairCode = Annotated[
    str | None,
    name(
        help=f"Structural code of the pairs, for lgan and lgan-res: {', '.join(PAIR_CODES)}.",
        **one_of(PAIR_CODES, "pair code"),
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
    typer.Option(
        "--fair", help="Train another model a fold with an inner hold-out, for that rule."
    ),
]
Bagged = Annotated[
    bool,
    typer.Option(
        "--bagged",
        help="Train a model for every fold and inner fold, and average those of a fold, for the "
        "rules bagged and fair.",
    ),
]
BaggedMembers = Annotated[
    int | None,
    number(min=1, help="Average so many models of a fold.", show_default="all"),
]
Features = Annotated[
    str | None,
    name(
        help=f"Node features: {', '.join(FEATURES)}, all.",
        **one_of((*FEATURES, "all"), "kind of features"),
    ),
]
EdgeFeatures = Annotated[
    str | None,
    name(
        help=f"Edge features: {', '.join(EDGE_FEATURES)}; by default all, none on the sets of the "
        "published tables.",
        **one_of(EDGE_FEATURES, "kind of edge features"),
    ),
]
GraphFeatures = Annotated[
    str | None,
    names(
        help="Features of whole graphs behind the read-out: morgan, rdkit2d, patterns, shape, "
        "names of columns, with commas between them; none; or auto, the usual one: morgan and "
        "rdkit2d of molecules, patterns and shape of other graphs with labels, below 20,000 of "
        "them.",
    ),
]
Recipe = Annotated[
    str | None,
    name(
        help="How networks are trained: default, or paper, the protocol of the published tables, "
        "which `lgan cv` follows on their sets.",
        **one_of(("default", "paper"), "recipe"),
    ),
]
TrainingData = Annotated[
    bool,
    typer.Option(
        help="Keep SMILES of the training molecules in the model, to tell the nearest; "
        "fingerprints, and targets for intervals, are kept in any case."
    ),
]
Report = Annotated[
    bool, typer.Option(help="Write report.html beside the model: curves, mistakes, calibration.")
]
Members = Annotated[
    int,
    typer.Option(
        min=1, help="Models side by side that predict as one, each with another fold held out."
    ),
]
Compress = Annotated[
    bool,
    typer.Option(help="Merge true twins where the model allows; the results stay the same."),
]

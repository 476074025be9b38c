"""From options to a data set, a device and a folder."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from lgan.cli.options import bad_usage
from lgan.cli.screen import activity, note, reading_progress

# The library is read by the functions that use it: a mistyped option needs no torch.
if TYPE_CHECKING:
    import torch

    from lgan.data import RawGraphs, Split
    from lgan.data.shards.union import Graphs
    from lgan.experiment import Reading, ReadSource, Settings
    from lgan.task import Task


def choose_device(name: str) -> "torch.device":
    """The device of that name, see :func:`lgan.train.environment.choose_device`."""
    from lgan.train import environment

    with bad_usage("`--device`: "):
        return environment.choose_device(name)


def read_options(more: list[str] | None) -> dict[str, Any]:
    """Settings from ``NAME=VALUE`` texts."""
    given = {}
    for text in more or []:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"`--set` expects NAME=VALUE, got {text!r}.")
        given[name.replace("-", "_")] = _value(value)
    if "seed" in given:
        raise typer.BadParameter("`--set seed` would change half of what `--seed` does: use that.")
    return given


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return {"True": True, "False": False}.get(text, text)


def choose_split(split: str | None, splits: Path | None, folds: int | None) -> "Split":
    """How folds are made, in the one spelling that stays."""
    from lgan.data import Split

    if splits is not None:
        if split is not None:
            raise typer.BadParameter("`--splits` is the old spelling of `--split`: give one.")
        note(f"`--splits` becomes `--split published:{splits}`; the old spelling goes in 0.3.")
        split = f"published:{splits}"
    with bad_usage():
        chosen = Split() if split is None else Split.parse(split)
    if chosen.word == "published" and folds is not None:
        raise typer.BadParameter(
            f"`--folds` draws folds and `--split {chosen}` reads them. Give one of them."
        )
    return chosen


def read_source(
    settings: "Settings",
    source: str,
    reading: "Reading",
    *,
    device: "torch.device | str" = "cpu",
    window: int | None = None,
) -> "ReadSource":
    """A source in the form the network reads, with a progress bar, and what was understood."""
    from lgan.data.load import columns_not_meant
    from lgan.experiment import ReadSource

    if unread := columns_not_meant(source, settings.graph_features):
        note(unread)
    if "rdkit2d" in settings.graph_features:
        note("RDKit's descriptors take some ten milliseconds a molecule")
    with reading_progress(Path(source).name) as progress:
        found = ReadSource.of(
            settings, source, reading, device=device, progress=progress, window=window
        )
    tell_source(found)
    if "auto" in settings.graph_features and found.encoder.graphs is not None:
        note("features of whole graphs are usual here; `none` as graph features leaves them out")
    return found


def compile_loops(
    model: str, device: "torch.device", more: Callable[[], None] = lambda: None
) -> None:
    """Compile what an LGAN trains with before its clock runs, ``more`` of it too, and say so."""
    if device.type != "cpu" or not model.startswith("lgan"):
        return
    from lgan.ops.ahead import compile_layer, layer_is_compiled

    if layer_is_compiled():
        return
    with activity() as tell:
        tell("compiling loops: half a minute, after an installation or an update only")
        compile_layer()
        more()


def drawn_folds(
    split: "Split",
    raw: "RawGraphs",
    task: "Task",
    folds: int | None,
    seed: int,
    *,
    usual: int = 10,
    parts: bool = False,
) -> "torch.Tensor":
    """The test fold of every graph; where their number is not given, the usual one, or as many as
    the rarest class or the groups allow, which is said. A column may name ``parts`` in place of
    folds where one training is all there is.
    """
    from lgan.data.splits import OUTSIDE

    fold = split.folds(raw, task, folds or usual, seed, at_most=folds is None)
    made, outside = int(fold.max()) + 1, int((fold == OUTSIDE).sum())
    if folds not in (None, made):
        raise ValueError(
            f"The split `{split}` has {made} folds of its own, got `--folds {folds}`. Leave one of "
            "them out."
        )
    if outside and not parts:
        raise ValueError(
            f"Cross-validation needs folds, got one split in the column {split.of!r}, which calls "
            f"{outside:,} graphs `test`. `lgan train --split {split}` trains without them, and "
            "`lgan predict` scores them; or put the numbers of folds in the column."
        )
    if outside:
        chosen = (
            "those called `val`" if folds is None and made == 1 else f"{made} folds of the rest"
        )
        note(f"{outside:,} graphs called `test` are left out; {chosen} choose the epoch")
    if folds is None and made < usual and split.word not in ("column", "published"):
        classes = split.word == "stratified" and task.has_classes
        groups = "groups" if split.word in ("group", "scaffold") else "graphs"
        why = f"the rarest class has {made} graphs" if classes else f"there are {made} {groups}"
        note(f"{made} folds instead of {usual}, since {why}: a model trains on {1 - 1 / made:.0%}")
    return fold


def checked_folds(
    split: "Split", found: "ReadSource", folds: int | None, seed: int, **options: Any
) -> "torch.Tensor":
    """The test fold of every graph, on which something can be trained, before anything is made; see
    :func:`drawn_folds`.
    """
    from lgan.train.folds import choose_groups

    fold = drawn_folds(split, found.raw, found.union.known_task, folds, seed, **options)
    return choose_groups(found.union, fold, seed, outside=True)[0]


def metric_name(union: "Graphs", metric: str | None) -> str:
    """The metric that epochs are chosen by; refuse one that does not fit the task."""
    from lgan.train.loop import default_metric

    with bad_usage():
        return union.known_task.metric(metric or default_metric(union)).name


def tell_undefined(union: "Graphs", fold: "torch.Tensor", metric: str) -> None:
    """Say how many folds do not define a metric and are no part of its mean; refuse it where none
    does.
    """
    measured, y = union.known_task.metric(metric), union.y.cpu()
    number = int(fold.max()) + 1
    without = sum(not measured.defined(y[fold == k].numpy()).any() for k in range(number))
    if not without:
        return
    needs = {"both": "graphs of two classes", "spread": "different numbers"}
    wanted = f"{metric} needs {needs.get(measured.needs, 'a target')} in a fold"
    if without == number:
        raise ValueError(
            f"{wanted}, got none such among {number} folds. Choose another `--metric` or "
            "`--split`, or fewer folds."
        )
    note(f"{wanted}: {without} of {number} folds have none and are left out of its mean")


def tell_source(found: "ReadSource") -> None:
    """Say in a few lines what a source was understood to be, and what is left out or not read."""
    from lgan.catalogue import DATASETS
    from lgan.data.molecules.tables import count_duplicates

    raw = found.raw
    if raw.name in DATASETS:
        return
    note(f"{raw.name}: {raw.num_graphs:,} graphs; {found.encoder.task}")
    if raw.errors:
        row, reason = raw.errors[0]
        rows = f"{len(raw.errors):,} of {raw.num_rows + found.unlabelled:,} rows"
        note(f"{rows} cannot be read and are left out; row {row + 1}: {reason}")
    if found.unlabelled:
        note(f"{found.unlabelled:,} rows have no target and are left out")
    if raw.featuriser is not None and raw.ids is not None:
        several = count_duplicates(raw.ids, raw.targets)
        if several.molecules:
            note(
                f"molecules that occur more than once: {several.molecules:,} ({several.rows:,} "
                f"rows), with different targets: {several.conflicting:,}; all are kept"
            )
        if several.stereo:
            note(f"molecules that occur as several stereoisomers: {several.stereo:,}; all are kept")
    told = found.encoder.graphs
    if told is not None:
        note(f"{told.width:,} features of whole graphs: {', '.join(told.asked)}")
        for name, count in told.missing(raw).items():
            note(f"{name} is missing in {count:,} rows: its mean stands there, or no word")
    if unread := found.encoder.unread(raw):
        note(f"not read by this model: {', '.join(unread)}")


def output_folder(given: Path | None, default: str, *, resume: bool, overwrite: bool) -> Path:
    """The folder to write to, looked at but not touched.

    It must be, or be possible to make, a folder that may be written to, and hold no run unless
    told what to do with that.
    """
    folder = given or Path("runs") / default
    if resume and overwrite:
        raise typer.BadParameter("`--resume` and `--overwrite` exclude each other. Choose one.")
    check_folder(folder)
    _refuse_used(folder, resume=resume, overwrite=overwrite)
    return folder


def check_folder(folder: Path) -> None:
    """Refuse, before any work, an output that is no folder that may be written to, nor can be."""
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        problem = "may not be written to" if there.is_dir() else "is a file"
        raise typer.BadParameter(
            f"`--output` must be a folder that may be written to, but {there} {problem}. "
            "Choose another."
        )


def check_fold_count(folds: int | None, *, fair: str | None) -> None:
    """Refuse fewer than three folds where ``fair`` names the option that holds out a second one."""
    if fair is not None and folds is not None and folds < 3:
        raise typer.BadParameter(f"`{fair}` needs `--folds` of 3 or more, got {folds}.")


@contextmanager
def resumable(folder: Path, *, resume: bool, overwrite: bool) -> Iterator[None]:
    """Hold the folder for this run alone, and end Ctrl-C with what to do next.

    A run that is to be overwritten is put aside, and removed when the new one has written its
    first file; where that fails it comes back.
    """
    from lgan.train.run_lock import run_lock

    with run_lock(folder):
        _refuse_used(folder, resume=resume, overwrite=overwrite)
        if resume and not any(folder.glob("state-*.safetensors")):
            note(f"There is no run in {folder} to resume: a new one begins.")
        try:
            with nullcontext() if resume else _put_aside(folder):
                yield
        except KeyboardInterrupt:
            kept = any(folder.glob("state-*.safetensors"))
            state = f" The state of the run is in {folder}: add `--resume` to go on."
            note(f"Stopped.{state if kept else ''}")
            raise typer.Exit(130) from None


@contextmanager
def _put_aside(folder: Path) -> Iterator[None]:
    """Move the files of a run out of the way; back where the block fails and wrote no others."""
    aside = folder / ".replaced"
    if aside.exists() and not _run_files(folder):  # of a process that was killed
        _move(_run_files(aside), folder)
    if files := _run_files(folder):
        aside.mkdir(exist_ok=True)
        _move(files, aside)
    try:
        yield
    finally:
        if aside.exists():
            if not _run_files(folder):
                _move(_run_files(aside), folder)
            shutil.rmtree(aside)


def _move(files: list[Path], folder: Path) -> None:
    for path in files:
        path.replace(folder / path.name)


def _refuse_used(folder: Path, *, resume: bool, overwrite: bool) -> None:
    used = _run_files(folder)
    if used and not (resume or overwrite):
        raise typer.BadParameter(
            f"{folder} already holds a run ({used[0].name}). "
            "Add `--resume` to go on, `--overwrite` to start anew, or choose another `--output`."
        )


def _run_files(folder: Path) -> list[Path]:
    patterns = (
        "state-*.safetensors", "result.json", "seed-*.json", "model.safetensors", "report.html",
    )  # fmt: skip
    return [path for pattern in patterns for path in folder.glob(pattern)]

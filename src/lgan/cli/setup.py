"""From options to a data set, a device and a folder."""

from pathlib import Path

import torch
import typer

from lgan.cli.screen import reading_progress
from lgan.data import load, read_folds
from lgan.graph import GraphUnion
from lgan.zoo import ModelSpec

__all__ = ["choose_device", "load_union", "output_folder", "published_folds"]


def choose_device(name: str) -> torch.device:
    """The device of that name; ``auto`` takes a GPU where there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise typer.BadParameter("`--device cuda` needs a GPU and a CUDA build of torch, "
                                 "and none is here. Use `--device cpu`.")  # fmt: skip
    try:
        return torch.device(name)
    except RuntimeError as error:
        raise typer.BadParameter(f"`--device` must be cpu, cuda or auto, got {name!r}.") from error


def load_union(
    dataset: str,
    spec: ModelSpec,
    *,
    root: Path,
    mirror: str | None,
    features: str | None,
    compress: bool,
    seed: int,
    device: torch.device,
) -> GraphUnion:
    """The data set in the form the model reads, with a progress bar while it is prepared."""
    with reading_progress(dataset) as progress:
        union = load(
            dataset,
            root=root,
            mirror=mirror,
            features=features,
            compress=compress and spec.compress,
            seed=seed,
            progress=progress,
        )
    return union.to(device) if device.type != "cpu" else union


def output_folder(given: Path | None, default: str, *, resume: bool, overwrite: bool) -> Path:
    """The folder to write to, which must be empty of runs unless told otherwise."""
    folder = given or Path("runs") / default
    used = [*folder.glob("state-*.safetensors"), *folder.glob("result.json")]
    if used and not (resume or overwrite):
        raise typer.BadParameter(
            f"{folder} already holds a run ({used[0].name}). "
            "Add `--resume` to go on, `--overwrite` to start anew, or choose another `--output`."
        )
    if used and overwrite and not resume:
        for path in used:
            path.unlink()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def published_folds(splits: Path | None, union: GraphUnion, folds: int) -> int | torch.Tensor:
    """Folds from files, or the number of stratified folds to draw."""
    return folds if splits is None else read_folds(splits, union.num_graphs)

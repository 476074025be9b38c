"""`lgan train` on the workers of a Ray cluster."""

import os
from pathlib import Path
from typing import Any

import typer

from lgan._optional import require


def train_on_ray(words: list[str], address: str, *, workers: int, gpus: bool, output: Path) -> None:
    """Run a training command in several workers of an existing cluster, which train as one.

    When a worker is lost Ray starts all of them anew, and they go on from the state of the last
    epoch. Data and output must be in folders that every machine sees under the same name.
    """
    from lgan.data.shards.ray_tasks import RESTARTS, ray_cluster

    train, torch = map(require, ("ray.train", "ray.train.torch"))
    told = output.absolute() / ".ray" / "refused"
    told.parent.mkdir(parents=True, exist_ok=True)
    told.unlink(missing_ok=True)
    with ray_cluster(address):
        torch.TorchTrainer(
            _run,
            train_loop_config={"words": words, "folder": str(Path.cwd()), "told": str(told)},
            torch_config=torch.TorchConfig(backend="cpu:gloo,cuda:nccl" if gpus else "gloo"),
            scaling_config=train.ScalingConfig(num_workers=workers, use_gpu=gpus),
            run_config=train.RunConfig(
                storage_path=str(told.parent),
                failure_config=train.FailureConfig(max_failures=RESTARTS),
            ),
        ).fit()
    if told.is_file():
        raise ValueError(told.read_text(encoding="utf-8"))


def without_ray(words: list[str]) -> list[str]:
    """A command without the options that say where it runs, that goes on where it stopped.

    Example:
        >>> without_ray(["train", "t.csv", "--ray", "auto", "--workers=2", "--seed", "1"])
        ['train', 't.csv', '--seed', '1', '--resume']
    """
    kept, skip = [], False
    for word in words:
        option = word.partition("=")[0] in ("--ray", "--workers")
        if not skip and not option and word != "--resume":
            kept.append(word)
        skip = option and "=" not in word
    return [*kept, "--resume"]


def _run(config: dict[str, Any]) -> None:
    """What a worker does; Ray has made its processes known to each other."""
    from lgan.cli.app import run

    os.chdir(config["folder"])
    try:
        run(config["words"])
    except (ValueError, TypeError, typer.BadParameter) as error:  # which would come again and again
        Path(config["told"]).write_text(str(error), encoding="utf-8")

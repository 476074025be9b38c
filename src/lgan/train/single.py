"""Training of one model with a part of the data held out."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from lgan.graph import GraphUnion
from lgan.task import TargetScale
from lgan.train.config import TrainConfig
from lgan.train.environment import environment, peak_memory
from lgan.train.folds import choose_groups
from lgan.train.loop import OnEpoch, Variant, held_out_job, train_together
from lgan.train.memory import check_weights_fit, outline
from lgan.train.result import rounded
from lgan.train.run_lock import run_lock
from lgan.train.stack import unstack

__all__ = ["Trained", "train_one"]


@dataclass(frozen=True)
class Trained:
    """A trained model.

    Attributes:
        state: Its weights and statistics.
        score: The metric on the held-out part after the last epoch.
        info: Settings, curves, environment.
        scale: Mean and deviation of numeric targets in its training part: its outputs are in these
            units.
    """

    state: dict[str, Tensor]
    score: float
    info: dict[str, Any]
    scale: TargetScale | None = None

    @property
    def accuracy(self) -> float:
        """The score of a model that was measured by its accuracy."""
        if self.info["metric"] != "accuracy":
            raise ValueError(
                f"The model was measured by {self.info['metric']}, not by accuracy. Read `score`, "
                "or train it with `metric='accuracy'`."
            )
        return self.score


def train_one(
    factory: Callable[[], nn.Module],
    union: GraphUnion,
    *,
    folds: int | Tensor = 10,
    config: TrainConfig | None = None,
    metric: str | None = None,
    captured: bool = True,
    device: torch.device | None = None,
    output: Path | str | None = None,
    resume: bool = False,
    model: dict[str, Any] | None = None,
    on_epoch: OnEpoch | None = None,
) -> Trained:
    """Train one model on all folds but the first, and test it on that.

    It is the model that :func:`lgan.cross_validate` trains for the first fold.

    Args:
        factory: Builds the model.
        union: The data set, on the device to train on.
        folds: Number of stratified folds the held-out part is one of, or the fold of every graph.
        config: Settings.
        metric: Name of the metric, see :func:`lgan.cross_validate`.
        captured: Use CUDA graphs on a GPU; the model must not synchronise.
        device: Where to train; by default where the data set is.
        output: Folder for the state after every epoch.
        resume: Go on from the state in ``output``.
        model: Name and options of the model; a run that goes on must have the same.
        on_epoch: Called after every epoch.
    """
    config = config or TrainConfig()
    fold, _ = choose_groups(union, folds, config.seed)
    place = device or union.device
    check_weights_fit(outline(factory), place)
    job = held_out_job(fold, 0, seed=config.seed)
    with run_lock(output):
        stacked, curves = train_together(
            union,
            [Variant(factory, config, model or {})],
            [job],
            groups=fold,
            metric=metric,
            captured=captured,
            device=device,
            state=None if output is None else Path(output) / "state-0.safetensors",
            resume=resume,
            on_epoch=on_epoch,
        )
    held_out = job.test.numel()
    info = {
        "held_out": held_out,
        "held_out_graphs": job.test.tolist(),
        "metric": curves.metric.name,
        "test": rounded(curves.test[0].tolist(), 7),
        "loss": rounded(curves.loss[0].tolist(), 5),
        "config": asdict(config),
        "seconds": round(float(curves.seconds.sum()), 3),
        "environment": environment(place),
        "peak_memory": peak_memory(place),
    }
    regression = union.known_task.kind == "regression"
    scale = TargetScale.fit(union.y.cpu(), job.train) if regression else None
    return Trained(unstack(stacked, 0), float(curves.test[0, -1]), info, scale)

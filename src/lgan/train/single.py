"""Training of one model with a part of the data held out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from lgan.graph import GraphUnion
from lgan.task import TargetScale
from lgan.train.ensemble import train_ensemble
from lgan.train.result import rounded
from lgan.train.stack import unstack


@dataclass(frozen=True)
class Trained:
    """A trained model.

    Attributes:
        state: Its weights and statistics.
        score: The metric on the held-out part at the epoch that is best there.
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
    **settings: Any,
) -> Trained:
    """Train one model on all folds but the first, and keep it at the epoch that is best there.

    It is the model that :func:`lgan.cross_validate` trains for the first fold, and the one member
    of :func:`train_ensemble` with ``members=1``.

    Args:
        factory: Builds the model.
        union: The data set, on the device to train on.
        folds: Number of stratified folds the held-out part is one of, or the fold of every graph.
        settings: Further arguments of :func:`train_ensemble`.
    """
    trained = train_ensemble(factory, union, members=1, folds=folds, **settings)
    held_out = (trained.fold == 0).nonzero().flatten()
    info = {
        "held_out": held_out.numel(),
        "held_out_graphs": held_out.tolist(),
        "epoch": trained.epoch,
        "test": rounded(trained.test[0].tolist(), 7),
        "loss": rounded(trained.loss[0].tolist(), 5),
        **trained.info,
    }
    scale = trained.scale
    scale = None if scale is None else TargetScale(scale.mean[0], scale.std[0])
    return Trained(unstack(trained.network, 0), trained.score, info, scale)

"""What models side by side are trained on, and how."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from lgan.train.config import TrainConfig

# Settings in which models side by side may differ.
PER_MODEL_SETTINGS = (
    "lr", "schedule", "lr_halving", "warmup", "weight_decay", "average", "seed",
)  # fmt: skip


@dataclass(frozen=True)
class Job:
    """One model to train.

    Attributes:
        seed: Seed of its initial weights and dropout.
        train: Whether it trains on each graph ``[G]``.
        test: Graphs it is tested on after every epoch.
        validation: Graphs of its inner hold-out; may be none.
        variant: Which of the variants it is a model of.
        bag: Which bag of members it belongs to, that choose one epoch on their inner hold-outs
            together and average their predictions for one test fold; -1 for none.
    """

    seed: int
    train: Tensor
    test: Tensor
    validation: Tensor
    variant: int = 0
    bag: int = -1


@dataclass(frozen=True)
class Variant:
    """Settings that ride side by side with others, since they keep the shapes.

    Attributes:
        factory: Builds one model; those of all variants have the same shapes.
        config: Settings; variants may differ in those of :data:`PER_MODEL_SETTINGS`.
        about: Name and options of the model, for the record.
    """

    factory: Callable[[], nn.Module]
    config: TrainConfig
    about: dict[str, Any] = field(default_factory=dict)


def model_seed(seed: int, fold: int, member: int = 0) -> int:
    """The seed of one model of a run: its own for every seed, fold and member.

    Sums such as ``seed + fold`` would give fold 1 of one seed the weights of fold 0 of the next.

    Args:
        seed: Seed of the run.
        fold: Fold the model is tested on.
        member: 0 for the model of the fold, more for those that hold an inner fold out too.

    Example:
        >>> len({model_seed(seed, fold) for seed in range(3) for fold in range(10)})
        30
    """
    return int(np.random.SeedSequence((seed, fold, member)).generate_state(1, np.uint64)[0]) >> 1


def held_out_job(
    fold: Tensor, test: int, inner: int | None = None, *, seed: int, variant: int = 0
) -> Job:
    """A job that tests on one fold, keeps an inner one out too, and trains on all others."""
    held_out = fold == test
    validation = torch.empty(0, dtype=torch.int64)
    if inner is not None:
        validation = (fold == inner).nonzero().squeeze(1)
        held_out = held_out | (fold == inner)
    own = model_seed(seed, test, 0 if inner is None else inner + 1)
    return Job(own, ~held_out, (fold == test).nonzero().squeeze(1), validation, variant)

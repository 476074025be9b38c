"""Settings of a training run."""

import math
from dataclasses import dataclass
from typing import Literal, get_args

import torch

__all__ = ["ClassWeight", "Precision", "TrainConfig"]

Precision = Literal["float32", "bfloat16"]
ClassWeight = Literal["none", "balanced"]


@dataclass(frozen=True)
class TrainConfig:
    """How models are trained; the defaults are the protocol of Xu et al. (GIN, 2019).

    Attributes:
        epochs: Number of epochs.
        iterations: Steps in an epoch; 0 means one pass over the training part.
        batch_size: Graphs in a batch of one model.
        lr: Learning rate of Adam.
        lr_halving: Epochs after which the learning rate is halved, again and again; 0 for never.
        weight_decay: L2 penalty.
        average: Share of the past in the running mean, over epochs, of the weights; what is tested
            and kept is that mean. 0 tests the last weights.
        seed: Fixes initial weights, batches and dropout.
        memory_budget: Bytes that the activations of models side by side may take; 0 for what
            :meth:`budget_on` finds sensible.
        precision: ``"bfloat16"`` stores activations in half precision on a GPU; sums, statistics,
            weights and updates stay in float32.
        class_weight: ``"balanced"`` gives every class the same share of the loss, whatever its
            share of a model's training part.
    """

    epochs: int = 350
    iterations: int = 50
    batch_size: int = 32
    lr: float = 0.01
    lr_halving: int = 50
    weight_decay: float = 0.0
    average: float = 0.0
    seed: int = 0
    memory_budget: int = 0
    precision: Precision = "float32"
    class_weight: ClassWeight = "none"

    def __post_init__(self) -> None:
        counts = {"epochs": 1, "iterations": 0, "batch_size": 1, "lr_halving": 0}
        for name, least in (counts | {"seed": 0, "memory_budget": 0}).items():
            if getattr(self, name) < least:
                raise ValueError(f"`{name}` must be {least} or more, got {getattr(self, name)}.")
        for name, known in (("precision", Precision), ("class_weight", ClassWeight)):
            if getattr(self, name) not in get_args(known):
                raise ValueError(
                    f"`{name}` must be one of {get_args(known)}, got {getattr(self, name)!r}."
                )
        if not 0 < self.lr < math.inf:
            raise ValueError(f"`lr` must be positive and finite, got {self.lr}.")
        if not 0 <= self.weight_decay < math.inf:
            raise ValueError(f"`weight_decay` must be 0 or more, finite, got {self.weight_decay}.")
        if not 0 <= self.average < 1:
            raise ValueError(f"`average` must be at least 0 and below 1, got {self.average}.")

    def budget_on(self, device: torch.device) -> int:
        """The memory budget on a device: as given, or three quarters of what a GPU has free.

        In main memory, which other programs need too, 4 GiB.
        """
        if self.memory_budget:
            return self.memory_budget
        if device.type == "cuda":
            return torch.cuda.mem_get_info(device)[0] * 3 // 4
        return 4 << 30

    def lr_at(self, epoch: int) -> float:
        """The learning rate of an epoch, counted from 0."""
        return self.lr * 0.5 ** (epoch // self.lr_halving if self.lr_halving else 0)

"""Settings of a training run."""

import math
from dataclasses import dataclass, replace
from typing import Literal, get_args

import torch

Optimizer = Literal["adam", "adamw"]
Schedule = Literal["halving", "cosine"]
Precision = Literal["float32", "bfloat16"]
ClassWeight = Literal["none", "balanced"]
CompanionKind = Literal["none", "kernel"]


@dataclass(frozen=True)
class TrainConfig:
    """How models are trained; the defaults are the protocol of Xu et al. (GIN, 2019).

    Attributes:
        epochs: Number of epochs; 0 for 60, and fewer on large data sets, see :meth:`sized`.
        iterations: Steps in an epoch; 0 means one pass over the training part.
        batch_size: Graphs in a batch of one model; 0 for 16 to 128, by the size of the
            data set, see :meth:`sized`.
        optimizer: ``"adam"``, whose weight decay is an L2 penalty, or ``"adamw"``, whose weight
            decay shrinks the weights beside the step (Loshchilov and Hutter, 2019).
        lr: Learning rate, the largest of the schedule.
        schedule: ``"halving"``, or ``"cosine"``: half a cosine from ``lr`` towards 0 at ``epochs``.
        lr_halving: Epochs after which the learning rate is halved, again and again; 0 for never.
        warmup: Share of the epochs, at least one, over which the learning rate rises linearly
            before the schedule begins; 0 for none.
        weight_decay: L2 penalty, or decay of the weights.
        average: Share of the past in the running mean, over epochs, of the weights; what is tested
            and kept is that mean. 0 tests the last weights.
        window: Epochs over which the held-out metric is averaged, up to and with an epoch, before
            an epoch is chosen by it.
        patience: Epochs without improvement of that average after which all models stop together;
            0 for never, -1 for a third of the epochs, see :meth:`sized`.
        seed: Fixes initial weights, batches and dropout.
        memory_budget: Bytes that the activations of models side by side may take; 0 for what
            :meth:`budget_on` finds sensible.
        precision: ``"bfloat16"`` stores activations in half precision on a GPU; sums, statistics,
            weights and updates stay in float32.
        class_weight: ``"balanced"`` gives every class the same share of the loss, whatever its
            share of a model's training part.
        companion: ``"kernel"`` lets kernel ridge regression on features of whole graphs answer
            beside members, where there are such features (:mod:`lgan.train.companion`); not beside
            those of balanced classes.
    """

    epochs: int = 350
    iterations: int = 50
    batch_size: int = 32
    optimizer: Optimizer = "adam"
    lr: float = 0.01
    schedule: Schedule = "halving"
    lr_halving: int = 50
    warmup: float = 0.0
    weight_decay: float = 0.0
    average: float = 0.0
    window: int = 1
    patience: int = 0
    seed: int = 0
    memory_budget: int = 0
    precision: Precision = "float32"
    class_weight: ClassWeight = "none"
    companion: CompanionKind = "none"

    def __post_init__(self) -> None:
        least_counts = {"epochs": 0, "iterations": 0, "batch_size": 0, "lr_halving": 0,
                        "window": 1, "patience": -1, "seed": 0, "memory_budget": 0}  # fmt: skip
        for name, least in least_counts.items():
            if getattr(self, name) < least:
                raise ValueError(f"`{name}` must be {least} or more, got {getattr(self, name)}.")
        words = {"optimizer": Optimizer, "schedule": Schedule, "precision": Precision,
                 "class_weight": ClassWeight, "companion": CompanionKind}  # fmt: skip
        for name, known in words.items():
            if getattr(self, name) not in get_args(known):
                raise ValueError(
                    f"`{name}` must be one of {get_args(known)}, got {getattr(self, name)!r}."
                )
        if not 0 < self.lr < math.inf:
            raise ValueError(f"`lr` must be positive and finite, got {self.lr}.")
        if not 0 <= self.weight_decay < math.inf:
            raise ValueError(f"`weight_decay` must be 0 or more, finite, got {self.weight_decay}.")
        for name in ("average", "warmup"):
            if not 0 <= getattr(self, name) < 1:
                value = getattr(self, name)
                raise ValueError(f"`{name}` must be at least 0 and below 1, got {value}.")

    def sized(self, graphs: int, *, largest_batch: int = 64) -> "TrainConfig":
        """The same settings with epochs and batches that fit the number of graphs, where they are
        left open: the more graphs, the more steps an epoch has. Patience that is left open is a
        third of the epochs, and never less than 20.

        Args:
            graphs: How many graphs are trained on.
            largest_batch: Graphs in a batch at most, but for sets of more than 200 times as many.

        Example:
            >>> open_ = TrainConfig(epochs=0, batch_size=0, patience=-1)
            >>> sized = [open_.sized(graphs) for graphs in (200, 1000, 4000, 40_000)]
            >>> [(c.epochs, c.batch_size, c.patience) for c in sized]
            [(60, 16, 20), (60, 50, 20), (60, 64, 20), (42, 128, 20)]
        """
        epochs = self.epochs or max(15, min(60, round(60 * (20_000 / max(graphs, 1)) ** 0.5)))
        batch = max(16, min(largest_batch, graphs // 20), min(128, graphs // 200))
        patience = max(20, epochs // 3) if self.patience < 0 else self.patience
        batch_size = self.batch_size or batch
        return replace(self, epochs=epochs, batch_size=batch_size, patience=patience)

    def budget_on(self, device: torch.device) -> int:
        """The memory budget on a device: as given, or three quarters of what a GPU has free.

        In main memory, which other programs need too, 4 GiB.
        """
        if self.memory_budget:
            return self.memory_budget
        if device.type == "cuda":
            return torch.cuda.mem_get_info(device)[0] * 3 // 4
        return 4 << 30

    def lr_factor(self, epoch: int) -> float:
        """The learning rate of an epoch, counted from 0, as a share of ``lr``."""
        rise = max(1, round(self.warmup * self.epochs)) if self.warmup else 0
        if epoch < rise:
            return (epoch + 1) / (rise + 1)
        if self.schedule == "cosine":
            return (1 + math.cos(math.pi * (epoch - rise) / (self.epochs - rise))) / 2
        return 0.5 ** (epoch // self.lr_halving if self.lr_halving else 0)

"""The running mean of models over epochs, which is tested in place of the models themselves."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import nn


class RunningMean:
    """Exponential mean, over epochs, of the weights and statistics of stacked models.

    The last weights of a small network jump about from epoch to epoch; their mean is steadier and
    often better (Izmailov et al., Averaging Weights Leads to Wider Optima, UAI 2018). Until the
    exponential mean has seen ``1 / (1 - decay)`` epochs it is the plain mean.

    Args:
        model: Stacked models, parameters and buffers ``[K, …]``.
        decay: Share of the past in every model's mean; 0 keeps the model itself ``[K]``.
    """

    def __init__(self, model: nn.Module, decay: Sequence[float]) -> None:
        state = model.state_dict() if any(decay) else {}
        self.now = {name: t for name, t in state.items() if t.is_floating_point()}
        self.mean = {name: tensor.clone() for name, tensor in self.now.items()}
        self.decay = torch.tensor(decay, dtype=torch.float64)

    @torch.no_grad()
    def update(self, epoch: int) -> None:
        """Take in the models as they are after an epoch, counted from 0."""
        share = torch.where(self.decay > 0, (1 - self.decay).clamp(min=1 / (epoch + 1)), 1.0)
        if self.now:  # moved once: every move waits for the device
            share = share.to(next(iter(self.now.values())).device)
        for name, now in self.now.items():
            weight = share.to(now).view(-1, *[1] * (now.dim() - 1))
            self.mean[name].lerp_(now, weight)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """The models hold their means inside this context, and themselves again behind it."""
        self.swap()
        try:
            yield
        finally:
            self.swap()

    @torch.no_grad()
    def swap(self) -> None:
        """Exchange the models with their means."""
        for name, now in self.now.items():
            kept = now.clone()
            now.copy_(self.mean[name])
            self.mean[name].copy_(kept)

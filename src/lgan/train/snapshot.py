"""Models as they were at the epoch that was selected."""

import torch
from torch import Tensor, nn


class Snapshot:
    """A copy of stacked models, parameters and buffers ``[K, …]``, taken again and again."""

    def __init__(self, model: nn.Module) -> None:
        self.now = model.state_dict()
        self.kept = {name: tensor.clone() for name, tensor in self.now.items()}

    @torch.no_grad()
    def take(self, models: Tensor) -> None:
        """Copy some of the models ``[K]`` as they are."""
        for name, now in self.now.items():
            chosen = models.to(now.device)
            self.kept[name][chosen] = now[chosen]

    @torch.no_grad()
    def restore(self) -> None:
        """Make the models what they were when they were copied."""
        for name, now in self.now.items():
            now.copy_(self.kept[name])

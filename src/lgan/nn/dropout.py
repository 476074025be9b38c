"""Dropout whose noise is a function of seed, step and position."""

import torch
from torch import Tensor, nn

from lgan import ops


class Dropout(nn.Module):
    """Dropout with a counter-based generator.

    The mask depends on the model's seed, the number of training passes so far and the position
    alone: the same on every device, the same whether a model trains alone or beside others, and
    the same after a checkpoint, since seed and counter are part of the state.

    Args:
        rate: Probability of an element to be zeroed.

    Shapes:
        ``x``: ``[*, B, F]``, where the leading axis, if any, is that of the models.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        if not 0 <= rate < 1:
            raise ValueError(f"`dropout` must be at least 0 and below 1, got {rate}.")
        self.rate: Tensor
        self.seed: Tensor
        self.passes: Tensor
        self.register_buffer("rate", torch.tensor(float(rate)))
        self.register_buffer("seed", torch.randint(2**62, ()))
        self.register_buffer("passes", torch.tensor(0))
        self.active = rate > 0
        self.first_row = 0  # where the rows begin among those of a batch that processes share

    def reset_parameters(self) -> None:
        """Draw the seed anew, and count from the beginning."""
        self.seed.random_(2**62)
        self.passes.zero_()

    def forward(self, x: Tensor) -> Tensor:
        """Zero a share of the elements and scale up the rest, in training only."""
        if not self.training or not self.active:
            return x
        first = self.first_row * x.size(-1)
        out = ops.dropout(x, self.seed, self.passes, self.rate, first=first)
        self.passes += 1
        return out

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.rate.tolist()})"

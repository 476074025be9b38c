"""Dropout whose noise is a function of seed, step and position."""

import torch
from torch import Tensor, nn


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
        begin, size = self.first_row * x.size(-1), x.shape[-2:].numel()
        position = torch.arange(begin, begin + size, device=x.device).view(x.shape[-2:])
        stream = _mix(self.seed + _mix(self.passes))[..., None, None]
        self.passes += 1
        # 24 random bits: exact in float32, so that every dtype draws the same mask.
        uniform = (_mix(stream + position) & 0xFFFFFF).to(torch.float32) / 2**24
        rate = self.rate[..., None, None].to(x.dtype)
        return x * (uniform >= rate) / (1 - rate)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.rate.tolist()})"


def _mix(word: Tensor) -> Tensor:
    """The finaliser of SplitMix64 on int64: every bit of the result depends on every bit given."""
    word = word + -0x61C8864680B583EB
    word = (word ^ ((word >> 30) & 0x3FFFFFFFF)) * -0x40A7B892E31B1A47
    word = (word ^ ((word >> 27) & 0x1FFFFFFFFF)) * -0x6B2FB644ECCEEE15
    return word ^ ((word >> 31) & 0x1FFFFFFFF)

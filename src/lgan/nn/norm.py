"""Batch normalisation that counts every row as often as it stands for."""

import torch
from torch import Tensor, nn

from lgan import ops

__all__ = ["BatchNorm"]


class BatchNorm(nn.Module):
    """Batch normalisation of weighted rows, then clipping, for one model or ``K`` side by side.

    With a row of weight ``k`` counted ``k`` times, statistics and results are those of ordinary
    batch normalisation on the rows written out. A row of weight 0 is normalised but not counted.

    Shapes:
        ``x``: ``[*, n, channels]``, ``weight``: ``[n]`` or ``[*, n]``.
    """

    def __init__(
        self, channels: int, *, relu: bool = True, eps: float = 1e-5, momentum: float = 0.1
    ) -> None:
        super().__init__()
        self.channels = channels
        self.relu = relu
        self.eps = eps
        self.momentum = momentum
        self.scale = nn.Parameter(torch.ones(channels))
        self.shift = nn.Parameter(torch.zeros(channels))
        self.running_mean: Tensor
        self.running_var: Tensor
        self.register_buffer("running_mean", torch.zeros(channels))
        self.register_buffer("running_var", torch.ones(channels))

    @property
    def running(self) -> tuple[Tensor, Tensor]:
        """Running mean and variance."""
        return self.running_mean, self.running_var

    def reset_parameters(self) -> None:
        """Forget scale, shift and the running statistics."""
        nn.init.ones_(self.scale)
        nn.init.zeros_(self.shift)
        self.running_mean.zero_()
        self.running_var.fill_(1)

    def forward(self, x: Tensor, weight: Tensor) -> Tensor:
        """Normalise by the batch when training, by the running statistics otherwise."""
        if not self.training:
            factor = self.scale * (self.running_var + self.eps).rsqrt()
            shift = self.shift - self.running_mean * factor
            out = torch.addcmul(shift.unsqueeze(-2), x, factor.unsqueeze(-2))
            return out.relu_() if self.relu else out
        return ops.norm(
            x,
            weight,
            self.scale,
            self.shift,
            running=self.running,
            momentum=self.momentum,
            eps=self.eps,
            relu=self.relu,
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.channels}, relu={self.relu})"

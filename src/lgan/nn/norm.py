"""Normalisations of rows, one module each, all called with rows and how often each counts."""

from typing import ClassVar, Literal, get_args

import torch
from torch import Tensor, nn

from lgan import ops

Norm = Literal["batch", "layer", "none"]


class BatchNorm(nn.Module):
    """Batch normalisation of weighted rows, then clipping, for one model or ``K`` side by side.

    With a row of weight ``k`` counted ``k`` times, statistics and results are those of ordinary
    batch normalisation on the rows written out. A row of weight 0 is normalised but not counted.

    Shapes:
        ``x``: ``[*, n, channels]``, ``weight``: ``[n]`` or ``[*, n]``.
    """

    kind: ClassVar[Norm] = "batch"
    momentum: float = 0.1
    eps: float = 1e-5

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.channels = channels
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
            return torch.addcmul(shift.unsqueeze(-2), x, factor.unsqueeze(-2)).relu_()
        return ops.norm(
            x,
            weight,
            self.scale,
            self.shift,
            running=self.running,
            momentum=self.momentum,
            eps=self.eps,
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.channels})"


class LayerNorm(nn.Module):
    """Normalisation of every row over its channels, then clipping, for one model or ``K``.

    Rows do not know each other: how often one counts makes no difference, and training and
    evaluation are the same. What scales a whole row is forgotten, such as the number of equal
    summands; a bias before it keeps that visible.

    Shapes:
        ``x``: ``[*, n, channels]``, ``weight``: anything, it is not read.
    """

    kind: ClassVar[Norm] = "layer"
    running: ClassVar[tuple[()]] = ()
    momentum: ClassVar[float] = 0.0
    eps: float = 1e-5

    def __init__(self, channels: int) -> None:
        super().__init__()
        if channels < 2:
            raise ValueError(
                f"Layer normalisation needs 2 channels or more, got {channels}: over one channel "
                "all rows become the same. Choose a larger width or another `norm`."
            )
        self.channels = channels
        self.scale = nn.Parameter(torch.ones(channels))
        self.shift = nn.Parameter(torch.zeros(channels))

    def reset_parameters(self) -> None:
        """Forget scale and shift."""
        nn.init.ones_(self.scale)
        nn.init.zeros_(self.shift)

    def forward(self, x: Tensor, weight: Tensor) -> Tensor:
        """Normalise every row by itself."""
        return ops.layer_norm(x, self.scale, self.shift, eps=self.eps)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.channels})"


class NoNorm(nn.Module):
    """Clipping alone."""

    kind: ClassVar[Norm] = "none"
    running: ClassVar[tuple[()]] = ()
    momentum: ClassVar[float] = 0.0
    eps: ClassVar[float] = 0.0
    scale: ClassVar[None] = None
    shift: ClassVar[None] = None

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.channels = channels

    def reset_parameters(self) -> None:
        """There is nothing to forget."""

    def forward(self, x: Tensor, weight: Tensor) -> Tensor:
        """Clip at zero."""
        return x.relu()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.channels})"


NORMS: dict[str, type[BatchNorm] | type[LayerNorm] | type[NoNorm]] = {
    "batch": BatchNorm,
    "layer": LayerNorm,
    "none": NoNorm,
}


def norm_layer(norm: Norm, channels: int) -> BatchNorm | LayerNorm | NoNorm:
    """The module of a normalisation that clips."""
    if norm not in NORMS:
        raise ValueError(f"`norm` must be one of {get_args(Norm)}, got {norm!r}.")
    return NORMS[norm](channels)

"""The scale of numeric targets: a mean and a deviation per target."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class TargetScale:
    """Mean and deviation of every target, for one model or for several side by side.

    Attributes:
        mean: ``[*, T]``.
        std: ``[*, T]``; 1 where a target does not vary.

    Example:
        >>> scale = TargetScale.fit(torch.tensor([[1.0], [3.0]]))
        >>> scale.scaled(torch.tensor([[5.0]])), scale.original(torch.tensor([[3.0]]))
        (tensor([[3.]]), tensor([[5.]]))
    """

    mean: Tensor
    std: Tensor

    @staticmethod
    def fit(y: Tensor, rows: Tensor | None = None) -> "TargetScale":
        """The scale of the targets of a training part.

        Args:
            y: Targets, NaN where missing.
            rows: Which graphs are in the training part, per model; all of them unless given.

        Shapes:
            ``y [G, T]``, ``rows [*, G]`` (bool); the scale's fields are ``[*, T]``.
        """
        if y.dim() != 2 or (rows is not None and rows.size(-1) != y.size(0)):
            got = [list(y.shape), None if rows is None else list(rows.shape)]
            raise ValueError(
                f"`y` must have shape [G, T] and `rows` [*, G], got {got[0]} and {got[1]}. "
                "Pass what `Task.encode` gave."
            )
        used = y.isfinite() if rows is None else y.isfinite() & rows[..., None]  # [*, G, T]
        values = y.double().nan_to_num(0).expand(used.shape)
        count = used.sum(-2).clamp(min=1)
        mean = (values * used).sum(-2) / count
        variance = ((values - mean[..., None, :]).square() * used).sum(-2) / count
        std = variance.sqrt()
        # Below the rounding of the mean there is no variation, only noise to blow up.
        flat = std <= 1e-7 * mean.abs()
        return TargetScale(mean.to(y.dtype), std.masked_fill(flat, 1).to(y.dtype))

    def scaled(self, y: Tensor) -> Tensor:
        """Targets ``[G, T]`` in the model's units ``[*, G, T]``."""
        return (y - self.mean[..., None, :]) / self.std[..., None, :]

    def original(self, out: Tensor) -> Tensor:
        """A model's outputs ``[*, G, T]`` in the units of the targets."""
        return out * self.std[..., None, :] + self.mean[..., None, :]

    def to(self, device: torch.device | str) -> "TargetScale":
        """The same scale on another device."""
        return TargetScale(self.mean.to(device), self.std.to(device))

"""A linear map that can hold many models side by side."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lgan import ops

EVERYTHING = slice(None)


class Linear(nn.Module):
    """``x W + b``, for one model or for ``K`` models side by side.

    The weight is stored as ``[in, out]``: products of small blocks run about twice as fast that
    way round on the CPU. Integer ``x`` are category ids and stand for their one-hot vectors.

    Shapes:
        ``x``: ``[*, n, in_channels]``, or ``[n]`` category ids shared by all models;
        result: ``[*, n, out_channels]``.
    """

    def __init__(self, in_channels: int, out_channels: int, *, bias: bool = True) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.weight = nn.Parameter(torch.empty(in_channels, out_channels))
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weights and bias uniformly within ``± 1 / sqrt(in_channels)``."""
        bound = 1 / math.sqrt(max(self.in_channels, 1))
        nn.init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            nn.init.uniform_(self.bias, -bound, bound)

    def forward(self, x: Tensor, rows: slice = EVERYTHING, columns: slice = EVERYTHING) -> Tensor:
        """Apply the map, or the block of it that meets ``rows`` and ``columns`` of the weight."""
        weight: Tensor = self.weight
        bias: Tensor | None = self.bias
        if rows != EVERYTHING:
            weight = weight[..., rows, :]
        if columns != EVERYTHING:
            weight = weight[..., columns]
            bias = None if bias is None else bias[..., columns]
        if not x.is_floating_point():
            check_categories(x, self.in_channels)
            out = _lookup(x, weight)
            return out if bias is None else out + bias.unsqueeze(-2).to(out.dtype)
        return product(x, weight, bias)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels})"


def check_categories(x: Tensor, in_channels: int) -> None:
    """Raise an error unless integer ``x`` are category ids ``[n]`` below ``in_channels``."""
    if x.dim() != 1:
        raise ValueError(
            f"Integer `x` are category ids and must have shape [n], got {list(x.shape)}. "
            "Convert features with `x.float()`, one-hot categories with `x.argmax(-1)`."
        )
    # Elsewhere a look at the values would wait for the device.
    if x.device.type != "cpu" or x.numel() == 0:
        return
    low, high = (int(bound) for bound in torch.aminmax(x))
    if low < 0 or high >= in_channels:
        raise ValueError(
            f"`x` must hold categories from 0 to {in_channels - 1}, got {low} to {high}. "
            "Set `in_channels` to the number of categories."
        )


def one_hot(x: Tensor, in_channels: int) -> Tensor:
    """Categories ``[n]`` as vectors ``[n, in_channels]``; vectors stay as they are."""
    if x.is_floating_point():
        return x
    check_categories(x, in_channels)
    return F.one_hot(x.long(), in_channels)


def _lookup(category: Tensor, weight: Tensor) -> Tensor:
    """Rows of every model's weight, ``[n]`` and ``[*, in, out]`` to ``[*, n, out]``."""
    if category.device.type != "cpu":
        # The gradient of a lookup waits for the device; that of a product does not.
        one_hot = weight.new_zeros((category.numel(), weight.size(-2)))
        return one_hot.scatter_(1, category[:, None].long(), 1.0) @ weight
    if weight.dim() == 2:
        return F.embedding(category, weight)
    models, rows, _ = weight.shape
    offset = torch.arange(models, device=weight.device, dtype=category.dtype)[:, None] * rows
    return F.embedding(category + offset, weight.reshape(models * rows, -1))


def product(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """``x W + b``, for one model or many, whichever way is fast."""
    if weight.dim() == 3 and ops.compiled(x):
        return ops.stacked_product(x, weight, bias)
    out = x @ weight
    # Where activations are stored in half precision the bias must not widen them.
    return out if bias is None else out + bias.unsqueeze(-2).to(out.dtype)

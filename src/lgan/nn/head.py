"""The maps behind the read-out of a network."""

from itertools import pairwise

from torch import Tensor, nn

from lgan.nn.dropout import Dropout
from lgan.nn.linear import Linear


def head_maps(
    width: int, hidden_channels: int, out_channels: int, head_layers: int
) -> tuple[nn.ModuleList, Linear]:
    """Maps from a read-out of some width to the outputs: all but the last, and the last."""
    if head_layers < 1:
        raise ValueError(f"`head_layers` must be 1 or more, got {head_layers}.")
    widths = [width, *[hidden_channels] * (head_layers - 1)]
    hidden = nn.ModuleList(Linear(a, b) for a, b in pairwise(widths))
    return hidden, Linear(widths[-1], out_channels)


def read_head(h: Tensor, dropout: Dropout, hidden: nn.ModuleList, last: Linear) -> Tensor:
    """The outputs of a read-out ``h``: dropout before every map, ReLU between them."""
    for linear in hidden:
        h = linear(dropout(h)).relu()
    out: Tensor = last(dropout(h))
    return out

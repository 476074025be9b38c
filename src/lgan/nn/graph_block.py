"""Features of whole graphs, joined behind the read-out."""

import copy
from typing import Any

import torch
from torch import Tensor, nn

from lgan.nn.dropout import Dropout
from lgan.nn.linear import Linear


class GraphBlock(nn.Module):
    r"""Joins the features ``g`` of whole graphs to their read-out ``h``.

    .. math:: h' = h \,\|\, \mathrm{relu}(W g + b)

    A thousand bits of a fingerprint tell the molecules of a small set apart, and a map of them
    learns these by heart: dropout of the features holds it back. What is joined is dropped as a
    whole, for that share of the graphs of a batch, so that the network learns to do without:
    `graph_alone` is a network that was trained too.

    Args:
        graph_dim: Features of a graph.
        out_channels: Columns that are joined.
        dropout: Share of the features, and of the graphs without them, in training.

    Shapes:
        ``h``: ``[*, B, F]``; ``data.graph_x``: ``[B, graph_dim]``; result:
        ``[*, B, F + out_channels]``.
    """

    def __init__(self, graph_dim: int, out_channels: int, dropout: float = 0.0) -> None:
        super().__init__()
        if graph_dim < 1:
            raise ValueError(f"`graph_dim` must be 1 or more, or None, got {graph_dim}.")
        if not 0 <= dropout < 1:
            raise ValueError(f"`graph_dropout` must be at least 0 and below 1, got {dropout}.")
        self.graph_dim = graph_dim
        self.out_channels = out_channels
        self.lin = Linear(graph_dim, out_channels)
        # None, not a rate of 0: networks saved without it have no state of it.
        self.dropout = Dropout(dropout) if dropout else None

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        self.lin.reset_parameters()
        if self.dropout is not None:
            self.dropout.reset_parameters()

    def forward(self, h: Tensor, data: Any) -> Tensor:
        """The read-out of every graph of a batch beside its features."""
        g = getattr(data, "graph_x", None)
        if g is None or g.dim() != 2 or g.shape != (h.size(-2), self.graph_dim):
            got = "none" if g is None else f"shape {list(g.shape)}"
            raise ValueError(
                f"The network reads `graph_x` of shape [{h.size(-2)}, {self.graph_dim}], features "
                f"of whole graphs, got {got}. Load with `graph_features`, or set `graph_dim` to "
                "None."
            )
        g = g.to(self.lin.weight.dtype)
        if self.dropout is not None and self.training:
            g = self.dropout(g.expand(*h.shape[:-2], *g.shape))  # every model drops its own
        joined = self.lin(g).relu().expand(*h.shape[:-1], -1)
        if self.dropout is not None and self.training:
            joined = joined * (self.dropout(joined.new_ones(*h.shape[:-1], 1)) > 0)
        return torch.cat([h, joined], -1)


def graph_block(graph_dim: int | None, out_channels: int, dropout: float) -> GraphBlock | None:
    """The block of a network that reads features of whole graphs, and none of others."""
    if graph_dim is not None:
        return GraphBlock(graph_dim, out_channels, dropout)
    if dropout:
        raise ValueError(
            f"`graph_dropout` is {dropout}, and there are no features of whole graphs to drop. "
            "Load some with `graph_features`, or leave it out."
        )
    return None


def graph_alone(network: nn.Module) -> nn.Module:
    """A network that reads nothing but its graphs: the given one, or a copy of it whose features
    of whole graphs join zeros, where it has learned to do without them.
    """
    if not any(_learned_without(module) for module in network.modules()):
        return network
    alone = copy.deepcopy(network)
    for module in alone.modules():
        if isinstance(module, GraphBlock) and _learned_without(module):
            for parameter in module.lin.parameters():
                parameter.data.zero_()
    return alone


def _learned_without(module: nn.Module) -> bool:
    return isinstance(module, GraphBlock) and module.dropout is not None

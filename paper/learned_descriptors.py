"""LGAN that learns descriptors of a molecule beside its targets, a trial for the table of
molecules.
"""

from typing import Any

import torch
from torch import Tensor, nn

from lgan.nn import LGAN
from lgan.nn.linear import Linear


class LearnedDescriptors(nn.Module):
    """A network whose last map says the descriptors of a molecule too, in training alone.

    Nothing is read but the graph: descriptors, which cost no measurement, only shape what the
    network knows of a molecule before its targets are said. Their mean squared error is added to
    the loss of every model, over the graphs that it may see.

    Args:
        network: The network, whose last map is made wider.
        graph_dim: Descriptors of a molecule.
        share: What their error is multiplied by.
    """

    def __init__(self, network: LGAN, graph_dim: int, share: float) -> None:
        super().__init__()
        self.network, self.graph_dim, self.share = network, graph_dim, share
        self.edge_dim = network.edge_dim
        self.outputs = network.out_channels
        network.head = Linear(network.head.in_channels, self.outputs + graph_dim)

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        self.network.reset_parameters()

    def forward(self, data: Any) -> Tensor:
        """Outputs for every graph of a batch; in training with the gradient of what is added."""
        said = self.network(data)
        out: Tensor = said[..., : self.outputs]
        if not self.training:
            return out
        seen = (data.node_weight.index_select(-1, data.ptr[:-1]) > 0).to(out.dtype)
        error = (said[..., self.outputs :] - data.graph_x).square().mean(-1)  # [K, B]
        added = (error * seen).sum(-1) / seen.sum(-1).clamp(min=1)
        joined: Tensor = _Joined.apply(out, self.share * added.sum())
        return joined


class _Joined(torch.autograd.Function):
    """Its first input, with the gradient of a loss that is added to whatever it becomes."""

    @staticmethod
    def forward(ctx: Any, out: Tensor, added: Tensor) -> Tensor:
        """The outputs as they are."""
        return out.clone()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        """Their gradient, and 1 for what is added."""
        return grad, grad.new_ones(())

"""Diffusion-convolutional network, in its form for whole graphs."""

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from lgan import ops
from lgan.nn.eager import eager
from lgan.nn.linear import Linear, one_hot
from lgan.zoo.plain_graph import PlainGraph


class DCNN(nn.Module):
    r"""DCNN of *Diffusion-Convolutional Neural Networks* (Atwood and Towsley, NIPS 2016).

    .. math::
        Z = \tanh\bigl(W \odot \tfrac1N \mathbf 1^\top P^* X\bigr), \qquad
        \mathrm{out} = V\,\mathrm{vec}(Z) + b

    for a graph of :math:`N` nodes, where :math:`P^*` holds the powers :math:`P^0, \dots, P^H` of
    the transition matrix :math:`P = D^{-1} A` and :math:`W` one weight for every hop and feature.
    Since the mean over nodes comes before anything is learned,
    :math:`\mathbf 1^\top P^h X = \sum_v r^{(h)}_v X_v` with
    :math:`r^{(h + 1)} = P^\top r^{(h)}`: each hop is a product with one vector.

    The row of an isolated node in :math:`P` is 0. The authors' program divides by the degree plus
    one; here the rows sum to one, as in the paper.

    Args:
        in_channels: Size of the node features (or number of categories).
        hidden_channels: Not used: the paper's network has no hidden width.
        out_channels: Outputs per graph.
        num_hops: The highest power ``H``.

    Shapes:
        Takes a PyG ``Data`` or ``Batch`` or a batch of an uncompressed
        :class:`lgan.GraphUnion`; returns ``[B, out_channels]``.
    """

    # Explanations mask edges through the line graphs.
    reads_lines: ClassVar[bool] = True

    def __init__(
        self, in_channels: int, hidden_channels: int, out_channels: int, *, num_hops: int = 3
    ) -> None:
        super().__init__()
        if num_hops < 0:
            raise ValueError(f"`num_hops` must be 0 or more, got {num_hops}.")
        self.in_channels = in_channels
        self.num_hops = num_hops
        self.weight = nn.Parameter(torch.empty(num_hops + 1, in_channels))
        self.head = Linear((num_hops + 1) * in_channels, out_channels)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all weights anew, those of the diffusion from N(0, 0.01) as the authors do."""
        nn.init.normal_(self.weight, std=0.01)
        self.head.reset_parameters()

    @eager
    def forward(self, data: Any) -> Tensor:
        """Outputs for every graph of a batch."""
        graph = PlainGraph.of(data, self.weight.dtype)
        x = one_hot(data.x, self.in_channels).to(self.weight.dtype)
        reach = visits(graph, self.num_hops)  # [*, n, H + 1]
        spread = (reach.unsqueeze(-1) * x.unsqueeze(-2)).flatten(-2)  # [*, n, (H + 1) F]
        ones = torch.ones(x.size(0), device=x.device)
        size = torch.diff(graph.ptr).clamp(min=1)
        mean = ops.segment_sum(spread, ones, graph.ptr) / size[:, None]
        z = torch.tanh(self.weight.flatten(-2).unsqueeze(-2) * mean)  # [*, B, (H + 1) F]
        out: Tensor = self.head(z)
        return out


def visits(graph: PlainGraph, num_hops: int) -> Tensor:
    r"""How often a walk from every node is at each node after 0 to H steps, ``[*, n, H + 1]``.

    Column ``h`` is :math:`(P^\top)^h \mathbf 1`.
    """
    # A partly present edge of an explanation leaves a degree below one.
    share = torch.where(graph.degree > 0, 1 / graph.degree.clamp(min=1e-12), 0)
    columns = [torch.ones_like(share)]
    for _ in range(num_hops):
        columns.append(graph.neighbour_sum(share * columns[-1]))
    return torch.cat(columns, -1)

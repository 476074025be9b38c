"""Deep graph convolutional network with sort pooling."""

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.nn.inits import reset

from lgan.graph import GraphUnion
from lgan.nn.dropout import Dropout
from lgan.nn.eager import eager
from lgan.nn.linear import Linear
from lgan.zoo.plain_graph import PlainGraph

# Channels of the two convolutions over the sorted nodes, and nodes that the second one sees.
FIRST, SECOND, WINDOW = 16, 32, 5
# Sort keys this near, in units of rounding, count as equal.
NEAR = 128
# Fewer sorted nodes leave nothing for the second convolution.
LEAST = 2 * WINDOW


class DGCNN(nn.Module):
    r"""DGCNN of *An End-to-End Deep Learning Architecture for Graph Classification* (Zhang et al.,
    AAAI 2018).

    .. math::
        Z_{l + 1} = \tanh(\tilde D^{-1} \tilde A Z_l W_l), \quad \tilde A = A + I, \quad
        Z = Z_1 \,\|\, \dots \,\|\, Z_L

    The last layer has one channel. The nodes of a graph are sorted by it in descending order, ties
    by the last channel of the layer before; the first ``k`` are kept, or rows of zeros added.
    Then follow a convolution over single nodes (16 channels), the maximum of neighbouring twos, a
    convolution over five (32), a dense layer with dropout, and the head.

    Args:
        in_channels: Size of the node features (or number of categories).
        hidden_channels: Width of every layer but the last.
        out_channels: Outputs per graph.
        num_layers: Number of graph convolutions.
        k: Nodes that are kept; see :func:`sort_pool_size`.
        dense: Width of the dense layer.
        dropout: Share of the dense layer dropped before the head.

    Shapes:
        Takes a PyG ``Data`` or ``Batch`` or a batch of an uncompressed
        :class:`lgan.GraphUnion`; returns ``[B, out_channels]``.
    """

    # Explanations mask edges through the line graphs.
    reads_lines: ClassVar[bool] = True

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        num_layers: int = 4,
        k: int = 30,
        dense: int = 128,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        if num_layers < 2:
            raise ValueError(f"`num_layers` must be 2 or more, got {num_layers}.")
        if k < LEAST:
            raise ValueError(f"`k` must be {LEAST} or more, got {k}.")
        widths = [in_channels, *[hidden_channels] * (num_layers - 1), 1]
        self.k = k
        self.layers = nn.ModuleList(
            Linear(widths[i], widths[i + 1], bias=False) for i in range(num_layers)
        )
        self.first = Linear(sum(widths[1:]), FIRST)
        self.second = Linear(WINDOW * FIRST, SECOND)
        self.dense = Linear((k // 2 - WINDOW + 1) * SECOND, dense)
        self.dropout = Dropout(dropout)
        self.head = Linear(dense, out_channels)

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        for module in self.children():
            reset(module)

    @eager
    def forward(self, data: Any) -> Tensor:
        """Outputs for every graph of a batch."""
        graph = PlainGraph.of(data, self.head.weight.dtype)
        h, levels = data.x, []
        for layer in self.layers:
            h = layer(h)
            h = torch.tanh((graph.neighbour_sum(h) + h) / (graph.degree + 1))
            levels.append(h)
        # The first convolution sees nodes one by one, so that it may come before the sorting.
        nodes = self.first(torch.cat(levels, -1))  # [*, n, 16]
        order = sort_order(levels[-1][..., -1], levels[-2][..., -1], graph)
        chosen = self._pooled(nodes, order, graph.ptr).relu()  # [*, B, k, 16]

        pairs = chosen[..., : self.k // 2 * 2, :].unflatten(-2, (-1, 2)).amax(-2)
        windows = pairs.unfold(-2, WINDOW, 1).mT.flatten(-2)  # [*, B, L, 5 · 16]
        *leading, graphs, places, _ = windows.shape
        sequence = self.second(windows.reshape(*leading, graphs * places, -1)).relu()
        rows = sequence.reshape(*leading, graphs, places * SECOND)
        out: Tensor = self.head(self.dropout(self.dense(rows).relu()))
        return out

    def _pooled(self, nodes: Tensor, order: Tensor, ptr: Tensor) -> Tensor:
        """The first ``k`` nodes of every graph, what zeros become where there are fewer."""
        start, size = ptr[:-1, None], torch.diff(ptr)[:, None]
        rank = torch.arange(self.k, device=ptr.device)
        there = rank < size  # [B, k]
        # One row more than nodes, so that a batch without any has something to point at.
        place = torch.where(there, start + rank, nodes.size(-2)).flatten()
        index = F.pad(order, (0, 1), value=nodes.size(-2)).index_select(-1, place)
        kept = F.pad(nodes, (0, 0, 0, 1)).gather(
            -2, index.unsqueeze(-1).expand(*index.shape, nodes.size(-1))
        )
        kept = kept.unflatten(-2, there.shape)
        missing: Tensor = self.first.bias  # type: ignore[assignment]
        return torch.where(there[..., None], kept, missing[..., None, None, :])


def sort_order(key: Tensor, tie: Tensor, graph: PlainGraph) -> Tensor:
    """Nodes graph after graph, each in descending order of a key.

    Sums in another order round differently; numbers that near count as equal, so that renaming
    nodes does not reorder them.

    Args:
        key: What to sort by.
        tie: What decides between equal keys; then the order of the nodes does.
        graph: The graphs.

    Shapes:
        ``key``, ``tie`` and result: ``[*, n]``.
    """
    step = NEAR * torch.finfo(key.dtype).eps
    tie, key = (tie.detach() / step).round(), (key.detach() / step).round()
    order = torch.argsort(tie, dim=-1, descending=True, stable=True)
    for other, down in ((key, True), (graph.graph.expand_as(key), False)):
        again = torch.argsort(other.gather(-1, order), dim=-1, descending=down, stable=True)
        order = order.gather(-1, again)
    return order


def sort_pool_size(union: GraphUnion, options: Mapping[str, Any]) -> dict[str, int]:
    """The largest ``k`` such that 60 % of the graphs have more nodes, but at least ten.

    These are the words of the paper; the authors' program takes a ``k`` that 60 % do not exceed.

    Args:
        union: The data set.
        options: Options of the network; a ``k`` among them stays.
    """
    if "k" in options:
        return {}
    size = torch.sort(torch.diff(union.node_ptr), descending=True).values
    last = size[max(-(-6 * size.numel() // 10), 1) - 1]
    return {"k": max(int(last) - 1, LEAST)}

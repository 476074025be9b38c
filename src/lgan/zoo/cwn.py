"""CW Networks: messages between nodes, edges and rings."""

import math
from collections.abc import Sequence
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn
from torch_geometric.nn.inits import reset

from lgan.graph import GraphUnion, Lift
from lgan.nn.dropout import Dropout
from lgan.nn.eager import eager
from lgan.nn.linear import Linear, one_hot
from lgan.nn.norm import Norm, norm_layer
from lgan.nn.readout import Readout, check_readout, readout
from lgan.ops.row_sum import row_sum
from lgan.zoo.cw_lift import EDGE_NODES, EDGES, RING_EDGES, RINGS, cw_lift
from lgan.zoo.incidences import Incidences
from lgan.zoo.plain_graph import refuse_prepared

Init = Literal["mean", "sum"]


class CWN(nn.Module):
    r"""CIN of *Weisfeiler and Lehman Go Cellular: CW Networks* (Bodnar et al., NeurIPS 2021).

    Nodes, edges and rings are the cells of dimension 0, 1 and 2. A cell :math:`\sigma` hears from
    its boundary :math:`B(\sigma)` and from every cell :math:`\tau` that shares a larger cell
    :math:`\delta` with it; coboundary and lower messages are left out, which the paper shows to
    cost no power:

    .. math::
        m_B &= (1 + \epsilon)\, h_\sigma + \sum_{\tau \in B(\sigma)} h_\tau \\
        m_\uparrow &= (1 + \epsilon)\, h_\sigma + \sum_{\tau, \delta}
            \mathrm{relu}(W_M (h_\tau \,\|\, h_\delta) + b_M) \\
        h'_\sigma &= \mathrm{MLP}\bigl(
            \mathrm{MLP}_\uparrow(m_\uparrow) \,\|\, \mathrm{MLP}_B(m_B)\bigr)

    with :math:`\epsilon = 0` and weights of their own for every dimension and layer. The outputs
    of all layers are joined and read out over the cells of each dimension; a dense layer per
    dimension, their sum, and a linear head follow. The message of a cell :math:`\tau` in
    :math:`\delta` is the same for all cells it goes to, so that a ring of length l costs l
    messages and one difference, not l (l - 1).

    Args:
        in_channels: Size of the node features (or number of categories).
        hidden_channels: Width of every layer.
        out_channels: Outputs per graph.
        num_layers: Number of layers.
        max_ring: Nodes of the largest ring; the transform :func:`cw_lift` lists them.
        init: Edges and rings begin as the ``"mean"`` or ``"sum"`` of the features of their nodes.
        readout: ``"sum"``, ``"mean"`` or ``"max"`` over the cells of each dimension.
        dropout: Share of the graph representation dropped before the head.
        norm: ``"batch"`` (the paper), ``"layer"`` or ``"none"``.

    Shapes:
        Takes a batch of a :class:`lgan.GraphUnion` that was lifted with :func:`cw_lift`, its
        twins merged or not; returns ``[B, out_channels]``.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        num_layers: int = 4,
        max_ring: int = 6,
        init: Init = "mean",
        readout: Readout = "sum",
        dropout: float = 0.0,
        norm: Norm = "batch",
    ) -> None:
        super().__init__()
        check_readout(readout)
        if init not in get_args(Init):
            raise ValueError(f"`init` must be one of {get_args(Init)}, got {init!r}.")
        self.in_channels = in_channels
        self.max_ring = max_ring
        self.init: Init = init
        self.readout: Readout = readout
        self.layers = nn.ModuleList(
            _CINLayer(in_channels if layer == 0 else hidden_channels, hidden_channels, norm)
            for layer in range(num_layers)
        )
        # Without a bias: a graph without rings gets nothing from the dimension of rings.
        self.dense = nn.ModuleList(
            Linear(num_layers * hidden_channels, 2 * hidden_channels, bias=False) for _ in range(3)
        )
        self.dropout = Dropout(dropout)
        self.head = Linear(2 * hidden_channels, out_channels)

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        for module in self.children():
            reset(module)

    @eager
    def forward(self, data: Any) -> Tensor:
        """Outputs for every graph of a batch."""
        refuse_prepared(data, edge_features=True, twins=False)
        cells = getattr(data, "cells", {})
        if RING_EDGES not in cells:
            raise ValueError(
                f"CW Networks need the cells {RING_EDGES!r} in a batch, got {sorted(cells)}. "
                "Lift the data set first: `union.lifted(lgan.zoo.cw_lift.cw_lift())`."
            )
        x = one_hot(data.x, self.in_channels).to(self.head.weight.dtype)
        edge_node, ring_node = cells[EDGES]["node"].long(), cells[RINGS]["node"].long()
        sizes = (x.size(-2), edge_node.numel(), ring_node.numel())
        boundaries = (
            Incidences.of(cells[EDGE_NODES], sizes[1], sizes[0]),
            Incidences.of(cells[RING_EDGES], sizes[2], sizes[1]),
        )
        # How many cells each one stands for where twins are merged.
        each = [data.multiplicity.to(x.dtype)] + [
            cells[name].fields.get("size", x.new_ones(size)).to(x.dtype)
            for name, size in zip((EDGES, RINGS), sizes[1:], strict=True)
        ]
        weight = each[0] if data.node_weight is None else data.node_weight
        alone = weight / each[0]
        # Every cell counts in the statistics as its graph does.
        weights = (weight, alone[..., edge_node] * each[1], alone[..., ring_node] * each[2])
        ptrs = (data.ptr, cells[EDGES].ptr, cells[RINGS].ptr)

        h = self._initial(x, boundaries)
        levels: list[list[Tensor]] = [[], [], []]
        for layer in self.layers:
            h = layer(h, boundaries, weights)
            for dim in range(3):
                levels[dim].append(readout(h[dim], ptrs[dim], each[dim], self.readout))
        read = (
            dense(torch.cat(level, -1)).relu()
            for dense, level in zip(self.dense, levels, strict=True)
        )
        out: Tensor = self.head(self.dropout(torch.stack([*read]).sum(0)))
        return out

    def _initial(self, x: Tensor, boundaries: Sequence[Incidences]) -> list[Tensor]:
        """Features of all cells from those of their nodes.

        Every node of a ring lies on two of its edges, so that edges stand in for nodes.
        """
        edge, ring = (incidences.boundary for incidences in boundaries)
        ends = row_sum(x, edge)
        around = row_sum(ends, ring) / 2
        if self.init == "mean":
            sides = row_sum(x.new_ones(ends.size(-2), 1), ring)
            return [x, ends / 2, around / sides]
        return [x, ends, around]


class _CINLayer(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, norm: Norm) -> None:
        super().__init__()
        self.messages = nn.ModuleList(_Message(in_channels) for _ in range(2))
        self.updates = nn.ModuleList(_Update(in_channels, out_channels, norm) for _ in range(3))

    def forward(
        self, h: Sequence[Tensor], boundaries: Sequence[Incidences], weights: Sequence[Tensor]
    ) -> list[Tensor]:
        upper, boundary = list(h), list(h)
        for dim, (message, incidences) in enumerate(zip(self.messages, boundaries, strict=True)):
            upper[dim] = upper[dim] + message(h[dim], h[dim + 1], incidences)
            boundary[dim + 1] = boundary[dim + 1] + row_sum(h[dim], incidences.boundary)
        parts = zip(self.updates, upper, boundary, weights, strict=True)
        return [update(up, down, weight) for update, up, down, weight in parts]


class _Message(nn.Module):
    r"""Sums over all :math:`\tau` and :math:`\delta` that a cell shares, for every cell."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.lower = Linear(channels, channels)
        self.upper = Linear(channels, channels, bias=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw both halves as those of one map of the joined features."""
        bound = 1 / math.sqrt(2 * self.lower.in_channels)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -bound, bound)

    def forward(self, lower: Tensor, upper: Tensor, incidences: Incidences) -> Tensor:
        by_lower = row_sum(self.lower(lower), incidences.from_lower)
        by_upper = row_sum(self.upper(upper), incidences.from_upper)
        sent = (by_lower + by_upper).relu()  # [*, pairs of δ and τ, F]
        within = row_sum(sent, incidences.to_upper)  # all that δ holds
        around = row_sum(within, incidences.coboundary)
        return around - row_sum(sent, incidences.to_lower)  # less what σ sent itself


class _Update(nn.Module):
    """Two perceptrons and the layer that combines them; biases before a batch norm would cancel."""

    def __init__(self, in_channels: int, out_channels: int, norm: Norm) -> None:
        super().__init__()
        self.upper = _Perceptron(in_channels, out_channels, norm)
        self.boundary = _Perceptron(in_channels, out_channels, norm)
        self.combine = Linear(2 * out_channels, out_channels, bias=norm != "batch")
        self.norm = norm_layer(norm, out_channels)

    def forward(self, upper: Tensor, boundary: Tensor, weight: Tensor) -> Tensor:
        both = torch.cat([self.upper(upper, weight), self.boundary(boundary, weight)], -1)
        out: Tensor = self.norm(self.combine(both), weight)
        return out


class _Perceptron(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, norm: Norm) -> None:
        super().__init__()
        self.lin = Linear(in_channels, out_channels, bias=norm != "batch")
        self.norm = norm_layer(norm, out_channels)
        self.out = Linear(out_channels, out_channels, bias=norm != "batch")
        self.out_norm = norm_layer(norm, out_channels)

    def forward(self, x: Tensor, weight: Tensor) -> Tensor:
        out: Tensor = self.out_norm(self.out(self.norm(self.lin(x), weight)), weight)
        return out


def lift_rings(options: Any) -> Lift:
    """The transform that a network with these options needs."""
    return cw_lift(int(options.get("max_ring", 6)))


def cells_per_graph(union: GraphUnion) -> Tensor:
    """Rows of activations of every graph ``[G]``: a map of the network reads one of three levels.

    A pair of a cell and its boundary costs a layer four rows beside some fifty of its maps.
    """
    cells = union.cells
    ptrs = [union.node_ptr, cells[EDGES].ptr, cells[RINGS].ptr]
    rows = torch.stack([torch.diff(ptr) for ptr in ptrs]).sum(0)
    pairs = torch.diff(cells[EDGE_NODES].ptr) + torch.diff(cells[RING_EDGES].ptr)
    return (rows // 3 + pairs // 12 + 1).cpu()

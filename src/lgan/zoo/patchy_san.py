"""Convolution over normalised neighbourhoods of a sequence of nodes."""

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lgan.nn.dropout import Dropout
from lgan.nn.eager import eager
from lgan.nn.linear import Linear, check_categories
from lgan.zoo.plain_graph import refuse_prepared
from lgan.zoo.receptive_fields import FAMILY, LEAST

# Channels of the two convolutions, and fields that the second one sees.
FIRST, SECOND, WINDOW = 16, 8, LEAST


class PatchySan(nn.Module):
    r"""PATCHY-SAN of *Learning Convolutional Neural Networks for Graphs* (Niepert et al., ICML
    2016), over node attributes.

    A graph is a sequence of ``w`` receptive fields, each ``k`` nodes in a fixed order
    (:func:`lgan.zoo.receptive_fields.receptive_fields`). With :math:`v_{ij}` the ``j``-th node of
    field ``i``,

    .. math::
        h_i = \mathrm{relu}\Bigl(\sum_{j = 1}^k W_j\, x_{v_{ij}} + b\Bigr), \qquad
        h'_i = \mathrm{relu}\Bigl(\sum_{j = 0}^{9} W'_j\, h_{i + j} + b'\Bigr)

    with 16 and 8 channels, then a dense layer with dropout, and the head. A missing node counts
    as zero.

    The labelling is that of 1-WL, as in the paper's experiments. Nodes that it leaves equal the
    paper orders by a canonical form (nauty); here what their fields look like decides, then the
    order of the nodes. As nodes of one colour have one category, the network sees the same
    sequence under every naming of the nodes where features are categories.

    Args:
        in_channels: Size of the node features (or number of categories).
        hidden_channels: Width of the dense layer.
        out_channels: Outputs per graph.
        num_fields: The width ``w``, as in the transform.
        field_size: The size ``k`` of a receptive field, as in the transform.
        dropout: Share of the dense layer dropped before the head.

    Shapes:
        Takes a batch of a lifted :class:`lgan.GraphUnion`; returns ``[B, out_channels]``.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        num_fields: int = 18,
        field_size: int = 10,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        if num_fields < WINDOW:
            raise ValueError(f"`num_fields` must be {WINDOW} or more, got {num_fields}.")
        if field_size < 1:
            raise ValueError(f"`field_size` must be 1 or more, got {field_size}.")
        self.in_channels = in_channels
        self.num_fields = num_fields
        self.field_size = field_size
        self.first = Linear(in_channels, field_size * FIRST, bias=False)
        self.bias = nn.Parameter(torch.empty(FIRST))
        self.second = Linear(WINDOW * FIRST, SECOND)
        self.dense = Linear((num_fields - WINDOW + 1) * SECOND, hidden_channels)
        self.dropout = Dropout(dropout)
        self.head = Linear(hidden_channels, out_channels)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        bound = 1 / math.sqrt(max(self.in_channels, 1) * self.field_size)
        nn.init.uniform_(self.first.weight, -bound, bound)
        nn.init.uniform_(self.bias, -bound, bound)
        for layer in (self.second, self.dense, self.head):
            layer.reset_parameters()

    @eager
    def forward(self, data: Any) -> Tensor:
        """Outputs for every graph of a batch."""
        refuse_prepared(data, edge_features=True)
        fields = _fields(data, self.num_fields, self.field_size)
        h = (self._first(data.x, fields) + self.bias.unsqueeze(-2)).relu()  # [*, B w, 16]
        windows = h.unflatten(-2, (-1, self.num_fields)).unfold(-2, WINDOW, 1)
        windows = windows.mT.flatten(-2)  # [*, B, L, 10 · 16]
        *leading, graphs, places, _ = windows.shape
        sequence = self.second(windows.reshape(*leading, graphs * places, -1)).relu()
        rows = sequence.reshape(*leading, graphs, places * SECOND)
        out: Tensor = self.head(self.dropout(self.dense(rows).relu()))
        return out

    def _first(self, x: Tensor, fields: Tensor) -> Tensor:
        """The sum over the nodes of every field, each with the weights of its place.

        A table holds what every node, or every category, gives at every place; the fields say
        which of its rows to sum.
        """
        if x.is_floating_point():
            table, row = self.first(x), fields  # [*, n, k · 16]
        else:
            check_categories(x, self.in_channels)
            table, row = self.first.weight, F.pad(x, (0, 1), value=-1)[fields]
        table = table.unflatten(-1, (self.field_size, FIRST)).flatten(-3, -2)  # [*, n · k, 16]
        table = F.pad(table, (0, 0, 0, 1))  # a missing node gives zero
        rows = table.size(-2)
        place = row * self.field_size + torch.arange(self.field_size, device=row.device)
        place = torch.where(row < 0, rows - 1, place)
        if table.dim() == 2:
            return F.embedding_bag(place, table, mode="sum")
        models = table.size(0)
        offset = torch.arange(models, device=row.device)[:, None, None] * rows
        place, table = (place + offset).flatten(0, 1), table.flatten(0, 1)
        return F.embedding_bag(place, table, mode="sum").view(models, -1, FIRST)


def _fields(data: Any, num_fields: int, field_size: int) -> Tensor:
    """Node ids of all fields of a batch ``[B w, k]``; -1 for none."""
    cells = getattr(data, "cells", None) or {}
    if FAMILY not in cells:
        raise ValueError(
            "PATCHY-SAN reads receptive fields, got a batch without. Lift the data set with "
            "`union.lifted(lgan.zoo.receptive_fields.receptive_fields(options))`."
        )
    fields: Tensor = cells[FAMILY]["nodes"]
    expected = [(data.ptr.numel() - 1) * num_fields, field_size]
    if list(fields.shape) != expected:
        raise ValueError(
            f"The batch must hold {num_fields} fields of {field_size} nodes for every graph, "
            f"{expected} in all, got {list(fields.shape)}. Lift the data set with the options of "
            "the network."
        )
    return fields.long()

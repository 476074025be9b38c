"""Graph Isomorphism Network, from PyG's own layer."""

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.nn import GINConv, GINEConv
from torch_geometric.nn.inits import reset

from lgan.graph import GraphBatch
from lgan.nn.dropout import Dropout
from lgan.nn.eager import eager
from lgan.nn.graph_block import graph_block
from lgan.nn.head import head_maps, read_head
from lgan.nn.linear import Linear, one_hot
from lgan.nn.norm import Norm, norm_layer
from lgan.nn.readout import readout_names, skip_cat
from lgan.zoo.plain_graph import PlainGraph, pointers, refuse_prepared


class GIN(nn.Module):
    r"""GIN-0 or GIN-ε of *How Powerful are Graph Neural Networks?* (Xu et al., ICLR 2019).

    .. math::
        h'_t = \mathrm{MLP}\bigl((1 + \epsilon)\, h_t + \sum_{p \in N(t)} h_p\bigr)

    with a two-layer MLP, a normalisation after each map, and the read-outs of all layers
    before the head. The first linear map commutes with the sum and is applied before it. Batches
    of a :class:`lgan.GraphUnion` without features of edges are summed row by row, all models at
    once and always in the same order; other graphs, and edges that an explanation masks, go
    through PyG's layer.

    GIN-0 counts a node among its neighbours, which makes it weaker than 1-WL where nodes have
    labels; GIN-ε is not. The read-out begins with the input, as in the paper's equation 4.2.
    Dropout comes before the head, in the paper after it.

    With features of edges it is GINE of *Strategies for Pre-training Graph Neural Networks* (Hu et
    al., ICLR 2020): a neighbour sends ``relu(h_p + W_e e_tp)``.

    Args:
        in_channels: Size of the node features (or number of categories).
        hidden_channels: Width of every layer.
        out_channels: Outputs per graph.
        num_layers: Number of layers.
        readout: ``"sum"``, ``"mean"`` or ``"max"``, or several, such as ``"sum+mean"``.
        dropout: Share of the graph representation dropped before the head.
        include_input: Read out the input too.
        eps: Learn :math:`\epsilon`, one for every layer, from 0 on (GIN-ε); otherwise it stays 0
            (GIN-0).
        norm: ``"batch"`` (the paper), in which the biases of the maps would cancel, or ``"layer"``
            or ``"none"``, with biases.
        edge_dim: Categories of integer ``edge_attr [E]``, or columns of real vectors ``[E, d]``.
        graph_dim: Features ``graph_x`` of a whole graph, joined behind the read-out.
        graph_dropout: Share of these, and of what is joined, dropped in training.
        head_layers: Linear maps behind the read-out, with ReLU between them; the paper has one.

    Shapes:
        Takes a PyG ``Data`` or ``Batch`` or a batch of an uncompressed
        :class:`lgan.GraphUnion`; returns ``[B, out_channels]``.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        num_layers: int = 4,
        readout: str = "sum",
        dropout: float = 0.0,
        include_input: bool = True,
        eps: bool = False,
        norm: Norm = "batch",
        edge_dim: int | None = None,
        graph_dim: int | None = None,
        graph_dropout: float = 0.0,
        head_layers: int = 1,
    ) -> None:
        super().__init__()
        self.readout = readout_names(readout)
        self.layers = nn.ModuleList(
            _GINLayer(
                in_channels if layer == 0 else hidden_channels, hidden_channels, eps, norm, edge_dim
            )
            for layer in range(num_layers)
        )
        self.dropout = Dropout(dropout)
        self.in_channels = in_channels
        self.edge_dim = edge_dim
        self.graph_dim = graph_dim
        self.graph_block = graph_block(graph_dim, hidden_channels, graph_dropout)
        self.include_input = include_input
        width = num_layers * hidden_channels + include_input * in_channels
        width = width * len(self.readout) + (0 if graph_dim is None else hidden_channels)
        self.mlp, self.head = head_maps(width, hidden_channels, out_channels, head_layers)

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        for module in self.children():
            reset(module)

    @eager
    def forward(self, data: Any) -> Tensor:
        """Outputs for every graph of a batch."""
        x = data.x
        refuse_prepared(data)
        ptr = pointers(data)
        multiplicity = torch.ones(x.size(0), device=x.device)
        weight = getattr(data, "node_weight", None)
        weight = multiplicity if weight is None else weight
        dtype = self.head.weight.dtype
        edges = edge_vectors(data, self.edge_dim, dtype)
        plain = isinstance(data, GraphBatch) and self.edge_dim is None
        graph = PlainGraph(ptr, data.lines, dtype) if plain else None
        levels = []
        if self.include_input:
            levels.append(one_hot(x, self.in_channels).to(dtype))
        for layer in self.layers:
            x = layer(x, data.edge_index, weight, edges, graph)
            levels.append(x)
        skip = skip_cat(levels, ptr, multiplicity, self.readout)
        if self.graph_block is not None:
            skip = self.graph_block(skip, data)
        return read_head(skip, self.dropout, self.mlp, self.head)


class _GINLayer(nn.Module):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        train_eps: bool,
        norm: Norm,
        edge_dim: int | None,
    ) -> None:
        super().__init__()
        self.lin = Linear(in_channels, out_channels, bias=False)
        self.edge = None if edge_dim is None else Linear(edge_dim, in_channels)
        conv = GINConv if edge_dim is None else GINEConv
        self.conv = conv(nn.Identity(), train_eps=train_eps)
        # Matrices, so that they broadcast when models are stacked.
        eps = torch.zeros(1, 1)
        self.conv.eps = nn.Parameter(eps) if train_eps else eps
        self.bias: nn.Parameter | None = None
        if norm != "batch":  # in which it would cancel
            self.bias = nn.Parameter(torch.empty(1, out_channels))
            self._draw_bias()
        self.norm = norm_layer(norm, out_channels)
        self.out = Linear(out_channels, out_channels, bias=norm != "batch")
        self.out_norm = norm_layer(norm, out_channels)

    def reset_parameters(self) -> None:
        nn.init.zeros_(self.conv.eps)
        self.lin.reset_parameters()
        if self.edge is not None:
            self.edge.reset_parameters()
        self._draw_bias()
        self.norm.reset_parameters()
        self.out.reset_parameters()
        self.out_norm.reset_parameters()

    def _draw_bias(self) -> None:
        if self.bias is not None:
            bound = 1 / math.sqrt(self.lin.in_channels)
            nn.init.uniform_(self.bias, -bound, bound)

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        weight: Tensor,
        edges: Tensor | None = None,
        graph: PlainGraph | None = None,
    ) -> Tensor:
        if graph is not None and not self.conv.explain:
            h = self.lin(x)
            hidden = (1 + self.conv.eps).to(h.dtype) * h + graph.neighbour_sum(h)
        elif self.edge is None:
            hidden = self.conv(self.lin(x), edge_index)
        else:
            # The clip stands between the sum and the map, which do not commute here.
            x = one_hot(x, self.lin.in_channels).to(self.lin.weight.dtype)
            if edges is None:  # a graph without edges
                edges = x.new_zeros(0, self.edge.in_channels)
            hidden = self.lin(self.conv(x, edge_index, self.edge(edges)))
        hidden = hidden if self.bias is None else hidden + self.bias.to(hidden.dtype)
        out: Tensor = self.out_norm(self.out(self.norm(hidden, weight)), weight)
        return out


def edge_vectors(data: Any, edge_dim: int | None, dtype: torch.dtype) -> Tensor | None:
    """Features of the edges ``[E, d]``, categories one-hot, or an error where they do not fit."""
    attr = getattr(data, "edge_attr", None)
    if attr is None and (edge_dim is None or data.edge_index.size(1) == 0):
        return None
    got = "none" if attr is None else f"{attr.dtype} of shape {list(attr.shape)}"
    categories = attr is not None and not attr.is_floating_point() and attr.dim() == 1
    if edge_dim is None or attr is None or (not categories and attr.shape[1:] != (edge_dim,)):
        raise ValueError(
            f"The network reads features of edges as `edge_dim={edge_dim}` says, got {got}. Set "
            "`edge_dim` to the number of categories [E] or columns [E, d], or remove `edge_attr`."
        )
    return (F.one_hot(attr.long(), edge_dim) if categories else attr).to(dtype)

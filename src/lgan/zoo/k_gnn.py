"""1-2-3-GNN: messages between nodes, then sets of two nodes, then sets of three."""

from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.nn.inits import reset

from lgan.graph import GraphUnion, Lift
from lgan.nn.dropout import Dropout
from lgan.nn.eager import eager
from lgan.nn.linear import Linear
from lgan.nn.readout import Readout, check_readout, readout
from lgan.ops.row_sum import SparseRows, row_sum
from lgan.zoo.incidences import Incidences, adjacency_rows
from lgan.zoo.k_sets import (
    NODE_NEIGHBOURS,
    PAIR_NEIGHBOURS,
    PAIR_NODES,
    PAIRS,
    TRIPLE_NEIGHBOURS,
    TRIPLE_PAIRS,
    TRIPLES,
    k_sets,
    type_labels,
    types_of_three,
    types_of_two,
)
from lgan.zoo.plain_graph import refuse_prepared

Aggregate = Literal["sum", "mean"]


class KGNN(nn.Module):
    r"""The hierarchical 1-2-3-GNN of *Weisfeiler and Leman Go Neural* (Morris et al., AAAI 2019).

    On every level k, sets ``s`` of k nodes hear from their local neighbours ``N(s)``, the sets
    that arise by replacing a node with a node adjacent to it. Level k > 1 begins with the
    isomorphism type of the set and the result of the level below on its subsets:

    .. math::
        f'_k(s) = \sigma\Bigl(f_k(s) W_1 + \sum_{t \in N(s)} f_k(t) W_2\Bigr), \qquad
        f_k^{(0)}(s) = \sigma\Bigl(\Bigl[\mathrm{iso}(s),
            \sum_{u \subset s,\, |u| = k - 1} f_{k-1}(u)\Bigr] W\Bigr)

    with :math:`\sigma` = ELU. The read-outs of the three levels are joined and classified by a
    perceptron of three layers. Both sums can be means, as in the published experiments.

    Args:
        in_channels: Size of the node features (or number of categories).
        hidden_channels: Width of every layer.
        out_channels: Outputs per graph.
        num_layers: Layers on nodes.
        set_layers: Layers on the sets of two and on those of three nodes.
        connected: Whether the sets of three are those that induce a connected graph; the transform
            :func:`k_sets` lists them.
        touching: Whether sets of three are neighbours if they share two nodes; see there.
        aggregate: ``"sum"`` or ``"mean"`` over neighbours and over subsets.
        readout: ``"sum"``, ``"mean"`` or ``"max"`` over nodes.
        set_readout: The same over sets.
        dropout: Share dropped after the first layer of the perceptron.

    Shapes:
        Takes a batch of an uncompressed :class:`lgan.GraphUnion` that was lifted with
        :func:`k_sets`; returns ``[B, out_channels]``.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        num_layers: int = 3,
        set_layers: int = 2,
        connected: bool = True,
        touching: bool = False,
        aggregate: Aggregate = "sum",
        readout: Readout = "sum",
        set_readout: Readout = "mean",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        check_readout(readout)
        check_readout(set_readout)
        if aggregate not in get_args(Aggregate):
            raise ValueError(
                f"`aggregate` must be one of {get_args(Aggregate)}, got {aggregate!r}."
            )
        self.connected = connected
        self.touching = touching
        self.aggregate: Aggregate = aggregate
        self.readout: Readout = readout
        self.set_readout: Readout = set_readout
        hidden, labels = hidden_channels, type_labels(in_channels, connected)
        self.convs = nn.ModuleList(
            _GraphConv(in_channels if layer == 0 else hidden, hidden, aggregate)
            for layer in range(num_layers)
        )
        self.pairs = _SetLevel(types_of_two(labels), hidden, set_layers, aggregate)
        self.triples = _SetLevel(types_of_three(labels, connected), hidden, set_layers, aggregate)
        self.first = Linear(3 * hidden, hidden)
        self.dropout = Dropout(dropout)
        self.second = Linear(hidden, max(hidden // 2, 1))
        self.head = Linear(max(hidden // 2, 1), out_channels)

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        for module in self.children():
            reset(module)

    @eager
    def forward(self, data: Any) -> Tensor:
        """Outputs for every graph of a batch."""
        refuse_prepared(data, edge_features=True)
        cells = getattr(data, "cells", {})
        if TRIPLE_PAIRS not in cells:
            raise ValueError(
                f"1-2-3-GNN needs the cells {TRIPLE_PAIRS!r} in a batch, got {sorted(cells)}. "
                "Lift the data set first: `union.lifted(lgan.zoo.k_sets.k_sets())`."
            )
        x, nodes = data.x, data.x.size(0)
        near = adjacency_rows(cells[NODE_NEIGHBOURS], nodes)
        for conv in self.convs:
            x = F.elu(conv(x, near))
        read = [self._read(x, data.ptr, self.readout)]
        names = ((PAIRS, PAIR_NODES, PAIR_NEIGHBOURS), (TRIPLES, TRIPLE_PAIRS, TRIPLE_NEIGHBOURS))
        for level, (sets, subsets, neighbours) in zip(
            (self.pairs, self.triples), names, strict=True
        ):
            kind = cells[sets]["type"]
            below = Incidences.of(cells[subsets], kind.numel(), x.size(-2)).boundary
            x = level(x, kind, below, adjacency_rows(cells[neighbours], kind.numel()))
            read.append(self._read(x, cells[sets].ptr, self.set_readout))
        hidden = self.dropout(F.elu(self.first(torch.cat(read, -1))))
        out: Tensor = self.head(F.elu(self.second(hidden)))
        return out

    @staticmethod
    def _read(x: Tensor, ptr: Tensor, how: Readout) -> Tensor:
        return readout(x, ptr, torch.ones(x.size(-2), device=x.device), how)


class _SetLevel(nn.Module):
    """The layers on the sets of one size."""

    def __init__(self, types: int, hidden: int, layers: int, aggregate: Aggregate) -> None:
        super().__init__()
        self.aggregate: Aggregate = aggregate
        self.below = Linear(hidden, hidden)
        self.kind = Linear(types, hidden, bias=False)
        self.convs = nn.ModuleList(_GraphConv(hidden, hidden, aggregate) for _ in range(layers))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all weights; a type is one feature, however many there are."""
        reset(self.below)
        reset(self.convs)
        bound = self.below.in_channels**-0.5
        nn.init.uniform_(self.kind.weight, -bound, bound)

    def forward(self, x: Tensor, kind: Tensor, below: SparseRows, near: SparseRows) -> Tensor:
        x = F.elu(_aggregate(self.below(x), below, self.aggregate) + self.kind(kind))
        for conv in self.convs:
            x = F.elu(conv(x, near))
        return x


class _GraphConv(nn.Module):
    """``x W_1 + b`` and the sum or mean of ``x W_2`` over neighbours."""

    def __init__(self, in_channels: int, out_channels: int, aggregate: Aggregate) -> None:
        super().__init__()
        self.aggregate: Aggregate = aggregate
        self.own = Linear(in_channels, out_channels)
        self.near = Linear(in_channels, out_channels, bias=False)

    def forward(self, x: Tensor, near: SparseRows) -> Tensor:
        out: Tensor = self.own(x) + _aggregate(self.near(x), near, self.aggregate)
        return out


def _aggregate(x: Tensor, rows: SparseRows, how: Aggregate) -> Tensor:
    total = row_sum(x, rows)
    return total / rows.row_lengths.clamp(min=1)[:, None] if how == "mean" else total


def lift_sets(options: Any) -> Lift:
    """The transform that a network with these options needs."""
    return k_sets(
        connected=bool(options.get("connected", True)),
        touching=bool(options.get("touching", False)),
    )


def sets_per_graph(union: GraphUnion) -> Tensor:
    """Rows of activations of every graph ``[G]``: a map reads one of three levels."""
    ptrs = [union.node_ptr, union.cells[PAIRS].ptr, union.cells[TRIPLES].ptr]
    return torch.stack([torch.diff(ptr) for ptr in ptrs]).sum(0).cpu() // 3 + 1

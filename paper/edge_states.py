"""LGAN whose pairs carry a state from layer to layer, a trial for the table of molecules."""

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from lgan import ops
from lgan.graph import EgoLines
from lgan.nn import LGANConv
from lgan.nn.dropout import Dropout
from lgan.nn.edge_vectors import edge_vectors
from lgan.nn.head import head_maps, read_head
from lgan.nn.linear import Linear
from lgan.nn.readout import Readout, skip_cat

READOUTS: tuple[Readout, ...] = ("sum", "mean", "max")


class EdgeStateNetwork(nn.Module):
    r"""LGAN-res whose layers read what a pair sent in the layer before,

    .. math::
        z^{(l)}_{uv} = \mathrm{relu}(W h_u + W h_v + b + W_e e_{uv} + U z^{(l-1)}_{uv}),

    as the messages of D-MPNN persist along bonds. Sizes are those of the default recipe.

    Args:
        in_channels: Size of the node features (or number of categories).
        out_channels: Outputs per graph.
        edge_dim: Categories or columns of the features of edges.
        head_layers: Linear maps behind the read-out.
    """

    CAPTURED: ClassVar[bool] = True
    SIZES: ClassVar[dict[str, Any]] = {"hidden_channels": 64, "num_layers": 4}

    def __init__(
        self, in_channels: int, out_channels: int, *, edge_dim: int, head_layers: int
    ) -> None:
        super().__init__()
        self.edge_dim = edge_dim
        width, layers = self.SIZES["hidden_channels"], self.SIZES["num_layers"]
        self.convs = nn.ModuleList(
            LGANConv(width if layer else in_channels, width, residual=True, edge_dim=edge_dim)
            for layer in range(layers)
        )
        self.carries = nn.ModuleList(
            Linear(width, 2 * width, bias=False) for _ in range(layers - 1)
        )
        self.dropout = Dropout(0.0)
        self.mlp, self.head = head_maps(
            width * layers * len(READOUTS), width, out_channels, head_layers
        )

    def forward(self, data: Any) -> Tensor:
        """Outputs for every graph of a batch, of stacked models with a leading axis."""
        lines, x, state, levels = data.lines, data.x, None, []
        weight = lines.multiplicity if data.node_weight is None else data.node_weight
        for layer, conv in enumerate(self.convs):
            carried: Tensor | None = None if state is None else self.carries[layer - 1](state)
            x, state = _convolved(conv, x, lines, weight, carried)
            levels.append(x)
        skip = skip_cat(levels, data.ptr, lines.multiplicity, READOUTS)
        return read_head(skip, self.dropout, self.mlp, self.head)


def _convolved(
    conv: Any, x: Tensor, lines: EgoLines, weight: Tensor, carried: Tensor | None
) -> tuple[Tensor, Tensor]:
    """A layer whose pairs are offset by what they carry; also what they send to their ends."""
    width, (u, v) = conv.out_channels, lines.pair_index.long()
    a = conv.pair(x)
    table = conv.edge(edge_vectors(lines, conv.edge_dim).to(a.dtype))
    if lines.pair_rows is not None:
        table = table.index_select(-2, lines.pair_rows)
    table = table if carried is None else table + carried
    both = ops.ego_sum(a, lines, width, table=table)
    hidden = conv.norm(conv.fuse(both) + conv.residual(x), weight)
    out: Tensor = conv.out_norm(conv.out(hidden), weight)
    own = a[..., :width]
    ends = own.index_select(-2, u) + own.index_select(-2, v)
    return out, torch.relu(ends + table[..., :width])

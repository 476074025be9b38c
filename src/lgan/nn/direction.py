"""What pairs and nodes know of the direction of their arcs."""

import torch
from torch import Tensor, nn

from lgan.graph import EgoLines
from lgan.nn.edge_vectors import EdgeDim, edge_channels, edge_vectors
from lgan.nn.linear import EVERYTHING, Linear


class Direction(nn.Module):
    r"""What the direction of arcs adds to a layer: to pairs before they are clipped, and to nodes.

    With :math:`s_{uv} = 1` where there is an arc from ``u`` to ``v`` alone, -1 where there is one
    back alone, and 0 where there are both,

    .. math::
        z_{uv} = \mathrm{relu}\bigl(\dots + s_{uv} (D h_u - D h_v) + |s_{uv}|\, c\bigr), \qquad
        \psi(T_t \,\|\, S_t) + V f_t, \quad
        f_t = \sum_{p \in N(t)} s_{tp}\, (1 \,\|\, e_{tp})

    The first term tells the source from the target where the two differ, the second an arc from an
    edge, and ``f``, what flows out less what flows in, tells them apart where their features are
    equal. LGAN-res then separates what colour refinement of the directed graph does: a node knows
    the arcs to and from nodes of other features one by one, and those among nodes of its own from
    the difference.

    What is kept: a graph with an arc back for every arc is the undirected graph, with the same
    outputs; reversing all arcs is changing the signs of ``D`` and ``V``.

    Args:
        in_channels: Size of the features of a node.
        pair_channels: Columns of the pairs.
        out_channels: Size of the output.
        edge_dim: Features of an edge, see :class:`lgan.LGANConv`.
    """

    def __init__(
        self, in_channels: int, pair_channels: int, out_channels: int, edge_dim: EdgeDim | None
    ) -> None:
        super().__init__()
        self.edge_dim = edge_dim
        self.ends = Linear(in_channels, pair_channels, bias=False)
        self.alone = Linear(1, pair_channels, bias=False)
        channels = 1 + (0 if edge_dim is None else edge_channels(edge_dim))
        self.flow = Linear(channels, out_channels, bias=False)

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        for linear in (self.ends, self.alone, self.flow):
            linear.reset_parameters()

    def of_nodes(self, lines: EgoLines, dtype: torch.dtype) -> Tensor:
        """What a node knows of its arcs, ``V f`` ``[*, n, out_channels]``."""
        (u, v), (at_u, at_v, *_) = lines.pair_index.long(), lines.weights()
        sign = _sign(lines, dtype)
        each = sign[:, None]
        if self.edge_dim is not None:
            vectors = lines.at_pairs(edge_vectors(lines, self.edge_dim).to(dtype))
            each = torch.cat([each, each * vectors], 1)
        if lines.mask is not None:
            each = lines.mask.unsqueeze(-1) * each
        flow = each.new_zeros((*each.shape[:-2], lines.num_nodes, each.size(-1)))
        flow = flow.index_add(-2, u, at_u.to(dtype)[:, None] * each)
        flow = flow.index_add(-2, v, -at_v.to(dtype)[:, None] * each)
        out: Tensor = self.flow(flow)
        return out

    def of_pairs(
        self, x: Tensor, lines: EgoLines, dtype: torch.dtype, columns: slice = EVERYTHING
    ) -> Tensor:
        """What the orientation of a pair adds to it ``[*, P, pair_channels]``."""
        u, v = lines.pair_index.long()
        sign = _sign(lines, dtype)[:, None]
        ends = self.ends(x, columns=columns)
        turn = sign * (ends.index_select(-2, u) - ends.index_select(-2, v))
        out: Tensor = turn + self.alone(sign.abs(), columns=columns)
        return out


def _sign(lines: EgoLines, dtype: torch.dtype) -> Tensor:
    """The direction of every pair; none in a graph without edges, which needs no table."""
    direction = lines.direction
    return lines.pair_index.new_zeros(0, dtype=dtype) if direction is None else direction.to(dtype)

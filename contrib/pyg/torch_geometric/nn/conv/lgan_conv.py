from typing import Optional

import torch
from torch import Tensor
from torch.nn import BatchNorm1d

from torch_geometric.nn.conv import MessagePassing
from torch_geometric.nn.dense.linear import Linear
from torch_geometric.typing import Adj, OptTensor


class LGANConv(MessagePassing):
    r"""The line graph aggregation operator from the `"LGAN: An Efficient
    High-Order Graph Neural Network via the Line Graph Aggregation"
    <https://arxiv.org/abs/2512.10735>`_ paper.

    For every node :math:`t`, it aggregates over the nodes of the line graph of
    the ego network of :math:`t`, *i.e.* over all edges between :math:`t` and
    its neighbors, and over all edges among its neighbors:

    .. math::
        \mathbf{T}_t &= \sum_{p \in \mathcal{N}(t)} \textrm{ReLU} \left(
        \mathbf{W}_1 \mathbf{x}_t + \mathbf{W}_1 \mathbf{x}_p +
        \mathbf{U}_1 \mathbf{e}_{t,p} + 2 \mathbf{b}_1 \right)

        \mathbf{S}_t &= \sum_{p, q \in \mathcal{N}(t),\, \{p, q\} \in
        \mathcal{E}} \textrm{ReLU} \left( \mathbf{W}_2 \mathbf{x}_p +
        \mathbf{W}_2 \mathbf{x}_q + \mathbf{U}_2 \mathbf{e}_{p,q} +
        2 \mathbf{b}_2 \right)

        \mathbf{x}^{\prime}_t &= \textrm{MLP} \left( \left[ \mathbf{T}_t \,
        \Vert \, \mathbf{S}_t \right] \right)

    where each layer of the :math:`\textrm{MLP}` is a linear map, followed by
    batch normalization and :math:`\textrm{ReLU}`.
    The residual variant (LGAN-*res*) adds :math:`\mathbf{W}_3 \mathbf{x}_t`
    to the output of its first linear map.

    .. note::

        The edges among neighbors, :obj:`ego_line_index`, and their features,
        :obj:`ego_line_attr`, are computed by the
        :class:`~torch_geometric.transforms.EgoLineGraph` transform.

    Args:
        in_channels (int): Size of each input sample, or :obj:`-1` to derive
            the size from the first input(s) to the forward method.
        out_channels (int): Size of each output sample.
        residual (bool, optional): If set to :obj:`True`, will use the residual
            variant of the operator. (default: :obj:`False`)
        comb (str, optional): The encoder of node pairs (:obj:`"deepsets"`,
            :obj:`"linear"`), where :obj:`"linear"` omits
            :math:`\textrm{ReLU}` in both sums and is less expressive.
            (default: :obj:`"deepsets"`)
        fusion (str, optional): The fusion of :math:`\mathbf{T}_t` and
            :math:`\mathbf{S}_t` (:obj:`"concat"`, :obj:`"sum"`,
            :obj:`"mean"`, :obj:`"gate"`). (default: :obj:`"concat"`)
        edge_dim (int, optional): Edge feature dimensionality (in case there
            are any). (default: :obj:`None`)
        **kwargs (optional): Additional arguments of
            :class:`torch_geometric.nn.conv.MessagePassing`.

    Shapes:
        - **input:**
          node features :math:`(|\mathcal{V}|, F_{in})`,
          edge indices :math:`(2, |\mathcal{E}|)`,
          edges among neighbors :math:`(3, L)`,
          edge features :math:`(|\mathcal{E}|, D)` *(optional)*,
          features of edges among neighbors :math:`(L, D)` *(optional)*
        - **output:** node features :math:`(|\mathcal{V}|, F_{out})`
    """
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        residual: bool = False,
        comb: str = 'deepsets',
        fusion: str = 'concat',
        edge_dim: Optional[int] = None,
        **kwargs,
    ):
        kwargs.setdefault('aggr', 'add')
        super().__init__(**kwargs)

        if comb not in {'deepsets', 'linear'}:
            raise ValueError(f"Invalid pair encoder (got '{comb}')")
        if fusion not in {'concat', 'sum', 'mean', 'gate'}:
            raise ValueError(f"Invalid fusion (got '{fusion}')")

        self.in_channels = in_channels
        self.out_channels = out_channels
        self.residual = residual
        self.comb = comb
        self.fusion = fusion
        self.edge_dim = edge_dim

        self.lin_target = Linear(in_channels, out_channels)
        self.lin_neighbor = Linear(in_channels, out_channels)

        if edge_dim is not None:
            self.lin_edge_target = Linear(edge_dim, out_channels, bias=False)
            self.lin_edge_neighbor = Linear(edge_dim, out_channels, bias=False)
        else:
            self.lin_edge_target = self.lin_edge_neighbor = None

        if fusion == 'gate':
            self.lin_gate = Linear(2 * out_channels, out_channels)
        else:
            self.lin_gate = None

        if residual:
            self.lin_res = Linear(in_channels, out_channels, bias=False)
        else:
            self.lin_res = None

        # A bias in front of batch normalization has no effect:
        fuse_channels = (2 if fusion == 'concat' else 1) * out_channels
        self.lin_fuse = Linear(fuse_channels, out_channels, bias=False)
        self.norm_fuse = BatchNorm1d(out_channels)
        self.lin_out = Linear(out_channels, out_channels, bias=False)
        self.norm_out = BatchNorm1d(out_channels)

        self.reset_parameters()

    def reset_parameters(self):
        super().reset_parameters()
        for module in self.children():
            if isinstance(module, (Linear, BatchNorm1d)):
                module.reset_parameters()

    def forward(
        self,
        x: Tensor,
        edge_index: Adj,
        ego_line_index: Tensor,
        edge_attr: OptTensor = None,
        ego_line_attr: OptTensor = None,
    ) -> Tensor:

        if self.lin_edge_target is not None:
            assert edge_attr is not None and ego_line_attr is not None
            edge_attr = self.lin_edge_target(edge_attr)
            ego_line_attr = self.lin_edge_neighbor(ego_line_attr)
        elif edge_attr is not None or ego_line_attr is not None:
            raise ValueError("Edge features require the 'edge_dim' argument "
                             "of 'LGANConv'")

        # propagate_type: (x: Tensor, edge_attr: OptTensor)
        target = self.propagate(edge_index, x=self.lin_target(x),
                                edge_attr=edge_attr)

        h = self.lin_neighbor(x)
        neighbor = self.aggregate(
            self.message(h[ego_line_index[1]], h[ego_line_index[2]],
                         ego_line_attr),
            ego_line_index[0],
            dim_size=x.size(0),
        )

        out = self.lin_fuse(self.fuse_pairs(target, neighbor))
        if self.lin_res is not None:
            out = out + self.lin_res(x)
        out = self.norm_fuse(out).relu()
        return self.norm_out(self.lin_out(out)).relu()

    def message(self, x_i: Tensor, x_j: Tensor,
                edge_attr: OptTensor) -> Tensor:
        out = x_i + x_j
        if edge_attr is not None:
            out = out + edge_attr
        return out.relu() if self.comb == 'deepsets' else out

    def fuse_pairs(self, target: Tensor, neighbor: Tensor) -> Tensor:
        if self.fusion == 'sum':
            return target + neighbor
        if self.fusion == 'mean':
            return (target + neighbor) / 2

        out = torch.cat([target, neighbor], dim=-1)
        if self.lin_gate is not None:
            gate = self.lin_gate(out).sigmoid()
            return gate * target + (1 - gate) * neighbor
        return out

    def __repr__(self) -> str:
        return (f'{self.__class__.__name__}({self.in_channels}, '
                f'{self.out_channels})')

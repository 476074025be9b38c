import torch

from torch_geometric.data import Data
from torch_geometric.data.datapipes import functional_transform
from torch_geometric.transforms import BaseTransform
from torch_geometric.utils import cumsum, degree


@functional_transform('ego_line_graph')
class EgoLineGraph(BaseTransform):
    r"""Adds the line graphs of all ego networks, as described in the
    `"LGAN: An Efficient High-Order Graph Neural Network via the Line Graph
    Aggregation" <https://arxiv.org/abs/2512.10735>`_ paper
    (functional name: :obj:`ego_line_graph`).

    The line graph of the ego network of a node :math:`t` has a node for every
    *target pair* and for every *neighbor pair*

    .. math::
        \{ \{t, p\} : p \in \mathcal{N}(t) \} \quad \textrm{and} \quad
        \{ \{p, q\} \in \mathcal{E} : p, q \in \mathcal{N}(t) \}.

    The former are given by :obj:`data.edge_index`.
    The latter are added as :obj:`data.ego_line_index` of shape
    :obj:`[3, 3 * num_triangles]`, with one column :math:`(t, p, q)` for each
    of the three nodes of every triangle.
    If the graph holds :obj:`data.edge_attr`, the features of :math:`\{p, q\}`
    are added as :obj:`data.ego_line_attr`.
    Both are read by :class:`~torch_geometric.nn.conv.LGANConv`, and batched by
    the usual data loaders.

    Triangles are listed in :math:`\mathcal{O}(|\mathcal{E}|^{3/2})`.
    The graph needs to be undirected, without self-loops and without duplicated
    edges.
    """
    def forward(self, data: Data) -> Data:
        assert data.edge_index is not None
        assert data.num_nodes is not None
        N = data.num_nodes

        row, col = data.edge_index
        key, perm = (row * N + col).sort()  # Find edges by binary search.
        if data.has_self_loops() or bool((key[1:] == key[:-1]).any()):
            raise ValueError("'EgoLineGraph' does not support self-loops and "
                             "duplicated edges. Consider removing them via "
                             "'RemoveSelfLoops' and "
                             "'RemoveDuplicatedEdges' first.")
        if not data.is_undirected():
            raise ValueError("'EgoLineGraph' only supports undirected graphs "
                             "with equal features in both directions. "
                             "Consider calling 'ToUndirected' first.")

        # Direct every edge towards the node of higher degree, such that every
        # triangle is one path `u -> v -> w` that is closed by `u -> w`:
        row, col = row[perm], col[perm]
        deg = degree(row, N, dtype=torch.long)
        mask = (deg[row] < deg[col]) | ((deg[row] == deg[col]) & (row < col))
        row, col = row[mask], col[mask]

        deg = degree(row, N, dtype=torch.long)
        count = deg[col]  # The number of paths along every edge.
        edge = torch.arange(row.numel(), device=row.device)
        edge = edge.repeat_interleave(count)
        u, v = row[edge], col[edge]
        w = torch.arange(edge.numel(), device=row.device)
        w = col[cumsum(deg)[v] + w - cumsum(count)[edge]]

        query = u * N + w
        pos = torch.searchsorted(key, query).clamp_(max=key.numel() - 1)
        u, v, w = torch.stack([u, v, w])[:, key[pos] == query]

        data.ego_line_index = torch.stack([
            torch.cat([u, v, w]),
            torch.cat([v, u, u]),
            torch.cat([w, w, v]),
        ])

        if data.edge_attr is not None:
            _, p, q = data.ego_line_index
            pos = torch.searchsorted(key, p * N + q)
            data.ego_line_attr = data.edge_attr[perm[pos]]

        return data

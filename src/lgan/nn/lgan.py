"""The Line Graph Aggregation Network."""

from typing import Any

from torch import Tensor, nn

from lgan.graph import EgoLines, GraphBatch, graph_ptr
from lgan.nn.dropout import Dropout
from lgan.nn.eager import eager
from lgan.nn.edge_vectors import EdgeDim
from lgan.nn.features import check_finite, checked_features
from lgan.nn.graph_block import graph_block
from lgan.nn.head import head_maps, read_head
from lgan.nn.lgan_conv import Branches, CodeMap, Comb, Fusion, LGANConv
from lgan.nn.linear import one_hot
from lgan.nn.norm import Norm
from lgan.nn.readout import readout_names, skip_cat


class LGAN(nn.Module):
    r"""Line Graph Aggregation Network: stacked layers, skip-cat, read-out, linear head.

    .. math::
        H^{(l)} = \mathrm{LGANConv}(H^{(l-1)}), \quad
        h_G = \mathrm{READOUT}(H^{(1)} \,\|\, \dots \,\|\, H^{(L)}), \quad
        \mathrm{out} = W h_G + b

    Args:
        in_channels: Size of the node features (or number of categories).
        hidden_channels: Width of every layer.
        out_channels: Outputs per graph: classes, or targets of a regression.
        num_layers: Number of layers.
        residual: LGAN-res, which is never weaker than 1-WL. Plain LGAN confuses the labelled
            paths a-b-a and b-a-b.
        include_input: Let the skip-cat start at ``H^{(0)}``: the cheapest repair of plain LGAN.
        comb: Pair encoder, see :class:`LGANConv`.
        fusion: How the two aggregations meet, see :class:`LGANConv`.
        branches: Pairs that speak, see :class:`LGANConv`.
        pair_code: Structural code of the pairs, see :class:`LGANConv`: ``"none"`` (the paper),
            ``"triangles"``, ``"cycles"``, ``"full"``, ``"claws"``, ``"local"``, ``"folklore"``, or
            ``"rings"``, for molecules.
        code_map: How a count of the code is read, see :class:`LGANConv`.
        squash: Tame the sums over pairs, see :class:`LGANConv`; for dense graphs.
        norm: ``"batch"`` (the paper), ``"layer"`` or ``"none"``, see :class:`LGANConv`.
        edge_dim: Features of an edge, see :class:`LGANConv`: number of categories, a tuple of
            them, or columns of real vectors.
        directed: Read the direction of arcs, see :class:`LGANConv`.
        graph_dim: Features ``graph_x`` of a whole graph, joined behind the read-out, see
            :class:`lgan.nn.graph_block.GraphBlock`.
        graph_dropout: Share of these, and of what is joined, dropped in training.
        readout: ``"sum"``, ``"mean"``, ``"max"`` or ``"squashed"`` (``asinh`` of the sum) over the
            nodes of a graph, or several of them side by side, such as ``"sum+mean"``.
        head_layers: Linear maps behind the read-out, with ReLU between them: 1 is a linear
            classifier, 2 makes the read-out a DeepSets function, an MLP of a sum.
        dropout: Share of the input of every map behind the read-out that is dropped.

    Shapes:
        Takes a PyG ``Data`` or ``Batch`` that went through :class:`lgan.EgoLineGraph`, or a
        batch of a :class:`lgan.GraphUnion`; returns ``[B, out_channels]``.

    Example:
        >>> import lgan, torch
        >>> from torch_geometric.data import Data
        >>> graph = Data(x=torch.ones(3, 2), edge_index=torch.tensor([[0, 1, 2], [1, 2, 0]]))
        >>> lgan.LGAN(2, 16, 3)(lgan.EgoLineGraph()(graph)).shape
        torch.Size([1, 3])
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        num_layers: int = 4,
        residual: bool = False,
        include_input: bool = False,
        comb: Comb = "deepsets",
        fusion: Fusion = "concat",
        branches: Branches = "both",
        pair_code: str = "none",
        code_map: CodeMap = "linear",
        squash: bool = False,
        norm: Norm = "batch",
        edge_dim: EdgeDim | None = None,
        directed: bool = False,
        graph_dim: int | None = None,
        graph_dropout: float = 0.0,
        readout: str = "sum",
        head_layers: int = 1,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        sizes = {"in_channels": in_channels, "hidden_channels": hidden_channels}
        sizes |= {"out_channels": out_channels, "num_layers": num_layers}
        for name, size in sizes.items():
            if size < 1:
                raise ValueError(f"`{name}` must be 1 or more, got {size}.")
        self.in_channels = in_channels
        self.hidden_channels = hidden_channels
        self.out_channels = out_channels
        self.include_input = include_input
        self.edge_dim = edge_dim
        self.directed = directed
        self.graph_dim = graph_dim
        self.readout = readout_names(readout)
        self.convs = nn.ModuleList(
            LGANConv(
                in_channels if layer == 0 else hidden_channels,
                hidden_channels,
                residual=residual,
                comb=comb,
                fusion=fusion,
                branches=branches,
                pair_code=pair_code,
                code_map=code_map,
                squash=squash,
                norm=norm,
                edge_dim=edge_dim,
                directed=directed,
            )
            for layer in range(num_layers)
        )
        levels = num_layers * hidden_channels + include_input * in_channels
        self.graph_block = graph_block(graph_dim, hidden_channels, graph_dropout)
        width = levels * len(self.readout) + (0 if graph_dim is None else hidden_channels)
        self.dropout = Dropout(dropout)
        self.mlp, self.head = head_maps(width, hidden_channels, out_channels, head_layers)

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        for module in (*self.convs, self.graph_block, self.dropout, *self.mlp, self.head):
            if module is not None:
                module.reset_parameters()

    @eager
    def forward(self, data: Any) -> Tensor:
        """Outputs for every graph of a batch."""
        lines = EgoLines.from_data(data)
        ptr = graph_ptr(data, lines.num_nodes, lines.multiplicity.device)
        weight = getattr(data, "node_weight", None)
        weight = lines.multiplicity if weight is None else weight
        x = checked_features(data.x, self.in_channels, lines.num_nodes, self.head.weight)
        if not isinstance(data, GraphBatch):  # whose features were checked with their union
            check_finite(x)
        levels = []
        if self.include_input:
            levels.append(one_hot(x, self.in_channels).to(self.head.weight.dtype))
        for conv in self.convs:
            x = conv(x, lines, node_weight=weight)
            levels.append(x)
        skip = skip_cat(levels, ptr, lines.multiplicity, self.readout)
        if self.graph_block is not None:
            skip = self.graph_block(skip, data)
        return read_head(skip, self.dropout, self.mlp, self.head)

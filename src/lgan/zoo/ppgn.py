"""Provably powerful graph network: products of matrices over all pairs of nodes."""

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from lgan.graph import GraphUnion
from lgan.nn.eager import eager
from lgan.nn.linear import Linear, one_hot
from lgan.nn.readout import Readout, check_readout
from lgan.zoo.plain_graph import PlainGraph
from lgan.zoo.square_ops import matrix_product, square_readout
from lgan.zoo.squares import Squares

# Numbers in one tensor of one network: 4 GiB in float32. A step keeps about twenty such tensors.
TENSOR_LIMIT = 1 << 30
# Numbers in one tensor of an evaluation, which goes through the graphs in parts.
PIECE = 1 << 27


class PPGN(nn.Module):
    r"""PPGN of *Provably Powerful Graph Networks* (Maron et al., NeurIPS 2019).

    The graph is a tensor over pairs of nodes, with the adjacency matrix as first channel and the
    node features on the diagonals of the others. A block maps it to

    .. math::
        X' = m_4\bigl(X \,\|\, m_1(X) \cdot m_2(X)\bigr)

    where the product is that of matrices, channel by channel, :math:`m_1` and :math:`m_2` are
    MLPs on the channels of every entry (a ReLU after each map) and :math:`m_4` is linear. The
    output is the sum over blocks of a linear map of the read-outs over diagonal and off-diagonal
    entries: the suffix that the paper takes over from Xu et al.

    Args:
        in_channels: Size of the node features (or number of categories).
        hidden_channels: Channels of every block.
        out_channels: Outputs per graph.
        num_layers: Number of blocks.
        mlp_depth: Linear maps in an MLP.
        readout: ``"max"`` as in the paper, ``"sum"`` or ``"mean"``.

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
        num_layers: int = 3,
        mlp_depth: int = 2,
        readout: Readout = "max",
    ) -> None:
        super().__init__()
        check_readout(readout)
        for name, size in {"num_layers": num_layers, "mlp_depth": mlp_depth}.items():
            if size < 1:
                raise ValueError(f"`{name}` must be 1 or more, got {size}.")
        self.in_channels = in_channels
        self.hidden_channels = hidden_channels
        self.readout: Readout = readout
        self.blocks = nn.ModuleList(
            _Block(in_channels + 1 if block == 0 else hidden_channels, hidden_channels, mlp_depth)
            for block in range(num_layers)
        )
        self.heads = nn.ModuleList(
            Linear(2 * hidden_channels, out_channels) for _ in range(num_layers)
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all weights by Xavier's rule, without biases, as the authors do."""
        for module in self.modules():
            if isinstance(module, Linear):
                _xavier(module, module.in_channels + module.out_channels)
        for module in self.modules():
            if isinstance(module, _Block):
                module.reset_skip()

    @eager
    def forward(self, data: Any) -> Tensor:
        """Outputs for every graph of a batch."""
        weight = next(self.parameters())
        graph = PlainGraph.of(data, weight.dtype)
        squares = Squares.of(graph)
        x = one_hot(data.x, self.in_channels).to(graph.dtype)
        width = weight.shape[:-2].numel() * self.hidden_channels  # of all models
        rows = sum(squares.sizes) ** 2 if torch.is_grad_enabled() else max(PIECE // width, 1)
        parts = squares.pieces(rows)
        return torch.cat([self._outputs(part, x) for part in parts], -2)

    def _outputs(self, squares: Squares, x: Tensor) -> Tensor:
        """Outputs for some of the graphs."""
        node_x = x[..., squares.nodes, :]
        adjacency = squares.adjacency.unsqueeze(-1)
        diagonal = x.new_zeros((adjacency.size(-2), x.size(-1)))
        diagonal = diagonal.index_copy(-2, squares.diagonal, node_x)
        h = torch.cat([adjacency, diagonal.expand(*adjacency.shape[:-1], -1)], -1)
        scores = []
        for block, head in zip(self.blocks, self.heads, strict=True):
            h = block(h, squares)
            scores.append(head(square_readout(h, squares, self.readout)))
        return torch.stack(scores).sum(0)


class _Block(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, depth: int) -> None:
        super().__init__()
        widths = [in_channels, *[out_channels] * depth]
        self.m1 = nn.ModuleList(Linear(widths[i], widths[i + 1]) for i in range(depth))
        self.m2 = nn.ModuleList(Linear(widths[i], widths[i + 1]) for i in range(depth))
        # The two parts of m4, by what they read.
        self.of_input = Linear(in_channels, out_channels)
        self.of_product = Linear(out_channels, out_channels, bias=False)

    def reset_skip(self) -> None:
        both = self.of_input.in_channels + 2 * self.of_product.in_channels
        _xavier(self.of_input, both)
        _xavier(self.of_product, both)

    def forward(self, x: Tensor, squares: Squares) -> Tensor:
        a = b = x
        for first, second in zip(self.m1, self.m2, strict=True):
            a, b = first(a).relu(), second(b).relu()
        out: Tensor = self.of_input(x) + self.of_product(matrix_product(a, b, squares))
        return out


def _xavier(layer: Linear, fan: int) -> None:
    bound = (6 / fan) ** 0.5
    nn.init.uniform_(layer.weight, -bound, bound)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)


def pairs_of_nodes(union: GraphUnion) -> Tensor:
    """Entries of one channel of every graph ``[G]``, for the memory budget."""
    return torch.diff(union.node_ptr).cpu() ** 2


def check_size(union: GraphUnion, settings: Mapping[str, Any]) -> None:
    """Raise an error for a data set whose largest batch makes a tensor beyond the limit."""
    hidden, batch = int(settings.get("hidden", 400)), int(settings.get("batch_size", 5))
    squares = pairs_of_nodes(union)
    if not squares.numel():
        return
    entries = int(torch.topk(squares, min(batch, squares.numel())).values.sum()) * hidden
    if entries > TENSOR_LIMIT:
        largest = round(float(squares.max()) ** 0.5)
        raise ValueError(
            f"PPGN has a number for every pair of nodes and channel: {batch} graphs of up to "
            f"{largest} nodes in {hidden} channels make a tensor of {entries:,} numbers, more than "
            f"the limit of {TENSOR_LIMIT:,}. Choose a smaller `batch_size` or `hidden`, or another "
            "model."
        )

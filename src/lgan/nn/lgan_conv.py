"""The Line Graph Aggregation layer."""

from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from lgan import ops
from lgan.graph import EdgeFeatures, EgoLines
from lgan.graph.edge_features import EdgeReduce
from lgan.graph.pair_codes import code_channels, spread, spread_channels
from lgan.nn.direction import Direction
from lgan.nn.eager import eager
from lgan.nn.edge_vectors import (
    EdgeDim,
    check_direction,
    check_edge_columns,
    edge_channels,
    edge_vectors,
)
from lgan.nn.features import check_finite, check_node_weight, checked_features
from lgan.nn.linear import EVERYTHING, Linear, check_categories, product
from lgan.nn.norm import Norm, norm_layer
from lgan.ops import together
from lgan.ops.row_sum import row_sum

Comb = Literal["deepsets", "linear"]
Fusion = Literal["concat", "sum", "mean", "gate"]
Branches = Literal["both", "target", "neighbour"]
CodeMap = Literal["linear", "spline"]
Execution = Literal["operations", "training", "inference"]

# Numbers in a layer's output from which the operations one by one, with all threads, are faster.
SMALL = 1 << 17


def _rows(x: Tensor, nodes: Tensor) -> Tensor:
    """Rows of representations, or the categories of some nodes."""
    return x[..., nodes, :] if x.is_floating_point() else x[nodes]


class LGANConv(nn.Module):
    r"""The Line Graph Aggregation layer of *LGAN: An Efficient High-Order Graph Neural Network
    via the Line Graph Aggregation* (AAAI 2026).

    .. math::
        z_{uv} = \mathrm{relu}((W h_u + b) + (W h_v + b) + W_c\, \mathrm{code}_{uv} + W_e e_{uv})

        T_t = \sum_{p \in N(t)} z_{tp}, \quad
        S_t = \sum_{p, q \in N(t),\, pq \in E} z'_{pq}

        \text{LGAN:}\; h'_t = \phi(T_t \,\|\, S_t), \qquad
        \text{LGAN-res:}\; h'_t = \phi'(W_r h_t + \psi(T_t \,\|\, S_t))

    ``T`` and ``S`` have their own ``W``. The second linear map of the pair encoder commutes with
    the sums and is the first one of ``φ`` and ``ψ``. ``φ`` is an MLP with one hidden layer and
    batch normalisation; in the residual form ``ψ`` is its first map, which has no bias, so that
    an isolated node keeps ``φ'(W_r h_t)``. Biases of ``φ`` would cancel in batch normalisation;
    with another one they are there.

    Args:
        in_channels: Size of the input features.
        out_channels: Size of the output.
        residual: LGAN-res instead of LGAN.
        comb: ``"deepsets"``, or ``"linear"`` for ``z = (W h_u + b) + (W h_v + b)``, which costs
            what GIN costs and is weaker (no triangle list is needed).
        fusion: How ``T`` and ``S`` meet: ``"concat"`` (the paper), ``"sum"``, ``"mean"`` or
            ``"gate"``.
        branches: ``"both"`` (the paper); ``"target"`` without the neighbour pairs, which needs no
            triangle list; ``"neighbour"`` without the target pairs.
        pair_code: Level of the structural code of the pairs, which the graph must carry
            (``EgoLineGraph(pair_code=...)``); ``"none"`` is the paper's layer.
        code_map: What ``W_c`` reads of a count in the code: ``"linear"`` its logarithm, or
            ``"spline"`` its place among 64 knots, so that the layer learns a curve for every
            count instead of a slope.
        squash: Fuse ``asinh(T)`` and ``asinh(S)``. ``asinh`` is the identity near 0 and a
            logarithm far away, and one-to-one, so that no node is confused with another. It tames
            dense graphs, where some nodes have a thousand times as many pairs as others.
        norm: ``"batch"`` (the paper); ``"layer"``, over the channels of every node, so that no
            node depends on the others of its batch; or ``"none"``.
        edge_dim: Features of an edge that every pair reads: the number of categories for integer
            ``edge_attr`` ``[E]``, a tuple of numbers for ``[E, c]``, or ``d`` for real vectors
            ``[E, d]``. They join the pair inside the clip, ``W_e e_{uv}``, in both branches.
        edge_reduce: Rule for edges of one pair that disagree in their features, the two
            directions among them: ``"mean"``, ``"min"`` or ``"max"``. Without a rule that is an
            error.
        directed: Read the direction of arcs, see :class:`lgan.nn.direction.Direction`. Such a
            layer runs by its operations, not as one compiled function.
        cached: Keep the structure built from the first ``edge_index``, for a graph that stays.

    Shapes:
        ``x``: ``[n, in_channels]``, or ``[n]`` integer categories that stand for their one-hot
        vectors; result: ``[n, out_channels]``. A leading axis of models is carried along.

    Example:
        >>> conv = LGANConv(4, 8)
        >>> edge_index = torch.tensor([[0, 1, 2], [1, 2, 0]])
        >>> conv(torch.randn(3, 4), edge_index).shape
        torch.Size([3, 8])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        residual: bool = False,
        comb: Comb = "deepsets",
        fusion: Fusion = "concat",
        branches: Branches = "both",
        pair_code: str = "none",
        code_map: CodeMap = "linear",
        squash: bool = False,
        norm: Norm = "batch",
        edge_dim: EdgeDim | None = None,
        edge_reduce: EdgeReduce | None = None,
        directed: bool = False,
        cached: bool = False,
    ) -> None:
        super().__init__()
        for name, word, known in (
            ("comb", comb, Comb), ("fusion", fusion, Fusion), ("branches", branches, Branches),
            ("code_map", code_map, CodeMap),
        ):  # fmt: skip
            if word not in get_args(known):
                raise ValueError(f"`{name}` must be one of {get_args(known)}, got {word!r}.")
        if squash not in (False, True):
            raise ValueError(f"`squash` must be True or False, got {squash!r}.")
        if code_map == "spline" and pair_code == "none":
            raise ValueError(
                '`code_map="spline"` reads structural codes, and `pair_code` is "none". '
                'Choose a level, such as "full".'
            )
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.branches = branches
        self.comb = comb
        self.fusion = fusion
        self.squash = bool(squash)
        self.cached = cached
        width = out_channels
        both = width if branches == "target" else 2 * width
        self.pair = Linear(in_channels, both)
        channels = code_channels(pair_code)
        channels = spread_channels(channels) if code_map == "spline" else channels
        self.pair_code = pair_code
        self.code_map = code_map
        self.code = Linear(channels, both, bias=False) if channels else None
        self.edge_dim = edge_dim
        self.edge_reduce = edge_reduce
        channels = 0 if edge_dim is None else edge_channels(edge_dim)
        self.edge = Linear(channels, both, bias=False) if channels else None
        self.direction = Direction(in_channels, both, width, edge_dim) if directed else None
        self.gate = Linear(2 * width, width) if fusion == "gate" else None
        biased = norm != "batch"
        self.fuse = Linear(both if fusion == "concat" else width, width, bias=biased)
        self.residual = Linear(in_channels, width, bias=False) if residual else None
        self.norm = norm_layer(norm, width)
        self.out = Linear(width, width, bias=biased)
        self.out_norm = norm_layer(norm, width)
        self._lines: EgoLines | None = None

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        module: Any
        for module in self.children():
            module.reset_parameters()
        self._lines = None

    @eager
    def forward(
        self,
        x: Tensor,
        edge_index: Tensor | EgoLines,
        edge_attr: Tensor | None = None,
        *,
        node_weight: Tensor | None = None,
    ) -> Tensor:
        """Update all nodes.

        Args:
            x: Node features. With an ``edge_index`` they must be finite; with a structure, NaN and
                infinite values pass through as through any layer.
            edge_index: Edges ``[2, E]``, or the structure built from them before.
            edge_attr: Features of the edges, see ``edge_dim``; a structure carries its own.
            node_weight: How often each node counts in the batch statistics ``[n]``; by default
                as often as it has twins.
        """
        if isinstance(edge_index, EgoLines):
            lines = edge_index
        else:
            lines = self._build(x, edge_index, edge_attr)
        x = checked_features(x, self.in_channels, lines.num_nodes, self.pair.weight)
        self._check_carried(lines)
        weight = lines.multiplicity if node_weight is None else node_weight
        if node_weight is not None:
            check_node_weight(node_weight, lines.num_nodes, self.pair.weight)
        execution = self._execution(x, lines)
        if execution == "operations":
            return self._by_operations(x, lines, weight)
        return self._as_one_function(x, lines, weight, training=execution == "training")

    def _execution(self, x: Tensor, lines: EgoLines) -> Execution:
        """How the layer runs: the one place that decides it.

        By its operations anywhere. On the CPU as one compiled function: in training where many
        models train side by side, in inference where the graph is small.
        """
        weight = self.pair.weight
        able = self.fusion == "concat" and self.branches != "neighbour" and lines.mask is None
        able = able and self.direction is None
        if not able or not ops.compiled(weight) or x.dim() > weight.dim():
            return "operations"
        if self.training:
            alone = self.norm.kind != "batch" or together.workers() == 1
            return "training" if weight.dim() == 3 and alone else "operations"
        small = lines.num_nodes * self.out_channels < SMALL
        return "inference" if small and not torch.is_grad_enabled() else "operations"

    def _by_operations(self, x: Tensor, lines: EgoLines, weight: Tensor) -> Tensor:
        both = self._aggregate(x, lines)
        hidden = self._fuse(both.asinh() if self.squash else both)
        corners = self._few_corners(lines)
        if corners is not None:
            nodes, around = corners
            hidden = hidden.index_add(-2, nodes, self._of_corners(_rows(x, nodes), around))
        if self.residual is not None:
            hidden = hidden + self.residual(x)
        if self.direction is not None:
            hidden = hidden + self.direction.of_nodes(lines, hidden.dtype)
        hidden = self.norm(hidden, weight)
        out: Tensor = self.out_norm(self.out(hidden), weight)
        return out

    def _as_one_function(
        self, x: Tensor, lines: EgoLines, weight: Tensor, *, training: bool
    ) -> Tensor:
        from lgan.ops import layer

        assert self.pair.bias is not None
        if not x.is_floating_point():
            check_categories(x, self.pair.weight.size(-2))
        width = self.out_channels
        weights: tuple[Tensor, ...] = (self.pair.weight, self.pair.bias, self.fuse.weight)
        pair, bias, fuse = weights
        if self._columns(lines) != EVERYTHING:
            pair, bias, fuse = pair[..., :width], bias[..., :width], fuse[..., :width, :]
        differentiated = training and x.requires_grad
        if differentiated and (x.dim() == 2 or x.size(0) < pair.size(0)):  # a gradient a model
            x = x.expand(pair.size(0), -1, -1)
        corners, more = self._few_corners(lines), None
        if corners is not None:
            nodes, around = corners
            x, rows = layer.WithRows.apply(x, nodes) if differentiated else (x, _rows(x, nodes))
            more = self._of_corners(rows, around)
        weight = weight.to(pair.dtype)
        settings = layer.LayerSettings(
            incidence=lines,
            node_weight=weight if weight.dim() == 2 else weight.unsqueeze(0),
            norm=self.norm.kind,
            running=(*self.norm.running, *self.out_norm.running),
            momentum=self.norm.momentum,
            eps=self.norm.eps,
            relu=self.comb == "deepsets",
            squash=self.squash,
            code=lines.pair_rows,
            corners=None if corners is None else corners[0],
        )
        parameters = (
            pair, bias, fuse, self.fuse.bias,
            None if self.residual is None else self.residual.weight,
            self._offsets(lines, pair.dtype), self.norm.scale, self.norm.shift, self.out.weight,
            self.out.bias, self.out_norm.scale, self.out_norm.shift,
            more,
        )  # fmt: skip
        if training:
            out: Tensor = layer.StackedLayer.apply(x, settings, *parameters)
            return out
        if pair.dim() == 3:
            return layer.layer_inference(x, settings, layer.LayerWeights(*parameters))
        alone: Any = (None if p is None else p.unsqueeze(0) for p in parameters)
        return layer.layer_inference(x, settings, layer.LayerWeights(*alone)).squeeze(0)

    def _build(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None) -> EgoLines:
        if not isinstance(x, Tensor) or x.dim() == 0:
            raise TypeError("`x` must be a tensor of one row a node. Use `torch.as_tensor(x)`.")
        num_nodes = x.size(0) if x.dim() == 1 else x.size(-2)
        lines = self._lines
        if lines is None:
            check_finite(x)
            lines = EgoLines.from_edge_index(edge_index, num_nodes)
            self._lines = lines if self.cached else None
        edges = EdgeFeatures.of_columns(
            edge_index, edge_attr, lines.pair_index, num_nodes,
            reduce=self.edge_reduce, directed=self.direction is not None,
        )  # fmt: skip
        return (lines if edges is None else lines.with_edges(edges)).coded(self.pair_code)

    def _aggregate(self, x: Tensor, lines: EgoLines) -> Tensor:
        """``(T ‖ S)``, or ``T`` alone where ``S`` is zero at all nodes or at all but few."""
        width, columns = self.out_channels, self._columns(lines)
        a = self.pair(x, columns=columns)
        if self.comb == "linear" and not (self.code or self.edge or self.direction):
            return ops.linear_sum(a, lines, width)
        table, code = self._offsets(lines, a.dtype), lines.pair_rows
        if self.direction is not None:
            turned = self.direction.of_pairs(x, lines, a.dtype, columns)
            if table is not None and code is not None:
                table = table.index_select(-2, code)
            table, code = turned if table is None else turned + table, None
        return ops.ego_sum(a, lines, width, table=table, code=code, relu=self.comb == "deepsets")

    def _of_corners(self, x: Tensor, lines: EgoLines) -> Tensor:
        """What ``S`` adds to the few nodes in triangles, mapped as ``T`` is ``[*, m, width]``."""
        width = self.out_channels
        a = self.pair(x)
        table = self._offsets(lines, a.dtype, EVERYTHING)
        side = ops.ego_sum(a, lines, width, table=table, code=lines.pair_rows)[..., width:]
        side = side.asinh() if self.squash else side
        return product(side, self.fuse.weight[..., width:, :], None)

    def _offsets(
        self, lines: EgoLines, dtype: torch.dtype, columns: slice | None = None
    ) -> Tensor | None:
        """What the rows of the table add to the pairs that carry them ``[*, U, 2 · width or
        width]``.
        """
        columns = self._columns(lines) if columns is None else columns
        codes = self._code_offsets(lines, dtype, columns)
        if self.edge is None:
            return codes
        edges: Tensor = self.edge(edge_vectors(lines, self.edge_dim).to(dtype), columns=columns)
        return edges if codes is None else codes + edges

    def _code_offsets(self, lines: EgoLines, dtype: torch.dtype, columns: slice) -> Tensor | None:
        if self.code is None:
            return None
        codes = lines.code_table
        assert codes is not None
        if self.code_map == "spline" and codes.device.type == "cpu":
            # A row has two knots of 64 for every count: a product with the others is a waste.
            return row_sum(self.code.weight[..., columns], lines.code_knots).to(dtype)
        if self.code_map == "spline":
            # Before any rounding to half precision, which would merge counts that are close.
            codes = spread(codes.to(torch.promote_types(dtype, torch.float32)))
        offsets: Tensor = self.code(codes.to(dtype), columns=columns)
        return offsets

    def _columns(self, lines: EgoLines) -> slice:
        """The columns of the pair encoder that all nodes need: those of ``T``, or all."""
        silent = self.branches == "target" or not lines.has_triangles
        narrow = silent or self._few_corners(lines) is not None
        return slice(self.out_channels) if narrow else EVERYTHING

    def _few_corners(self, lines: EgoLines) -> tuple[Tensor, EgoLines] | None:
        """The nodes in triangles, where they are so few that ``S`` is worth computing apart."""
        able = self.fusion == "concat" and self.branches == "both" and self.comb == "deepsets"
        able = able and self.direction is None and lines.mask is None and lines.has_triangles
        return lines.corners if able and lines.pair_index.device.type == "cpu" else None

    def _check_carried(self, lines: EgoLines) -> None:
        """Refuse pairs that do not carry what the layer reads, or features that it does not."""
        wanted = code_channels(self.pair_code)
        got = 0 if lines.code_table is None else lines.code_table.size(1)
        if wanted and got != wanted:
            raise ValueError(
                f"The layer reads structural codes of the level {self.pair_code!r}, {wanted} "
                f"numbers a pair, got {got}. Prepare the graph with "
                f"`lgan.EgoLineGraph(pair_code={self.pair_code!r})`."
            )
        check_edge_columns(lines, self.edge_dim)
        check_direction(lines, directed=self.direction is not None)

    def _fuse(self, both: Tensor) -> Tensor:
        fused: Tensor
        if self.branches == "neighbour":
            both = torch.cat([torch.zeros_like(both[..., : self.out_channels]),
                              both[..., self.out_channels :]], -1)  # fmt: skip
        if self.fusion == "concat":
            silent = both.size(-1) < self.fuse.in_channels
            fused = self.fuse(both, rows=slice(both.size(-1)) if silent else EVERYTHING)
            return fused
        width = self.out_channels
        target, side = both[..., :width], both[..., width:]
        if side.size(-1) == 0:
            side = torch.zeros_like(target)
        if self.gate is not None:
            share = torch.sigmoid(self.gate(torch.cat([target, side], -1)))
            mixed = share * target + (1 - share) * side
        else:
            mixed = target + side if self.fusion == "sum" else (target + side) / 2
        fused = self.fuse(mixed)
        return fused

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_lines": None}

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.in_channels}, {self.out_channels}, "
            f"residual={self.residual is not None}, comb={self.comb!r}, fusion={self.fusion!r}, "
            f"branches={self.branches!r}, pair_code={self.pair_code!r}, "
            f"code_map={self.code_map!r}, squash={self.squash}, norm={self.norm.kind!r}, "
            f"edge_dim={self.edge_dim}, directed={self.direction is not None})"
        )

"""The transform that prepares graphs for :class:`lgan.LGAN` in ordinary PyG code."""

import warnings

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from lgan.catalogue import known
from lgan.graph import EdgeFeatures, EgoLines, undirected_pairs, validate_edge_index
from lgan.graph.edge_features import EdgeReduce, check_finite
from lgan.graph.ego_lines import FIELDS
from lgan.graph.pair_codes import LEVELS

# The fields that the transform adds.
ADDED = (*FIELDS, "pair_code", "pair_attr", "pair_direction")


class EgoLineGraph(BaseTransform):  # type: ignore[misc]
    """Add the ego line graphs of a graph, in a form that PyG batches correctly.

    Works as ``transform`` or ``pre_transform`` of any PyG data set, with the stock loader. The
    fields added are ``pair_index``, ``opposite_index``, ``opposite_count``, ``pair_triangles``
    and ``multiplicity`` (see :class:`lgan.EgoLines`).

    Args:
        compress: Merge true twins with equal features. The graph returned is then the graph of
            classes: ``x``, ``edge_index`` and ``num_nodes`` describe classes, and fields that
            belong to nodes or edges and are neither are refused. A model gives the same outputs,
            gradients and statistics, and dense graphs become several times smaller.
        pair_code: Level of structural codes (:data:`lgan.graph.pair_codes.LEVELS`), added as the
            field ``pair_code`` for a model built with the same level.
        edge_attr: Carry ``edge_attr`` on to the pairs, as the field ``pair_attr``, for a model
            built with ``edge_dim``. Otherwise the features of edges are left out.
        reduce: Rule for edges of one pair that disagree in their features, the two directions
            among them: ``"mean"``, ``"min"`` or ``"max"``. Without a rule that is an error.
        directed: Read the columns of ``edge_index`` as arcs, and add their direction as the field
            ``pair_direction`` for a model built with ``directed=True``; see
            :class:`lgan.nn.direction.Direction` for what it makes of it.

    Example:
        >>> k4 = Data(x=torch.ones(4, 1), edge_index=torch.combinations(torch.arange(4)).t())
        >>> EgoLineGraph()(k4).pair_triangles.tolist()
        [2, 2, 2, 2, 2, 2]
        >>> EgoLineGraph(compress=True)(k4).multiplicity.tolist()
        [4]
    """

    def __init__(
        self,
        *,
        compress: bool = False,
        pair_code: str = "none",
        edge_attr: bool = True,
        reduce: EdgeReduce | None = None,
        directed: bool = False,
    ) -> None:
        known(pair_code, LEVELS, "pair code")
        self.compress = compress
        self.pair_code = pair_code
        self.edge_attr = edge_attr
        self.reduce: EdgeReduce | None = reduce
        self.directed = directed

    def forward(self, data: Data) -> Data:
        """Add the fields to a copy of ``data``."""
        num_nodes = _checked_nodes(data)
        x: Tensor | None = data.x
        pair_index = undirected_pairs(data.edge_index, num_nodes)
        edges = self._edges(data, pair_index, num_nodes)
        if self.compress:
            self._refuse_other_fields(data, num_nodes)
        _warn_of_ignored(data, pair_index, directed=self.directed)
        if self.compress:
            lines, node_class = EgoLines.compressed(pair_index, num_nodes, x, edges)
            if lines.num_nodes < num_nodes:
                _refuse_node_targets(data.y, num_nodes)
                first = node_class.new_full((lines.num_nodes,), num_nodes)
                members = torch.arange(num_nodes, device=node_class.device)
                first = first.scatter_reduce(0, node_class, members, "amin")
                data.x = None if x is None else x[first]
                proper = lines.pair_index[0] != lines.pair_index[1]
                direction = lines.direction
                there = proper if direction is None else proper & (direction >= 0)
                back = proper if direction is None else proper & (direction <= 0)
                pairs = lines.pair_index.long()
                data.edge_index = torch.cat([pairs[:, there], pairs[:, back].flip(0)], 1)
                data.num_nodes = lines.num_nodes
                if data.edge_attr is not None:
                    each = _rows(lines, data.edge_attr)
                    data.edge_attr = torch.cat([each[there], each[back]])
        else:
            lines = EgoLines.from_pairs(pair_index, num_nodes)
            lines = lines if edges is None else lines.with_edges(edges)
        for name in FIELDS:
            data[name] = getattr(lines, name)
        data.pair_index = lines.pair_index.long()
        if data.edge_attr is not None:
            data.pair_attr = _rows(lines, data.edge_attr)
        if lines.direction is not None:
            data.pair_direction = lines.direction.long()
        coded = lines.coded(self.pair_code)
        if coded.code_table is not None:
            data.pair_code = coded.at_pairs(coded.code_table)
        return data

    def _edges(self, data: Data, pair_index: Tensor, num_nodes: int) -> EdgeFeatures | None:
        if not self.edge_attr:
            data.edge_attr = None
        return EdgeFeatures.of_columns(
            data.edge_index, data.edge_attr, pair_index, num_nodes,
            reduce=self.reduce, directed=self.directed,
        )  # fmt: skip

    def _refuse_other_fields(self, data: Data, num_nodes: int) -> None:
        for name, value in data:
            ours = name in ("x", "edge_index", "edge_attr", "y", "num_nodes", *ADDED)
            if ours or not isinstance(value, Tensor) or value.dim() == 0:
                continue
            if data.is_node_attr(name) or data.is_edge_attr(name):
                raise ValueError(
                    f"`EgoLineGraph(compress=True)` merges nodes, but the field `{name}` belongs "
                    f"to the {num_nodes} nodes or their edges. Remove it, or use compress=False."
                )

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({options})"


def _warn_of_ignored(data: Data, pair_index: Tensor, *, directed: bool) -> None:
    """Name what the graph has and no model of this library reads yet."""
    ignored = ["`edge_weight`"] if data.get("edge_weight") is not None else []
    u, v = data.edge_index.long()
    directions = torch.unique((u * data.num_nodes + v)[u != v]).numel()
    # A list with every edge once is a way to write an undirected graph; a mixture is not.
    if not directed and pair_index.size(1) < directions < 2 * pair_index.size(1):
        ignored.append("the direction of edges that are there one way only")
    if data.edge_attr is not None and bool((u == v).any()):
        ignored.append("self-loops with their features")
    if ignored:
        warnings.warn(
            f"`EgoLineGraph` ignores {' and '.join(ignored)}: the layers read `x` and `edge_attr`. "
            "Give weights as `edge_attr`, `edge_weight[:, None]`, remove the field, keep the "
            "direction with `directed=True`, or make the graph undirected, to silence this.",
            stacklevel=4,
        )


def _rows(lines: EgoLines, like: Tensor) -> Tensor:
    """The features of the pairs as the graph spells them, ``[P]`` or ``[P, m]``."""
    assert lines.edge_table is not None
    rows = lines.at_pairs(lines.edge_table)
    rows = rows.to(like.dtype if like.is_floating_point() else torch.int64)
    return rows.squeeze(1) if like.dim() == 1 else rows


def _refuse_node_targets(y: Tensor | None, num_nodes: int) -> None:
    if isinstance(y, Tensor) and y.dim() > 0 and y.size(0) == num_nodes:
        raise ValueError(
            f"`EgoLineGraph(compress=True)` merges nodes, but `y` has a row for each of the "
            f"{num_nodes} nodes. Use compress=False, or give targets of the graph as [1, T]."
        )


def _checked_nodes(data: Data) -> int:
    if data.edge_index is None:
        raise ValueError("The graph has no `edge_index`. Give an empty one, [2, 0], for no edges.")
    if data.x is None and "num_nodes" not in data:
        raise ValueError(
            "The number of nodes is unknown: the graph has neither `x` nor `num_nodes`. Set one."
        )
    num_nodes = int(data.num_nodes)
    if data.x is not None:
        if data.x.size(0) != num_nodes:
            raise ValueError(
                f"`x` has {data.x.size(0)} rows but `num_nodes` is {num_nodes}. Make them agree."
            )
        if data.x.is_floating_point():
            check_finite("x", data.x)
    if "multiplicity" in data and bool((data.multiplicity > 1).any()):
        raise ValueError(
            "The twins of this graph are merged already: its `multiplicity` is above 1. "
            "Apply `EgoLineGraph` once, to the original graph."
        )
    validate_edge_index(data.edge_index, num_nodes)
    return num_nodes

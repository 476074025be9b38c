"""All ego line graphs of a graph, as pairs and two incidence matrices that are never stored.

For a target node ``t`` the line graph of its ego network has two kinds of nodes: target pairs
``{t, p}`` and neighbour pairs ``{p, q}``. With every edge listed once as a pair, the first kind
is the incidence ``B_t`` of nodes and pairs and the second, ``B_n``, says which pairs lie opposite
``t`` in a triangle. Both follow from four small arrays; see ``graph/README.md``.
"""

from dataclasses import InitVar, dataclass, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from lgan.graph.carried import carried_fields
from lgan.graph.checks import check_edges, check_lines, check_pairs
from lgan.graph.edge_features import EdgeFeatures
from lgan.graph.edges import check_integers, undirected_pairs
from lgan.graph.moving import moved
from lgan.graph.pair_codes import code_features, knot_weights, pair_codes, spread_channels
from lgan.graph.segments import lengths_to_ptr
from lgan.graph.triangles import Backend, opposite_lists
from lgan.graph.twins import twin_classes
from lgan.ops.incidence import Incidence
from lgan.ops.row_sum import SparseRows

# The fields a PyG `Data` object carries. PyG shifts fields named `…index` by the number of nodes
# when it batches graphs, which is right for node ids; counts must not carry that word.
FIELDS = ("pair_index", "opposite_index", "opposite_count", "pair_triangles", "multiplicity")
# Rows of a table so small that a batch takes it whole.
FEW = 64
# A node or pair in so many may lie in a triangle (measured: at a third nothing is gained).
ONE_IN = 4


@dataclass(frozen=True, kw_only=True)
class EgoLines(Incidence):
    """The pairs of a graph and what lies opposite them.

    A node may stand for ``k`` true twins. A class with ``k ≥ 2`` then has a pair with itself,
    listed as ``(c, c)``, and the entries of the two matrices are counts, see ``graph/README.md``.

    The fields are checked when the object is made, so that compiled loops can trust them; what is
    cut from a checked structure is passed as ``_trusted`` and not checked again.

    Attributes:
        pair_table: What the pairs carry, each distinct row once ``[U, c + m]``: structural codes,
            then features of the edge, then its direction where it has one.
        pair_rows: Row of the table for every pair ``[P]`` int32; ``None`` where the table has one
            row for every pair.
        edge_columns: How many columns ``m`` are features of the edge.
        edge_categories: Whether these are numbers of categories, which a layer reads one-hot.
        edge_directed: Whether one more column, the last, is the direction of the pair
            (:func:`lgan.graph.edge_features.pair_direction`).
    """

    pair_table: Tensor | None = None
    pair_rows: Tensor | None = None
    edge_columns: int = 0
    edge_categories: bool = False
    edge_directed: bool = False
    _trusted: InitVar[bool] = False

    def __post_init__(self, _trusted: bool) -> None:
        if not _trusted:
            check_lines(self)
        for name in FIELDS:
            value: Tensor = getattr(self, name)
            if value.dtype != torch.int32 or not value.is_contiguous():
                object.__setattr__(self, name, value.to(torch.int32).contiguous())

    @property
    def num_pairs(self) -> int:
        """Number of pairs, those of a class with itself included."""
        return self.pair_index.size(1)

    @staticmethod
    def from_edge_index(
        edge_index: Tensor, num_nodes: int, *, backend: Backend | None = None
    ) -> "EgoLines":
        """The ego line graphs of any ``edge_index`` without compression."""
        pair_index = undirected_pairs(edge_index, num_nodes)
        return EgoLines.from_pairs(pair_index, num_nodes, backend=backend)

    @staticmethod
    def from_pairs(
        pair_index: Tensor,
        num_nodes: int,
        *,
        multiplicity: Tensor | None = None,
        backend: Backend | None = None,
    ) -> "EgoLines":
        """The ego line graphs of canonical pairs; the graph of twin classes if multiplicities
        are given, the pairs ``(c, c)`` then included.
        """
        check_pairs(pair_index, num_nodes, loops=multiplicity is not None)
        if multiplicity is not None:
            check_integers("multiplicity", multiplicity, (num_nodes,), remedy="Count every node.")
        opposite, count = opposite_lists(pair_index, num_nodes, backend=backend)
        k = torch.ones(num_nodes, dtype=torch.int32, device=pair_index.device)
        tau = count
        if multiplicity is not None:
            k = multiplicity.to(torch.int32)
            ptr = lengths_to_ptr(count)
            total = torch.cumsum(k[opposite], 0, dtype=torch.int64)
            total = torch.cat([total.new_zeros(1), total])
            own = pair_index[0] == pair_index[1]
            ends = torch.where(own, k[pair_index[0]] - 2, k[pair_index].sum(0) - 2)
            tau = total[ptr[1:]] - total[ptr[:-1]] + ends
        return EgoLines(
            num_nodes=num_nodes,
            pair_index=pair_index,
            opposite_index=opposite.to(torch.int32),
            opposite_count=count.to(torch.int32),
            pair_triangles=tau.to(torch.int32),
            multiplicity=k,
            _trusted=multiplicity is None,
        )

    @staticmethod
    def compressed(
        pair_index: Tensor,
        num_nodes: int,
        x: Tensor | None = None,
        edges: EdgeFeatures | None = None,
    ) -> tuple["EgoLines", Tensor]:
        """The ego line graphs of the graph of true twins, and the class of every node.

        Args:
            pair_index: Canonical pairs ``[2, P]`` of the original graph.
            num_nodes: Number of original nodes.
            x: Node features; only nodes with equal features are merged.
            edges: Features of the pairs; only nodes with equal ones towards every third node are
                merged.
        """
        check_pairs(pair_index, num_nodes)
        kind = None if edges is None else edges.kinds()
        node_class = twin_classes(pair_index, num_nodes, x, kind)
        size = torch.bincount(node_class)
        classes = size.numel()
        if classes == num_nodes:
            lines = EgoLines.from_pairs(pair_index, num_nodes)
            return (lines if edges is None else lines.with_edges(edges)), node_class
        ends = node_class[pair_index]
        low, high = torch.sort(ends, dim=0).values
        key, merged = torch.unique(low * classes + high, return_inverse=True)
        lines = EgoLines.from_pairs(
            torch.stack([key // classes, key % classes]), classes, multiplicity=size
        )
        if edges is not None:
            edges = edges.turned(ends[0] > ends[1])
            rows = edges.rows.new_empty(len(key))
            rows[merged] = edges.rows  # edges of one pair have equal features
            lines = lines.with_edges(replace(edges, rows=rows))
        return lines, node_class

    @staticmethod
    def from_data(data: Any) -> "EgoLines":
        """The structure that :class:`lgan.EgoLineGraph` stored in a PyG ``Data`` or ``Batch``."""
        lines = getattr(data, "lines", None)
        if isinstance(lines, EgoLines):
            return lines
        missing = [field for field in FIELDS if getattr(data, field, None) is None]
        if missing:
            raise ValueError(
                f"The graph has no field `{missing[0]}`: its line graphs were not built. "
                "Apply the transform `lgan.EgoLineGraph()` to the data first."
            )
        stored = {field: getattr(data, field) for field in FIELDS}
        nodes = data.multiplicity.numel() if isinstance(data.multiplicity, Tensor) else 0
        lines = EgoLines(num_nodes=nodes, **stored, **carried_fields(data))
        if getattr(data, "edge_index", None) is not None:
            check_edges(data.edge_index, lines)
        return lines

    def coded(self, level: str) -> "EgoLines":
        """The same structure with the structural code of every pair, each code stored once.

        Args:
            level: A name of :data:`lgan.graph.pair_codes.LEVELS`; ``"none"`` changes nothing.
        """
        if level == "none":
            return self
        codes = pair_codes(self.pair_index, self.num_nodes, level, multiplicity=self.multiplicity)
        found, rows = torch.unique(codes, dim=0, return_inverse=True)
        table = code_features(found, level)
        edges = self.edge_part
        if edges is not None:  # the distinct rows of both
            number = max(edges.size(0), 1)
            joint, rows = torch.unique(rows * number + self.row_of_pair, return_inverse=True)
            table = torch.cat([table[joint // number].to(edges.dtype), edges[joint % number]], 1)
        return replace(self, pair_table=table, pair_rows=rows.to(torch.int32), _trusted=True)

    def with_edges(self, edges: EdgeFeatures) -> "EgoLines":
        """The same structure whose pairs carry features of the edges."""
        assert self.pair_table is None  # codes come after
        return replace(
            self,
            pair_table=edges.table,
            pair_rows=edges.rows.to(torch.int32),
            edge_columns=edges.columns,
            edge_categories=edges.categories,
            edge_directed=edges.directed,
        )

    @property
    def code_table(self) -> Tensor | None:
        """The structural codes of the rows of the table ``[U, c]``, where there are any."""
        return self._columns(slice(self._codes))

    @property
    def edge_table(self) -> Tensor | None:
        """The features of the edges in the rows of the table ``[U, m]``, where there are any."""
        return self._columns(slice(self._codes, self._codes + self.edge_columns))

    @property
    def pair_attr(self) -> Tensor | None:
        """The features of every pair as a PyG graph has them: categories ``[P]`` or ``[P, c]``, or
        real vectors ``[P, d]``.
        """
        table = self.edge_table
        if table is None:
            return None
        each = self.at_pairs(table)
        if not self.edge_categories:
            return each
        return each.long().squeeze(1) if each.size(1) == 1 else each.long()

    @property
    def edge_part(self) -> Tensor | None:
        """Features and direction of the edges in the rows of the table, where there are any."""
        return self._columns(slice(self._codes, None))

    @property
    def _codes(self) -> int:
        """How many columns of the table are structural codes."""
        width = 0 if self.pair_table is None else self.pair_table.size(1)
        return width - self.edge_columns - self.edge_directed

    def _columns(self, which: slice) -> Tensor | None:
        """Some columns of the table, where there are any."""
        part = None if self.pair_table is None else self.pair_table[:, which]
        return part if part is not None and part.size(1) else None

    @property
    def row_of_pair(self) -> Tensor:
        """Row of the table for every pair ``[P]`` int32."""
        if self.pair_rows is not None:
            return self.pair_rows
        return torch.arange(self.num_pairs, dtype=torch.int32, device=self.pair_index.device)

    def at_pairs(self, values: Tensor) -> Tensor:
        """Values of the rows of the table at the pairs that have them, ``[U, …]`` to ``[P, …]``."""
        return values if self.pair_rows is None else values[self.pair_rows]

    @property
    def direction(self) -> Tensor | None:
        """Which way the arcs between the nodes of every pair go ``[P]``: 1 from the first to the
        second alone, -1 back alone, 0 both ways; nothing where the graph is undirected.
        """
        if self.pair_table is None or not self.edge_directed:
            return None
        return self.at_pairs(self.pair_table[:, -1])

    @property
    def edge_layout(self) -> dict[str, Any]:
        """What the last columns of the table are, as fields of another structure."""
        names = ("edge_columns", "edge_categories", "edge_directed")
        return {name: getattr(self, name) for name in names}

    def table_of(self, pairs: Tensor) -> dict[str, Any]:
        """What some pairs ``[p]`` carry, as fields of another structure.

        On the CPU a row that occurs again and again is encoded once; elsewhere every pair has a
        row of its own, since finding out what occurs would wait for the device.
        """
        if self.pair_table is None:
            return {}
        kept = self.edge_layout
        if self.pair_rows is None:
            return {**kept, "pair_table": self.pair_table[pairs]}
        rows = self.pair_rows[pairs]
        if rows.device.type != "cpu":
            return {**kept, "pair_table": self.pair_table[rows]}
        if self.pair_table.size(0) <= FEW:
            return {**kept, "pair_table": self.pair_table, "pair_rows": rows}
        used, inverse = torch.unique(rows, return_inverse=True)
        table = self.pair_table[used]
        return {**kept, "pair_table": table, "pair_rows": inverse.to(torch.int32)}

    def to(self, device: torch.device | str) -> "EgoLines":
        """The same structure on another device."""
        return replace(self, **moved(self, device), known=None, _trusted=True)

    @cached_property
    def code_knots(self) -> SparseRows:
        """What :func:`lgan.graph.pair_codes.spread` makes of ``code_table``, by rows."""
        codes = self.code_table
        assert codes is not None
        column, weight = knot_weights(codes.double())
        return SparseRows.regular(column, weight, spread_channels(codes.size(1)))

    def masked(self, mask: Tensor, side_mask: Tensor | None = None) -> "EgoLines":
        r"""The same graph with every pair present to some degree, differentiable in the mask.

        .. math::
            T_t = \sum_p m_{tp} z_{tp}, \qquad
            S_t = \sum_{pq \in \Delta(t)} m_{tp} m_{tq} m_{pq} z_{pq}

        so that 0 takes an edge and its triangles out of both sums, and 1 keeps it. Structural codes
        stay those of the whole graph, as do features made from it: where a model reads any, 0 is
        not what it would say of the graph without the edge.

        Args:
            mask: A value for every pair ``[*, P]``; leading axes give several masks of one graph
                at once, and the outputs the same leading axes.
            side_mask: The products of three masks, where the caller has them already.
        """
        if mask.shape[-1:] != (self.num_pairs,):
            raise ValueError(
                f"`mask` must have one value for each of {self.num_pairs} pairs, "
                f"got shape {list(mask.shape)}. Give a mask of shape [*, {self.num_pairs}]."
            )
        if bool((self.multiplicity > 1).any()):
            raise ValueError(
                "A mask needs the edges of the original graph, but twins are merged here. "
                "Build the line graphs with `compress=False`."
            )
        if side_mask is None:
            side_mask = self.side_product(mask)
        return replace(self, mask=mask, side_mask=side_mask, _trusted=True)

    def side_product(self, mask: Tensor) -> Tensor:
        """The product of a mask over the triangle of every entry of ``opposite_index``."""
        first, second, third = self.entry_pairs
        return mask[..., first] * mask[..., second] * mask[..., third]

    @cached_property
    def entry_pairs(self) -> Tensor:
        """The pairs of the triangle of every entry of ``opposite_index``, its own first."""
        own = self.opposite_pair()
        ends, across = self.pair_index.long(), self.opposite_index.long()
        key = ends[0] * self.num_nodes + ends[1]  # increasing, since pairs are in order
        sides = [torch.sort(torch.stack([end[own], across]), dim=0).values for end in ends]
        others = [torch.searchsorted(key, low * self.num_nodes + high) for low, high in sides]
        return torch.stack([own, *others])

    @staticmethod
    def edges_only(pair_index: Tensor, num_nodes: int) -> "EgoLines":
        """The pairs without their triangles, for models that never read these.

        Listing triangles is most of the work on dense graphs. Their counts are -1, so that a
        model which does read them says so instead of being silently wrong.
        """
        check_pairs(pair_index, num_nodes)
        nothing = torch.zeros(pair_index.size(1), dtype=torch.int32, device=pair_index.device)
        return EgoLines(
            num_nodes=num_nodes,
            pair_index=pair_index,
            opposite_index=nothing[:0],
            opposite_count=nothing,
            pair_triangles=nothing - 1,
            multiplicity=torch.ones(num_nodes, dtype=torch.int32, device=pair_index.device),
            _trusted=True,
        )

    @property
    def listed(self) -> bool:
        """Whether the triangles are known."""
        return not bool((self.pair_triangles < 0).any())

    @cached_property
    def has_triangles(self) -> bool:
        """Whether the neighbour branch has anything to say."""
        if self.known is not None and self.known.has_triangles is not None:
            return self.known.has_triangles
        if self.num_pairs == 0:
            return False
        low, high = torch.aminmax(self.pair_triangles)
        if int(low) < 0:
            raise ValueError(
                "The triangles of this graph were not listed, which the model needs. "
                "Load the data set with `triangles=True`."
            )
        return int(high) > 0

    @cached_property
    def corners(self) -> "tuple[Tensor, EgoLines] | None":
        """The nodes in triangles ``[m]`` and their pairs that lie in triangles, as a graph of their
        own; ``None`` where they are many, or none.

        A molecule has a triangle now and then: a ring of three atoms. The neighbour branch then
        speaks to these atoms alone, and a layer need not multiply matrices for all the others.
        """
        if self.opposite_index.numel() * ONE_IN > self.num_pairs:
            return None
        inside = (self.pair_triangles > 0).nonzero().squeeze(1)
        if not 0 < inside.numel() * ONE_IN <= self.num_pairs:
            return None
        # The node opposite a pair is an end of the other two pairs of the triangle.
        nodes = torch.unique(self.pair_index[:, inside]).long()
        if nodes.numel() * ONE_IN > self.num_nodes:
            return None
        place = self.pair_index.new_empty(self.num_nodes)
        place[nodes] = torch.arange(len(nodes), dtype=place.dtype, device=place.device)
        part = replace(
            self,
            num_nodes=len(nodes),
            pair_index=place[self.pair_index[:, inside].long()],
            opposite_index=place[self.opposite_index.long()],
            opposite_count=self.opposite_count[inside],
            pair_triangles=self.pair_triangles[inside],
            multiplicity=self.multiplicity[nodes],
            **{"pair_rows": None, **self.table_of(inside)},
            known=None,
            _trusted=True,
        )
        return nodes, part

    def target_incidence(self) -> Tensor:
        """``B_t`` as a sparse tensor ``[num_nodes, P]``, for reading and for tests."""
        at_u, at_v, *_ = self.weights()
        pair = torch.arange(self.num_pairs, device=at_u.device)
        return self._matrix(self.pair_index.flatten(), pair.repeat(2), torch.cat([at_u, at_v]))

    def neighbour_incidence(self) -> Tensor:
        """``B_n`` as a sparse tensor ``[num_nodes, P]``, for reading and for tests."""
        *_, at_u, at_v, edges = self.weights()
        pair, across = torch.arange(self.num_pairs, device=at_u.device), self.opposite_pair()
        return self._matrix(
            torch.cat([*self.pair_index, self.opposite_index.long()]),
            torch.cat([pair, pair, across]),
            torch.cat([at_u, at_v, edges[across]]),
        )

    def _matrix(self, row: Tensor, col: Tensor, weight: Tensor) -> Tensor:
        kept = weight > 0
        entries = torch.stack([row, col])[:, kept]
        size = (self.num_nodes, self.num_pairs)
        return torch.sparse_coo_tensor(
            entries, weight[kept], size, check_invariants=False
        ).coalesce()

"""Features of edges, from the columns of an ``edge_index`` to undirected pairs."""

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import torch
from torch import Tensor

EdgeReduce = Literal["mean", "min", "max"]


@dataclass(frozen=True)
class EdgeFeatures:
    """Features of the pairs of a graph, each distinct row once.

    Attributes:
        table: Distinct rows ``[U, m]``, numbers of categories or real values.
        rows: The row of every pair ``[P]`` int64.
        categories: Whether the columns are numbers of categories.
        directed: Whether a last column holds the direction of a pair, see :func:`pair_direction`.
    """

    table: Tensor
    rows: Tensor
    categories: bool = False
    directed: bool = False

    @staticmethod
    def of(attr: Tensor | None, direction: Tensor | None = None) -> "EdgeFeatures":
        """The features of pairs as :func:`pair_attr` has them, ``[P]`` or ``[P, m]``, and their
        direction ``[P]``; one of the two may be missing.
        """
        if attr is None:
            assert direction is not None
            nothing = torch.zeros(1, 0, device=direction.device)
            return EdgeFeatures(nothing, torch.zeros_like(direction).long()).with_direction(
                direction
            )
        categories = not attr.is_floating_point()
        columns = attr[:, None] if attr.dim() == 1 else attr
        table, rows = torch.unique(columns, dim=0, return_inverse=True)
        found = EdgeFeatures(table.float() if categories else table, rows, categories)
        return found if direction is None else found.with_direction(direction)

    @staticmethod
    def of_columns(
        edge_index: Tensor,
        edge_attr: Any,
        pair_index: Tensor,
        num_nodes: int,
        *,
        reduce: EdgeReduce | None = None,
        directed: bool = False,
    ) -> "EdgeFeatures | None":
        """What the columns of an ``edge_index`` tell of the pairs: their features, where there are
        any, and their direction, where they are directed; see :func:`pair_attr`.
        """
        attr = direction = None
        if edge_attr is not None:
            attr = pair_attr(edge_index, edge_attr, pair_index, num_nodes, reduce=reduce)
        if directed:
            direction = pair_direction(edge_index, pair_index, num_nodes)
        if attr is None and direction is None:
            return None
        return EdgeFeatures.of(attr, direction)

    @property
    def columns(self) -> int:
        """Features of an edge, its direction not among them."""
        return self.table.size(1) - self.directed

    def with_direction(self, direction: Tensor) -> "EdgeFeatures":
        """The same features, beside the direction of every pair ``[P]``."""
        assert not self.directed
        key, rows = torch.unique(self.rows * 3 + direction.long() + 1, return_inverse=True)
        signs = (key % 3 - 1).to(self.table.dtype)[:, None]
        table = torch.cat([self.table[key // 3], signs], 1)
        return replace(self, table=table, rows=rows, directed=True)

    def turned(self, which: Tensor) -> "EdgeFeatures":
        """The same features with the ends of some pairs ``[P]`` exchanged."""
        if not self.directed:
            return self
        direction = self.table[self.rows, -1].long()
        plain = replace(self, table=self.table[:, :-1], directed=False)
        return plain.with_direction(torch.where(which, -direction, direction))

    def kinds(self) -> Tensor:
        """A number for every pair, equal where features are ``[P]``; where the pairs have a
        direction, as either end sees it ``[2, P]``.
        """
        if not self.directed:
            return self.rows
        each = self.table[self.rows]
        views = torch.cat([each, torch.cat([each[:, :-1], -each[:, -1:]], 1)])
        ids: Tensor = torch.unique(views, dim=0, return_inverse=True)[1]
        return ids.view(2, -1)


def check_edge_attr(edge_attr: Any, edges: int, name: str = "edge_attr") -> Tensor:
    """Features of edges as layers read them, or an error: int64 categories ``[E]`` or ``[E, c]``,
    or finite real vectors ``[E, d]``.

    Values are looked at on the CPU alone: elsewhere the look would wait for the device.
    """
    if not isinstance(edge_attr, Tensor):
        raise TypeError(
            f"`{name}` must be a tensor, got {type(edge_attr).__name__}. "
            f"Convert it with `torch.as_tensor({name})`."
        )
    if edge_attr.is_complex():
        raise TypeError(f"`{name}` must be real, got {edge_attr.dtype}.")
    real = edge_attr.is_floating_point()
    if edge_attr.dim() not in ((2,) if real else (1, 2)) or edge_attr.size(0) != edges:
        raise ValueError(
            f"`{name}` must have one row for each of {edges} edges, categories [E] or [E, c] or "
            f"real vectors [E, d], got {edge_attr.dtype} {list(edge_attr.shape)}. "
            "Give real weights as a column, `edge_weight[:, None]`."
        )
    here = edge_attr.device.type == "cpu" and edge_attr.numel() > 0
    if here and real:
        check_finite(name, edge_attr)
    if here and not real and int(edge_attr.min()) < 0:
        raise ValueError(
            f"`{name}` must hold categories from 0 on, got {int(edge_attr.min())}. "
            "Number the categories from 0."
        )
    return edge_attr if real else edge_attr.long()


def check_finite(name: str, value: Tensor) -> None:
    """Raise an error where features are infinite or undefined."""
    if not bool(torch.isfinite(value).all()):
        raise ValueError(
            f"`{name}` must be finite, got NaN or infinite values. Clean the features."
        )


def pair_attr(
    edge_index: Tensor,
    edge_attr: Any,
    pair_index: Tensor,
    num_nodes: int,
    *,
    reduce: EdgeReduce | None = None,
) -> Tensor:
    """The features of undirected pairs, ``[P]`` or ``[P, m]``; those of self-loops are left out.

    Args:
        edge_index: Edges ``[2, E]`` in either direction or both.
        edge_attr: Their features.
        pair_index: Every undirected edge once, as ``undirected_pairs`` returns them.
        num_nodes: Number of nodes.
        reduce: What to do with the features of several edges between two nodes, the two
            directions among them; without a rule they have to agree.

    Example:
        >>> edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
        >>> pair_attr(edges, torch.tensor([5, 5, 7, 7]), edges[:, ::2], num_nodes=3)
        tensor([5, 7])
    """
    attr = check_edge_attr(edge_attr, edge_index.size(1))
    if reduce not in (*get_args(EdgeReduce), None):
        raise ValueError(f"`reduce` must be one of {get_args(EdgeReduce)}, got {reduce!r}.")
    u, v = edge_index.long()
    proper = u != v
    u, v, attr = u[proper], v[proper], attr[proper]
    pairs = pair_index.long()
    key, wanted = pairs[0] * num_nodes + pairs[1], torch.minimum(u, v) * num_nodes
    pair = torch.searchsorted(key, wanted + torch.maximum(u, v))
    out = attr.new_zeros((pairs.size(1), *attr.shape[1:]))
    out[pair] = attr
    agree = out[pair] == attr
    if bool(agree.all()):
        return out
    if reduce is None:
        wrong = int((~(agree if agree.dim() == 1 else agree.all(1))).nonzero()[0])
        raise ValueError(
            "`edge_attr` must agree in both directions of an edge and in all edges between two "
            f"nodes, got {attr[wrong].tolist()} and {out[pair[wrong]].tolist()} between the nodes "
            f"{int(u[wrong])} and {int(v[wrong])}. Make them agree, or give a rule: "
            "`reduce='mean'` of the transform, `edge_reduce='mean'` of a layer."
        )
    if not attr.is_floating_point() and reduce == "mean":
        raise ValueError(
            "Categories of edges that disagree have no mean. Choose 'min' or 'max', or give "
            "one-hot vectors, `torch.nn.functional.one_hot(edge_attr).float()`."
        )
    place = pair if attr.dim() == 1 else pair[:, None].expand_as(attr)
    rule = {"min": "amin", "max": "amax"}.get(reduce, reduce)
    zero = attr.new_zeros(out.shape)
    return zero.scatter_reduce(0, place, attr, rule, include_self=False)


def pair_direction(edge_index: Tensor, pair_index: Tensor, num_nodes: int) -> Tensor:
    """Which way the arcs of a directed graph go: 1 from the first node of a pair to the second
    alone, -1 back alone, 0 both ways ``[P]`` int64. Loops are left out.

    Args:
        edge_index: Arcs ``[2, E]``, from the first row to the second.
        pair_index: Every undirected edge once, as ``undirected_pairs`` returns them.
        num_nodes: Number of nodes.

    Example:
        >>> arcs = torch.tensor([[0, 2, 2, 3], [1, 1, 3, 2]])
        >>> pair_direction(arcs, torch.tensor([[0, 1, 2], [1, 2, 3]]), num_nodes=4)
        tensor([ 1, -1,  0])
    """
    u, v = edge_index.long()
    (low, high), arcs = pair_index.long(), u * num_nodes + v
    there = torch.isin(low * num_nodes + high, arcs)
    back = torch.isin(high * num_nodes + low, arcs)
    return there.long() - back.long()

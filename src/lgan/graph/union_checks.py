"""What the parts of a union must be, so that compiled loops can trust them."""

from typing import Any

import torch
from torch import Tensor

from lgan.graph.checks import check_ptr
from lgan.graph.edge_features import EdgeFeatures, check_finite
from lgan.graph.edges import check_integers, check_range


def check_parts(
    x: Tensor, y: Tensor, node_ptr: Tensor, num_features: int, num_classes: int, *, named: bool
) -> int:
    """Raise an error unless features and targets fit the graphs; the number of nodes.

    Classes that are ``named`` by a task may be missing, -1, for some graphs.
    """
    check_integers("node_ptr", node_ptr, (None,), remedy="Give where each graph begins.")
    num_nodes = int(node_ptr[-1]) if node_ptr.numel() else 0
    check_ptr("node_ptr", node_ptr, num_nodes, remedy="Give where each graph begins.")
    check_rows("x", x, num_nodes)
    check_rows("y", y, node_ptr.numel() - 1)
    if x.is_floating_point():
        check_finite("x", x)
    for name, value, number in (("x", x, num_features), ("y", y, num_classes)):
        if value.dim() == 1 and value.is_floating_point():
            raise TypeError(
                f"`{name}` must hold numbers of categories or classes, got {value.dtype}. "
                f"Convert it with `{name}.long()`, or give real values one row each."
            )
        if value.dim() == 1 and value.numel():
            low, high = (int(bound) for bound in torch.aminmax(value))
            # Without a task, -1 beside other numbers may well be a class of its own.
            least = -1 if name == "y" and (named or high == -1) else 0
            if low < least or high >= number:
                raise ValueError(
                    f"`{name}` must hold numbers from 0 to {number - 1}, got {low} to {high}. "
                    "Number categories and classes from 0 on, for example with "
                    f"`torch.unique({name}, return_inverse=True)`."
                )
    return num_nodes


def check_x_table(x: Tensor, table: Tensor, num_features: int) -> None:
    """Raise an error unless nodes are rows of a table of features."""
    if table.dim() != 2 or not table.is_floating_point() or table.size(1) != num_features:
        raise ValueError(
            f"`x_table` must be real and have {num_features} columns, got {table.dtype} of shape "
            f"{list(table.shape)}."
        )
    check_finite("x_table", table)
    check_integers("x", x, (None,), remedy="Give the row of `x_table` of every node.")
    check_range("x", x, len(table), of="rows of `x_table`")


def check_edge_features(edges: EdgeFeatures, pairs: int) -> None:
    """Raise an error unless every pair has features."""
    check_integers("edges.rows", edges.rows, (pairs,), remedy="Give the features of every pair.")
    table = edges.table
    if not isinstance(table, Tensor) or table.dim() != 2 or not table.is_floating_point():
        got = f"{table.dtype} {list(table.shape)}" if isinstance(table, Tensor) else type(table)
        raise ValueError(f"`edges.table` must hold rows of real numbers [U, m], got {got}.")
    check_finite("edges.table", table)
    remedy = " Make them with `EdgeFeatures.of`."
    check_range("edges.rows", edges.rows, len(table), of="rows of the table", remedy=remedy)


def check_graph_x(graph_x: Tensor, graphs: int) -> None:
    """Raise an error unless every graph has a row of real numbers."""
    check_rows("graph_x", graph_x, graphs)
    if graph_x.dim() != 2 or not graph_x.is_floating_point():
        raise ValueError(
            f"`graph_x` must hold a row of real numbers for every graph, got {graph_x.dtype} of "
            f"shape {list(graph_x.shape)}."
        )
    check_finite("graph_x", graph_x)


def check_rows(name: str, value: Any, rows: int) -> None:
    """Raise an error unless this is a tensor with so many rows."""
    if not isinstance(value, Tensor) or value.is_complex():
        got = value.dtype if isinstance(value, Tensor) else type(value).__name__
        raise TypeError(f"`{name}` must be a tensor of real numbers, got {got}.")
    if value.dim() == 0 or value.size(0) != rows:
        raise ValueError(
            f"`{name}` must have {rows} rows, got shape {list(value.shape)}. "
            "Give a row for every node and a target for every graph."
        )

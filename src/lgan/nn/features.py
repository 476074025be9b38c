"""What a layer accepts as node features, checked before any arithmetic."""

from typing import Any

import torch
from torch import Tensor

from lgan.graph import edge_features


def checked_features(x: Any, in_channels: int, num_nodes: int, like: Tensor) -> Tensor:
    """Features as a layer reads them; small integers and booleans become int64 categories.

    Args:
        x: Features ``[*, n, in_channels]``, or categories ``[n]``.
        in_channels: Features, or categories, that the layer reads.
        num_nodes: Rows it must have.
        like: A weight of the layer, whose type features must have.
    """
    if x is None:
        raise ValueError(
            "The graph has no node features `x`. "
            "Add a transform such as `torch_geometric.transforms.Constant()` or `OneHotDegree`."
        )
    if not isinstance(x, Tensor):
        raise TypeError(
            f"`x` must be a tensor, got {type(x).__name__}. Convert it with `torch.as_tensor(x)`."
        )
    if x.is_complex():
        raise TypeError(f"`x` must be real, got {x.dtype}. Give real and imaginary parts apart.")
    rows = x.size(max(x.dim() - 2, 0)) if x.dim() else -1
    if rows != num_nodes:
        raise ValueError(
            f"`x` must have one row for each of {num_nodes} nodes, got shape {list(x.shape)}. "
            "Rebuild the line graphs with `lgan.EgoLineGraph()` after changing the graph."
        )
    if not x.is_floating_point():
        return x if x.dtype in (torch.int64, torch.int32) else x.long()
    if x.dim() < 2 or x.size(-1) != in_channels:
        raise ValueError(
            f"`x` must have {in_channels} columns, got shape {list(x.shape)}. "
            "Set `in_channels` to the number of features."
        )
    if x.dtype != like.dtype and not torch.is_autocast_enabled(x.device.type):
        raise TypeError(
            f"`x` must have the type {like.dtype} of the model, got {x.dtype}. "
            f"Convert it with `x.to({like.dtype})`."
        )
    if x.dim() == 3 and like.dim() == 3 and x.size(0) not in (1, like.size(0)):
        raise ValueError(f"`x` must have rows for {like.size(0)} models, got {list(x.shape)}.")
    return x


def check_finite(x: Tensor) -> None:
    """Raise an error for NaN and infinite features; on the CPU alone, where a look is cheap."""
    if x.device.type != "cpu" or not x.is_floating_point():
        return
    # The sum shows them in one pass; where it overflows, look again.
    if not bool(x.sum().isfinite()):
        edge_features.check_finite("x", x)


def check_node_weight(weight: Any, num_nodes: int, like: Tensor) -> None:
    """Raise an error unless every node counts a finite number of times, 0 or more.

    Args:
        weight: How often, ``[n]`` or for every model ``[K, n]``.
        num_nodes: Number of nodes.
        like: A weight of the layer, whose leading axis is that of the models.
    """
    if not isinstance(weight, Tensor):
        raise TypeError(f"`node_weight` must be a tensor, got {type(weight).__name__}.")
    leading = tuple(like.shape[:-2])
    if tuple(weight.shape) not in ((num_nodes,), (*leading, num_nodes)) or weight.is_complex():
        raise ValueError(
            f"`node_weight` must have a number for each of {num_nodes} nodes (and model, if there "
            f"are many), got {weight.dtype} {list(weight.shape)}."
        )
    if weight.device.type == "cpu" and weight.numel():
        low, high = (float(bound) for bound in torch.aminmax(weight))
        if not 0 <= low <= high < float("inf"):
            raise ValueError(
                f"`node_weight` must be finite and 0 or more, got {low} to {high}. "
                "Give how often each node counts in the statistics of the batch."
            )

"""Validation and canonical form of an undirected ``edge_index``."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Integers = NDArray[np.integer[Any]]

# Bytes would be read as a mask where they index, so that structures hold none.
INDICES = (torch.int64, torch.int32)
INTEGERS = (*INDICES, torch.int16, torch.uint8, torch.int8)


def check_integers(
    name: str,
    value: Any,
    shape: tuple[int | None, ...],
    *,
    device: torch.device | None = None,
    remedy: str,
) -> None:
    """Raise an error unless a field holds indices in this shape, where ``None`` is any size."""
    if not isinstance(value, Tensor):
        raise TypeError(f"`{name}` must be a tensor, got {type(value).__name__}. {remedy}")
    if value.dtype not in INDICES:
        raise TypeError(f"`{name}` must hold int32 or int64, got {value.dtype}. {remedy}")
    sizes = zip(value.shape, shape, strict=False)
    if value.dim() != len(shape) or any(wanted not in (None, got) for got, wanted in sizes):
        text = ", ".join("*" if size is None else str(size) for size in shape)
        raise ValueError(f"`{name}` must have shape [{text}], got {list(value.shape)}. {remedy}")
    if device is not None and value.device != device:
        raise ValueError(f"`{name}` must be on {device}, got {value.device}. {remedy}")


def check_range(name: str, value: Tensor, number: int, *, of: str, remedy: str = "") -> None:
    """Raise an error unless all of these lie in ``0 … number - 1``."""
    if value.numel() == 0:
        return
    low, high = (int(bound) for bound in torch.aminmax(value))
    if low < 0 or high >= number:
        raise ValueError(
            f"`{name}` must hold {of} from 0 to {number - 1}, got {low} to {high}.{remedy}"
        )


def check_ids(name: str, value: Tensor, num_nodes: int) -> None:
    """Raise an error unless ``value`` is ``[2, E]`` integers in ``0 … num_nodes - 1``."""
    if not isinstance(value, Tensor):
        raise TypeError(
            f"`{name}` must be a tensor, got {type(value).__name__}. "
            "Pass `torch.tensor(edges).t()` for a list of edges."
        )
    if value.dim() != 2 or value.size(0) != 2:
        raise ValueError(
            f"`{name}` must have shape [2, E], got {list(value.shape)}. "
            "Each column is an edge; transpose a list of edges with `.t()`."
        )
    if value.dtype not in INTEGERS:
        raise TypeError(
            f"`{name}` must hold integers (int64), got {value.dtype}. "
            f"Convert it with `{name}.long()`."
        )
    if num_nodes < 0:
        raise ValueError(f"`num_nodes` must be 0 or more, got {num_nodes}.")
    remedy = " Set `num_nodes` to the number of nodes, isolated ones included."
    check_range(name, value, num_nodes, of="node ids", remedy=remedy)


def validate_edge_index(edge_index: Tensor, num_nodes: int) -> None:
    """Raise an error unless ``edge_index`` is ``[2, E]`` integers in ``0 … num_nodes - 1``."""
    check_ids("edge_index", edge_index, num_nodes)


def undirected_pairs(edge_index: Tensor, num_nodes: int) -> Tensor:
    """Every undirected edge once, ``u < v``, in lexicographic order ``[2, P]``.

    Accepts either direction or both, duplicates and self-loops; loops are dropped.

    Example:
        >>> undirected_pairs(torch.tensor([[1, 0, 2, 2], [0, 1, 2, 1]]), num_nodes=3)
        tensor([[0, 1],
                [1, 2]])
    """
    validate_edge_index(edge_index, num_nodes)
    u, v = edge_index.long()
    low, high = torch.minimum(u, v), torch.maximum(u, v)
    # One key a pair. Sorted input (the usual case of coalesced files) skips the sort.
    key = (low * num_nodes + high)[low != high]
    if key.numel() > 1 and not bool((key[1:] > key[:-1]).all()):
        key = torch.unique(key)
    return torch.stack([key // max(num_nodes, 1), key % max(num_nodes, 1)])


def neighbour_lists(pair_index: Tensor, num_nodes: int) -> tuple[Integers, Integers, Integers]:
    """Where the neighbours of each node begin, the neighbours in increasing order, and the edges.

    Shapes:
        ``[N + 1]``, ``[2 P]``, and ``[2 P]``.
    """
    from lgan.ops.listing_numba import counting_sort

    u, v = pair_index.to(torch.int32).numpy()
    pairs = np.arange(u.size, dtype=np.int32)
    # Pairs are in lexicographic order: first come the smaller neighbours of a node, then the
    # larger ones, both in increasing order.
    row = np.concatenate([v, u])
    node, count = counting_sort(row, np.concatenate([u, v]), num_nodes)
    pair, _ = counting_sort(row, np.concatenate([pairs, pairs]), num_nodes)
    return np.concatenate([[0], np.cumsum(count)]), node, pair

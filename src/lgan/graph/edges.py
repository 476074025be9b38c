"""Validation and canonical form of an undirected ``edge_index``."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

__all__ = ["Integers", "neighbour_lists", "undirected_pairs", "validate_edge_index"]

Integers = NDArray[np.integer[Any]]

_INTEGERS = (torch.int64, torch.int32, torch.int16, torch.uint8, torch.int8)


def validate_edge_index(edge_index: Tensor, num_nodes: int) -> None:
    """Raise an error unless ``edge_index`` is ``[2, E]`` integers in ``0 … num_nodes - 1``."""
    if not isinstance(edge_index, Tensor):
        raise TypeError(
            f"`edge_index` must be a tensor, got {type(edge_index).__name__}. "
            "Pass `torch.tensor(edges).t()` for a list of edges."
        )
    if edge_index.dim() != 2 or edge_index.size(0) != 2:
        raise ValueError(
            f"`edge_index` must have shape [2, E], got {list(edge_index.shape)}. "
            "Each column is an edge; transpose a list of edges with `.t()`."
        )
    if edge_index.dtype not in _INTEGERS:
        raise TypeError(
            f"`edge_index` must hold integers (int64), got {edge_index.dtype}. "
            "Convert it with `edge_index.long()`."
        )
    if num_nodes < 0:
        raise ValueError(f"`num_nodes` must be 0 or more, got {num_nodes}.")
    if edge_index.numel() == 0:
        return
    low, high = (int(bound) for bound in torch.aminmax(edge_index))
    if low < 0 or high >= num_nodes:
        raise ValueError(
            f"`edge_index` must hold node ids from 0 to {num_nodes - 1}, got {low} to {high}. "
            "Set `num_nodes` to the number of nodes, isolated ones included."
        )


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

"""Graphs as they were read or generated."""

import hashlib
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class RawGraphs:
    """Graphs as they were read or generated: one disjoint union, nothing derived.

    Args:
        name: The name of the set.
        node_ptr: The nodes of graph ``g`` are ``node_ptr[g]:node_ptr[g + 1]``.
        pair_index: Every undirected edge once, as ``u < v`` in node ids of the union, in
            lexicographic order and hence graph by graph.
        y: The class of every graph, ``0..C - 1``.
        classes: The class labels as the files spell them, in the order of ``y``.
        node_labels: A category ``0..L - 1`` for every node.
        node_attributes: Real attributes of every node.
        pair_labels: The label (a bond type, say) of every pair.
        ground_truth: Whether a pair belongs to a planted motif.

    Shapes:
        ``node_ptr [G + 1]``, ``pair_index [2, P]``, ``y [G]``, ``node_labels [N]``,
        ``node_attributes [N, A]``, ``pair_labels [P]``, ``ground_truth [P]``.

    Example:
        >>> path = RawGraphs(
        ...     name="path",
        ...     node_ptr=torch.tensor([0, 3]),
        ...     pair_index=torch.tensor([[0, 1], [1, 2]]),
        ...     y=torch.tensor([0]),
        ...     classes=("path",),
        ... )
        >>> path.num_graphs, path.num_nodes, path.num_pairs
        (1, 3, 2)
    """

    name: str
    node_ptr: Tensor
    pair_index: Tensor
    y: Tensor
    classes: tuple[str, ...]
    node_labels: Tensor | None = None
    node_attributes: Tensor | None = None
    pair_labels: Tensor | None = None
    ground_truth: Tensor | None = None

    def __post_init__(self) -> None:
        _check_field("node_ptr", self.node_ptr, torch.int64, (None,))
        _check_field("pair_index", self.pair_index, torch.int64, (2, None))
        if len(self.node_ptr) == 0 or self.node_ptr[0] != 0 or (self.node_ptr.diff() < 0).any():
            raise ValueError(
                f"`node_ptr` of {self.name} must begin with 0 and never decrease, got "
                f"{self.node_ptr[:8].tolist()}. Pass the cumulative number of nodes per graph."
            )
        _check_field("y", self.y, torch.int64, (self.num_graphs,))
        _check_field("node_labels", self.node_labels, torch.int64, (self.num_nodes,))
        _check_field("node_attributes", self.node_attributes, torch.float32, (self.num_nodes, None))
        _check_field("pair_labels", self.pair_labels, torch.int64, (self.num_pairs,))
        _check_field("ground_truth", self.ground_truth, torch.bool, (self.num_pairs,))
        _check_categories("y", self.y, self.num_classes)
        if self.node_labels is not None:
            _check_categories("node_labels", self.node_labels, None)
        self._check_pairs()

    @property
    def num_graphs(self) -> int:
        """The number of graphs ``G``."""
        return len(self.node_ptr) - 1

    @property
    def num_nodes(self) -> int:
        """The number of nodes ``N`` of all graphs together."""
        return int(self.node_ptr[-1])

    @property
    def num_pairs(self) -> int:
        """The number of undirected edges ``P`` of all graphs together."""
        return self.pair_index.shape[1]

    @property
    def num_classes(self) -> int:
        """The number of classes ``C``."""
        return len(self.classes)

    def content_sha256(self) -> str:
        """A checksum of what the set holds, whichever way its files were packed.

        It covers everything that is read from files (not the name, not ``ground_truth``).
        """
        digest = hashlib.sha256("\n".join(self.classes).encode())
        for field in (
            "node_ptr",
            "pair_index",
            "y",
            "node_labels",
            "node_attributes",
            "pair_labels",
        ):
            tensor: Tensor | None = getattr(self, field)
            if tensor is None:
                continue
            array = np.ascontiguousarray(tensor.numpy())
            array = array.astype(array.dtype.newbyteorder("<"), copy=False)
            digest.update(f"\n{field} {array.dtype.str} {array.shape}\n".encode())
            digest.update(array.reshape(-1).view(np.uint8).data)
        return digest.hexdigest()

    def _check_pairs(self) -> None:
        if self.num_pairs == 0:
            return
        u, v = self.pair_index
        if int(u.min()) < 0 or int(v.max()) >= self.num_nodes or not bool((u < v).all()):
            raise ValueError(
                f"`pair_index` of {self.name} must hold pairs u < v of node ids from 0 to "
                f"{self.num_nodes - 1}, got ids from {int(self.pair_index.min())} to "
                f"{int(self.pair_index.max())}. List every undirected edge once, without loops."
            )
        key = u * self.num_nodes + v
        if not bool((key[1:] > key[:-1]).all()):
            raise ValueError(
                f"`pair_index` of {self.name} must be sorted lexicographically and free of "
                "duplicates, got another order. Sort the columns by their first, then second id."
            )
        end = torch.repeat_interleave(self.node_ptr[1:], self.node_ptr.diff())  # [N]
        across = (v >= end[u]).nonzero()
        if len(across):
            pair = self.pair_index[:, int(across[0])].tolist()
            raise ValueError(
                f"`pair_index` of {self.name} must join nodes of one graph, got the pair {pair} "
                "across two. Add the offset `node_ptr[g]` to the node ids of graph g."
            )


def _check_field(
    name: str, tensor: Tensor | None, dtype: torch.dtype, shape: tuple[int | None, ...]
) -> None:
    """Refuse a field of another dtype or shape; ``None`` in ``shape`` stands for any length."""
    if tensor is None:
        return
    fits = tensor.ndim == len(shape) and all(
        want is None or want == got for want, got in zip(shape, tensor.shape, strict=True)
    )
    if tensor.dtype != dtype or not fits:
        wanted = ", ".join("any" if want is None else str(want) for want in shape)
        raise ValueError(
            f"`{name}` must be {dtype} of shape [{wanted}], got {tensor.dtype} of shape "
            f"{list(tensor.shape)}. Convert it, one entry per graph, node or pair."
        )


def _check_categories(name: str, values: Tensor, count: int | None) -> None:
    if len(values) == 0:
        return
    low, high = int(values.min()), int(values.max())
    if low < 0 or (count is not None and high >= count):
        wanted = "0 or more" if count is None else f"from 0 to {count - 1}"
        raise ValueError(
            f"`{name}` must hold categories {wanted}, got values from {low} to {high}. "
            "Number the categories from 0."
        )

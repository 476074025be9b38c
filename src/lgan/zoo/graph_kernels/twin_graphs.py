"""Graphs whose true twins are one node: what kernels on pairs and on walks compute on."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from lgan.data.raw import RawGraphs
from lgan.graph.interning import Colours, Rows
from lgan.graph.twins import twin_classes


@dataclass(frozen=True, eq=False)
class TwinGraphs:
    """Classes of true twins with one label, sorted by label within every graph.

    Twins can be exchanged, so that they have the same walks, and pairs of the same classes the
    same neighbours. COLLAB has 372,474 nodes in 164,782 classes, and a seventh of its edges.

    Attributes:
        ptr: Where the classes of each graph begin ``[G + 1]``.
        size: Nodes of every class ``[K]``.
        labels: The label of every class ``[K]``.
        near: For every class itself and those it is adjacent to, ascending.
    """

    ptr: NDArray[np.int64]
    size: NDArray[np.int64]
    labels: Colours
    near: Rows

    @staticmethod
    def of(raw: RawGraphs, labels: Colours, *, merged: bool = True) -> "TwinGraphs":
        """The classes of all graphs; every node is its own where they are not ``merged``."""
        nodes = np.arange(raw.num_nodes)
        found = nodes
        if merged:
            found = twin_classes(raw.pair_index, raw.num_nodes, torch.from_numpy(labels)).numpy()
        member = np.unique(found, return_index=True)[1]  # one node of every class
        start = raw.node_ptr.numpy()
        graph = np.repeat(np.arange(raw.num_graphs), np.diff(start))[member]
        order = np.lexsort((labels[member], graph))
        number = np.empty_like(order)
        number[order] = np.arange(order.size)
        of_node = number[found]
        u, v = of_node[raw.pair_index.numpy()]
        own = np.arange(order.size)
        row, column = np.concatenate([u, v, own]), np.concatenate([v, u, own])
        key = np.unique(row * max(order.size, 1) + column)
        row, column = np.divmod(key, max(order.size, 1))
        ptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=order.size))])
        return TwinGraphs(
            ptr=np.concatenate([[0], np.cumsum(np.bincount(graph, minlength=raw.num_graphs))]),
            size=np.bincount(of_node, minlength=order.size),
            labels=labels[member][order],
            near=Rows(ptr, column),
        )

    @property
    def degree(self) -> NDArray[np.int64]:
        """How many classes every class sees, itself included ``[K]``."""
        return np.diff(self.near.ptr)

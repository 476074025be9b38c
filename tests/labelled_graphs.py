"""Graphs with few nodes, pairs of them, and all their labellings."""

import itertools

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from lgan.graph.named import named_graph
from lgan.wl.small_graphs import connected_graphs, places


def named_pair(a: str, b: str) -> tuple[nx.Graph, nx.Graph]:
    """Two graphs by name."""
    return named_graph(a), named_graph(b)


def small_graph(code: int, n: int) -> nx.Graph:
    """The graph of a code of :func:`lgan.wl.small_graphs.all_graphs`."""
    graph = nx.empty_graph(n)
    graph.add_edges_from(place for bit, place in enumerate(places(n)) if (code >> bit) & 1)
    return graph


def labelled_graphs(n: int, num_labels: int = 2) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every connected graph with labels up to isomorphism: codes ``[G]`` and labels ``[G, n]``."""
    orders = np.array(list(itertools.permutations(range(n))))
    labellings = np.array(list(itertools.product(range(num_labels), repeat=n)))
    weights = num_labels ** np.arange(n)
    codes, labels = [], []
    for code in connected_graphs(n).tolist():
        adjacent = nx.to_numpy_array(small_graph(code, n)) > 0
        kept = (adjacent[orders[:, :, None], orders[:, None, :]] == adjacent).all((1, 2))
        # A labelling stands for its orbit if no automorphism makes its number smaller.
        numbers = labellings[:, orders[kept]] @ weights  # [labellings, automorphisms]
        least = labellings[numbers.min(1) == labellings @ weights]
        labels.append(least)
        codes.append(np.full(len(least), code))
    return np.concatenate(codes), np.concatenate(labels)

from collections.abc import Callable, Sequence

import networkx as nx
import numpy as np
import pytest
import torch
from torch import Tensor

from lgan.data.raw import RawGraphs

Read = tuple[RawGraphs, Tensor]


@pytest.fixture
def raw_of() -> Callable[[Sequence[nx.Graph]], Read]:
    """Networkx graphs as a raw set, and the labels of all nodes (attribute ``label``, or 0)."""

    def raw_of(graphs: Sequence[nx.Graph]) -> Read:
        sizes = [len(graph) for graph in graphs]
        start = np.cumsum([0, *sizes])
        pairs, labels = [], []
        for graph, first in zip(graphs, start, strict=False):
            place = {node: int(first) + i for i, node in enumerate(graph)}
            pairs += [sorted((place[a], place[b])) for a, b in graph.edges]
            labels += [graph.nodes[node].get("label", 0) for node in graph]
        index = torch.tensor(sorted(pairs), dtype=torch.int64).reshape(-1, 2).T.contiguous()
        y = torch.arange(len(graphs)) % 2
        raw = RawGraphs.numbered(
            "test", torch.from_numpy(start), index, y=y, classes=("even", "odd")
        )
        return raw, torch.tensor(labels, dtype=torch.int64)

    return raw_of


@pytest.fixture
def bonded(
    labelled: list[nx.Graph], raw_of: Callable[..., Read]
) -> tuple[RawGraphs, Tensor, Tensor]:
    """The same graphs with two labels of edges: the set, labels of nodes, labels of pairs."""
    random, found = np.random.default_rng(8), {}
    for g, graph in enumerate(labelled):
        nx.set_edge_attributes(graph, {e: int(random.integers(2)) for e in graph.edges}, "label")
        start = sum(len(before) for before in labelled[:g])
        found |= {(start + u, start + v): kind for u, v, kind in graph.edges(data="label")}
    raw, labels = raw_of(labelled)
    pairs = [found[u, v] for u, v in raw.pair_index.t().tolist()]
    return raw, labels, torch.tensor(pairs)


@pytest.fixture
def labelled() -> list[nx.Graph]:
    """Random graphs of every density with three labels; small ones without an edge among them."""
    random = np.random.default_rng(7)
    graphs = [nx.gnp_random_graph(n, p, seed=n) for n in (2, 5, 8, 11) for p in (0.2, 0.4, 0.7)]
    graphs += [nx.empty_graph(2), nx.disjoint_union(nx.cycle_graph(4), nx.empty_graph(2))]
    for graph in graphs:
        nx.set_node_attributes(graph, {v: int(random.integers(3)) for v in graph}, "label")
    return graphs


@pytest.fixture
def with_twins(labelled: list[nx.Graph]) -> list[nx.Graph]:
    """The smaller of these graphs with a clique of one to three twins in place of every node, and
    numbered at random.
    """
    random, graphs = np.random.default_rng(9), []
    for graph in (graph for graph in labelled if len(graph) <= 5):
        grown = nx.Graph()
        for node, label in graph.nodes(data="label"):
            twins = [(node, i) for i in range(int(random.integers(1, 4)))]
            grown.add_nodes_from(twins, label=label)
            grown.add_edges_from((a, b) for a in twins for b in twins if a < b)
        for u, v in graph.edges:
            of_u, of_v = ([twin for twin in grown if twin[0] == node] for node in (u, v))
            grown.add_edges_from((a, b) for a in of_u for b in of_v)
        nodes = list(grown)
        numbered = nx.Graph()
        for place in random.permutation(len(nodes)).tolist():
            numbered.add_node(nodes[place], label=grown.nodes[nodes[place]]["label"])
        numbered.add_edges_from(grown.edges)
        graphs.append(numbered)
    return graphs

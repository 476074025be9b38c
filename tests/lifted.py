"""Small data sets with the cells of lifted models."""

from collections.abc import Callable

import networkx as nx
import torch
from torch import Tensor
from torch_geometric.data import Data

from lgan.graph import GraphBatch, GraphUnion, Lift, undirected_pairs
from lgan.zoo.k_sets import PAIR_NODES, TRIPLE_PAIRS


def union_of(
    graphs: list[nx.Graph],
    x: Tensor | None = None,
    *,
    channels: int = 1,
    lift: Lift | None = None,
    compress: bool = False,
) -> GraphUnion:
    """Graphs on the nodes 0, 1, … as one data set; without features all nodes are alike."""
    data = [
        Data(edge_index=torch.tensor(list(g.edges), dtype=torch.long).reshape(-1, 2).t(),
             num_nodes=len(g))
        for g in graphs
    ]  # fmt: skip
    return union_of_data(data, x, channels=channels, lift=lift, compress=compress)


def union_of_data(
    graphs: list[Data],
    x: Tensor | None = None,
    *,
    channels: int = 1,
    lift: Lift | None = None,
    compress: bool = False,
) -> GraphUnion:
    """PyG graphs as one data set."""
    ptr = torch.tensor([0, *(int(g.num_nodes) for g in graphs)]).cumsum(0)
    edges = torch.cat([g.edge_index + start for g, start in zip(graphs, ptr[:-1], strict=True)], 1)
    num_nodes = int(ptr[-1])
    if x is None:
        x = torch.zeros(num_nodes, dtype=torch.int64)
    union = GraphUnion.build(
        x,
        undirected_pairs(edges, num_nodes),
        torch.zeros(len(graphs), dtype=torch.int64),
        ptr,
        num_features=channels,
        num_classes=2,
        compress=compress,
        name="small",
    )
    return union if lift is None else union.lifted(lift)


def everything(union: GraphUnion) -> GraphBatch:
    """All graphs as one batch."""
    return union.batch(torch.arange(union.num_graphs))


def one_graph(lift: Lift) -> Callable[[Data], GraphBatch]:
    """A transform from a PyG graph to a batch of one, with its cells."""

    def transform(data: Data) -> GraphBatch:
        union = union_of_data([data], data.x, channels=data.x.size(1), lift=lift)
        return everything(union)

    return transform


def permuted(graph: nx.Graph, x: Tensor) -> tuple[nx.Graph, Tensor]:
    """The same graph with its nodes renamed, and their features."""
    new = torch.randperm(len(graph))
    renamed = nx.relabel_nodes(graph, dict(enumerate(new.tolist())))
    same = nx.empty_graph(len(graph))
    same.add_edges_from(renamed.edges)
    moved = torch.empty_like(x)
    moved[new] = x
    return same, moved


def varied() -> list[nx.Graph]:
    """Dense, sparse, disconnected, tiny and empty graphs."""
    return [
        nx.gnp_random_graph(8, 0.5, seed=1),
        nx.gnp_random_graph(11, 0.25, seed=2),
        nx.disjoint_union(nx.complete_graph(4), nx.path_graph(3)),
        nx.empty_graph(3),
        nx.empty_graph(0),
        nx.path_graph(2),
        nx.cycle_graph(6),
        nx.wheel_graph(7),
    ]


def node_sets(union: GraphUnion) -> tuple[list[frozenset[int]], list[frozenset[int]]]:
    """The sets of two and of three nodes of a data set lifted by ``k_sets``, in their order."""
    pairs = [frozenset(two) for two in union.cells[PAIR_NODES]["lower"].view(-1, 2).tolist()]
    below = union.cells[TRIPLE_PAIRS]["lower"].view(-1, 3).tolist()
    return pairs, [frozenset().union(*(pairs[p] for p in three)) for three in below]

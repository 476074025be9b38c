import networkx as nx
import torch
from torch_geometric.data import Data

import reference
from lgan.zoo.plain_graph import PlainGraph
from lifted import everything, union_of, varied


def test_sums_over_the_neighbours_of_a_path():
    batch = everything(union_of([nx.path_graph(3), nx.path_graph(2)]))
    graph = PlainGraph.of(batch, torch.float64)
    h = torch.tensor([[1.0], [10.0], [100.0], [3.0], [4.0]], dtype=torch.float64)
    assert graph.degree.flatten().tolist() == [1, 2, 1, 1, 1]
    assert graph.neighbour_sum(h).flatten().tolist() == [10, 101, 10, 4, 3]
    assert graph.graph.tolist() == [0, 0, 0, 1, 1]


def test_sums_agree_with_the_adjacency_matrix_for_many_models_at_once():
    graphs = varied()
    matrix = torch.from_numpy(nx.to_numpy_array(nx.disjoint_union_all(graphs)))
    graph = PlainGraph.of(everything(union_of(graphs)), torch.float64)
    h = torch.randn(3, len(matrix), 4, dtype=torch.float64)
    torch.testing.assert_close(graph.neighbour_sum(h), matrix @ h, rtol=1e-12, atol=1e-12)
    assert torch.equal(graph.degree.flatten(), matrix.sum(1))


def test_a_graph_of_pyg_needs_no_transform():
    wheel = nx.wheel_graph(6)
    data = Data(x=torch.ones(6, 1), edge_index=reference.edge_index(wheel))
    graph = PlainGraph.of(data, torch.float32)
    assert graph.degree.flatten().tolist() == [5, 3, 3, 3, 3, 3]
    assert graph.ptr.tolist() == [0, 6]
    assert graph.neighbour_sum(torch.ones(6, 1)).flatten().tolist() == [5, 3, 3, 3, 3, 3]


def test_an_edge_that_is_half_there_counts_half():
    batch = everything(union_of([nx.path_graph(3)]))
    masked = batch.lines.masked(torch.tensor([0.5, 1.0], dtype=torch.float64))
    data = Data(x=batch.x, lines=masked, ptr=batch.ptr)
    graph = PlainGraph.of(data, torch.float64)
    assert graph.degree.flatten().tolist() == [0.5, 1.5, 1.0]
    h = torch.tensor([[1.0], [10.0], [100.0]], dtype=torch.float64)
    assert graph.neighbour_sum(h).flatten().tolist() == [5.0, 100.5, 10.0]

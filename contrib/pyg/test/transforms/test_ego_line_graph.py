import pytest
import torch

from torch_geometric.data import Batch, Data
from torch_geometric.transforms import EgoLineGraph
from torch_geometric.utils import erdos_renyi_graph


def to_sets(ego_line_index):
    columns = ego_line_index.t().tolist()
    return sorted((t, *sorted(pair)) for t, *pair in columns)


def test_ego_line_graph():
    transform = EgoLineGraph()
    assert str(transform) == 'EgoLineGraph()'

    # Two triangles that share the edge {1, 2}, and the isolated node 4:
    edge_index = torch.tensor([[0, 0, 1, 1, 1, 2, 2, 2, 3, 3],
                               [1, 2, 0, 2, 3, 0, 1, 3, 1, 2]])
    edge_attr = torch.tensor([1, 2, 1, 3, 4, 2, 3, 5, 4, 5])
    data = Data(edge_index=edge_index, edge_attr=edge_attr, num_nodes=5)
    out = transform(data)

    assert len(data) == 3
    assert len(out) == 5
    assert out.edge_index.tolist() == edge_index.tolist()
    assert to_sets(out.ego_line_index) == [
        (0, 1, 2),
        (1, 0, 2),
        (1, 2, 3),
        (2, 0, 1),
        (2, 1, 3),
        (3, 1, 2),
    ]
    attr = {(0, 1): 1, (0, 2): 2, (1, 2): 3, (1, 3): 4, (2, 3): 5}
    assert out.ego_line_attr.tolist() == [
        attr[tuple(sorted(pair))]
        for pair in out.ego_line_index[1:].t().tolist()
    ]

    # The order of edges does not matter:
    perm = torch.randperm(edge_index.size(1))
    out2 = transform(
        Data(edge_index=edge_index[:, perm], edge_attr=edge_attr[perm],
             num_nodes=5))
    assert out2.ego_line_index.tolist() == out.ego_line_index.tolist()
    assert out2.ego_line_attr.tolist() == out.ego_line_attr.tolist()


def test_ego_line_graph_without_triangles():
    edge_index = torch.empty(2, 0, dtype=torch.long)
    data = EgoLineGraph()(Data(edge_index=edge_index, num_nodes=3))
    assert data.ego_line_index.size() == (3, 0)
    assert 'ego_line_attr' not in data

    edge_index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    edge_attr = torch.randn(2, 1, 8).expand(2, 2, 8).reshape(4, 8)
    data = EgoLineGraph()(
        Data(edge_index=edge_index, edge_attr=edge_attr, num_nodes=3))
    assert data.ego_line_index.size() == (3, 0)
    assert data.ego_line_attr.size() == (0, 8)


def test_ego_line_graph_on_random_graph():
    N = 20
    edge_index = erdos_renyi_graph(N, 0.4)
    adj = torch.zeros(N, N, dtype=torch.bool)
    adj[edge_index[0], edge_index[1]] = True

    data = EgoLineGraph()(Data(edge_index=edge_index, num_nodes=N))
    assert to_sets(data.ego_line_index) == [(t, p, q) for t in range(N)
                                            for p in range(N)
                                            for q in range(p + 1, N)
                                            if adj[t, p] and adj[t, q]
                                            and adj[p, q]]


def test_ego_line_graph_batch():
    transform = EgoLineGraph()
    edge_index1 = torch.tensor([[0, 0, 1, 1, 2, 2], [1, 2, 0, 2, 0, 1]])
    edge_index2 = edge_index1 + 1
    data1 = transform(Data(edge_index=edge_index1, num_nodes=4))
    data2 = transform(Data(edge_index=edge_index2, num_nodes=4))

    batch = Batch.from_data_list([data1, data2])
    assert to_sets(batch.ego_line_index) == [
        (0, 1, 2),
        (1, 0, 2),
        (2, 0, 1),
        (5, 6, 7),
        (6, 5, 7),
        (7, 5, 6),
    ]
    expected = transform(Data(edge_index=batch.edge_index, num_nodes=8))
    assert to_sets(batch.ego_line_index) == to_sets(expected.ego_line_index)
    assert batch[1].ego_line_index.tolist() == data2.ego_line_index.tolist()


def test_ego_line_graph_raises():
    def transform(edge_index, edge_attr=None):
        edge_index = torch.tensor(edge_index)
        data = Data(edge_index=edge_index, edge_attr=edge_attr, num_nodes=3)
        return EgoLineGraph()(data)

    with pytest.raises(ValueError, match="only supports undirected graphs"):
        transform([[0, 1], [1, 2]])
    with pytest.raises(ValueError, match="equal features in both directions"):
        transform([[0, 1], [1, 0]], edge_attr=torch.arange(2))
    with pytest.raises(ValueError, match="does not support self-loops"):
        transform([[0, 1, 1], [1, 0, 1]])
    with pytest.raises(ValueError, match="duplicated edges"):
        transform([[0, 1, 0, 1], [1, 0, 1, 0]])

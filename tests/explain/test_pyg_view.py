from functools import partial

import torch
from torch_geometric.data import Batch, Data
from torch_geometric.explain.algorithm.utils import clear_masks, set_masks
from torch_geometric.utils import get_embeddings

import lgan
from explained_graphs import random_graph
from lgan.explain.pyg_view import PyGView
from lgan.zoo import GIN

graph = partial(random_graph, nodes=8)


def test_a_view_gives_the_outputs_of_its_model():
    model = lgan.LGAN(3, 4, 2).double().eval()
    graphs = [graph(0), graph(1)]
    batch = Batch.from_data_list(graphs)
    expected = model(Batch.from_data_list([lgan.EgoLineGraph()(g) for g in graphs]))
    torch.testing.assert_close(PyGView(model)(batch.x, batch.edge_index, batch.batch), expected)


def test_a_view_obeys_the_masks_of_pyg_and_shows_embeddings():
    model = lgan.LGAN(3, 4, 2).double().eval()
    view, data = PyGView(model), graph()
    kept = torch.rand(data.edge_index.size(1)) < 0.5
    u, v = data.edge_index
    kept = kept & kept[torch.argsort(v * 8 + u)]  # both directions of an edge, or neither
    set_masks(view, kept.double(), data.edge_index, apply_sigmoid=False)
    masked = view(data.x, data.edge_index)
    clear_masks(view)
    left = Data(x=data.x, edge_index=data.edge_index[:, kept])
    torch.testing.assert_close(masked, model(lgan.EgoLineGraph()(left)))
    assert not torch.allclose(view(data.x, data.edge_index), masked)
    assert get_embeddings(view, data.x, data.edge_index)[0].shape == (8, 4)


def test_categories_go_through_the_view():
    model, data = lgan.LGAN(3, 4, 2).eval(), graph()
    x = torch.arange(8) % 3
    expected = model(lgan.EgoLineGraph()(Data(x=x, edge_index=data.edge_index)))
    torch.testing.assert_close(PyGView(model)(x[:, None], data.edge_index), expected)


def test_pyg_s_methods_read_features_of_edges():
    data = Data(
        x=torch.ones(4, 2),
        edge_index=torch.tensor([[0, 0, 1, 2, 1, 2, 2, 3], [1, 2, 2, 3, 0, 0, 1, 2]]),
        edge_attr=torch.tensor([0, 1, 1, 2] * 2),
    )
    for model in (lgan.LGAN(2, 4, 2, edge_dim=3), GIN(2, 4, 2, edge_dim=3)):
        found = lgan.attribute(model.eval(), data, method="gnn-explainer")
        assert found.edge_scores.shape == (8,)
        assert float(found.edge_scores.max()) > 0

import networkx as nx
import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.explain import Explainer
from torch_geometric.explain.algorithm.utils import clear_masks, set_masks
from torch_geometric.nn import GCN
from torch_geometric.transforms import ToUndirected
from torch_geometric.utils import get_embeddings

import laws
import lgan
from lgan.explain.peers import CONFIG
from lgan.explain.pyg import EdgeIntegratedGradients, PyGView
from lgan.zoo import GIN


def graph(seed: int = 0, channels: int = 3) -> Data:
    shape = nx.gnp_random_graph(8, 0.5, seed=seed)
    return ToUndirected()(laws.data(shape, torch.randn(8, channels).double()))


def explainer(model: torch.nn.Module, **options) -> Explainer:
    settings = {"explanation_type": "model", "edge_mask_type": "object", "model_config": CONFIG}
    return Explainer(model, algorithm=EdgeIntegratedGradients(), **{**settings, **options})


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


def test_the_algorithm_gives_the_scores_of_attribute():
    model, data = lgan.LGAN(3, 4, 2).double(), graph()
    found = explainer(PyGView(model))(data.x, data.edge_index)
    expected = lgan.attribute(model, data, method="integrated-gradients")
    torch.testing.assert_close(found.edge_mask, expected.edge_scores)
    assert int(found.target) == expected.target
    assert found.complete == expected.complete


def test_categories_go_through_the_view():
    model = lgan.LGAN(3, 4, 2)
    data = graph()
    x = torch.arange(8) % 3
    expected = lgan.attribute(
        model, Data(x=x, edge_index=data.edge_index), method="integrated-gradients"
    )
    found = explainer(PyGView(model))(x[:, None], data.edge_index)
    torch.testing.assert_close(found.edge_mask, expected.edge_scores)


def test_a_network_of_pyg_is_explained_by_its_edge_weight():
    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.body = GCN(3, 4, 2, 2)

        def forward(self, x, edge_index, edge_weight=None, batch=None):
            out = self.body(x, edge_index, edge_weight)
            batch = edge_index.new_zeros(len(x)) if batch is None else batch
            return out.new_zeros(int(batch.max()) + 1, 2).index_add(0, batch, out)

    data = graph()
    found = explainer(Network().double())(data.x, data.edge_index, batch=torch.zeros(8).long())
    assert found.edge_mask.abs().sum() > 0
    assert found.complete


def test_what_the_algorithm_cannot_do_is_refused():
    data, view = graph(), PyGView(lgan.LGAN(3, 4, 2).double())
    with pytest.raises(ValueError, match="explains one graph"):
        explainer(view)(data.x, data.edge_index, batch=torch.arange(8) // 4)
    with pytest.raises(ValueError, match="does not support the given explanation settings"):
        explainer(view, edge_mask_type=None, node_mask_type="object")


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

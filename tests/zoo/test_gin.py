import networkx as nx
import pytest
import torch

from lgan.train.stack import build_stack
from lgan.zoo import GIN
from lifted import everything, union_of, varied


def test_eps_is_learned_only_where_asked_for():
    assert not [n for n, _ in GIN(1, 4, 2).named_parameters() if "eps" in n]
    learned = [p for n, p in GIN(1, 4, 2, num_layers=3, eps=True).named_parameters() if "eps" in n]
    assert [p.tolist() for p in learned] == [[[0.0]]] * 3


def test_eps_begins_at_gin_zero():
    torch.manual_seed(1)
    plain = GIN(1, 4, 2)
    torch.manual_seed(1)
    other = GIN(1, 4, 2, eps=True)
    batch = everything(union_of(varied()))
    torch.testing.assert_close(other(batch), plain(batch))


def test_eps_weighs_the_node_itself():
    model = GIN(1, 4, 2, num_layers=1, eps=True).double()
    layer = model.layers[0]
    with torch.no_grad():
        layer.conv.eps.fill_(0.5)
    batch = everything(union_of([nx.path_graph(3)]))
    h = torch.tensor([[1.0], [10.0], [100.0]], dtype=torch.float64)
    out = layer.conv(h, batch.edge_index)
    assert out.flatten().tolist() == [1.5 + 10, 15 + 101, 150 + 10]


def test_eps_of_stacked_models_are_their_own():
    models = build_stack(lambda: GIN(1, 4, 2, eps=True), [0, 1]).double()
    with torch.no_grad():
        models.layers[0].conv.eps.copy_(torch.tensor([0.0, 1.0])[:, None, None])
    batch = everything(union_of([nx.path_graph(2)]))
    h = torch.ones(2, 2, 1, dtype=torch.float64)
    assert models.layers[0].conv(h, batch.edge_index).flatten().tolist() == [2, 2, 3, 3]
    models(batch).sum().backward()
    assert models.layers[0].conv.eps.grad.shape == (2, 1, 1)


def test_merged_twins_are_refused():
    from lgan.graph import GraphUnion

    union = GraphUnion.build(
        torch.zeros(3, dtype=torch.long), torch.tensor([[0, 0, 1], [1, 2, 2]]), torch.tensor([0]),
        torch.tensor([0, 3]), num_features=1, num_classes=1,
    )  # fmt: skip
    with pytest.raises(ValueError, match=r"twins are merged.*`compress=False`"):
        GIN(1, 4, 2)(everything(union))

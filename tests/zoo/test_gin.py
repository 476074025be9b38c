import networkx as nx
import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.nn import GINEConv
from torch_geometric.utils import to_undirected

from lgan.train.stack import stack
from lgan.zoo import GIN
from lifted import everything, union_of, varied
from stacks import build_stack


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


@pytest.mark.parametrize("norm", ["layer", "none"])
def test_other_normalisations_know_no_batch_but_the_number_of_neighbours(norm):
    alone = [GIN(1, 4, 2, norm=norm, include_input=False).double() for _ in range(2)]
    model = stack(alone)
    graphs = [nx.star_graph(3), nx.cycle_graph(4)]
    outs = model(everything(union_of(graphs)))
    for k, one in enumerate(alone):
        for graph, out in zip(graphs, outs[k], strict=True):
            torch.testing.assert_close(one(everything(union_of([graph])))[0], out)
    h = alone[0].layers[0](torch.ones(4, 1).double(), torch.tensor([[1, 2, 3], [0, 0, 0]]), None)
    assert not torch.allclose(h[0], h[1])


def _labelled(graph: nx.Graph, labels: str) -> Data:
    x = torch.eye(4)[["abxy".index(label) for label in labels]].double()
    return Data(x=x, edge_index=to_undirected(torch.tensor(list(graph.edges)).T))


@pytest.mark.parametrize(
    ("options", "centres", "paths"),
    [
        ({"include_input": False}, False, False),
        ({}, True, False),
        ({"include_input": False, "eps": True}, True, True),
    ],
    ids=str,
)
def test_power_on_labelled_graphs(options, centres, paths):
    """GIN-0 takes a node for one of its neighbours, and needs the input to count labels at all."""
    tree = nx.Graph([(0, 1), (0, 2), (0, 3), (1, 4), (1, 5)])
    pairs = [
        (_labelled(tree, "aabbbb"), _labelled(tree, "bbaaaa"), centres),
        (*(_labelled(nx.path_graph(8), word) for word in ("abxabyab", "baxbayba")), paths),
    ]
    model = GIN(4, 16, 4, **options).double().eval()
    for name, parameter in model.named_parameters():
        if "eps" in name:
            torch.nn.init.constant_(parameter, 0.3)
    for a, b, separates in pairs:
        assert torch.allclose(model(a), model(b), atol=1e-9) is not separates


@pytest.mark.parametrize("real", [False, True])
def test_with_features_of_edges_a_layer_is_pyg_s_gine(real):
    torch.manual_seed(0)
    model = GIN(3, 5, 2, num_layers=1, include_input=False, edge_dim=4).double().eval()
    layer = model.layers[0]
    edges = to_undirected(torch.tensor([[0, 1, 2, 3, 0], [1, 2, 3, 0, 2]]))
    low, high = edges.min(0).values, edges.max(0).values
    kind = (low + 2 * high) % 4
    vectors = torch.nn.functional.one_hot(kind, 4).double()
    attr = vectors if real else kind
    x = torch.randn(5, 3).double()
    pyg = GINEConv(torch.nn.Sequential(torch.nn.Linear(3, 5, bias=False)), edge_dim=4).double()
    pyg.nn[0].weight.data = layer.lin.weight.data.T
    pyg.lin.weight.data, pyg.lin.bias.data = layer.edge.weight.data.T, layer.edge.bias.data
    hidden = pyg(x, edges, vectors)
    ones = torch.ones(5)
    expected = layer.out_norm(layer.out(layer.norm(hidden, ones)), ones).sum(0, keepdim=True)
    got = model(Data(x=x, edge_index=edges, edge_attr=attr))
    torch.testing.assert_close(got, model.head(expected), rtol=1e-10, atol=1e-10)
    with pytest.raises(ValueError, match="edge_dim=None"):
        GIN(3, 5, 2).double()(Data(x=x, edge_index=edges, edge_attr=attr))
    with pytest.raises(ValueError, match="got none"):
        model(Data(x=x, edge_index=edges))


@pytest.mark.parametrize("eps", [False, True])
def test_sums_by_rows_are_those_of_pyg_s_layer(eps):
    models = build_stack(lambda: GIN(1, 4, 2, eps=eps), [0, 1, 2]).double()
    if eps:
        with torch.no_grad():
            models.layers[1].conv.eps.copy_(torch.tensor([0.5, -0.5, 0.0])[:, None, None])
    batch = everything(union_of(varied()))
    plain = Data(x=batch.x, edge_index=batch.edge_index, ptr=batch.ptr)
    outs, grads = [], []
    for data in (batch, plain):
        models.zero_grad()
        outs.append(models(data))
        outs[-1].square().sum().backward()
        grads.append([p.grad.clone() for p in models.parameters()])
    torch.testing.assert_close(*outs, rtol=1e-10, atol=1e-10)
    for ours, theirs in zip(*grads, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-8, atol=1e-8)

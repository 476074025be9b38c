import networkx as nx
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from torch_geometric.nn.aggr import SortAggregation

import lgan
from lgan import wl
from lgan.graph.named import named_graph
from lgan.zoo.dgcnn import DGCNN, sort_order, sort_pool_size
from lgan.zoo.plain_graph import PlainGraph
from lifted import everything, union_of, varied

pytestmark = pytest.mark.usefixtures("float64")


def _slow(model: DGCNN, graph: nx.Graph, x: Tensor) -> Tensor:
    """One graph through the paper's equations, with torch's own convolutions."""
    n = len(graph)
    with_loops = torch.from_numpy(nx.to_numpy_array(graph)).reshape(n, n) + torch.eye(n)
    z, levels = x, []
    for layer in model.layers:
        z = torch.tanh(torch.diag(1 / with_loops.sum(1)) @ with_loops @ z @ layer.weight)
        levels.append(z)
    z = torch.cat(levels, 1)
    rows = sorted(z.unbind(), key=lambda row: row[-1].item(), reverse=True)[: model.k]
    rows += [torch.zeros(z.size(1))] * (model.k - len(rows))
    sequence = torch.stack(rows).reshape(1, 1, -1)
    kernel = model.first.weight.T.unsqueeze(1)  # [16, 1, C]
    y = F.conv1d(sequence, kernel, model.first.bias, stride=z.size(1)).relu()
    y = F.max_pool1d(y, 2, 2)
    kernel = model.second.weight.T.reshape(32, 5, 16).mT  # our windows list node after node
    y = F.conv1d(y, kernel, model.second.bias).relu()
    y = y.squeeze(0).T.flatten() @ model.dense.weight + model.dense.bias
    return y.relu() @ model.head.weight + model.head.bias


@pytest.mark.parametrize("k", [10, 11, 14])
def test_network_is_the_architecture_of_the_paper(k):
    graphs = varied()
    x = torch.randn(sum(map(len, graphs)), 3)
    model = DGCNN(3, 6, 2, k=k, dense=9).eval()
    out = model(everything(union_of(graphs, x, channels=3)))
    parts = torch.split(x, [len(g) for g in graphs])
    slow = torch.stack([_slow(model, g, part) for g, part in zip(graphs, parts, strict=True)])
    torch.testing.assert_close(out, slow, rtol=1e-11, atol=1e-11)


def test_one_layer_on_a_path_by_hand():
    model = DGCNN(1, 1, 1, num_layers=2)
    graph = PlainGraph.of(everything(union_of([nx.path_graph(3)])), torch.float64)
    h = torch.tensor([[0.0], [6.0], [3.0]])
    average = (graph.neighbour_sum(h) + h) / (graph.degree + 1)
    assert average.flatten().tolist() == [3.0, 3.0, 4.5]
    with torch.no_grad():
        model.layers[0].weight.fill_(2.0)
    hidden = torch.tanh(average * 2)
    data = everything(union_of([nx.path_graph(3)], h))
    seen: list[Tensor] = []
    model.layers[1].register_forward_hook(lambda module, args, out: seen.append(args[0]))
    model.eval()(data)
    torch.testing.assert_close(seen[0], hidden)


def test_sorting_is_that_of_pyg():
    union = union_of(varied())
    graph = PlainGraph.of(everything(union), torch.float64)
    z = torch.randn(union.lines.num_nodes, 4)
    order = sort_order(z[:, -1], z[:, -2], graph)
    k, ptr = 5, graph.ptr.tolist()
    expected = SortAggregation(k)(z, graph.graph, dim_size=union.num_graphs)
    for i in range(union.num_graphs):
        rows = z[order[ptr[i] : ptr[i + 1]][:k]].flatten()
        assert torch.equal(F.pad(rows, (0, k * 4 - rows.numel())), expected[i])


def test_ties_go_to_the_other_channel_and_then_to_the_order_of_nodes():
    graph = PlainGraph.of(
        everything(union_of([nx.empty_graph(4), nx.empty_graph(2)])), torch.float64
    )
    key = torch.tensor([1.0, 2.0, 1.0, 1.0, 0.0, 0.0])
    tie = torch.tensor([5.0, 0.0, 7.0, 5.0, 1.0, 2.0])
    assert sort_order(key, tie, graph).tolist() == [1, 2, 0, 3, 5, 4]


def test_keys_that_rounding_alone_sets_apart_are_tied():
    graph = PlainGraph.of(everything(union_of([nx.empty_graph(3)])), torch.float64)
    key = torch.tensor([0.25, 0.25, 0.25]) + 2e-16 * torch.tensor([2, 1, 0])
    assert sort_order(key, torch.tensor([0.1, 0.2, 0.3]), graph).tolist() == [2, 1, 0]


def test_order_is_found_for_every_model_by_its_own_key():
    graph = PlainGraph.of(everything(union_of([nx.empty_graph(3)])), torch.float64)
    key = torch.tensor([[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]])
    assert sort_order(key, key, graph).tolist() == [[0, 1, 2], [2, 1, 0]]


@pytest.mark.parametrize(
    ("sizes", "k"),
    [
        ([20, 30, 40, 50, 60], 39),  # three of five have more than 39 nodes
        ([20, 30, 40, 50], 29),  # 60 % of four are three graphs
        ([3, 4, 5], 10),
        ([100], 99),
    ],
)
def test_sixty_per_cent_of_the_graphs_have_more_than_k_nodes(sizes, k):
    union = union_of([nx.empty_graph(n) for n in sizes])
    assert sort_pool_size(union, {}) == {"k": k}
    assert sort_pool_size(union, {"k": 12}) == {}


def test_power_is_at_most_that_of_one_wl():
    names = [
        ("hexagon", "two-triangles"),
        ("c8", "k5"),
        ("decalin", "bicyclopentyl"),
        ("p4", "star(3)"),
    ]
    pairs = [(named_graph(a), named_graph(b)) for a, b in names]
    result = wl.check(
        DGCNN(1, 8, 4), pairs, transform=lgan.EgoLineGraph(), test="1-wl", seeds=[0, 1]
    )
    # Averages of equal features are equal: without labels only the number of nodes shows.
    assert result.separated == (False, True, False, False)
    assert result.beyond == ()


@pytest.mark.parametrize(
    ("options", "message"),
    [({"k": 9}, "`k` must be 10 or more, got 9"), ({"num_layers": 1}, "`num_layers` must be 2")],
)
def test_sizes_that_leave_nothing_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        DGCNN(1, 4, 2, **options)

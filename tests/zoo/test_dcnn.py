import networkx as nx
import pytest
import torch
from torch import Tensor

from lgan import wl
from lgan.graph.named import named_graph
from lgan.zoo.dcnn import DCNN, visits
from lgan.zoo.plain_graph import PlainGraph
from lifted import everything, union_of, varied

pytestmark = pytest.mark.usefixtures("float64")


def _slow(model: DCNN, graph: nx.Graph, x: Tensor) -> Tensor:
    """Z = f(W ⊙ 1ᵀ P* X / N) with the powers of P as matrices."""
    n = len(graph)
    adjacency = torch.from_numpy(nx.to_numpy_array(graph)).reshape(n, n)
    transition = torch.zeros(n, n)
    for i in range(n):
        for j in range(n):
            if adjacency[i, j]:
                transition[i, j] = 1 / adjacency[i].sum()
    power, hops = torch.eye(n), []
    for _ in range(model.num_hops + 1):
        hops.append((power @ x).mean(0) if n else torch.zeros(x.size(1)))
        power = power @ transition
    z = torch.tanh(model.weight * torch.stack(hops))
    return z.flatten() @ model.head.weight + model.head.bias


def test_network_is_the_equation_of_the_paper():
    graphs = varied()
    x = torch.randn(sum(map(len, graphs)), 3)
    model = DCNN(3, 1, 2, num_hops=4)
    torch.nn.init.normal_(model.weight)
    out = model(everything(union_of(graphs, x, channels=3)))
    parts = torch.split(x, [len(g) for g in graphs])
    slow = torch.stack([_slow(model, g, part) for g, part in zip(graphs, parts, strict=True)])
    torch.testing.assert_close(out, slow, rtol=1e-12, atol=1e-12)


def test_walks_on_a_star_by_hand():
    graph = PlainGraph.of(
        everything(union_of([nx.star_graph(3), nx.empty_graph(1)])), torch.float64
    )
    # From a leaf to the centre with certainty, from the centre to a leaf with 1/3.
    expected = [[1, 3, 1], *[[1, 1 / 3, 1]] * 3, [1, 0, 0]]
    torch.testing.assert_close(visits(graph, 2), torch.tensor(expected))


def test_activations_of_a_path_by_hand():
    model = DCNN(2, 1, 1, num_hops=1)
    with torch.no_grad():
        model.weight.copy_(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
        model.head.weight.copy_(torch.tensor([[1.0], [10.0], [100.0], [1000.0]]))
        model.head.bias.zero_()
    # a-b-a: X averages (2/3, 1/3); P X is (b, a/2 + a/2, b), so that its mean is (1/3, 2/3).
    batch = everything(union_of([nx.path_graph(3)], torch.tensor([0, 1, 0]), channels=2))
    z = torch.tanh(torch.tensor([2 / 3, 2 / 3, 1.0, 8 / 3]))
    expected = z @ torch.tensor([1.0, 10.0, 100.0, 1000.0])
    torch.testing.assert_close(model(batch).squeeze(), expected)


def test_regular_graphs_without_labels_look_alike_and_some_others_that_one_wl_separates():
    names = [("hexagon", "two-triangles"), ("k5", "c8"), ("p4", "star(3)")]
    pairs = [(named_graph(a), named_graph(b)) for a, b in names]
    model = DCNN(1, 1, 4)
    torch.nn.init.normal_(model.weight)
    result = wl.check(model, pairs, test="1-wl")
    # Walks go somewhere from every node: without labels nothing but isolated nodes shows.
    assert result.separated == (False, False, False)
    assert result.beyond == ()


def test_labels_show_the_walks():
    graphs = [nx.path_graph(3), nx.path_graph(3)]
    nx.set_node_attributes(graphs[0], {0: 0, 1: 1, 2: 0}, "label")
    nx.set_node_attributes(graphs[1], {0: 0, 1: 0, 2: 1}, "label")
    result = wl.check(DCNN(2, 1, 4), [(graphs[0], graphs[1])], test="1-wl")
    assert result.separated == (True,)


def test_fewer_than_no_hops_are_refused():
    with pytest.raises(ValueError, match="`num_hops` must be 0 or more, got -1"):
        DCNN(1, 1, 1, num_hops=-1)

"""Leaving one out and Shapley values: literal deletion, and the laws that define the values."""

from itertools import permutations

import networkx as nx
import pytest
import torch
from torch import nn
from torch_geometric.data import Data
from torch_geometric.nn import GraphConv, global_add_pool
from torch_geometric.transforms import ToUndirected
from torch_geometric.utils import degree

import laws
import lgan
from explained_graphs import random_graph, shake
from lgan.explain import Fragment
from lgan.zoo import GIN, MODELS
from stacks import build_stack


def graph(seed: int = 0, nodes: int = 7, p: float = 0.5) -> Data:
    return random_graph(seed, nodes, p)


def rebuilt(data: Data, nodes: set[int], edges: set[tuple[int, int]]) -> Data:
    """The graph without some nodes and edges, built anew from lists."""
    left = [v for v in range(data.num_nodes) if v not in nodes]
    number = {v: i for i, v in enumerate(left)}
    pairs = [
        (number[u], number[v])
        for u, v in data.edge_index.t().tolist()
        if u in number and v in number and (min(u, v), max(u, v)) not in edges
    ]
    index = torch.tensor(pairs, dtype=torch.int64).view(-1, 2).t()
    return Data(x=data.x[left], edge_index=index, num_nodes=len(left))


def log_odds(model: nn.Module, data: Data, pair_code: str = "none") -> float:
    with torch.no_grad():
        out = model(lgan.EgoLineGraph(pair_code=pair_code)(data))[0]
    return float(out[1] - out[0])


BUILDS = {
    "lgan": lambda: lgan.LGAN(3, 6, 2, num_layers=2),
    "lgan-code": lambda: lgan.LGAN(3, 6, 2, num_layers=2, residual=True, pair_code="full"),
    "gin": lambda: GIN(3, 6, 2, num_layers=2),
    **{name: (lambda name=name: MODELS[name].build(3, 4, 2)) for name in ("dcnn", "ppgn")},
}
PARTS = (Fragment("two nodes", nodes=(1, 4)), Fragment("an edge", edges=((0, 3),)))


@pytest.mark.parametrize("name", BUILDS)
@pytest.mark.parametrize("over", ["edges", "nodes", "fragments"])
def test_leaving_one_out_is_what_the_model_says_of_the_graph_built_anew(name, over):
    torch.manual_seed(0)
    model, data = shake(BUILDS[name]()), graph(2)
    level = "full" if name == "lgan-code" else "none"
    found = lgan.attribute(model, data, 1, method="leave-one-out", over=over, fragments=PARTS)
    whole = log_odds(model, data, level)
    pairs, scores = found.undirected()
    removed = {
        "edges": [(set(), {(u, v)}) for u, v in pairs.t().tolist()],
        "nodes": [({v}, set()) for v in range(data.num_nodes)],
        "fragments": [(set(part.nodes), set(part.edges)) for part in PARTS],
    }[over]
    got = {"edges": scores, "nodes": found.node_scores, "fragments": found.fragment_scores}[over]
    expected = [whole - log_odds(model, rebuilt(data, *gone), level) for gone in removed]
    torch.testing.assert_close(
        got, torch.tensor(expected, dtype=torch.float64), rtol=1e-9, atol=1e-9
    )
    assert found.output == pytest.approx(whole)
    assert found.steps == len(removed)


def test_degrees_among_the_features_are_counted_anew():
    def with_degrees(g: Data) -> Data:
        x = degree(g.edge_index[0], g.num_nodes, dtype=torch.float64)[:, None]
        return Data(x=x, edge_index=g.edge_index, num_nodes=g.num_nodes)

    model, data = shake(lgan.LGAN(1, 6, 2, num_layers=2)), with_degrees(graph(3))
    found = lgan.attribute(
        model, data, 1, method="leave-one-out", degrees=lambda x, d: d[:, None].to(x)
    )
    pairs, scores = found.undirected()
    whole = log_odds(model, data)
    for (u, v), score in zip(pairs.t().tolist(), scores.tolist(), strict=True):
        left = with_degrees(rebuilt(data, set(), {(u, v)}))
        assert score == pytest.approx(whole - log_odds(model, left))


@pytest.mark.parametrize("level", ["none", "full"])
def test_edges_that_are_left_keep_their_features(level):
    def with_features(g: Data) -> Data:  # the same for both directions
        u, v = g.x[g.edge_index]
        return Data(x=g.x, edge_index=g.edge_index, edge_attr=u * v, num_nodes=g.num_nodes)

    torch.manual_seed(0)
    model = shake(lgan.LGAN(3, 6, 2, num_layers=2, pair_code=level, edge_dim=3))
    data = with_features(graph(3))
    for over in ("edges", "nodes"):
        found = lgan.attribute(model, data, 1, method="leave-one-out", over=over)
        whole = log_odds(model, data, level)
        gone = [({v}, set()) for v in range(data.num_nodes)]
        got = found.node_scores
        if over == "edges":
            gone = [(set(), {(u, v)}) for u, v in found.undirected()[0].t().tolist()]
            got = found.undirected()[1]
        left = [with_features(rebuilt(data, *each)) for each in gone]
        expected = torch.tensor([whole - log_odds(model, g, level) for g in left]).double()
        torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("method", ["consensus", "leave-one-out", "shapley"])
def test_a_graph_of_nothing_but_a_loop_with_features_has_an_empty_explanation(method):
    loop = torch.zeros(2, 1, dtype=torch.int64)
    data = Data(x=torch.ones(2, 3), edge_index=loop, edge_attr=torch.ones(1, 2))
    found = lgan.attribute(lgan.LGAN(3, 4, 2, edge_dim=2), data, method=method)
    assert found.edge_scores.tolist() == [0]


def test_exact_shapley_values_are_the_mean_over_all_orders():
    model, data = shake(BUILDS["lgan-code"]()), laws.data(nx.cycle_graph(4), torch.randn(4, 3))
    data.x = data.x.double()
    found = lgan.attribute(model, data, 1, method="shapley")
    pairs, scores = found.undirected()
    edges = [(u, v) for u, v in pairs.t().tolist()]
    value = {}
    for order in permutations(range(len(edges))):
        for count in range(len(edges) + 1):
            there = frozenset(order[:count])
            if there not in value:
                gone = {e for i, e in enumerate(edges) if i not in there}
                value[there] = log_odds(model, rebuilt(data, set(), gone), "full")
    orders = list(permutations(range(len(edges))))
    expected = torch.zeros(len(edges)).double()
    for order in orders:
        for place, player in enumerate(order):
            before = frozenset(order[:place])
            expected[player] += (value[before | {player}] - value[before]) / len(orders)
    torch.testing.assert_close(scores, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("over", ["edges", "nodes", "fragments"])
@pytest.mark.parametrize("nodes", [5, 14])
def test_shapley_values_add_up(over, nodes):
    """Efficiency, also of drawn orders: every order adds up by itself."""
    model, data = shake(BUILDS["lgan"]()), graph(4, nodes, 0.4)
    found = lgan.attribute(model, data, 1, method="shapley", over=over, fragments="twins")
    assert found.complete
    assert found.gap < 1e-9
    scores = found.node_scores if over == "nodes" else found.fragment_scores
    if over == "edges":
        scores = found.undirected()[1]
    total = found.output - found.baseline_output
    assert float(scores.sum()) == pytest.approx(total)
    assert (found.standard_error.numel() == 0) == (scores.numel() <= 12)
    # What nodes or fragments have is shared among edges, none of it lost.
    assert float(found.undirected()[1].sum()) == pytest.approx(total)


def test_shapley_values_of_parts_that_play_the_same_role_are_equal():
    star = laws.data(nx.star_graph(4), torch.ones(5, 3).double())
    found = lgan.attribute(shake(BUILDS["lgan"]()), star, 1, method="shapley")
    scores = found.undirected()[1]
    torch.testing.assert_close(scores, scores[:1].expand(4))
    assert scores.abs().min() > 1e-6


class CountsOneEdge(nn.Module):
    """Knows the edge between the nodes with features 1 and 2, and nothing else."""

    def forward(self, x, edge_index, edge_weight=None, batch=None):
        known = (x[edge_index[0], 0] * x[edge_index[1], 0] == 2).to(x.dtype)
        graphs = 1 if batch is None else int(batch.max()) + 1
        out = x.new_zeros(graphs)
        own = torch.zeros_like(edge_index[0]) if batch is None else batch[edge_index[0]]
        return torch.stack([torch.zeros_like(out), out.index_add(0, own, known)], 1)


def test_a_part_that_changes_nothing_has_the_shapley_value_zero():
    path = ToUndirected()(laws.data(nx.path_graph(4), torch.tensor([[1.0], [2.0], [3.0], [5.0]])))
    found = lgan.attribute(CountsOneEdge(), path, 1, method="shapley")
    assert found.undirected()[1].tolist() == [2.0, 0.0, 0.0]


def test_drawn_orders_come_close_to_all_of_them_within_their_error(monkeypatch):
    model, data = shake(BUILDS["lgan"]()), laws.data(nx.wheel_graph(6), torch.randn(6, 3).double())
    exact = lgan.attribute(model, data, 1, method="shapley").undirected()[1]
    monkeypatch.setattr("lgan.explain.removal.EXACT", 0)
    drawn = lgan.attribute(model, data, 1, method="shapley", samples=200)
    error = (drawn.undirected()[1] - exact).abs()
    assert float((error / drawn.standard_error).max()) < 5
    few = lgan.attribute(model, data, 1, method="shapley", samples=8)
    assert few.standard_error.mean() > drawn.standard_error.mean()


METHODS = ["leave-one-out", "shapley", "gradient", "absolute-gradient", "integrated-gradients"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["lgan", "lgan-code", "gin", "dcnn"])
def test_scores_of_stacked_models_are_the_mean_and_spread_of_the_members(method, name):
    seeds, data = [0, 1, 2], [graph(0), graph(1, 5, 0.9)]
    stack = build_stack(BUILDS[name], seeds).double().eval()
    path = lgan.explain.Path(steps=4, max_steps=4)
    together = lgan.attribute(stack, data, 1, method=method, path=path)
    alone = []
    for seed in seeds:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            member = BUILDS[name]().double().eval()
        alone.append(lgan.attribute(member, data, 1, method=method, path=path))
    for i, found in enumerate(together):
        scores = torch.stack([each[i].edge_scores for each in alone])
        torch.testing.assert_close(found.edge_scores, scores.mean(0), rtol=1e-7, atol=1e-9)
        torch.testing.assert_close(
            found.edge_spread, scores.std(0, correction=0), rtol=1e-6, atol=1e-8
        )
        assert found.members == 3
        assert found.output == pytest.approx(sum(each[i].output for each in alone) / 3)


def test_many_graphs_in_small_passes_get_the_scores_they_get_alone(monkeypatch):
    model, graphs = shake(BUILDS["lgan-code"]()), [graph(s, 5 + s) for s in range(3)]
    alone = [lgan.attribute(model, g, method="leave-one-out") for g in graphs]
    monkeypatch.setattr("lgan.explain.deletion.CHUNK", 40)
    together = lgan.attribute(model, graphs, method="leave-one-out")
    for one, other in zip(alone, together, strict=True):
        torch.testing.assert_close(one.edge_scores, other.edge_scores)


def test_a_graph_without_edges_or_parts_has_no_scores():
    empty = laws.data(nx.empty_graph(2), torch.ones(2, 3).double())
    model = shake(BUILDS["lgan"]())
    for method in METHODS:
        assert lgan.attribute(model, empty, 0, method=method).edge_scores.numel() == 0
    found = lgan.attribute(model, empty, 0, method="shapley", over="fragments", fragments=())
    assert found.fragment_scores.numel() == 0
    assert found.output == pytest.approx(found.baseline_output)


def test_what_cannot_be_asked_is_refused():
    model, data = BUILDS["lgan"]().double(), graph()
    with pytest.raises(ValueError, match="`over` must be one of edges for the method 'gradient'"):
        lgan.attribute(model, data, method="gradient", over="nodes")
    with pytest.raises(ValueError, match="`over='fragments'` needs `fragments`, got none"):
        lgan.attribute(model, data, method="shapley", over="fragments")
    with pytest.raises(ValueError, match="`fragments` must be given for each of 2 graphs, got 1"):
        lgan.attribute(model, [data, data], fragments=[PARTS])
    everything = [Fragment("all", nodes=tuple(range(7)))]
    asked = {"method": "leave-one-out", "over": "fragments", "fragments": everything}
    with pytest.raises(ValueError, match="gives no answer for a graph without nodes"):
        lgan.attribute(Weighted(), Data(x=torch.ones(7, 2), edge_index=data.edge_index), **asked)


class Weighted(nn.Module):
    """A network of PyG that reads directions, loops, parallel edges and weights."""

    def __init__(self):
        super().__init__()
        self.first, self.second = GraphConv(2, 4), GraphConv(4, 4)
        self.head = nn.Linear(4, 2)

    def forward(self, x, edge_index, edge_weight=None, batch=None):
        h = self.first(x, edge_index, edge_weight).relu()
        return self.head(global_add_pool(self.second(h, edge_index, edge_weight).relu(), batch))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "edges",
    [
        [[0, 1, 1, 2, 2, 0, 2, 3], [1, 0, 2, 1, 0, 2, 3, 2]],
        [[0, 0, 1, 2], [1, 2, 2, 3]],
        [[0, 1, 1, 2, 3], [1, 0, 2, 1, 3]],
        [[0, 1, 0, 1, 1, 2], [1, 0, 1, 0, 2, 1]],
    ],
    ids=["both ways", "one way", "a loop", "parallel"],
)
@torch.no_grad()
def test_a_network_of_pyg_loses_an_edge_of_the_graph_it_reads(edges, weighted):
    torch.manual_seed(0)
    model, x, edges = Weighted().eval(), torch.randn(5, 2), torch.tensor(edges)
    weight = torch.rand(edges.size(1)) if weighted else None
    data = Data(x=x, edge_index=edges, edge_weight=weight)

    def log_odds(kept):
        own = None if weight is None else weight[kept]
        out = model(x, edges[:, kept], own, torch.zeros(5, dtype=torch.int64))
        return (out[0, 0] - out[0, 1]).item()

    everything = log_odds(torch.ones(edges.size(1), dtype=torch.bool))
    found = lgan.attribute(model, data, target=0, method="leave-one-out")
    assert found.output == pytest.approx(everything, abs=1e-5)
    low, high = edges.sort(0).values
    for (u, v), score in zip(found.undirected()[0].t(), found.undirected()[1], strict=True):
        without = log_odds((low != u) | (high != v))
        assert score.item() == pytest.approx(everything - without, abs=1e-5)


def test_weights_of_another_length_are_refused():
    data = Data(x=torch.ones(2, 2), edge_index=torch.tensor([[0], [1]]), edge_weight=torch.ones(2))
    with pytest.raises(ValueError, match="each of 1 columns of `edge_index`"):
        lgan.attribute(Weighted(), data)


@pytest.mark.parametrize("part", [{"nodes": (3,)}, {"nodes": (-1,)}, {"edges": ((1, 0),)}])
def test_fragments_of_another_graph_are_refused(part):
    data = Data(x=torch.ones(3, 2), edge_index=torch.tensor([[0, 1], [1, 2]]))
    with pytest.raises(ValueError, match="'odd' must hold nodes from 0 to 2"):
        lgan.attribute(Weighted(), data, fragments=[Fragment("odd", **part)])

from itertools import combinations

import networkx as nx
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from labelled_graphs import named_pair
from lgan import wl
from lgan.graph.named import named_graph
from lgan.zoo import GIN
from lgan.zoo.incidences import adjacency_rows
from lgan.zoo.k_gnn import KGNN, lift_sets, sets_per_graph
from lgan.zoo.k_sets import PAIRS, TRIPLES, k_sets
from lifted import everything, node_sets, one_graph, union_of

CHANNELS, CLASSES = 3, 4


pytestmark = pytest.mark.usefixtures("float64")


def _types(union) -> dict[frozenset[int], int]:
    """The isomorphism types of all sets of a data set, which other tests look at."""
    pairs, triples = node_sets(union)
    kinds = [union.cells[name]["type"].tolist() for name in (PAIRS, TRIPLES)]
    return dict(zip(pairs + triples, kinds[0] + kinds[1], strict=True))


def _slow(model: KGNN, graph: nx.Graph, x: Tensor, types: dict[frozenset[int], int]) -> Tensor:
    """The network on one graph from the paper's equations, set after set."""

    def joined(rows: list[Tensor]) -> Tensor:
        total = sum(rows, torch.zeros(model.first.out_channels))
        return total / max(len(rows), 1) if model.aggregate == "mean" else total

    def near(s: frozenset[int], t: frozenset[int]) -> bool:
        if len(s & t) != len(s) - 1 or s == t:
            return False
        [gone], [new] = s - t, t - s
        any_node = model.touching and len(s) == 3
        return graph.has_edge(gone, new) or (any_node and any(graph.has_edge(v, new) for v in s))

    def layers(convs, f: dict[frozenset[int], Tensor]) -> dict[frozenset[int], Tensor]:
        for conv in convs:
            f = {
                s: F.elu(f[s] @ conv.own.weight + conv.own.bias
                         + joined([f[t] @ conv.near.weight for t in f if near(s, t)]))
                for s in f
            }  # fmt: skip
        return f

    f = layers(model.convs, {frozenset([v]): x[v] for v in graph})
    read = [sum(f.values(), torch.zeros(model.first.out_channels))]
    for size, level in ((2, model.pairs), (3, model.triples)):
        start = {}
        for s in map(frozenset, combinations(graph, size)):
            if size == 3 and model.connected and not nx.is_connected(graph.subgraph(s)):
                continue
            below = joined([f[t] for t in map(frozenset, combinations(s, size - 1))])
            count = size if model.aggregate == "sum" else 1  # every subset brings the bias
            start[s] = F.elu(
                below @ level.below.weight + count * level.below.bias + level.kind.weight[types[s]]
            )
        f = layers(level.convs, start)
        total = sum(f.values(), torch.zeros(model.first.out_channels))
        read.append(total / max(len(f), 1))
    hidden = F.elu(torch.cat(read) @ model.first.weight + model.first.bias)
    hidden = F.elu(hidden @ model.second.weight + model.second.bias)
    return hidden @ model.head.weight + model.head.bias


@pytest.mark.parametrize(
    "options",
    [{}, {"aggregate": "mean", "touching": True}, {"connected": False}],
    ids=str,
)
@pytest.mark.parametrize("name", ["triangle", "p4", "diamond", "house", "two-triangles"])
def test_network_agrees_with_the_equations(options, name):
    graph = named_graph(name)
    category = torch.randint(CHANNELS, (len(graph),))
    model = KGNN(CHANNELS, 6, CLASSES, num_layers=2, **options)
    union = union_of([graph], category, channels=CHANNELS, lift=lift_sets(options))
    one_hot = F.one_hot(category, CHANNELS).double()
    expected = _slow(model, graph, one_hot, _types(union))
    torch.testing.assert_close(model(everything(union))[0], expected)


def test_layer_on_a_path_by_hand():
    model = KGNN(1, 1, 1, num_layers=1)
    conv = model.convs[0]
    for weight, value in ((conv.own.weight, 2.0), (conv.near.weight, 1.0), (conv.own.bias, 0.5)):
        torch.nn.init.constant_(weight, value)
    x = torch.tensor([[1.0], [10.0], [100.0]])
    union = union_of([nx.path_graph(3)], x, lift=k_sets())
    near = adjacency_rows(everything(union).cells["node_neighbours"], 3)
    assert conv(x, near).flatten().tolist() == [12.5, 121.5, 210.5]
    conv.aggregate = "mean"
    assert conv(x, near).flatten().tolist() == [12.5, 71.0, 210.5]


PAIRS_OF_GRAPHS = [
    named_pair("hexagon", "two-triangles"),
    named_pair("prism", "k33"),
    named_pair("c8", "two-c4"),
    named_pair("decalin", "bicyclopentyl"),
    named_pair("rook4x4", "shrikhande"),
    (nx.path_graph(6), nx.relabel_nodes(nx.path_graph(6), {0: 5, 5: 0})),
]


@pytest.mark.parametrize("aggregate", ["sum", "mean"])
@pytest.mark.parametrize(("options", "srg"), [({}, True), ({"touching": True}, False)])
def test_network_separates_what_1_wl_merges(aggregate, options, srg):
    """Local neighbours of sets of three tell strongly regular graphs apart, which 3-WL cannot."""
    model = KGNN(1, 16, 8, aggregate=aggregate, **options)
    transform = one_graph(lift_sets(options))
    result = wl.check(model, PAIRS_OF_GRAPHS, transform=transform, seeds=[0, 1], test="2-fwl")
    assert result.separated == (True, True, True, True, srg, False)
    assert result.beyond == ((4,) if srg else ())
    assert result.largest_control < 1e-12


def test_all_sets_of_three_separate_them_too():
    transform = one_graph(k_sets(connected=False))
    result = wl.check(KGNN(1, 16, 8, connected=False), PAIRS_OF_GRAPHS[:4], transform=transform)
    assert result.num_separated == 4


def test_gin_separates_none_of_these():
    assert wl.check(GIN(1, 16, 8), PAIRS_OF_GRAPHS).num_separated == 0


def test_batch_without_cells_is_refused():
    batch = everything(union_of([nx.path_graph(3)], channels=CHANNELS))
    with pytest.raises(ValueError, match=r"needs the cells 'triple_pairs' in a batch, got \[\]\."):
        KGNN(CHANNELS, 4, 2)(batch)


def test_unknown_aggregation_is_refused():
    with pytest.raises(
        ValueError, match=r"`aggregate` must be one of \('sum', 'mean'\), got 'max'"
    ):
        KGNN(3, 4, 2, aggregate="max")


def test_options_decide_the_transform():
    assert lift_sets({}).key == k_sets().key
    assert lift_sets({"touching": True}).key == k_sets(touching=True).key
    assert lift_sets({"connected": False}).key == k_sets(connected=False).key


def test_rows_count_nodes_and_sets():
    union = union_of([nx.complete_graph(4), nx.empty_graph(1)], lift=k_sets())
    assert sets_per_graph(union).tolist() == [(4 + 6 + 4) // 3 + 1, 1]

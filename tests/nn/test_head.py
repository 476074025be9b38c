"""The maps behind the read-out."""

import copy

import networkx as nx
import pytest
import torch
from torch import nn

import lgan
import reference
from laws import data
from lgan.zoo.gin import GIN


def _keys(network: type[nn.Module], **options: int) -> set[str]:
    state = network(3, 4, 2, num_layers=2, **options).state_dict()
    return {name for name in state if not name.startswith(("convs.", "layers.", "dropout."))}


@pytest.mark.parametrize("network", [lgan.LGAN, GIN])
def test_a_linear_head_has_the_names_it_always_had(network):
    assert _keys(network) == _keys(network, head_layers=1) == {"head.weight", "head.bias"}


@pytest.mark.parametrize("network", [lgan.LGAN, GIN])
def test_every_further_layer_is_one_more_map(network):
    assert _keys(network, head_layers=3) == {
        *("mlp.0.weight", "mlp.0.bias", "mlp.1.weight", "mlp.1.bias", "head.weight", "head.bias")
    }


@pytest.mark.parametrize("dropout", [0.0, 0.5])
@pytest.mark.parametrize("head_layers", [1, 2, 3])
def test_the_head_by_hand_on_a_triangle_with_a_tail(head_layers, dropout):
    shape, x = nx.lollipop_graph(3, 1), torch.randn(4, 3).double()
    model = lgan.LGAN(3, 5, 2, num_layers=2, head_layers=head_layers, dropout=dropout).double()
    drop = copy.deepcopy(model.dropout)  # draws the same masks again
    out = model(lgan.EgoLineGraph()(data(shape, x)))
    levels = [x]
    for conv in model.convs:
        levels.append(reference.conv(conv, levels[-1], shape))
    h = torch.cat([level.sum(0, keepdim=True) for level in levels[1:]], 1)
    for linear in model.mlp:
        h = (drop(h) @ linear.weight + linear.bias).clamp(min=0)
    expected = drop(h) @ model.head.weight + model.head.bias
    torch.testing.assert_close(out, expected, rtol=1e-10, atol=1e-10)


def test_the_head_of_gin_is_that_of_lgan():
    graph = data(nx.lollipop_graph(3, 1), torch.randn(4, 3).double())
    model = GIN(3, 5, 2, num_layers=1, include_input=True, head_layers=3, dropout=0.5).double()
    drop = copy.deepcopy(model.dropout)
    out = model(graph)
    levels = [graph.x, model.layers[0](graph.x, graph.edge_index, torch.ones(4).double(), None)]
    h = torch.cat([level.sum(0, keepdim=True) for level in levels], 1)
    for linear in model.mlp:
        h = (drop(h) @ linear.weight + linear.bias).clamp(min=0)
    expected = drop(h) @ model.head.weight + model.head.bias
    torch.testing.assert_close(out, expected, rtol=1e-10, atol=1e-10)
    with pytest.raises(ValueError, match="`head_layers` must be 1 or more, got 0"):
        GIN(3, 5, 2, head_layers=0)


def test_a_head_of_several_layers_reads_a_union_as_no_sum():
    model = lgan.LGAN(3, 5, 2, num_layers=1, head_layers=2).double().eval()
    graph = nx.lollipop_graph(3, 1)
    one, two = (
        lgan.EgoLineGraph()(data(g, torch.ones(len(g), 3).double()))
        for g in (graph, nx.disjoint_union(graph, graph))
    )
    bias = model.head.bias
    assert (model(two) - bias - 2 * (model(one) - bias)).abs().max() > 1e-3

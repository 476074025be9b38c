"""The maps behind the read-out of LGAN."""

import copy

import networkx as nx
import pytest
import torch

import lgan
import reference
from laws import data


def _keys(**options: int) -> set[str]:
    state = lgan.LGAN(3, 4, 2, num_layers=2, **options).state_dict()
    return {name for name in state if not name.startswith(("convs.", "dropout."))}


def test_a_linear_head_has_the_names_it_always_had():
    assert _keys() == _keys(head_layers=1) == {"head.weight", "head.bias"}


def test_every_further_layer_is_one_more_map():
    assert _keys(head_layers=3) == {
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


def test_a_head_of_several_layers_reads_a_union_as_no_sum():
    model = lgan.LGAN(3, 5, 2, num_layers=1, head_layers=2).double().eval()
    graph = nx.lollipop_graph(3, 1)
    one, two = (
        lgan.EgoLineGraph()(data(g, torch.ones(len(g), 3).double()))
        for g in (graph, nx.disjoint_union(graph, graph))
    )
    bias = model.head.bias
    assert (model(two) - bias - 2 * (model(one) - bias)).abs().max() > 1e-3

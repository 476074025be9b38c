from dataclasses import replace

import networkx as nx
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from lgan import wl
from lgan.graph.named import named_graph
from lgan.wl.compare import refine
from lgan.wl.graphs import LabelledGraphs
from lgan.zoo.patchy_san import PatchySan
from lgan.zoo.receptive_fields import FAMILY, receptive_fields
from lifted import everything, one_graph, permuted, union_of, varied
from stacks import build_stack

SIZES = {"num_fields": 12, "field_size": 4}


pytestmark = pytest.mark.usefixtures("float64")


def _slow(model: PatchySan, fields: Tensor, x: Tensor) -> Tensor:
    """One graph as the image of the paper, w · k pixels with a channel for each feature."""
    pixels = torch.stack([x[i] if i >= 0 else torch.zeros(x.size(1)) for i in fields.flatten()])
    kernel = model.first.weight.reshape(x.size(1), model.field_size, 16).permute(2, 0, 1)
    y = F.conv1d(pixels.T[None], kernel, model.bias, stride=model.field_size).relu()
    kernel = model.second.weight.T.reshape(8, 10, 16).mT
    y = F.conv1d(y, kernel, model.second.bias).relu()
    y = (y.squeeze(0).T.flatten() @ model.dense.weight + model.dense.bias).relu()
    return y @ model.head.weight + model.head.bias


def test_network_is_the_convolution_of_the_paper():
    graphs = varied()
    x = torch.randn(sum(map(len, graphs)), 3)
    union = union_of(graphs, x, channels=3, lift=receptive_fields(SIZES))
    model = PatchySan(3, 7, 2, **SIZES).eval()
    fields = union.cells[FAMILY]["nodes"].view(len(graphs), -1, 4)
    slow = torch.stack([_slow(model, one, x) for one in fields])
    torch.testing.assert_close(model(everything(union)), slow, rtol=1e-12, atol=1e-12)


def test_first_convolution_on_an_edge_by_hand():
    model = PatchySan(2, 3, 1, num_fields=10, field_size=2)
    with torch.no_grad():
        model.bias.fill_(0.5)
        # Channel 0 reads feature 0 in place 0 and, a hundred times, feature 1 in place 1.
        model.first.weight.zero_()
        model.first.weight[0, 0] = 1.0
        model.first.weight[1, 16] = 100.0
    seen: list[Tensor] = []
    model.second.register_forward_pre_hook(lambda module, args: seen.append(args[0]))
    union = union_of(
        [nx.path_graph(2)], torch.tensor([0, 1]), channels=2,
        lift=receptive_fields({"num_fields": 10, "field_size": 2}),
    )  # fmt: skip
    model.eval()(everything(union))
    # One window of ten fields of 16 channels: node 0 sees (0, 1), node 1 sees (1, 0), none else.
    assert seen[0].view(10, 16)[:, 0].tolist() == [101.5, 0.5, *[0.5] * 8]


def test_stacked_models_read_vectors_and_categories_alike():
    labels = torch.arange(sum(map(len, varied()))) % 3
    one_hot = F.one_hot(labels, 3).double()
    lift = receptive_fields(SIZES)
    models = build_stack(lambda: PatchySan(3, 7, 2, **SIZES), [1, 2]).eval()
    by_id = union_of(varied(), labels, channels=3, lift=lift)
    by_vector = replace(by_id, x=one_hot)
    torch.testing.assert_close(models(everything(by_vector)), models(everything(by_id)))


def _asymmetric() -> nx.Graph:
    """A graph in which 1-WL tells all nodes apart."""
    graph = nx.gnp_random_graph(9, 0.4, seed=1)
    colours = refine(LabelledGraphs.of([graph]), test="1-wl").node_colours
    assert len(set(colours.tolist())) == len(graph)
    return graph


def test_vectors_are_read_alike_under_every_naming_where_the_labelling_has_no_ties():
    graph = _asymmetric()
    x = torch.randn(len(graph), 3)
    model, lift = PatchySan(3, 7, 2, **SIZES).eval(), receptive_fields(SIZES)
    out = model(everything(union_of([graph], x, channels=3, lift=lift)))
    for _ in range(5):
        other, moved = permuted(graph, x)
        again = model(everything(union_of([other], moved, channels=3, lift=lift)))
        torch.testing.assert_close(again, out, rtol=1e-12, atol=1e-12)


def test_power_is_incomparable_with_one_wl():
    options = {"num_fields": 12, "field_size": 10}
    names = [("hexagon", "two-triangles"), ("p12", "c12"), ("rook4x4", "shrikhande")]
    pairs = [(named_graph(a), named_graph(b)) for a, b in names]
    model = PatchySan(1, 16, 4, **options)
    transform = one_graph(receptive_fields(options))
    result = wl.check(model, pairs, transform=transform, test="1-wl", seeds=[0, 1])
    # A field counts the nodes near its root, up to ten: a triangle has three. But without labels
    # it sees nothing else, so that a path and a cycle of twelve look alike.
    assert result.separated == (True, False, False)
    assert result.beyond == (0,)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_fields": 9}, "`num_fields` must be 10 or more, got 9"),
        ({"field_size": 0}, "`field_size` must be 1 or more, got 0"),
    ],
)
def test_sizes_that_leave_nothing_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        PatchySan(1, 4, 2, **options)


def test_a_batch_that_was_not_lifted_so_is_refused():
    model = PatchySan(1, 4, 2, **SIZES)
    with pytest.raises(ValueError, match=r"reads receptive fields, got a batch without\. Lift"):
        model(everything(union_of([nx.path_graph(3)])))
    other = union_of([nx.path_graph(3)], lift=receptive_fields({"num_fields": 11}))
    with pytest.raises(
        ValueError, match=r"12 fields of 4 nodes .* \[12, 4\] in all, got \[11, 10\]"
    ):
        model(everything(other))

"""Structural codes as an input of the layer."""

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from torch_geometric.data import Batch, Data

import lgan
from laws import assert_batching_invariant, assert_permutation_invariant, data, twin_graphs
from lgan import GraphUnion, ops
from lgan.graph.named import named_graph
from lgan.graph.pair_codes import KNOT_STEP, KNOTS, LEVELS, code_features, spread
from lgan.train.stack import stack
from lgan.wl import check

CODED = [level for level in LEVELS if level != "none"]
per_comb = pytest.mark.parametrize("comb", ["deepsets", "linear"])
per_map = pytest.mark.parametrize("code_map", ["linear", "spline"])


def _model(level: str, **options) -> lgan.LGAN:
    options = {"num_layers": 2, "pair_code": level} | options
    return lgan.LGAN(3, 6, 2, **options).double()


def _graph(nodes: int = 12, seed: int = 1) -> Data:
    graph = nx.gnp_random_graph(nodes, 0.45, seed=seed)
    return data(graph, torch.randn(nodes, 3, dtype=torch.float64))


def _curves(weight: torch.Tensor, features: torch.Tensor) -> torch.Tensor:
    """For every output the sum over the counts of a curve through the weights at its knots."""
    knots, out = np.arange(KNOTS) * KNOT_STEP, np.zeros((len(features), weight.size(1)))
    for count, curves in zip(
        features.T.numpy(), weight.detach().numpy().reshape(-1, KNOTS, weight.size(1)), strict=True
    ):
        for column in range(weight.size(1)):
            out[:, column] += np.interp(count, knots, curves[:, column])
    return torch.from_numpy(out)


@per_comb
@per_map
@pytest.mark.parametrize("residual", [False, True])
def test_a_layer_adds_the_encoded_code_to_every_pair(comb, code_map, residual):
    options = {"comb": comb, "residual": residual, "pair_code": "full", "code_map": code_map}
    conv = lgan.LGANConv(3, 4, **options).double().eval()
    graph = lgan.EgoLineGraph(pair_code="full")(_graph())
    lines = lgan.EgoLines.from_data(graph)
    a, features = conv.pair(graph.x), graph.pair_code.double()
    weight = conv.code.weight
    code = features @ weight if code_map == "linear" else _curves(weight, features)
    u, v = graph.pair_index
    z = a[u] + a[v] + code
    z = z.relu() if comb == "deepsets" else z
    both = torch.cat(
        [
            lines.target_incidence().double().to_dense() @ z[:, :4],
            lines.neighbour_incidence().double().to_dense() @ z[:, 4:],
        ],
        1,
    )
    hidden = conv.fuse(both) + (conv.residual(graph.x) if residual else 0)
    weight = lines.multiplicity
    expected = conv.out_norm(conv.out(conv.norm(hidden, weight)), weight)
    torch.testing.assert_close(conv(graph.x, lines), expected, rtol=1e-10, atol=1e-10)


@per_map
@pytest.mark.parametrize("level", CODED)
def test_coded_models_do_not_depend_on_the_order_of_nodes_or_graphs(level, code_map):
    model, transform = _model(level, code_map=code_map), lgan.EgoLineGraph(pair_code=level)
    assert_permutation_invariant(model.eval(), [_graph(), _graph(6, 3)], transform)
    assert_batching_invariant(model, [_graph(5), _graph(9, 2), _graph(1)], transform)


@pytest.mark.parametrize(
    "options", [{}, {"comb": "linear"}, {"code_map": "spline"}], ids=["plain", "linear", "spline"]
)
@pytest.mark.parametrize("level", ["triangles", "full", "claws", "local", "rings"])
@given(twins=twin_graphs())
@settings(max_examples=12, deadline=None)
def test_compression_changes_nothing_with_codes(options, level, twins):
    graph, label = twins
    x = torch.eye(3, dtype=torch.float64)[torch.tensor(label, dtype=torch.int64) % 3]
    torch.manual_seed(0)
    model = _model(level, residual=True, **options)
    plain = model(lgan.EgoLineGraph(pair_code=level)(data(graph, x)))
    merged = model(lgan.EgoLineGraph(compress=True, pair_code=level)(data(graph, x)))
    torch.testing.assert_close(merged, plain, rtol=1e-9, atol=1e-9)


def test_the_union_gives_what_pyg_batches_give():
    level = "full"
    union = lgan.load("motifs-ba", pair_code=level, features="degree")
    ids = torch.tensor([3, 0, 7])
    model = lgan.LGAN(union.num_features, 6, 2, pair_code=level).double().eval()
    plain = lgan.load("motifs-ba", compress=False, features="degree")
    graphs = []
    for i in ids:
        one = plain.batch(i.view(1))
        graph = Data(
            x=torch.nn.functional.one_hot(one.x, union.num_features).double(),
            edge_index=one.edge_index,
        )
        graphs.append(lgan.EgoLineGraph(pair_code=level)(graph))
    expected = model(Batch.from_data_list(graphs))
    torch.testing.assert_close(model(union.batch(ids)), expected, rtol=1e-9, atol=1e-9)


@per_comb
@per_map
@pytest.mark.parametrize("level", ["triangles", "full"])
def test_stacked_training_is_separate_training(comb, code_map, level):
    union = lgan.load("motifs-ba", pair_code=level)
    batch = union.batch(torch.arange(6))
    build = {"num_layers": 2, "pair_code": level, "comb": comb, "residual": True}
    build |= {"code_map": code_map}
    models = [lgan.LGAN(union.num_features, 5, 2, **build).double() for _ in range(3)]
    together = stack(models).train()
    out = together(batch)
    out.square().sum().backward()
    for k, model in enumerate(models):
        alone = model.train()(batch)
        torch.testing.assert_close(out[k], alone, rtol=1e-9, atol=1e-9)
        alone.square().sum().backward()
        for name, parameter in model.named_parameters():
            got = together.get_parameter(name).grad[k]
            torch.testing.assert_close(got, parameter.grad, rtol=1e-8, atol=1e-9, msg=name)


@per_comb
@per_map
def test_all_backends_agree_on_gradients_of_codes(comb, code_map):
    union = lgan.load("motifs-ba", pair_code="full")
    batch = union.batch(torch.arange(4))
    torch.manual_seed(0)
    options = {"pair_code": "full", "comb": comb, "code_map": code_map}
    model = lgan.LGAN(union.num_features, 5, 2, **options).double()
    gradients = []
    for name in ("numba", "torch"):
        model.zero_grad()
        with ops.backend(name):
            model(batch).square().sum().backward()
        gradients.append([p.grad.clone() for p in model.parameters()])
    for got, expected in zip(*gradients, strict=True):
        torch.testing.assert_close(got, expected, rtol=1e-8, atol=1e-9)


def test_spread_counts_are_told_apart_and_colours_stay_bits():
    counts = torch.cat([torch.arange(300), torch.tensor([10**6, 10**12])])
    features = spread(code_features(counts[:, None], "triangles"))
    assert features.shape == (counts.numel(), KNOTS)
    torch.testing.assert_close(features.sum(1), torch.ones(counts.numel()))
    assert ((features > 0).sum(1) <= 2).all()
    assert torch.unique(features, dim=0).size(0) == counts.numel()
    codes = torch.tensor([[1, 2, 3, 4, 5, 0b101]])
    bits = spread(code_features(codes, "local"))[0, 5 * KNOTS :]
    assert bits.nonzero().flatten().tolist() == [0, 2]


@pytest.mark.parametrize("level", ["triangles", "full", "local"])
def test_the_knots_of_codes_by_rows_are_those_of_the_spread_codes(level):
    lines = lgan.EgoLines.from_edge_index(_graph().edge_index, _graph().num_nodes).coded(level)
    conv = lgan.LGANConv(3, 4, pair_code=level, code_map="spline").double()
    dense = spread(lines.code_table.double())
    assert dense.size(1) == conv.code.in_channels
    offsets = conv._offsets(lines, torch.float64)
    torch.testing.assert_close(offsets, dense @ conv.code.weight)
    share = torch.randn_like(offsets)
    [grad] = torch.autograd.grad((offsets * share).sum(), conv.code.weight)
    torch.testing.assert_close(grad, dense.t() @ share)


def test_curves_run_in_mixed_precision():
    graph = lgan.EgoLineGraph(pair_code="full")(_graph())
    model = _model("full", code_map="spline").float()
    graph.x = graph.x.float()
    exact = model(graph)
    with torch.autocast("cpu", torch.bfloat16):
        rounded = model(graph)
    torch.testing.assert_close(rounded.float(), exact, rtol=0.1, atol=0.1)


@pytest.mark.gpu
def test_curves_on_the_gpu_are_those_on_the_cpu():
    union = lgan.load("motifs-ba", pair_code="full")
    torch.manual_seed(0)
    model = lgan.LGAN(union.num_features, 8, 2, pair_code="full", code_map="spline").double()
    batch, cuda = union.batch(torch.arange(4)), union.to("cuda").batch(torch.arange(4).cuda())
    gradients = []
    for place, graphs in (("cpu", batch), ("cuda", cuda)):
        model.to(place).zero_grad()
        model(graphs).square().sum().backward()
        gradients.append([p.grad.cpu().clone() for p in model.parameters()])
    for got, expected in zip(*gradients, strict=True):
        torch.testing.assert_close(got, expected, rtol=1e-6, atol=1e-8)


def test_counts_at_the_last_knot_and_beyond_stay_there():
    features = spread(torch.tensor([[31.0], [31.5], [40.0]], dtype=torch.float64))
    assert features[:, -2:].tolist() == [[1, 0], [0, 1], [0, 1]]


def test_codes_are_stored_once_and_survive_a_cache():
    union = lgan.load("motifs-ba", pair_code="full")
    assert union.lines.code_table.size(0) < union.lines.num_pairs
    again = GraphUnion.from_tensors(union.tensors())
    assert torch.equal(again.lines.code_table, union.lines.code_table)
    assert torch.equal(again.lines.pair_rows, union.lines.pair_rows)


def test_a_graph_without_the_codes_is_refused():
    model = _model("full")
    with pytest.raises(ValueError, match=r"level 'full', 4 numbers a pair, got 0.*EgoLineGraph"):
        model(lgan.EgoLineGraph()(_graph()))
    with pytest.raises(ValueError, match=r"4 numbers a pair, got 1"):
        model(lgan.EgoLineGraph(pair_code="triangles")(_graph()))


def test_an_unknown_level_is_refused():
    with pytest.raises(ValueError, match=r"Unknown pair code 'most'\..* one of: none, triangles"):
        lgan.LGAN(3, 4, 2, pair_code="most")
    with pytest.raises(ValueError, match="Unknown pair code 'most'"):
        lgan.EgoLineGraph(pair_code="most")


def test_codes_separate_what_the_paper_s_layer_merges():
    pair = (named_graph("rook4x4"), named_graph("shrikhande"))
    for level, expected in {"none": 0, "triangles": 0, "full": 1}.items():
        for code_map in ("linear", "spline") if level != "none" else ("linear",):
            result = check(
                lgan.LGAN(1, 8, 4, num_layers=2, pair_code=level, code_map=code_map),
                [pair],
                transform=lgan.EgoLineGraph(pair_code=level),
            )
            assert result.num_separated == expected, (level, code_map)

import copy
from itertools import product

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader

import lgan
from laws import (
    assert_batching_invariant,
    assert_disjoint_union,
    assert_gradients_finite,
    assert_permutation_invariant,
    data,
    twin_graphs,
    varied_graphs,
)
from lgan import GraphUnion
from lgan.data import load_raw, node_features
from lgan.nn.norm import BatchNorm, LayerNorm
from lgan.train.stack import stack

AXES = {
    "comb": ("deepsets", "linear"),
    "fusion": ("concat", "sum", "mean", "gate"),
    "readout": ("sum", "mean", "max", "squashed"),
    "residual": (False, True),
    "branches": ("both", "target", "neighbour"),
    "include_input": (False, True),
    "head_layers": (1, 2),
    "squash": (False, True),
    "norm": ("batch", "layer", "none"),
}


def _variants(*axes: str) -> list[dict]:
    return [
        dict(zip(axes, values, strict=True)) for values in product(*(AXES[axis] for axis in axes))
    ]


def _name(options: dict) -> str:
    return "-".join(str(value) for value in options.values())


VARIANTS = [
    *_variants("comb", "fusion", "residual"),
    *_variants("readout", "include_input", "residual"),
    *_variants("branches", "comb", "residual"),
    *_variants("squash", "comb", "residual"),
    *_variants("norm", "comb", "residual"),
    *({"head_layers": 2} | options for options in _variants("readout", "include_input")),
]
per_variant = pytest.mark.parametrize("options", VARIANTS, ids=_name)


def _model(in_channels: int = 3, **options) -> lgan.LGAN:
    """A small model in float64 whose normalisations are not the identity."""
    model = lgan.LGAN(in_channels, 6, 2, **({"num_layers": 2} | options)).double()
    for module in model.modules():
        if isinstance(module, BatchNorm | LayerNorm):
            nn.init.uniform_(module.scale, 0.5, 1.5)
            nn.init.normal_(module.shift)
    return model


LAWS = (assert_permutation_invariant, assert_batching_invariant, assert_disjoint_union)


@per_variant
@pytest.mark.parametrize("law", LAWS)
def test_every_model_obeys(law, options):
    law(_model(**options), varied_graphs(3))


@per_variant
def test_every_model_has_finite_gradients_on_degenerate_graphs(options):
    assert_gradients_finite(_model(**options), 3)


@pytest.mark.parametrize("options", _variants("readout", "residual", "norm"), ids=_name)
def test_merged_twins_obey_the_same_laws(options):
    transform = lgan.EgoLineGraph(compress=True)
    for law in LAWS:
        law(_model(**options), varied_graphs(3), transform)
    assert_gradients_finite(_model(**options), 3, transform)


def test_read_outs_of_a_union_add_up():
    model, graphs = _model().eval(), varied_graphs(3)
    prepared = Batch.from_data_list([lgan.EgoLineGraph()(g) for g in graphs])
    out = model(prepared)
    del prepared.ptr, prepared.batch  # one graph of several components
    bias = model.head.bias
    torch.testing.assert_close(model(prepared)[0] - bias, (out - bias).sum(0))


def test_the_stock_loader_gives_the_outputs_of_single_graphs():
    model = _model(residual=True).eval()
    prepared = [lgan.EgoLineGraph()(g) for g in varied_graphs(3)]
    batches = torch.cat([model(batch) for batch in DataLoader(prepared, batch_size=3)])
    alone = torch.cat([model(g) for g in prepared])
    torch.testing.assert_close(batches, alone, rtol=0, atol=1e-10)


def test_the_skip_cat_reads_every_layer_and_the_input_where_asked():
    graph = lgan.EgoLineGraph()(varied_graphs(3)[0])
    model = _model(include_input=True, num_layers=3).eval()
    x, levels = graph.x, [graph.x]
    for conv in model.convs:
        x = conv(x, graph.edge_index)
        levels.append(x)
    skip = torch.cat(levels, -1).sum(0, keepdim=True)
    torch.testing.assert_close(model(graph), model.head(skip), rtol=0, atol=1e-10)
    assert _model(num_layers=3).head.in_channels == 18
    assert model.head.in_channels == 21


def test_several_read_outs_stand_side_by_side():
    graph = lgan.EgoLineGraph()(varied_graphs(3)[0])
    model = _model(num_layers=2, readout="sum+mean+max").eval()
    levels, x = [], graph.x
    for conv in model.convs:
        x = conv(x, graph.edge_index)
        levels.append(x)
    both = torch.cat(levels, -1)
    read = torch.cat([both.sum(0), both.mean(0), both.max(0).values])[None]
    torch.testing.assert_close(model(graph), model.head(read), rtol=0, atol=1e-10)
    for wrong in ("sum+", "sum+sum", "most"):
        with pytest.raises(ValueError, match="readout"):
            _model(readout=wrong)


# What the model can and cannot tell apart (docs/expressivity.md).


def _labelled_path(labels: str) -> Data:
    x = torch.eye(2).double()[["ab".index(label) for label in labels]]
    return lgan.EgoLineGraph()(data(nx.path_graph(len(labels)), x))


def _constant(graph: nx.Graph) -> Data:
    return lgan.EgoLineGraph()(data(graph, torch.ones(len(graph), 1).double()))


def _difference(model: lgan.LGAN, a: Data, b: Data) -> float:
    model.eval()
    with torch.no_grad():
        return float((model(a) - model(b)).abs().max())


@pytest.mark.parametrize("options", _variants("comb", "fusion", "residual"), ids=_name)
def test_two_triangles_are_separated_from_the_hexagon(options):
    two = nx.disjoint_union(nx.complete_graph(3), nx.complete_graph(3))
    difference = _difference(_model(1, **options), _constant(two), _constant(nx.cycle_graph(6)))
    assert difference > 1e-3


@pytest.mark.parametrize("options", _variants("comb", "fusion", "residual"), ids=_name)
def test_the_octagon_is_not_separated_from_two_squares(options):
    two = nx.disjoint_union(nx.cycle_graph(4), nx.cycle_graph(4))
    difference = _difference(_model(1, **options), _constant(two), _constant(nx.cycle_graph(8)))
    assert difference < 1e-12


@pytest.mark.parametrize("options", _variants("comb", "fusion"), ids=_name)
def test_plain_lgan_merges_the_paths_aba_and_bab(options):
    model = _model(2, **options)
    assert _difference(model, _labelled_path("aba"), _labelled_path("bab")) == 0


@pytest.mark.parametrize("repair", ["residual", "include_input"])
@pytest.mark.parametrize("options", _variants("comb", "fusion"), ids=_name)
def test_the_residual_and_the_input_separate_the_paths_aba_and_bab(options, repair):
    model = _model(2, **options, **{repair: True})
    assert _difference(model, _labelled_path("aba"), _labelled_path("bab")) > 1e-3


# Exact compression.


def _step(model: nn.Module, batch: object, weight: Tensor) -> dict[str, Tensor]:
    """Outputs, gradients and statistics of a training step, and outputs afterwards."""
    model = copy.deepcopy(model).train()
    out = model(batch)
    (out * weight).sum().backward()
    found = {"outputs": out.detach()}
    found |= {f"gradient of {name}": p.grad for name, p in model.named_parameters()}
    found |= {name: buffer.clone() for name, buffer in model.named_buffers()}
    with torch.no_grad():
        return found | {"outputs in evaluation mode": model.eval()(batch)}


def _assert_same_step(model: nn.Module, merged: object, whole: object, graphs: int) -> None:
    weight = torch.randn(graphs, 2).double() / graphs
    steps = [_step(model, batch, weight) for batch in (merged, whole)]
    for name, got in steps[0].items():
        torch.testing.assert_close(
            got, steps[1][name], rtol=1e-10, atol=1e-10, msg=lambda m, name=name: f"{name}: {m}"
        )


# Beside the random graph, one whose nodes differ: where all nodes are alike, normalisation
# divides a variance of zero and rounding by the root of its epsilon.
BESIDE = nx.lollipop_graph(4, 3)


@settings(max_examples=60)
@given(twin_graphs(), st.sampled_from(_variants(*AXES)), st.integers(0, 2**32))
def test_merging_planted_twins_changes_no_output_gradient_or_statistic(case, options, seed):
    torch.manual_seed(seed)
    graph, origin = case
    table = torch.randn(6, 3).double()
    parts = [(graph, table[origin]), (BESIDE, torch.randn(len(BESIDE), 3).double())]
    merged, whole = (
        Batch.from_data_list([lgan.EgoLineGraph(compress=c)(data(g, x)) for g, x in parts])
        for c in (True, False)
    )
    assert merged.num_nodes <= len(set(origin)) + len(BESIDE)
    _assert_same_step(_model(**options), merged, whole, 2)


@pytest.mark.parametrize("options", _variants("comb", "fusion", "readout"), ids=_name)
def test_merging_twins_is_exact_for_every_encoder_fusion_and_readout(options):
    shapes = [nx.complete_graph(6), nx.lollipop_graph(5, 3), nx.barbell_graph(4, 0), BESIDE]
    parts = [(g, torch.eye(3).double()[torch.arange(len(g)) % 2]) for g in shapes]
    merged, whole = (
        Batch.from_data_list([lgan.EgoLineGraph(compress=c)(data(g, x)) for g, x in parts])
        for c in (True, False)
    )
    assert merged.num_nodes < whole.num_nodes
    _assert_same_step(_model(**options), merged, whole, 4)


@pytest.fixture(scope="module")
def imdb(mirror, tmp_path_factory) -> list[GraphUnion]:
    """IMDB-BINARY with twins merged and with all nodes."""
    raw = load_raw("IMDB-BINARY", root=tmp_path_factory.mktemp("root"), mirror=mirror)
    x, num_features = node_features(raw, "degree")
    return [
        GraphUnion.build(
            x,
            raw.pair_index,
            raw.y,
            raw.node_ptr,
            num_features=num_features,
            num_classes=2,
            compress=compress,
        )
        for compress in (True, False)
    ]


@pytest.mark.data
def test_imdb_binary_shrinks_as_measured(imdb):
    merged, whole = imdb
    assert (whole.lines.num_nodes, merged.lines.num_nodes) == (19_773, 5_357)
    assert whole.lines.num_pairs == 96_531
    assert int(whole.lines.opposite_count.sum()) == 3 * 391_991
    own = merged.lines.pair_index[0] == merged.lines.pair_index[1]
    assert int((~own).sum()) == 8_519


@pytest.mark.data
@pytest.mark.parametrize("options", _variants("comb", "fusion", "readout"), ids=_name)
def test_merging_twins_is_exact_on_imdb_binary(options, imdb):
    merged, whole = (union.batch(torch.arange(1000)) for union in imdb)
    _assert_same_step(_model(imdb[0].num_features, **options), merged, whole, 1000)


# Many models, and many inputs.


def test_models_side_by_side_compute_what_they_compute_alone():
    options = {"residual": True, "include_input": True, "head_layers": 2, "dropout": 0.5}
    alone = [_model(**options) for _ in range(3)]
    together = stack(alone)
    batch = Batch.from_data_list([lgan.EgoLineGraph()(g) for g in varied_graphs(3)])
    batch.node_weight = torch.randint(2, (3, batch.num_nodes))
    out = together(batch)
    out.square().sum().backward()
    for k, model in enumerate(alone):
        single = copy.copy(batch)
        single.node_weight = batch.node_weight[k]
        own = model(single)
        torch.testing.assert_close(out[k], own, rtol=0, atol=1e-10)
        own.square().sum().backward()
        for p, stacked in zip(model.parameters(), together.parameters(), strict=True):
            torch.testing.assert_close(stacked.grad[k], p.grad, rtol=1e-10, atol=1e-10)


def test_categories_stand_for_their_one_hot_vectors():
    graph = lgan.EgoLineGraph()(varied_graphs(3)[0])
    category = torch.arange(9) % 3
    for options in _variants("residual", "include_input"):
        model = _model(**options).eval()
        outs = []
        for x in (category, torch.eye(3).double()[category]):
            graph.x = x
            outs.append(model(graph))
        torch.testing.assert_close(*outs, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_state_dict_makes_the_same_model_in_every_precision(dtype):
    model, other = (lgan.LGAN(3, 6, 2, residual=True, dropout=0.5).to(dtype) for _ in range(2))
    graphs = [lgan.EgoLineGraph()(g) for g in varied_graphs(3)]
    batch = Batch.from_data_list(graphs)
    batch.x = batch.x.to(dtype)
    model(batch)
    other.load_state_dict(model.state_dict())
    assert torch.equal(other(batch), model(batch))  # the stream of dropout included
    out = model.eval()(batch)
    assert out.dtype == dtype
    assert torch.equal(other.eval()(batch), out)


def test_no_grad_gives_the_same_values_without_a_graph():
    model, graph = _model().eval(), lgan.EgoLineGraph()(varied_graphs(3)[0])
    with torch.no_grad():
        out = model(graph)
    assert not out.requires_grad
    torch.testing.assert_close(out, model(graph), rtol=1e-12, atol=1e-12)


def test_reset_draws_all_weights_anew():
    model = _model(head_layers=2)
    before = copy.deepcopy(dict(model.named_parameters()))
    model.reset_parameters()
    assert all(not torch.equal(p, before[name]) for name, p in model.named_parameters())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"in_channels": 0}, "`in_channels` must be 1 or more, got 0"),
        ({"hidden_channels": -1}, "`hidden_channels` must be 1 or more, got -1"),
        ({"out_channels": 0}, "`out_channels` must be 1 or more"),
        ({"num_layers": 0}, "`num_layers` must be 1 or more"),
        ({"head_layers": 0}, "`head_layers` must be 1 or more, got 0"),
        ({"readout": "median"}, "`readout` must be one of .*'sum'.*got 'median'"),
        ({"comb": "mlp"}, "`comb` must be one of .*'deepsets'.*got 'mlp'"),
        ({"fusion": "max"}, "`fusion` must be one of .*'concat'.*got 'max'"),
        ({"dropout": 1.0}, "`dropout` must be at least 0 and below 1, got 1.0"),
    ],
)
def test_a_bad_option_is_refused(options, message):
    sizes = {"in_channels": 3, "hidden_channels": 4, "out_channels": 2}
    with pytest.raises(ValueError, match=message):
        lgan.LGAN(**(sizes | options))


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (torch.ones(3, 4).double(), r"3 columns, got shape \[3, 4\].*`in_channels`"),
        (torch.ones(3).double(), r"3 columns, got shape \[3\]"),
        (torch.ones(2, 3).double(), r"each of 3 nodes, got shape \[2, 3\].*EgoLineGraph"),
        (torch.ones(3, 3).long(), r"category ids.*got \[3, 3\]"),
        (torch.tensor([0, 1, 3]), "categories from 0 to 2, got 0 to 3.*`in_channels`"),
        (torch.tensor([0, 1, -1]), "categories from 0 to 2, got -1 to 1"),
        (None, r"no node features `x`.*Constant"),
    ],
)
@pytest.mark.parametrize("models", [1, 2])
@pytest.mark.parametrize("include_input", [False, True])
def test_features_that_do_not_fit_are_refused(x, message, include_input, models):
    graph = lgan.EgoLineGraph()(data(nx.path_graph(3), torch.ones(3, 3).double()))
    graph.x = x
    alone = [_model(include_input=include_input) for _ in range(models)]
    model = alone[0] if models == 1 else stack(alone)
    with pytest.raises(ValueError, match=message):
        model(graph)


def test_the_network_shows_its_layers():
    assert "LGANConv(3, 6, residual=False" in repr(_model())


def test_graphs_are_found_from_the_batch_vector_alone():
    model, graphs = _model().eval(), varied_graphs(3)
    prepared = Batch.from_data_list([lgan.EgoLineGraph()(g) for g in graphs])
    out = model(prepared)
    del prepared.ptr
    torch.testing.assert_close(model(prepared)[: len(out)], out[: prepared.batch.max() + 1])


@settings(max_examples=30)
@given(twin_graphs(), st.integers(0, 2**16), st.booleans(), st.sampled_from(AXES["norm"]))
def test_merged_twins_leave_every_gradient_to_rounding(drawn, seed, residual, norm):
    """Two things make it look otherwise, and neither is the compression.

    Normalisation divides by ``sqrt(var + eps)``: where all nodes agree in a channel, rounding
    errors grow by up to ``1 / sqrt(eps)``, 316 for the default, twice a layer. And before the
    first step the shift is 0, so that such a channel sits in the kink of the ReLU.
    """
    graph, origin = drawn
    torch.manual_seed(seed)
    original = data(graph, torch.randn(max(origin) + 1, 3).double()[origin])
    model = _model(num_layers=3, residual=residual, norm=norm)
    for module in model.modules():
        if isinstance(module, BatchNorm | LayerNorm):
            module.eps = 1.0
            torch.nn.init.normal_(module.shift)
    found = []
    for compress in (False, True):
        model.zero_grad()
        model(lgan.EgoLineGraph(compress=compress)(original)).sum().backward()
        found.append({name: p.grad.clone() for name, p in model.named_parameters()})
    largest = max(float(grad.abs().max()) for grad in found[0].values())
    for name, grad in found[0].items():
        assert float((grad - found[1][name]).abs().max()) <= 1e-12 * largest, name

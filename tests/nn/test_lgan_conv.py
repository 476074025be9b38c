import copy
from itertools import product

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import reference
from laws import assert_permutation_equivariant, assert_same_gradients, graphs
from lgan import EgoLines, LGANConv, ops
from lgan.nn.norm import BatchNorm, LayerNorm
from lgan.train.stack import stack

VARIANTS = [
    {"residual": residual, "comb": comb, "fusion": fusion}
    for residual, comb, fusion in product(
        (False, True), ("deepsets", "linear"), ("concat", "sum", "mean", "gate")
    )
]
VARIANTS += [{"squash": True, "residual": residual} for residual in (False, True)]
VARIANTS += [{"squash": True, "comb": "linear"}]
VARIANTS += [
    {"norm": norm, "residual": residual, **options}
    for norm, residual in product(("layer", "none"), (False, True))
    for options in ({}, {"comb": "linear", "squash": True}, {"fusion": "gate"})
]
GRAPHS = {
    "random": nx.gnp_random_graph(9, 0.5, seed=1),
    "sparse": nx.gnp_random_graph(10, 0.2, seed=2),
    "tree": nx.path_graph(5),
    "clique and isolated nodes": nx.disjoint_union(nx.complete_graph(4), nx.empty_graph(2)),
    "no edges": nx.empty_graph(4),
}
per_variant = pytest.mark.parametrize(
    "options", VARIANTS, ids=lambda o: "-".join(str(value) for value in o.values())
)


def _conv(in_channels: int = 3, out_channels: int = 5, **options) -> LGANConv:
    """A layer in float64 whose normalisations are not the identity."""
    layer = LGANConv(in_channels, out_channels, **options).double()
    for module in layer.modules():
        if isinstance(module, BatchNorm | LayerNorm):
            torch.nn.init.uniform_(module.scale, 0.5, 1.5)
            torch.nn.init.normal_(module.shift)
    return layer


def _assert_close(got: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(got, expected, rtol=1e-10, atol=1e-10)


def _assert_agrees_with_the_paper(layer: LGANConv, graph: nx.Graph) -> None:
    x = torch.randn(len(graph), layer.in_channels).double().requires_grad_()
    got = layer(x, reference.edge_index(graph))
    assert_same_gradients(layer, x, got, reference.conv(layer, x, graph))


@per_variant
@pytest.mark.parametrize("name", GRAPHS)
def test_values_and_gradients_are_those_of_the_papers_equations(name, options):
    _assert_agrees_with_the_paper(_conv(**options), GRAPHS[name])


@per_variant
def test_the_torch_backend_agrees_with_the_paper_too(options):
    with ops.backend("torch"):
        _assert_agrees_with_the_paper(_conv(**options), GRAPHS["random"])


@settings(max_examples=50)
@given(graphs(min_nodes=2, max_nodes=8), st.sampled_from(VARIANTS), st.integers(0, 2**32))
def test_random_graphs_agree_with_the_paper(graph, options, seed):
    torch.manual_seed(seed)
    _assert_agrees_with_the_paper(_conv(**options), graph)


@per_variant
def test_renaming_nodes_renames_rows(options):
    graph = GRAPHS["random"]
    x = torch.randn(len(graph), 3).double()
    assert_permutation_equivariant(_conv(**options), x, reference.edge_index(graph))


def test_direction_duplicates_and_loops_of_edges_do_not_matter():
    edges = reference.edge_index(GRAPHS["random"])
    layer, x = _conv().eval(), torch.randn(9, 3).double()
    loops = torch.arange(9).repeat(2, 1)
    expected = layer(x, edges)
    for variant in (edges.flip(0), torch.cat([edges, edges.flip(0), loops], 1)):
        assert torch.equal(layer(x, variant), expected)
    assert torch.equal(layer(x, EgoLines.from_edge_index(edges, 9)), expected)


@pytest.mark.parametrize("comb", ["deepsets", "linear"])
@pytest.mark.parametrize("fusion", ["concat", "sum", "mean", "gate"])
@pytest.mark.parametrize("norm", ["batch", "layer"])
def test_an_isolated_node_keeps_its_transformed_self_under_the_residual(comb, fusion, norm):
    layer = _conv(residual=True, comb=comb, fusion=fusion, norm=norm).eval()
    x = torch.randn(4, 3).double()
    out = layer(x, torch.tensor([[0], [1]]))  # nodes 2 and 3 are isolated
    ones = torch.ones(4)
    own = layer.residual(x) if norm == "batch" else layer.residual(x) + layer.fuse.bias
    kept = layer.out_norm(layer.out(layer.norm(own, ones)), ones)
    _assert_close(out[2:], kept[2:])
    assert not torch.allclose(out[:2], kept[:2])


def test_isolated_nodes_are_alike_without_the_residual():
    out = _conv().eval()(torch.randn(4, 3).double(), torch.tensor([[0], [1]]))
    assert torch.equal(out[2], out[3])


@per_variant
def test_the_shortcut_for_graphs_without_triangles_equals_the_full_computation(options):
    layer, x = _conv(**options), torch.randn(8, 3).double().requires_grad_()
    edges = reference.edge_index(reference.NAMED["cube"])
    short, full = (EgoLines.from_edge_index(edges, 8) for _ in range(2))
    full.__dict__["has_triangles"] = True  # the place of the cached property
    assert not short.has_triangles
    assert_same_gradients(layer, x, layer(x, short), layer(x, full))


@per_variant
def test_categories_stand_for_their_one_hot_vectors(options):
    layer, category = _conv(4, **options), torch.tensor([0, 3, 1, 1, 2, 0, 3, 3, 1])
    edges = reference.edge_index(GRAPHS["random"])
    _assert_close(layer(category, edges), layer(torch.eye(4).double()[category], edges))


def _inputs(kind: str, models: int, nodes: int) -> Tensor:
    """Features of every model's own, features that all share, or categories."""
    if kind == "categories":
        return torch.arange(nodes) % 3
    shape = (nodes, 3) if kind == "shared" else (models, nodes, 3)
    return torch.randn(shape).double().requires_grad_()


@per_variant
@pytest.mark.parametrize("kind", ["own", "shared", "categories"])
@pytest.mark.parametrize("name", ["random", "tree"])
def test_models_side_by_side_compute_what_they_compute_alone(options, kind, name):
    graph, alone = GRAPHS[name], [_conv(**options) for _ in range(3)]
    together, n = stack(alone), len(GRAPHS[name])
    lines = EgoLines.from_edge_index(reference.edge_index(graph), n)
    x, weight = _inputs(kind, 3, n), torch.randint(1, 3, (3, n)) * (torch.arange(n) > 0)
    for training in (True, False):
        together.train(training)
        together.zero_grad()
        x.grad = None
        out = together(x, lines, node_weight=weight)
        direction = torch.randn_like(out)
        (out * direction).sum().backward()
        at_x = []
        for k, layer in enumerate(alone):
            layer.train(training)
            layer.zero_grad()
            own_x = x[k] if kind == "own" else x
            own_x = own_x.detach().requires_grad_(x.requires_grad)
            own = layer(own_x, lines, node_weight=weight[k])
            _assert_close(out[k], own)
            (own * direction[k]).sum().backward()
            at_x.append(own_x.grad)
            for p, stacked in zip(layer.parameters(), together.parameters(), strict=True):
                _assert_close(stacked.grad[k], p.grad)
            for b, stacked in zip(layer.buffers(), together.buffers(), strict=True):
                _assert_close(stacked[k], b)
        if kind != "categories":
            _assert_close(x.grad, torch.stack(at_x) if kind == "own" else sum(at_x))


@per_variant
def test_models_side_by_side_accept_a_graph_without_nodes(options):
    together = stack([_conv(**options) for _ in range(2)])
    out = together(torch.ones(0, 3).double(), torch.empty(2, 0, dtype=torch.long))
    assert out.shape == (2, 0, 5)
    out.sum().backward()
    assert all(p.grad.isfinite().all() for p in together.parameters())


def test_a_leading_axis_of_inputs_is_carried_along():
    layer, edges = _conv().eval(), reference.edge_index(GRAPHS["random"])
    x = torch.randn(4, 9, 3).double()
    out = layer(x, edges)
    for k in range(4):
        _assert_close(out[k], layer(x[k], edges))


def test_nodes_of_weight_zero_do_not_enter_the_statistics():
    graph = nx.disjoint_union(GRAPHS["random"], GRAPHS["sparse"])
    layer, x = _conv(), torch.randn(19, 3).double()
    alone = copy.deepcopy(layer)
    weight = torch.tensor([1] * 9 + [0] * 10)
    lines = EgoLines.from_edge_index(reference.edge_index(graph), 19)
    together = layer(x, lines, node_weight=weight)
    _assert_close(together[:9], alone(x[:9], reference.edge_index(GRAPHS["random"])))
    for got, expected in zip(layer.buffers(), alone.buffers(), strict=True):
        _assert_close(got, expected)


@pytest.mark.parametrize("norm", ["layer", "none"])
@pytest.mark.parametrize("models", [1, 2])
def test_without_batch_statistics_no_graph_depends_on_its_batch(norm, models):
    alone = [_conv(norm=norm).train() for _ in range(models)]
    layer = alone[0] if models == 1 else stack(alone)
    graph = nx.disjoint_union(GRAPHS["random"], GRAPHS["sparse"])
    lines = EgoLines.from_edge_index(reference.edge_index(graph), 19)
    x = torch.randn(19, 3).double()
    first = layer(x[:9], reference.edge_index(GRAPHS["random"]))
    for weight in (torch.ones(19), torch.zeros(19), torch.arange(19)):
        _assert_close(layer(x, lines, node_weight=weight)[..., :9, :], first)


@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize("norm", ["batch", "layer", "none"])
def test_every_normalisation_lets_the_number_of_neighbours_through(norm, residual):
    """Equal neighbours only scale a sum, and layer normalisation alone would forget by how much."""
    out = _conv(norm=norm, residual=residual)(
        torch.ones(5, 3).double(), reference.edge_index(nx.star_graph(4))
    )
    assert not torch.allclose(out[0], out[1])


def test_a_cached_layer_keeps_the_first_structure_until_it_is_reset():
    first = reference.edge_index(GRAPHS["random"])
    second = first[:, :5]
    x = torch.randn(9, 3).double()
    cached, plain = _conv(cached=True).eval(), _conv().eval()
    plain.load_state_dict(cached.state_dict())
    kept = cached(x, first)
    assert torch.equal(cached(x, second), kept)
    assert not torch.equal(plain(x, second), kept)
    for fresh in (copy.deepcopy(cached), _conv(cached=True).eval()):
        fresh.load_state_dict(cached.state_dict())
        assert torch.equal(fresh(x, second), plain(x, second))
    cached.reset_parameters()
    plain.load_state_dict(cached.state_dict())
    assert torch.equal(cached(x, second), plain(x, second))


@per_variant
def test_a_state_dict_makes_the_same_layer(options):
    layer, other = (LGANConv(3, 5, **options) for _ in range(2))
    edges, x = reference.edge_index(GRAPHS["random"]), torch.randn(9, 3)
    layer(x, edges)  # statistics that are not those of a fresh layer
    other.load_state_dict(layer.state_dict())
    assert torch.equal(other.eval()(x, edges), layer.eval()(x, edges))


@per_variant
def test_float32_is_close_to_float64(options):
    single = _conv(**options).float()
    double = copy.deepcopy(single).double()
    edges, x = reference.edge_index(GRAPHS["random"]), torch.randn(9, 3)
    out = single(x, edges)
    assert out.dtype == torch.float32
    torch.testing.assert_close(out.double(), double(x.double(), edges), rtol=1e-3, atol=1e-3)


def test_no_grad_gives_the_same_values_without_a_graph():
    layer, edges = _conv(), reference.edge_index(GRAPHS["random"])
    x = torch.randn(9, 3).double()
    expected = layer(x, edges)
    with torch.no_grad():
        out = layer(x, edges)
    assert not out.requires_grad
    assert torch.equal(out, expected)


def test_reset_draws_all_weights_anew():
    layer = _conv(residual=True, fusion="gate")
    before = copy.deepcopy(layer.state_dict())
    layer.reset_parameters()
    for name, value in layer.state_dict().items():
        same = torch.equal(value, before[name])
        assert same == name.endswith(("running_mean", "running_var")), name


def test_its_repr_shows_the_options():
    expected = "LGANConv(3, 5, residual=True, comb='linear', fusion='gate', branches='both', "
    expected += "pair_code='none', code_map='linear', squash=False, norm='batch', edge_dim=None, "
    expected += "directed=False)"
    assert repr(LGANConv(3, 5, residual=True, comb="linear", fusion="gate")) == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"comb": "mlp"}, r"`comb` must be one of .*deepsets.*linear.*got 'mlp'"),
        ({"code_map": "steps"}, r"`code_map` must be one of .*linear.*spline.*got 'steps'"),
        ({"squash": []}, r"`squash` must be True or False, got \[\]"),
        ({"code_map": "spline"}, r"reads structural codes, and `pair_code` is .none.*full"),
        ({"norm": "group"}, r"`norm` must be one of .*batch.*layer.*none.*got 'group'"),
        ({"fusion": "max"}, r"`fusion` must be one of .*concat.*sum.*mean.*gate.*got 'max'"),
        ({"branches": "all"}, r"`branches` must be one of .*both.*target.*neighbour.*got 'all'"),
    ],
)
def test_an_unknown_option_is_refused_with_the_names(options, message):
    with pytest.raises(ValueError, match=message):
        LGANConv(3, 5, **options)


@pytest.mark.parametrize(
    ("x", "edge_index", "error", "message"),
    [
        (torch.ones(2, 3), torch.tensor([[0], [2]]), ValueError, "ids from 0 to 1, got 0 to 2"),
        (torch.ones(2, 3), torch.tensor([[0], [-1]]), ValueError, "got -1 to 0"),
        (torch.ones(2, 3), torch.ones(3, 2).long(), ValueError, r"shape \[2, E\], got \[3, 2\]"),
        (torch.ones(2, 3), torch.ones(2, 1), TypeError, "integers.*float32"),
        (torch.ones(2, 4), torch.tensor([[0], [1]]), ValueError, r"3 columns, got shape \[2, 4\]"),
        (torch.ones(2, 3).long(), torch.tensor([[0], [1]]), ValueError, r"category ids.*\[2, 3\]"),
    ],
)
def test_bad_input_is_refused(x, edge_index, error, message):
    with pytest.raises(error, match=message):
        LGANConv(3, 5)(x, edge_index)


@pytest.mark.parametrize("models", [1, 2])
@pytest.mark.parametrize("x", [torch.ones(3, 3), torch.tensor([0, 1, 2]), torch.ones(9, 3)])
def test_features_that_do_not_fit_the_structure_are_refused(x, models):
    lines = EgoLines.from_edge_index(torch.tensor([[0, 5], [1, 6]]), 7)
    layer = LGANConv(3, 5) if models == 1 else stack([LGANConv(3, 5), LGANConv(3, 5)])
    with pytest.raises(ValueError, match="one row for each of 7 nodes"):
        layer(x, lines)

"""Features of edges, from `edge_attr` to the layer: the paper's equations, laws, twins, errors."""

import copy
from itertools import product

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F
from torch_geometric.data import Batch, Data

import lgan
import reference
from laws import (
    assert_batching_invariant,
    assert_disjoint_union,
    assert_gradients_finite,
    assert_permutation_invariant,
    assert_same_gradients,
    twin_graphs,
)
from lgan import EgoLineGraph, EgoLines, GraphUnion, LGANConv, ops
from lgan.graph import EdgeFeatures, undirected_pairs
from lgan.graph.edge_features import pair_attr
from lgan.train.stack import stack

KINDS = ("category", "categories", "real")
DIMS = {"category": 4, "categories": (3, 2), "real": 5}
VARIANTS = [
    {"residual": residual, "comb": comb, "fusion": fusion}
    for residual, comb, fusion in product(
        (False, True), ("deepsets", "linear"), ("concat", "sum", "mean", "gate")
    )
]
VARIANTS += [{"squash": True}, {"branches": "target"}, {"branches": "neighbour"}]
per_kind = pytest.mark.parametrize("kind", KINDS)
per_variant = pytest.mark.parametrize(
    "options", VARIANTS, ids=lambda o: "-".join(map(str, o.values()))
)


def _attr(kind: str, edges: int) -> tuple[Tensor, Tensor]:
    """Random features as a user gives them, and the vectors that stand for them."""
    if kind == "category":
        attr = torch.randint(4, (edges,))
        return attr, F.one_hot(attr, 4).double()
    if kind == "categories":
        attr = torch.stack([torch.randint(3, (edges,)), torch.randint(2, (edges,))], 1)
        return attr, torch.cat([F.one_hot(attr[:, 0], 3), F.one_hot(attr[:, 1], 2)], 1).double()
    attr = torch.randn(edges, 5, dtype=torch.float64)
    return attr, attr


def _graph(kind: str, nodes: int = 9, seed: int = 1, density: float = 0.45) -> Data:
    graph = nx.gnp_random_graph(nodes, density, seed=seed)
    edges = reference.edge_index(graph)
    x = torch.randn(nodes, 3, dtype=torch.float64)
    return Data(x=x, edge_index=edges, edge_attr=_attr(kind, edges.size(1))[0], num_nodes=nodes)


def _model(kind: str, **options) -> lgan.LGAN:
    options = {"num_layers": 2, "edge_dim": DIMS[kind]} | options
    return lgan.LGAN(3, 6, 2, **options).double()


@per_variant
@per_kind
@pytest.mark.parametrize("backend", ["numba", "torch"])
def test_values_and_gradients_are_those_of_literal_line_graphs(kind, options, backend):
    torch.manual_seed(3)
    layer = LGANConv(3, 4, edge_dim=DIMS[kind], **options).double()
    graph = nx.gnp_random_graph(8, 0.5, seed=4)
    edge_index = reference.edge_index(graph)
    attr, vectors = _attr(kind, edge_index.size(1))
    x = torch.randn(8, 3).double().requires_grad_()
    named = {(min(e), max(e)): row for e, row in zip(edge_index.T.tolist(), vectors, strict=True)}
    expected = reference.conv(layer, x, graph, named)
    with ops.backend(backend):
        got = layer(x, edge_index, attr)
        assert_same_gradients(layer, x, got, expected)


@per_kind
@pytest.mark.parametrize("pair_code", ["none", "rings"])
@pytest.mark.parametrize("code_map", ["linear", "spline"])
def test_models_obey_the_laws(kind, pair_code, code_map):
    if (pair_code, code_map) == ("none", "spline"):
        pytest.skip("no codes, no curves")
    torch.manual_seed(0)
    model = _model(kind, pair_code=pair_code, code_map=code_map, residual=True)
    transform = EgoLineGraph(pair_code=pair_code)
    several = [_graph(kind), _graph(kind, 6, 3), _graph(kind, 4, 2, 0.9)]
    assert_permutation_invariant(model, several, transform)
    assert_batching_invariant(model, [*several, _graph(kind, 1)], transform)
    assert_disjoint_union(model, several, transform)


def test_graphs_without_edges_need_no_features():
    model = lgan.LGAN(2, 4, 2, edge_dim=3).double()
    assert_gradients_finite(
        model,
        2,
        lambda g: EgoLineGraph()(_with_zeros(g)),  # type: ignore[arg-type]
    )


def _with_zeros(graph: Data) -> Data:
    graph = graph.clone()
    graph.edge_attr = torch.zeros(graph.edge_index.size(1), dtype=torch.int64)
    return graph


@per_kind
def test_models_side_by_side_are_separate_models(kind):
    torch.manual_seed(5)
    models = [_model(kind, pair_code="rings", residual=True) for _ in range(3)]
    together = stack([copy.deepcopy(model) for model in models])
    union = _union(kind, pair_code="rings")
    batch = union.batch(torch.tensor([2, 0, 1]))
    for training in (True, False):
        together.train(training)
        expected = []
        for model in models:
            model.train(training)
            expected.append(model(batch))
        got = together(batch)
        torch.testing.assert_close(got, torch.stack(expected), rtol=1e-10, atol=1e-10)
        if training:
            got.square().sum().backward()
            torch.stack(expected).square().sum().backward()
            for name, parameter in together.named_parameters():
                alone = torch.stack([dict(model.named_parameters())[name].grad for model in models])
                torch.testing.assert_close(parameter.grad, alone, rtol=1e-9, atol=1e-10)
    with torch.no_grad():
        torch.testing.assert_close(together(batch), got, rtol=1e-10, atol=1e-10)


def _parts(kind: str) -> list[Data]:
    torch.manual_seed(1)
    return [_graph(kind, 7, 1, 0.6), _graph(kind, 5, 2, 0.9), _graph(kind, 8, 3, 0.3)]


def _union(kind: str, *, compress: bool = False, pair_code: str = "none") -> GraphUnion:
    graphs = _parts(kind)
    ptr = torch.tensor([0, *(g.num_nodes for g in graphs)]).cumsum(0)
    edges = torch.cat([g.edge_index + at for g, at in zip(graphs, ptr[:-1], strict=True)], 1)
    pairs = undirected_pairs(edges, int(ptr[-1]))
    attr = pair_attr(edges, torch.cat([g.edge_attr for g in graphs]), pairs, int(ptr[-1]))
    return GraphUnion.build(
        torch.cat([g.x for g in graphs]), pairs, torch.tensor([0, 1, 0]), ptr, num_features=3,
        num_classes=2, compress=compress, pair_code=pair_code, edges=EdgeFeatures.of(attr),
    )  # fmt: skip


@per_kind
@pytest.mark.parametrize("pair_code", ["none", "full"])
def test_a_union_gives_what_pyg_batches_give_and_survives_storage(kind, pair_code):
    union = _union(kind, pair_code=pair_code)
    model = _model(kind, pair_code=pair_code).eval()
    graphs = [EgoLineGraph(pair_code=pair_code)(graph) for graph in _parts(kind)]
    ids = torch.tensor([2, 0, 1])
    expected = model(Batch.from_data_list([graphs[i] for i in ids]))
    again = GraphUnion.from_tensors(union.tensors())
    for one in (union, again):
        torch.testing.assert_close(model(one.batch(ids)), expected, rtol=1e-10, atol=1e-10)
    assert union.num_edge_features == (
        1 if kind == "category" else 2 if kind == "categories" else 5
    )


@given(twins=twin_graphs(), data=st.data())
@settings(max_examples=25, deadline=None)
@per_kind
def test_compression_is_exact_with_equal_and_unequal_features(kind, twins, data):
    graph, origin = twins
    edges = reference.edge_index(graph)
    planted = data.draw(st.booleans(), label="features depend on the origins alone")
    number = edges.size(1)
    if planted:
        low, high = torch.sort(torch.tensor(origin)[edges], 0).values if number else edges
        ids = (low * 7 + high) % 3
    else:
        ids = torch.tensor(data.draw(st.lists(st.integers(0, 1), min_size=number, max_size=number)))
    ids = ids.long()
    attr = {
        "category": ids,
        "categories": torch.stack([ids, ids % 2], 1),
        "real": torch.stack([ids.double() * 0.3 + i for i in range(5)], 1),
    }[kind]
    x = torch.eye(3, dtype=torch.float64)[torch.tensor(origin) % 3]
    torch.manual_seed(0)
    model = _model(kind, residual=True)
    with torch.no_grad():  # where all nodes are equal, normalised values are not at ReLU's kink
        for name, weight in model.named_parameters():
            if name.endswith("norm.shift"):
                weight.uniform_(0.1, 0.5)
    results = []
    for compress in (False, True):
        one = Data(x=x, edge_index=edges, edge_attr=attr, num_nodes=len(graph))
        model.zero_grad()
        for module in model.modules():
            if hasattr(module, "running_mean"):
                module.running_mean.zero_()
                module.running_var.fill_(1)
        prepared = EgoLineGraph(compress=compress)(one)
        out = model(prepared)
        out.square().sum().backward()
        grads = [p.grad.clone() for p in model.parameters() if p.grad is not None]
        results.append([out.detach(), *grads, *(b.clone() for b in model.buffers())])
    # Where all nodes are equal, every normalisation divides rounding by the root of its `eps`.
    for plain, merged in zip(*results, strict=True):
        torch.testing.assert_close(merged, plain, rtol=1e-9, atol=1e-7)
    if planted and kind == "category":
        merged_nodes = EgoLines.from_data(prepared).num_nodes
        assert merged_nodes <= len(set(origin))


@pytest.mark.parametrize(
    ("kinds", "classes"),
    [
        ([0] * 10, 1),  # K5 with one kind of edge
        ([0, 1, 1, 1, 1, 1, 1, 2, 2, 2], 2),  # 01 and 234 have edges of their own kind inside
        ([1, 0, 0, 0, 0, 0, 0, 0, 0, 0], 2),  # one edge of its own kind: its ends, the others
    ],
)
def test_twins_agree_in_their_edges(kinds, classes):
    k5 = torch.combinations(torch.arange(5)).t()
    found = lgan.graph.twin_classes(k5, 5, edge_kind=torch.tensor(kinds))
    assert int(found.max()) + 1 == classes


@given(twins=twin_graphs(), data=st.data())
@settings(max_examples=60, deadline=None)
def test_twin_classes_are_those_of_the_definition(twins, data):
    graph, _ = twins
    pairs = undirected_pairs(reference.edge_index(graph), len(graph))
    number = pairs.size(1)
    kinds = data.draw(st.lists(st.integers(0, 1), min_size=number, max_size=number))
    kind = {frozenset(p): k for p, k in zip(pairs.T.tolist(), kinds, strict=True)}

    def twins_by_definition(a: int, b: int) -> bool:
        closed = [{n, *graph.neighbors(n)} for n in (a, b)]
        others = closed[0] - {a, b}
        return (
            graph.has_edge(a, b)
            and closed[0] == closed[1]
            and all(kind[frozenset((a, w))] == kind[frozenset((b, w))] for w in others)
        )

    found = lgan.graph.twin_classes(
        pairs, len(graph), edge_kind=torch.tensor(kinds, dtype=torch.int64)
    ).tolist()
    for a in graph:
        for b in range(a):
            assert (found[a] == found[b]) == twins_by_definition(a, b)


def test_deleting_an_edge_is_masking_it():
    torch.manual_seed(2)
    graph, model = _graph("real"), _model("real").eval()
    whole = EgoLineGraph()(graph.clone())
    lines = EgoLines.from_data(whole)
    for gone in range(0, lines.num_pairs, 3):
        mask = torch.ones(lines.num_pairs, dtype=torch.float64)
        mask[gone] = 0
        pair = lines.pair_index[:, gone].long()
        kept = ~((graph.edge_index == pair[:, None]).all(0)
                 | (graph.edge_index.flip(0) == pair[:, None]).all(0))  # fmt: skip
        rest = Data(x=graph.x, edge_index=graph.edge_index[:, kept],
                    edge_attr=graph.edge_attr[kept], num_nodes=graph.num_nodes)  # fmt: skip
        x = graph.x
        for conv in model.convs:
            x = conv(x, lines.masked(mask))
        y = graph.x
        deleted = EgoLines.from_data(EgoLineGraph()(rest))
        for conv in model.convs:
            y = conv(y, deleted)
        torch.testing.assert_close(x, y, rtol=1e-10, atol=1e-10)


def _ring(kinds: list[int]) -> Data:
    n = len(kinds)
    u = torch.arange(n)
    return EgoLineGraph()(
        Data(x=torch.ones(n, 3).double(), edge_index=torch.stack([u, (u + 1) % n]),
             edge_attr=torch.tensor(kinds))
    )  # fmt: skip


def test_what_bonds_tell_apart():
    """Double bonds that alternate or not are told apart; a ring shifted by one bond, and a chain
    and its mirror image, are the same graph."""
    torch.manual_seed(0)
    model = lgan.LGAN(3, 8, 2, num_layers=3, residual=True, edge_dim=4).double().eval()
    kekule, shifted, gathered = ([0, 1] * 3, [1, 0] * 3, [0, 0, 0, 1, 1, 1])
    torch.testing.assert_close(model(_ring(kekule)), model(_ring(shifted)))
    assert not torch.allclose(model(_ring(kekule)), model(_ring(gathered)), atol=1e-6)
    chain = Data(x=torch.eye(3).double(), edge_index=torch.tensor([[0, 1], [1, 2]]),
                 edge_attr=torch.tensor([0, 1]))  # fmt: skip
    mirror = Data(x=torch.eye(3).double().flip(0), edge_index=torch.tensor([[0, 1], [1, 2]]),
                  edge_attr=torch.tensor([1, 0]))  # fmt: skip
    other = Data(x=torch.eye(3).double().flip(0), edge_index=torch.tensor([[0, 1], [1, 2]]),
                 edge_attr=torch.tensor([0, 1]))  # fmt: skip
    transform = EgoLineGraph()
    torch.testing.assert_close(model(transform(chain)), model(transform(mirror)))
    assert not torch.allclose(model(transform(chain)), model(transform(other)), atol=1e-6)


def test_directions_that_disagree_need_a_rule():
    both = torch.tensor([[0, 1], [1, 0]])
    x, attr = torch.ones(2, 3), torch.tensor([[1.0], [3.0]])
    with pytest.raises(ValueError, match=r"\[3.0\] between the nodes"):
        LGANConv(3, 4, edge_dim=1)(x, both, attr)
    once = torch.tensor([[0], [1]])
    for rule, value in (("mean", 2.0), ("min", 1.0), ("max", 3.0)):
        torch.manual_seed(0)
        conv = LGANConv(3, 4, edge_dim=1, edge_reduce=rule).eval()
        torch.testing.assert_close(conv(x, both, attr), conv(x, once, torch.tensor([[value]])))
        graph = EgoLineGraph(reduce=rule)(Data(x=x, edge_index=both, edge_attr=attr))
        assert graph.pair_attr.tolist() == [[value]]
    with pytest.raises(ValueError, match="no mean"):
        EgoLineGraph(reduce="mean")(Data(x=x, edge_index=both, edge_attr=torch.tensor([0, 1])))


@pytest.mark.parametrize(
    ("edge_dim", "attr", "message"),
    [
        (4, torch.zeros(3, dtype=torch.int64), "each of 2 edges"),
        (4, torch.full((2, 4), float("nan")), "finite"),
        (4, torch.tensor([0, 4]), "below `edge_dim=4`, got up to 4"),
        (4, torch.tensor([0, -1]), "from 0 on"),
        (4, torch.zeros(2, 3), "3 columns of real values"),
        ((2, 2), torch.zeros(2, dtype=torch.int64), "1 column of categories"),
        (4, torch.zeros(2), "edge_weight"),
        (4, torch.zeros(2, 4, dtype=torch.complex64), "real"),
        (4, None, "the graph has none"),
        (None, torch.zeros(2, dtype=torch.int64), "the model reads none"),
    ],
)
def test_wrong_features_are_refused(edge_dim, attr, message):
    conv = LGANConv(3, 4, edge_dim=edge_dim)
    edges = torch.tensor([[0, 1], [1, 2]])
    with pytest.raises((ValueError, TypeError), match=message):
        conv(torch.ones(3, 3), edges, attr)


def test_a_wrong_edge_dim_is_refused():
    for wrong in (0, (), (2, 0), -1, True, 2.5):
        with pytest.raises(ValueError, match="edge_dim"):
            LGANConv(3, 4, edge_dim=wrong)


def test_the_transform_leaves_features_out_on_request():
    graph = EgoLineGraph(edge_attr=False)(_graph("real"))
    assert graph.edge_attr is None
    assert "pair_attr" not in graph
    lgan.LGAN(3, 4, 2).double()(graph)


@pytest.mark.parametrize(
    ("attr", "message"),
    [
        (np.zeros(2), "`pair_attr` must be a tensor"),
        (torch.zeros(3, dtype=torch.int64), "each of 2 edges"),
        (torch.tensor(1), "each of 2 edges"),
        (torch.zeros(2, dtype=torch.complex64), "real"),
        (torch.full((2, 3), torch.nan), "finite"),
        (torch.tensor([0, -1]), "from 0 on"),
    ],
)
def test_features_that_were_tampered_with_are_refused(attr, message):
    edges = torch.tensor([[0, 1], [1, 2]])
    graph = Data(x=torch.ones(3, 3), edge_index=edges, edge_attr=torch.tensor([0, 1]))
    graph = EgoLineGraph()(graph)
    graph.pair_attr = attr
    with pytest.raises((ValueError, TypeError), match=message):
        lgan.LGAN(3, 4, 2, edge_dim=3)(graph)


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("rows", [[0, 2], [0, -1], [0, 10**12]])
def test_rows_outside_of_the_table_are_refused(rows, compress):
    pairs = torch.tensor([[0, 1], [1, 2]])
    edges = EdgeFeatures(torch.ones(2, 2), torch.tensor(rows))
    with pytest.raises(ValueError, match=r"`edges\.rows` must hold rows of the table from 0 to 1"):
        GraphUnion.build(
            torch.zeros(3, dtype=torch.int64), pairs, torch.tensor([0]), torch.tensor([0, 3]),
            num_features=1, num_classes=2, edges=edges, compress=compress,
        )  # fmt: skip

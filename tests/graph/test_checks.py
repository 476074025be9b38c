import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.transforms import LargestConnectedComponents

import lgan
from lgan import EgoLines, GraphUnion
from lgan.graph import GraphBatch, undirected_pairs
from lgan.train.stack import stack
from lgan.zoo.gin import GIN

PROGRAM = Path(__file__).parents[1] / "fuzz_structures.py"


def test_no_corrupted_field_reaches_a_compiled_loop():
    run = subprocess.run(
        [sys.executable, "-W", "ignore", str(PROGRAM), "0"],
        capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-3000:]
    refused, right = map(int, run.stdout.split())
    assert refused > 1000
    assert right > 500


def _graph(nodes: int = 40) -> Data:
    edges = undirected_pairs(torch.randint(0, nodes, (2, 4 * nodes)), nodes)
    return Data(x=torch.randn(nodes, 2), edge_index=edges)


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("training", [False, True])
def test_a_subgraph_taken_after_the_transform_is_refused(compress, training):
    model = lgan.LGAN(2, 16, 2).train(training)
    graph = lgan.EgoLineGraph(compress=compress)(_graph())
    with pytest.raises(ValueError, match=r"Rebuild the line graphs with `lgan.EgoLineGraph\(\)`"):
        model(graph.subgraph(torch.arange(20)))


def test_the_largest_component_taken_after_the_transform_is_refused():
    edges = torch.tensor([[0, 1, 2, 4, 5], [1, 2, 0, 5, 6]])
    graph = lgan.EgoLineGraph()(Data(x=torch.randn(7, 2), edge_index=edges))
    for graphs in (graph, Batch.from_data_list([graph, graph])):
        kept = LargestConnectedComponents()(graphs)
        with pytest.raises(ValueError, match="after changing the graph"):
            lgan.LGAN(2, 4, 2)(kept)


def test_edges_changed_after_the_transform_are_refused():
    graph = lgan.EgoLineGraph()(_graph())
    model = lgan.LGAN(2, 4, 2).eval()
    expected = model(graph)
    edges = graph.edge_index
    for harmless in (edges.flip(0), torch.cat([edges, edges.flip(0)], 1), edges.repeat(1, 2)):
        graph.edge_index = harmless
        assert torch.equal(model(graph), expected)
    graph.edge_index = edges[:, 1:]
    with pytest.raises(ValueError, match="`edge_index` has changed since"):
        model(graph)


@pytest.mark.parametrize("model", [lgan.LGAN(2, 4, 3), GIN(2, 4, 3)])
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("ptr", torch.tensor([0, 60, 80])),
        ("ptr", torch.tensor([0, 50, 40])),
        ("ptr", torch.tensor([-5, 40])),
        ("ptr", torch.tensor([0.0, 40.0])),
        ("ptr", torch.tensor([0, 20])),
        ("batch", torch.full((40,), -1)),
        ("batch", torch.zeros(39, dtype=torch.int64)),
        ("batch", torch.zeros(40)),
        ("batch", torch.tensor([1] * 20 + [0] * 20)),
    ],
)
def test_graphs_that_do_not_divide_the_nodes_are_refused(model, field, value):
    graph = lgan.EgoLineGraph()(_graph())
    graph[field] = value
    with pytest.raises((ValueError, TypeError), match=f"`{field}` must"):
        model(graph)


def _weights(value: float) -> torch.Tensor:
    return torch.full((40,), value)


@pytest.mark.parametrize("edges_built", [False, True])
@pytest.mark.parametrize(
    "weight", [_weights(-1), _weights(torch.nan), _weights(torch.inf), torch.ones(39), [1.0] * 40]
)
def test_weights_that_are_no_counts_are_refused(weight, edges_built):
    graph = _graph()
    edges = EgoLines.from_edge_index(graph.edge_index, 40) if edges_built else graph.edge_index
    with pytest.raises((ValueError, TypeError), match="`node_weight` must"):
        lgan.LGANConv(2, 4)(graph.x, edges, node_weight=weight)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (torch.ones(3, 2, dtype=torch.float16), "`x` must have the type torch.float32"),
        (torch.ones(3, 2, dtype=torch.float64), r"Convert it with `x.to\(torch.float32\)`"),
        (torch.ones(3, 2, dtype=torch.complex64), "`x` must be real"),
        (torch.ones(3, 2, dtype=torch.int8), r"category ids.*x.float\(\)"),
        (torch.ones(3, 2, dtype=torch.bool), r"category ids.*x.float\(\)"),
        (np.ones((3, 2)), "`x` must be a tensor"),
        (torch.tensor(1.0), "`x` must"),
        (torch.full((3, 2), torch.nan), "`x` must be finite"),
        (torch.full((3, 2), torch.inf), "`x` must be finite"),
    ],
)
def test_features_of_another_kind_are_refused_in_words(x, message):
    edges = torch.tensor([[0, 1, 2], [1, 2, 0]])
    with pytest.raises((ValueError, TypeError), match=message):
        lgan.LGANConv(2, 4)(x, edges)
    graph = lgan.EgoLineGraph()(Data(x=torch.ones(3, 2), edge_index=edges))
    graph.x = x
    with pytest.raises((ValueError, TypeError), match=message):
        lgan.LGAN(2, 4, 2)(graph)


@pytest.mark.parametrize("kind", [torch.int8, torch.int16, torch.uint8, torch.bool, torch.int32])
def test_small_integers_are_categories_like_any_other(kind):
    edges, x = torch.tensor([[0, 1, 2], [1, 2, 0]]), torch.tensor([0, 1, 1])
    for layer in (lgan.LGANConv(2, 4), lgan.LGANConv(2, 4).eval()):
        assert torch.equal(layer(x.to(kind), edges), layer(x, edges))


def test_large_finite_features_are_not_mistaken_for_infinite_ones():
    x = torch.full((3, 2), 3e38)
    lgan.LGANConv(2, 4)(x, torch.tensor([[0, 1, 2], [1, 2, 0]]))


def test_nan_passes_through_a_layer_that_is_given_a_structure():
    lines = EgoLines.from_edge_index(torch.tensor([[0, 1, 2], [1, 2, 0]]), 4)
    x = torch.tensor([[torch.nan], [0.0], [0.0], [1.0]])
    out = lgan.LGANConv(1, 4).eval()(x, lines)
    assert bool(out[:3].isnan().any(1).all())
    assert bool(out[3].isfinite().all())


def _parts() -> dict:
    return {
        "x": torch.zeros(3, dtype=torch.int64),
        "pair_index": torch.tensor([[0, 1], [1, 2]]),
        "y": torch.zeros(1, dtype=torch.int64),
        "node_ptr": torch.tensor([0, 3]),
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pair_index": torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])}, "list every edge once"),
        ({"y": torch.tensor([-1]), "x": torch.tensor([0, 0, 5])}, "`x` must hold numbers"),
        ({"y": torch.tensor([3])}, "`y` must hold numbers from 0 to 1, got 3 to 3"),
        ({"y": torch.tensor([0.0])}, "`y` must hold numbers of categories or classes"),
        ({"y": torch.tensor([torch.nan])}, "`y` must hold numbers of categories or classes"),
        ({"node_ptr": torch.tensor([0, 2])}, "`x` must have 2 rows"),
        ({"node_ptr": torch.tensor([1, 3])}, "`node_ptr` must rise from 0"),
        ({"x": torch.ones(2, 1)}, r"`x` must have 3 rows, got shape \[2, 1\]"),
        ({"y": torch.zeros(2).long()}, r"`y` must have 1 rows, got shape \[2\]"),
        ({"x": torch.tensor([[1.0], [torch.nan], [0.0]])}, "must be finite, got NaN"),
        ({"x": torch.tensor([[1.0], [torch.inf], [0.0]])}, "must be finite.*infinite"),
    ],
)
def test_parts_that_make_no_union_are_refused_at_once(change, message):
    with pytest.raises((ValueError, TypeError), match=message):
        GraphUnion.build(**(_parts() | change), num_features=1, num_classes=2)


def test_labels_of_minus_one_and_one_are_refused():
    parts = _parts() | {"node_ptr": torch.tensor([0, 3, 3]), "y": torch.tensor([-1, 1])}
    with pytest.raises(ValueError, match=r"`y` must hold numbers from 0 to 1, got -1 to 1.*unique"):
        GraphUnion.build(**parts, num_features=1, num_classes=2)


def test_a_pair_between_two_graphs_is_refused():
    parts = _parts() | {"node_ptr": torch.tensor([0, 2, 3]), "y": torch.tensor([0, 1])}
    with pytest.raises(ValueError, match="`pair_index` of graph 0 refers to another graph"):
        GraphUnion.build(**parts, num_features=1, num_classes=2)


@pytest.mark.parametrize("ids", [torch.tensor([-1]), torch.tensor([1]), torch.tensor([0.0])])
def test_graphs_that_a_union_does_not_have_are_refused(ids):
    union = GraphUnion.build(**_parts(), num_features=1, num_classes=2)
    with pytest.raises((ValueError, TypeError), match="`ids` must"):
        union.batch(ids)


def test_what_is_cut_from_a_checked_structure_is_not_checked_again(monkeypatch):
    union = lgan.load("triangles")
    monkeypatch.setattr("lgan.graph.ego_lines.check_lines", _refuse)
    monkeypatch.setattr("lgan.graph.union.check_ptr", _refuse)
    monkeypatch.setattr("lgan.graph.batch.check_ptr", _refuse)
    batch = union.batch(torch.arange(3))
    lgan.LGAN(union.num_features, 4, 2)(batch.weighted(torch.ones(batch.num_nodes)))
    with pytest.raises(AssertionError):
        GraphBatch(batch.x, batch.y, batch.ptr, batch.ids, batch.lines)


def _refuse(*_: object, **__: object) -> None:
    raise AssertionError("checked")


@pytest.mark.parametrize("training", [False, True])
def test_parameters_of_other_shapes_never_reach_a_compiled_layer(training):
    layer = stack([lgan.LGANConv(2, 8) for _ in range(3)]).train(training)
    lines, x = EgoLines.from_edge_index(_graph().edge_index, 40), torch.randn(3, 40, 2)
    with torch.set_grad_enabled(training), pytest.raises(ValueError, match="`node_weight` must"):
        layer(x, lines, node_weight=torch.ones(2, 40))
    with torch.set_grad_enabled(training), pytest.raises(ValueError, match="rows for 3 models"):
        layer(x[:2], lines)
    layer.out_norm.scale = torch.nn.Parameter(torch.ones(3, 2))
    with torch.set_grad_enabled(training), pytest.raises(ValueError, match="do not fit together"):
        layer(x, lines)


def test_many_inputs_of_one_model_are_computed_one_by_one():
    layer, x = lgan.LGANConv(2, 8).eval(), torch.randn(3, 40, 2)
    lines = EgoLines.from_edge_index(_graph().edge_index, 40)
    with torch.no_grad():
        torch.testing.assert_close(layer(x, lines), torch.stack([layer(one, lines) for one in x]))

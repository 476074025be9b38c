"""The direction of arcs, from `edge_index` to the layer: the equations, laws, twins, refusals."""

import copy
import hashlib

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Batch, Data

import lgan
import reference
from laws import assert_same_gradients, twin_graphs
from lgan import EgoLineGraph, EgoLines, GraphUnion, LGANConv, ops
from lgan.data.readers.pyg import from_pyg
from lgan.train.stack import stack

OPTIONS = [
    {},
    {"residual": True, "comb": "linear"},
    {"residual": True, "branches": "target"},
    {"fusion": "gate", "squash": True},
    {"norm": "layer"},
]


def _arcs(nodes: int, seed: int, density: float = 0.5) -> Tensor:
    """Arcs of which some go both ways."""
    graph = nx.gnp_random_graph(nodes, density, seed=seed, directed=True)
    return reference.edge_index(graph)


def _features(arcs: Tensor, columns: int = 2) -> Tensor:
    """Features on which both directions agree."""
    low, high = torch.sort(arcs, 0).values
    place = torch.arange(columns) + 1.0
    return torch.sin((low * 31 + high)[:, None] * place).double()


def _graph(nodes: int = 8, seed: int = 1, *, features: bool = True) -> Data:
    arcs = _arcs(nodes, seed)
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(nodes, 3, generator=generator, dtype=torch.float64)
    attr = _features(arcs) if features else None
    return Data(x=x, edge_index=arcs, edge_attr=attr, num_nodes=nodes)


def _model(*, features: bool = True, **options) -> lgan.LGAN:
    torch.manual_seed(0)
    options = {"num_layers": 2, "residual": True, "edge_dim": 2 if features else None} | options
    return lgan.LGAN(3, 6, 2, directed=True, **options).double()


@pytest.mark.parametrize("features", [False, True])
@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: "-".join(map(str, o.values())))
@pytest.mark.parametrize("backend", ["numba", "torch"])
def test_values_and_gradients_are_those_of_literal_line_graphs(features, options, backend):
    torch.manual_seed(3)
    layer = LGANConv(3, 4, edge_dim=2 if features else None, directed=True, **options).double()
    arcs = _arcs(7, 4)
    attr = _features(arcs) if features else None
    x = torch.randn(7, 3).double().requires_grad_()
    graph = nx.Graph(arcs.T.tolist())
    graph.add_nodes_from(range(7))
    listed = arcs.T.tolist()
    named = None
    if attr is not None:
        named = {(min(e), max(e)): row for e, row in zip(listed, attr, strict=True)}
    expected = reference.conv(layer, x, graph, named, {(u, v) for u, v in listed})
    with ops.backend(backend):
        got = layer(x, arcs, attr)
        assert_same_gradients(layer, x, got, expected)


def _turned(model: lgan.LGAN) -> lgan.LGAN:
    """The same model with source and target exchanged."""
    other = copy.deepcopy(model)
    with torch.no_grad():
        for conv in other.convs:
            conv.direction.ends.weight.neg_()
            conv.direction.flow.weight.neg_()
    return other


def test_reversing_all_arcs_is_exchanging_source_and_target_in_the_model():
    model, transform = _model().eval(), EgoLineGraph(directed=True)
    graph = _graph()
    back = graph.clone()
    back.edge_index = graph.edge_index.flip(0)
    there, reversed_ = model(transform(graph)), model(transform(back))
    assert not torch.allclose(there, reversed_, atol=1e-6)
    torch.testing.assert_close(_turned(model)(transform(back)), there, rtol=1e-10, atol=1e-10)


def test_arcs_both_ways_are_the_undirected_graph():
    model = _model().eval()
    plain = lgan.LGAN(3, 6, 2, num_layers=2, residual=True, edge_dim=2).double().eval()
    plain.load_state_dict(model.state_dict(), strict=False)
    graph = _graph()
    graph.edge_index = torch.cat([graph.edge_index, graph.edge_index.flip(0)], 1)
    graph.edge_attr = graph.edge_attr.repeat(2, 1)
    expected = plain(EgoLineGraph()(graph.clone()))
    got = model(EgoLineGraph(directed=True)(graph))
    torch.testing.assert_close(got, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("features", [False, True])
def test_renaming_nodes_changes_nothing_and_a_batch_is_its_graphs(features):
    model = _model(features=features, pair_code="rings").eval()
    transform = EgoLineGraph(directed=True, pair_code="rings")
    graphs = [_graph(8, 1, features=features), _graph(5, 2, features=features)]
    outputs = torch.cat([model(transform(graph.clone())) for graph in graphs])
    batch = Batch.from_data_list([transform(graph.clone()) for graph in graphs])
    torch.testing.assert_close(model(batch), outputs, rtol=1e-10, atol=1e-10)
    union = lgan.load(graphs, targets={"y": [0, 1]}, directed=True, pair_code="rings")
    assert union.lines.edge_directed
    stored = GraphUnion.from_tensors(union.tensors())
    got = copy.deepcopy(model).float()(stored.batch(torch.tensor([1, 0])))
    torch.testing.assert_close(got, outputs.flip(0).float(), rtol=1e-4, atol=1e-5)
    for seed, graph in enumerate(graphs):
        new = torch.randperm(graph.num_nodes, generator=torch.Generator().manual_seed(seed))
        order = torch.randperm(graph.edge_index.size(1))
        renamed = Data(
            x=graph.x[torch.argsort(new)],
            edge_index=new[graph.edge_index][:, order],
            edge_attr=graph.edge_attr[order] if features else None,
            num_nodes=graph.num_nodes,
        )
        got = model(transform(renamed))[0]
        torch.testing.assert_close(got, outputs[seed], rtol=1e-10, atol=1e-10)


def test_models_side_by_side_are_separate_models():
    models = [_model().float(), _turned(_model()).float()]
    together = stack([copy.deepcopy(model) for model in models])
    union = lgan.load([_graph(), _graph(6, 5)], targets={"y": [0, 1]}, directed=True)
    batch = union.batch(torch.tensor([0, 1]))
    expected = torch.stack([model(batch) for model in models])
    torch.testing.assert_close(together(batch), expected, rtol=1e-4, atol=1e-5)


@given(twins=twin_graphs(), data=st.data())
@settings(max_examples=25, deadline=None)
def test_merging_twins_is_exact(twins, data):
    graph, origin = twins
    pairs = reference.edge_index(graph)
    number = pairs.size(1)
    ways = st.lists(st.integers(-1, 1), min_size=number, max_size=number)
    way = torch.tensor(data.draw(ways), dtype=torch.int64)
    if data.draw(st.booleans(), label="arcs depend on the origins alone"):
        low, high = torch.tensor(origin)[pairs] if number else pairs
        way = torch.sign(low - high)
    arcs = torch.cat([pairs[:, way >= 0], pairs[:, way <= 0].flip(0)], 1)
    x = torch.eye(3, dtype=torch.float64)[torch.tensor(origin) % 3]
    model = _model(features=False)
    results, merged = [], 0
    for compress in (False, True):
        model.zero_grad()
        one = Data(x=x, edge_index=arcs, num_nodes=len(graph))
        prepared = EgoLineGraph(compress=compress, directed=True)(one)
        EgoLines.from_data(prepared)  # the arcs of the classes fit their pairs
        merged = prepared.multiplicity.numel()
        out = model(prepared)
        out.square().sum().backward()
        grads = [p.grad.clone() for p in model.parameters() if p.grad is not None]
        results.append([out.detach(), *grads])
    for plain, small in zip(*results, strict=True):
        torch.testing.assert_close(small, plain, rtol=1e-9, atol=1e-10)
    if bool((way == 0).all()):
        assert merged <= len(set(origin))


def test_twins_see_the_same_arcs():
    # A triangle 012 with arcs 0 -> 2 and 1 -> 2: 0 and 1 are twins where the edge between them
    # goes both ways, and not where it is an arc.
    both = torch.tensor([[0, 1, 0, 1], [1, 0, 2, 2]])
    for arcs, classes in ((both, 2), (both[:, 1:], 3)):
        graph = Data(x=torch.ones(3, 1), edge_index=arcs, num_nodes=3)
        merged = EgoLineGraph(compress=True, directed=True)(graph)
        assert merged.num_nodes == classes


def test_deleting_an_arc_is_masking_it():
    graph, model = _graph(), _model().eval()
    lines = EgoLines.from_data(EgoLineGraph(directed=True)(graph.clone()))
    for gone in range(0, lines.num_pairs, 3):
        mask = torch.ones(2, lines.num_pairs, dtype=torch.float64)
        mask[0, gone] = 0
        pair = set(lines.pair_index[:, gone].tolist())
        kept = torch.tensor([set(arc) != pair for arc in graph.edge_index.T.tolist()])
        rest = Data(x=graph.x, edge_index=graph.edge_index[:, kept],
                    edge_attr=graph.edge_attr[kept], num_nodes=graph.num_nodes)  # fmt: skip
        deleted = EgoLines.from_data(EgoLineGraph(directed=True)(rest))
        masked, y = graph.x, graph.x
        for conv in model.convs:
            masked, y = conv(masked, lines.masked(mask)), conv(y, deleted)
        torch.testing.assert_close(masked[0], y, rtol=1e-10, atol=1e-10)


def _told_apart(one: list[tuple[int, int]], other: list[tuple[int, int]], nodes: int) -> bool:
    model, transform = _model(features=False, num_layers=3).eval(), EgoLineGraph(directed=True)
    x = torch.ones(nodes, 3, dtype=torch.float64)
    first, second = (
        model(transform(Data(x=x, edge_index=torch.tensor(arcs).t(), num_nodes=nodes)))
        for arcs in (one, other)
    )
    return not torch.allclose(first, second, rtol=0, atol=1e-9)


def test_what_directions_tell_apart():
    """Nodes without features: a ring with all arcs one way, one with an arc turned, the ring with
    edges; and a star whose arcs lead in or out."""
    ring = [(i, (i + 1) % 5) for i in range(5)]
    both = ring + [(v, u) for u, v in ring]
    assert _told_apart(ring, [(1, 0), *ring[1:]], 5)
    assert _told_apart(ring, both, 5)
    assert not _told_apart(ring, [(v, u) for u, v in ring], 5)  # the same graph
    assert _told_apart([(0, 1), (0, 2), (0, 3)], [(1, 0), (2, 0), (3, 0)], 4)


def _refined(arcs: list[list[int]], nodes: int) -> list[object]:
    """Colour refinement of a directed graph: a node sees the colours of its neighbours and which
    way the arcs between them go."""
    listed, colour = {(u, v) for u, v in arcs}, dict.fromkeys(range(nodes), "")
    for _ in range(nodes):
        seen = {
            t: sorted(
                (colour[p], (t, p) in listed, (p, t) in listed)
                for p in range(nodes)
                if (t, p) in listed or (p, t) in listed
            )
            for t in range(nodes)
        }
        words = {t: repr((colour[t], seen[t])) for t in range(nodes)}
        colour = {t: hashlib.sha256(word.encode()).hexdigest() for t, word in words.items()}
    return sorted(colour.values())


def test_target_pairs_separate_what_refinement_of_directed_graphs_does():
    nodes = 4
    model = _model(features=False, num_layers=4, branches="target", norm="none").eval()
    drawn = [_arcs(nodes, seed, 0.15 + 0.02 * (seed % 20)) for seed in range(60)]
    x = torch.ones(nodes, 3, dtype=torch.float64)
    transform = EgoLineGraph(directed=True)
    data = [transform(Data(x=x, edge_index=arcs, num_nodes=nodes)) for arcs in drawn]
    with torch.no_grad():
        outputs = model(Batch.from_data_list(data))
    colours = [_refined(arcs.T.tolist(), nodes) for arcs in drawn]
    for a in range(len(drawn)):
        for b in range(a):
            gap = float((outputs[a] - outputs[b]).abs().max())
            assert (gap > 1e-9) == (colours[a] != colours[b]), (drawn[a], drawn[b], gap)


def test_explanations_read_directions():
    graph, model = _graph(), _model().eval()
    found = lgan.attribute(model, EgoLineGraph(directed=True)(graph))
    assert abs(found.gap) < 0.05 * (1 + abs(found.output - found.baseline_output))


def test_what_a_model_does_not_read_is_refused():
    directed = EgoLineGraph(directed=True)(_graph(features=False))
    plain = EgoLineGraph()(Data(x=torch.ones(2, 3).double(), edge_index=torch.tensor([[0], [1]])))
    with pytest.raises(ValueError, match="does not read it"):
        lgan.LGAN(3, 4, 2).double()(directed)
    with pytest.raises(ValueError, match="the graph has none"):
        _model(features=False)(plain)
    with pytest.raises(ValueError, match="without direction"):
        lgan.zoo.MODELS["gin"].build(3, 4, 2).double()(directed)
    directed.pair_direction = directed.pair_direction + 1
    with pytest.raises(ValueError, match="-1, 0 or 1"):
        _model(features=False)(directed)
    with pytest.raises(ValueError, match="got both"):
        from_pyg([_graph()], directed=True, symmetrise=True)
    union = lgan.load([_graph(features=False)] * 4, targets={"y": [0, 1] * 2}, directed=True)
    with pytest.raises(ValueError, match="read undirected graphs"):
        lgan.wl.LabelledGraphs.of(union)
    with pytest.raises(ValueError, match=r"LGAN.*directed=True"):
        lgan.cross_validate(lambda: lgan.LGAN(3, 4, 2), union, folds=2)


def test_molecules_have_no_direction():
    pytest.importorskip("rdkit", reason="molecules need rdkit")
    with pytest.raises(ValueError, match="have none"):
        lgan.load(["CCO", "CCN"], targets={"y": [0, 1]}, directed=True)

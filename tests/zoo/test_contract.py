"""Every model of the registry obeys every law: a newcomer is tested on arrival."""

from collections.abc import Callable, Iterator

import networkx as nx
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Batch, Data
from torch_geometric.transforms import BaseTransform, Compose, ToUndirected

import laws
import lgan
from lgan.train.stack import stack
from lgan.zoo import GIN, MODELS, model_spec

CHANNELS, CLASSES = 3, 4


@pytest.fixture(autouse=True)
def _float64() -> Iterator[None]:
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def _transform(*, compress: bool = False) -> BaseTransform:
    return Compose([ToUndirected(), lgan.EgoLineGraph(compress=compress)])


def _build(name: str, **options: object) -> nn.Module:
    settings = {"num_layers": 3} | options
    model = model_spec(name).build(CHANNELS, 5, CLASSES, **settings)
    with torch.no_grad():
        model(_batch(laws.varied_graphs(CHANNELS)))  # moves the running statistics
    return model


def _batch(graphs: list[Data]) -> Batch:
    return Batch.from_data_list([_transform()(graph) for graph in graphs])


def _gradients(model: nn.Module, batch: Data) -> dict[str, Tensor]:
    model.zero_grad()
    out = model(batch)
    (out * torch.linspace(-1, 1, out.shape[-2:].numel()).view(out.shape[-2:])).sum().backward()
    return {name: p.grad for name, p in model.named_parameters()}


def _close(got: Tensor, expected: Tensor, what: str = "") -> None:
    torch.testing.assert_close(got, expected, rtol=1e-9, atol=1e-9, msg=lambda m: f"{what}: {m}")


def _renaming_nodes_changes_nothing(name: str) -> None:
    for readout in ("sum", "mean", "max"):
        model = _build(name, readout=readout)
        laws.assert_permutation_invariant(model, laws.varied_graphs(CHANNELS), _transform())


def _a_batch_is_its_graphs_one_by_one(name: str) -> None:
    for readout in ("sum", "mean", "max"):
        model = _build(name, readout=readout)
        laws.assert_batching_invariant(model, laws.varied_graphs(CHANNELS), _transform())


def _a_batch_is_a_disjoint_union(name: str) -> None:
    laws.assert_disjoint_union(_build(name), laws.varied_graphs(CHANNELS), _transform())


def _gradients_are_finite_on_empty_and_isolated_cases(name: str) -> None:
    for readout in ("sum", "mean", "max"):
        laws.assert_gradients_finite(_build(name, readout=readout), CHANNELS, _transform())


def _stacked_models_are_separate_models(name: str) -> None:
    for readout in ("sum", "mean", "max"):
        models = [_build(name, readout=readout, dropout=0.3) for _ in range(3)]
        together = stack(models)
        batch = _batch(laws.varied_graphs(CHANNELS))
        for training in (True, False, True):
            for model in (together, *models):
                model.train(training)
            gradients = _gradients(together, batch)
            for k, model in enumerate(models):
                for key, alone in _gradients(model, batch).items():
                    _close(gradients[key][k], alone, f"gradient of {key}, training={training}")
        together.eval()
        out = together(batch)
        state = together.state_dict()
        for k, model in enumerate(models):
            _close(out[k], model.eval()(batch), "outputs")
            for key, tensor in model.state_dict().items():
                _close(state[key][k], tensor, key)


def _categories_stand_for_one_hot_vectors(name: str) -> None:
    graphs = laws.varied_graphs(CHANNELS)
    by_id = [graph.clone() for graph in graphs]
    for graph, same in zip(graphs, by_id, strict=True):
        same.x = graph.x.argmax(-1)
        graph.x = F.one_hot(same.x, CHANNELS).to(torch.float64)
    model = _build(name)
    _close(model(_batch(by_id)), model(_batch(graphs)))


def _state_goes_to_another_model_whole(name: str) -> None:
    model, other = _build(name).eval(), _build(name).eval()
    batch = _batch(laws.varied_graphs(CHANNELS))
    assert not torch.allclose(other(batch), model(batch))
    other.load_state_dict(model.state_dict())
    assert torch.equal(other(batch), model(batch))


def _evaluation_changes_no_state_and_needs_no_gradient(name: str) -> None:
    model = _build(name, dropout=0.5).eval()
    before = {key: tensor.clone() for key, tensor in model.state_dict().items()}
    with torch.no_grad():
        out = model(_batch(laws.varied_graphs(CHANNELS)))
    assert not out.requires_grad
    assert all(torch.equal(before[key], tensor) for key, tensor in model.state_dict().items())


def _float32_is_float64_rounded(name: str) -> None:
    model = _build(name).eval()
    graphs = laws.varied_graphs(CHANNELS)
    exact = model(_batch(graphs))
    for graph in graphs:
        graph.x = graph.x.float()
    out = model.float()(_batch(graphs))
    assert out.dtype == torch.float32
    torch.testing.assert_close(out.double(), exact, rtol=1e-3, atol=1e-3)


LAWS: list[Callable[[str], None]] = [
    _renaming_nodes_changes_nothing,
    _a_batch_is_its_graphs_one_by_one,
    _a_batch_is_a_disjoint_union,
    _gradients_are_finite_on_empty_and_isolated_cases,
    _stacked_models_are_separate_models,
    _categories_stand_for_one_hot_vectors,
    _state_goes_to_another_model_whole,
    _evaluation_changes_no_state_and_needs_no_gradient,
    _float32_is_float64_rounded,
]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__.strip("_"))
def test_every_model_obeys(name, law):
    law(name)


def _twins() -> list[Data]:
    """Graphs with true twins of equal features."""
    shapes = [nx.complete_graph(5), nx.complete_multipartite_graph(1, 1, 1, 3), nx.path_graph(4)]
    return [laws.data(shape, torch.ones(len(shape), CHANNELS)) for shape in shapes]


@pytest.mark.parametrize("name", [name for name, spec in MODELS.items() if spec.compress])
def test_models_that_claim_so_read_merged_twins_as_the_graph_itself(name):
    model = _build(name)
    batches = [
        Batch.from_data_list([_transform(compress=compress)(graph) for graph in _twins()])
        for compress in (True, False)
    ]
    assert batches[0].num_nodes < batches[1].num_nodes
    merged, plain = (_gradients(model, batch) for batch in batches)
    for key in plain:
        _close(merged[key], plain[key], f"gradient of {key}")


def test_gin_refuses_merged_twins():
    graph = _transform(compress=True)(_twins()[0])
    with pytest.raises(ValueError, match=r"twins are merged.*`compress=False`"):
        GIN(CHANNELS, 5, CLASSES)(graph)


def _named(graph: nx.Graph) -> Data:
    return _transform()(laws.data(graph, torch.ones(len(graph), CHANNELS)))


@pytest.mark.parametrize(
    ("name", "separates"), [("lgan", True), ("lgan-res", True), ("gin", False)]
)
def test_two_triangles_against_the_hexagon(name, separates):
    two_triangles = _named(nx.disjoint_union(nx.complete_graph(3), nx.complete_graph(3)))
    model = _build(name).eval()
    same = torch.allclose(model(two_triangles), model(_named(nx.cycle_graph(6))), atol=1e-9)
    assert same is not separates


@pytest.mark.parametrize("name", MODELS)
def test_eight_cycle_against_two_four_cycles_is_separated_by_none(name):
    two = _named(nx.disjoint_union(nx.cycle_graph(4), nx.cycle_graph(4)))
    model = _build(name).eval()
    _close(model(_named(nx.cycle_graph(8))), model(two))


@pytest.mark.parametrize(
    ("name", "separates"), [("lgan", False), ("lgan-res", True), ("gin", True)]
)
def test_labelled_paths_aba_and_bab(name, separates):
    a, b = torch.eye(CHANNELS)[:2]
    paths = [
        _transform()(laws.data(nx.path_graph(3), torch.stack(labels)))
        for labels in ([a, b, a], [b, a, b])
    ]
    model = _build(name, readout="sum").eval()
    assert torch.allclose(*(model(path) for path in paths), atol=1e-9) is not separates


def test_unknown_model_is_answered_with_the_names():
    with pytest.raises(ValueError, match=r"Unknown model 'gan'\. Choose one of: lgan, lgan-res"):
        model_spec("gan")


@pytest.mark.parametrize("name", MODELS)
def test_row_says_where_the_model_stands_and_comes_from(name):
    spec = model_spec(name)
    assert "WL" in spec.power
    assert spec.reference

"""Every network of the registry obeys every law: a newcomer is tested on arrival."""

import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import networkx as nx
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Batch, Data
from torch_geometric.transforms import BaseTransform, Compose, ToUndirected

import laws
import lgan
from labelled_graphs import named_pair
from lgan import GraphUnion, TrainConfig, wl
from lgan.data import (
    load_tensors,
    node_features,
    save_tensors,
    stratified_folds,
    triangle_pairs,
)
from lgan.graph import Cells, EdgeFeatures, GraphBatch
from lgan.train.jobs import Variant, held_out_job
from lgan.train.loop import train_together
from lgan.train.stack import stack, unstack
from lgan.zoo import MODELS, NetworkSpec, model_spec
from lifted import everything, one_graph, union_of_data

CHANNELS, CLASSES = 3, 4
NETWORKS = {name: spec for name, spec in MODELS.items() if isinstance(spec, NetworkSpec)}
LIFTED = [name for name, spec in NETWORKS.items() if spec.lift]
# Small sizes; each network takes those of its own options.
SIZES = {"num_layers": 3, "num_fields": 12, "field_size": 4, "k": 10, "dense": 7}
READOUTS = ("sum", "mean", "max")
# Where two nodes look alike to its labelling, the names of the nodes decide: with features that
# are not part of the labelling this is seen.
READS_THE_ORDER = {"patchy-san"}


pytestmark = pytest.mark.usefixtures("float64")


def _options(name: str, **options: object) -> dict[str, object]:
    """The options that a network takes, of its defaults, of the small sizes and of those given."""
    taken = inspect.signature(NETWORKS[name].build).parameters
    known = {**NETWORKS[name].defaults, **SIZES, **options}
    return {key: value for key, value in known.items() if key in taken}


def _code(name: str) -> str:
    return str(NETWORKS[name].defaults.get("pair_code", "none"))


def _union(
    name: str, graphs: list[Data], *, compress: bool = False, **options: object
) -> GraphUnion:
    lift = NETWORKS[name].lift
    x = torch.cat([graph.x for graph in graphs])
    union = union_of_data(graphs, x, channels=CHANNELS, compress=compress)
    union = replace(union, lines=union.lines.coded(_code(name)))
    return union if lift is None else union.lifted(lift(_options(name, **options)))


def _batch(
    name: str, graphs: list[Data], *, compress: bool = False, **options: object
) -> GraphBatch:
    return everything(_union(name, graphs, compress=compress, **options))


def _build(name: str, *, channels: int = CHANNELS, **options: object) -> nn.Module:
    model = NETWORKS[name].build(channels, 5, CLASSES, **_options(name, **options))
    if channels == CHANNELS:
        with torch.no_grad():
            model(_batch(name, laws.varied_graphs(CHANNELS)))  # moves the running statistics
    return model


def _readouts(name: str) -> tuple[str, ...]:
    """The read-outs to try: one where the network has no choice."""
    return READOUTS if "readout" in _options(name, readout="sum") else READOUTS[:1]


def _labelled(graphs: list[Data]) -> list[Data]:
    """The same graphs with categories for features."""
    return [Data(x=g.x.argmax(-1), edge_index=g.edge_index, num_nodes=g.num_nodes) for g in graphs]


def _gradients(model: nn.Module, batch: GraphBatch) -> dict[str, Tensor]:
    model.zero_grad()
    out = model(batch)
    (out * torch.linspace(-1, 1, out.shape[-2:].numel()).view(out.shape[-2:])).sum().backward()
    return {name: p.grad for name, p in model.named_parameters()}


def _close(got: Tensor, expected: Tensor, what: str = "") -> None:
    torch.testing.assert_close(got, expected, rtol=1e-9, atol=1e-9, msg=lambda m: f"{what}: {m}")


def _renaming_nodes_changes_nothing(name: str) -> None:
    graphs = laws.varied_graphs(CHANNELS)
    kinds = [_labelled(graphs)] if name in READS_THE_ORDER else [graphs, _labelled(graphs)]
    for readout in _readouts(name):
        model = _build(name, readout=readout, set_readout=readout, dropout=0.0)
        for same in kinds:
            for training in (True, False):
                model.train(training)
                before = model(_batch(name, same))
                after = model(_batch(name, [laws.permuted(graph) for graph in same]))
                _close(after, before, f"{readout}, training={training}")


def _a_batch_is_its_graphs_one_by_one(name: str) -> None:
    graphs = laws.varied_graphs(CHANNELS)
    for readout in _readouts(name):
        model = _build(name, readout=readout, set_readout=readout).eval()
        alone = torch.cat([model(_batch(name, [graph])) for graph in graphs])
        _close(model(_batch(name, graphs)), alone, readout)


def _a_batch_of_a_larger_set_is_the_set_of_its_graphs(name: str) -> None:
    graphs = laws.varied_graphs(CHANNELS)
    model = _build(name, dropout=0.0).train()
    ids = [6, 2, 5, 0, 3]
    part = _union(name, graphs).batch(torch.tensor(ids))
    _close(model(part), model(_batch(name, [graphs[i] for i in ids])))


def _gradients_are_finite_on_empty_and_isolated_cases(name: str) -> None:
    shapes = [
        nx.empty_graph(0),
        nx.empty_graph(1),
        nx.empty_graph(4),
        nx.path_graph(2),
        nx.disjoint_union(nx.complete_graph(3), nx.empty_graph(2)),
    ]
    single = [laws.data(shape, torch.ones(len(shape), CHANNELS)) for shape in shapes]
    for readout in _readouts(name):
        model = _build(name, readout=readout).train()
        for graphs in (*([one] for one in single), single):
            batch = _batch(name, graphs)
            batch = replace(batch, x=batch.x.clone().requires_grad_())
            gradients = _gradients(model, batch)
            assert model(batch).isfinite().all(), f"outputs on {graphs}"
            for key, gradient in (gradients | {"x": batch.x.grad}).items():
                assert gradient is not None, f"no gradient of {key} on {graphs}"
                assert gradient.isfinite().all(), f"gradient of {key} on {graphs}"


def _stacked_models_are_separate_models(name: str) -> None:
    batch = _batch(name, laws.varied_graphs(CHANNELS))
    for readout in _readouts(name):
        models = [_build(name, readout=readout, dropout=0.3) for _ in range(3)]
        together = stack(models)
        for training in (True, False, True):
            for model in (together, *models):
                model.train(training)
            gradients = _gradients(together, batch)
            for k, model in enumerate(models):
                for key, alone in _gradients(model, batch).items():
                    _close(gradients[key][k], alone, f"gradient of {key}, training={training}")
        together.eval()
        out, state = together(batch), together.state_dict()
        for k, model in enumerate(models):
            _close(out[k], model.eval()(batch), "outputs")
            for key, tensor in model.state_dict().items():
                _close(state[key][k], tensor, key)


def _a_graph_of_weight_zero_is_not_there(name: str) -> None:
    graphs = laws.varied_graphs(CHANNELS)
    batch = _batch(name, graphs)
    hidden = [{1}, {0, 6}]  # what each of two models must not see
    seen = torch.tensor([[float(i not in out) for i in range(len(graphs))] for out in hidden])
    models = [_build(name, dropout=0.0).train() for _ in hidden]
    together = stack(models)
    out = together(replace(batch, node_weight=seen[:, batch.batch]))
    for k, model in enumerate(models):
        rest = [i for i in range(len(graphs)) if i not in hidden[k]]
        _close(out[k, rest], model(_batch(name, [graphs[i] for i in rest])), "outputs")
        for key, tensor in model.state_dict().items():
            _close(together.state_dict()[key][k], tensor, key)


def _categories_stand_for_one_hot_vectors(name: str) -> None:
    by_id = _batch(name, _labelled(laws.varied_graphs(CHANNELS)))
    by_vector = replace(by_id, x=F.one_hot(by_id.x, CHANNELS).to(torch.float64))
    model = _build(name, dropout=0.0)
    _close(model(by_id), model(by_vector))


def _state_goes_to_another_model_whole(name: str) -> None:
    model, other = _build(name).eval(), _build(name).eval()
    batch = _batch(name, laws.varied_graphs(CHANNELS))
    assert not torch.allclose(other(batch), model(batch))
    other.load_state_dict(model.state_dict())
    assert torch.equal(other(batch), model(batch))


def _evaluation_changes_no_state_and_needs_no_gradient(name: str) -> None:
    model = _build(name, dropout=0.5).eval()
    before = {key: tensor.clone() for key, tensor in model.state_dict().items()}
    with torch.no_grad():
        out = model(_batch(name, laws.varied_graphs(CHANNELS)))
    assert not out.requires_grad
    assert all(torch.equal(before[key], tensor) for key, tensor in model.state_dict().items())


def _float32_is_float64_rounded(name: str) -> None:
    model = _build(name).eval()
    batch = _batch(name, laws.varied_graphs(CHANNELS))
    exact = model(batch)
    out = model.float()(replace(batch, x=batch.x.float()))
    assert out.dtype == torch.float32
    torch.testing.assert_close(out.double(), exact, rtol=1e-3, atol=1e-3)


def _training_side_by_side_is_training_alone(name: str) -> None:
    raw = triangle_pairs(24, seed=3, max_nodes=14)
    x, channels = node_features(raw, "degree")
    union = GraphUnion.build(
        x, raw.pair_index, raw.y, raw.node_ptr, num_features=channels, num_classes=CLASSES,
        compress=False, pair_code=_code(name),
    )  # fmt: skip
    lift = NETWORKS[name].lift
    union = union if lift is None else union.lifted(lift(_options(name)))
    fold = stratified_folds(union.y, 3, seed=1)
    config = TrainConfig(epochs=2, iterations=2, batch_size=8, weight_decay=1e-3)
    variant = Variant(partial(_build, name, channels=channels, dropout=0.4), config)
    jobs = [held_out_job(fold, k, seed=100 + k) for k in range(3)]
    together, curves = train_together(union, [variant], jobs, groups=fold)
    for k, job in enumerate(jobs):
        alone, its_own = train_together(union, [variant], [job], groups=fold)
        _close(curves.loss[k], its_own.loss[0], "loss")
        for key, tensor in unstack(alone, 0).items():
            _close(unstack(together, k)[key], tensor, key)


LAWS: list[Callable[[str], None]] = [
    _renaming_nodes_changes_nothing,
    _a_batch_is_its_graphs_one_by_one,
    _a_batch_of_a_larger_set_is_the_set_of_its_graphs,
    _gradients_are_finite_on_empty_and_isolated_cases,
    _stacked_models_are_separate_models,
    _a_graph_of_weight_zero_is_not_there,
    _categories_stand_for_one_hot_vectors,
    _state_goes_to_another_model_whole,
    _evaluation_changes_no_state_and_needs_no_gradient,
    _float32_is_float64_rounded,
    _training_side_by_side_is_training_alone,
]


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__.strip("_"))
def test_every_network_obeys(name, law):
    law(name)


def _transform(name: str, *, compress: bool = False) -> BaseTransform:
    lines = lgan.EgoLineGraph(compress=compress, pair_code=_code(name))
    return Compose([ToUndirected(), lines])


@pytest.mark.parametrize("name", [name for name, spec in NETWORKS.items() if spec.lift is None])
def test_networks_without_a_lift_read_batches_of_pyg(name):
    graphs = laws.varied_graphs(CHANNELS)
    prepared = [_transform(name)(graph) for graph in graphs]
    model = _build(name, dropout=0.0)
    _close(model(Batch.from_data_list(prepared)), model(_batch(name, graphs)), "batch")
    model.eval()
    _close(model(prepared[0]), model(_batch(name, graphs[:1])), "single graph")


def _twins() -> list[Data]:
    """Graphs with true twins of equal features, which depend on the degree."""
    shapes = [nx.complete_graph(5), nx.complete_multipartite_graph(1, 1, 1, 3), nx.path_graph(4)]
    degrees = [torch.tensor([degree for _, degree in shape.degree]) for shape in shapes]
    powers = torch.arange(CHANNELS)
    features = [(degree[:, None] / 4.0) ** powers for degree in degrees]
    return [laws.data(shape, x) for shape, x in zip(shapes, features, strict=True)]


def _merged_triangle() -> GraphUnion:
    return GraphUnion.build(
        torch.zeros(3, dtype=torch.long), torch.tensor([[0, 0, 1], [1, 2, 2]]), torch.tensor([0]),
        torch.tensor([0, 3]), num_features=CHANNELS, num_classes=1,
    )  # fmt: skip


@pytest.mark.parametrize("name", [name for name, spec in NETWORKS.items() if spec.compress])
def test_networks_that_claim_so_read_merged_twins_as_the_graph_itself(name):
    model = _build(name)
    batches = [_batch(name, _twins(), compress=compress) for compress in (True, False)]
    assert batches[0].num_nodes < batches[1].num_nodes
    merged, plain = (_gradients(model, batch) for batch in batches)
    for key in plain:
        _close(merged[key], plain[key], f"gradient of {key}")


@pytest.mark.parametrize(
    "name", [name for name, spec in NETWORKS.items() if not spec.compress and spec.lift is None]
)
def test_all_others_refuse_merged_twins(name):
    model = _build(name)
    for graph in (_transform(name, compress=True)(_twins()[0]), everything(_merged_triangle())):
        with pytest.raises(ValueError, match=r"twins are merged.*`compress=False`"):
            model(graph)


def _same_cells(got: dict[str, Cells], expected: dict[str, Cells]) -> None:
    assert got.keys() == expected.keys()
    for name, family in expected.items():
        assert torch.equal(got[name].ptr, family.ptr)
        assert got[name].points == family.points
        for key, value in family.fields.items():
            assert torch.equal(got[name][key], value), f"{name}.{key}"


@pytest.mark.parametrize("name", LIFTED)
def test_a_batch_has_the_cells_of_its_graphs_lifted_anew(name):
    graphs, ids = _labelled(laws.varied_graphs(CHANNELS)), [6, 5, 0, 2]
    batch = _union(name, graphs).batch(torch.tensor(ids))
    _same_cells(batch.cells, _batch(name, [graphs[i] for i in ids]).cells)


@pytest.mark.parametrize("name", LIFTED)
def test_cells_go_through_a_cache(name, tmp_path):
    union = _union(name, laws.varied_graphs(CHANNELS))
    save_tensors(tmp_path / "u.safetensors", union.tensors(), {})
    back = GraphUnion.from_tensors(load_tensors(tmp_path / "u.safetensors")[0])
    _same_cells(back.cells, union.cells)


@pytest.mark.parametrize("name", LIFTED)
def test_progress_of_a_lift_goes_up_to_one(name):
    told: list[float] = []
    union_of_data(laws.varied_graphs(CHANNELS)).lifted(NETWORKS[name].lift({}), told.append)
    assert told == sorted(told)
    assert told[-1] == 1


@pytest.mark.parametrize("name", [name for name in LIFTED if not NETWORKS[name].compress])
def test_all_other_lifts_refuse_merged_twins(name):
    with pytest.raises(ValueError, match=r"twins are merged.*`compress=False`"):
        _merged_triangle().lifted(NETWORKS[name].lift({}))


# Unlabelled pairs, from easy to hard: 1-WL separates the first alone, 3-WL all but the last.
PAIRS = [
    named_pair("p4", "star(3)"),
    named_pair("hexagon", "two-triangles"),
    named_pair("c8", "two-c4"),
    named_pair("decalin", "bicyclopentyl"),
    named_pair("rook4x4", "shrikhande"),
]
SEPARATED = {
    "lgan": "yynnn",
    "lgan-res": "yynnn",
    "lgan-code": "yyyny",
    "gin": "ynnnn",
    "dcnn": "nnnnn",  # means over walks of equal features are equal
    "dgcnn": "nnnnn",  # as are means over neighbours
    "patchy-san": "nyynn",  # counts nodes by distance, up to ten
    "ppgn": "yyyyn",
    "1-2-3-gnn": "yyyyn",
    "cwn": "yyyyy",
}


@pytest.mark.parametrize("name", NETWORKS)
def test_unlabelled_pairs_are_separated_as_far_as_the_power_goes(name):
    # Averages see shares, not counts; the power is that of sums.
    options = {"readout": "sum", "aggregate": "sum", "set_readout": "sum", "field_size": 10}
    lift = NETWORKS[name].lift
    transform = _transform(name) if lift is None else one_graph(lift(_options(name, **options)))
    found = [False] * len(PAIRS)
    for seed in range(2):
        torch.manual_seed(seed)
        model = _build(name, channels=1, **options)
        result = wl.check(model, PAIRS, transform=transform)
        found = [a or b for a, b in zip(found, result.separated, strict=True)]
    assert "".join("ny"[yes] for yes in found) == SEPARATED[name]


@pytest.mark.parametrize(("name", "separates"), [(n, n != "lgan") for n in NETWORKS])
def test_labelled_paths_aba_and_bab(name, separates):
    a, b = torch.eye(CHANNELS)[:2]
    paths = [laws.data(nx.path_graph(3), torch.stack(x)) for x in ([a, b, a], [b, a, b])]
    model = _build(name, readout="sum", set_readout="sum").eval()
    outputs = [model(_batch(name, [path])) for path in paths]
    assert torch.allclose(*outputs, atol=1e-9) is not separates


def test_unknown_model_is_answered_with_the_names():
    with pytest.raises(
        ValueError, match=r"Unknown model 'gan'\. Did you mean lgan\? Choose one of: lgan, lgan-res"
    ):
        model_spec("gan")


@pytest.mark.parametrize("name", MODELS)
def test_row_says_where_the_model_stands_and_comes_from(name):
    spec = model_spec(name)
    assert "WL" in spec.power
    assert spec.reference
    assert spec.source


@pytest.mark.parametrize("name", NETWORKS)
def test_defaults_are_settings_that_the_network_or_the_training_knows(name):
    taken = set(inspect.signature(NETWORKS[name].build).parameters)
    training = set(inspect.signature(TrainConfig).parameters)
    assert set(NETWORKS[name].defaults) <= taken | training | {"hidden", "features"}


@pytest.mark.parametrize("name", NETWORKS)
def test_features_and_directions_of_edges_are_read_or_refused(name):
    graphs = laws.varied_graphs(CHANNELS)
    union = _union(name, graphs)
    lines = replace(union.lines, pair_table=None, pair_rows=None)
    ones, way = torch.ones(lines.num_pairs, 2), torch.ones(lines.num_pairs, dtype=torch.int64)
    spec = NETWORKS[name]
    for edges, read, message in (
        (EdgeFeatures.of(ones), "edge_dim", "features"),
        (EdgeFeatures.of(None, way), "directed", "direction"),
    ):
        carried = lines.with_edges(edges).coded(_code(name))
        batch = everything(replace(union, lines=carried))
        if read not in spec.data_option_names:
            with pytest.raises(ValueError, match=message):
                _build(name)(batch)
            continue
        assert spec.data_options is not None
        options = {**_options(name), **spec.data_options(replace(union, lines=carried), {})}
        assert spec.build(CHANNELS, 5, CLASSES, **options)(batch).shape == (len(graphs), CLASSES)

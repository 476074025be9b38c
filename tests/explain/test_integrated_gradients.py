from functools import partial

import networkx as nx
import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import global_add_pool
from torch_geometric.transforms import ToUndirected

import laws
import lgan
from explained_graphs import random_graph
from lgan.explain import Path
from lgan.explain import integrated_gradients as module
from lgan.explain.maskable import MaskableGraph, MaskableUnion
from lgan.explain.masking import masked_outputs
from lgan.zoo import GIN

attribute = partial(lgan.attribute, method="integrated-gradients")


def graph(seed: int = 0, nodes: int = 12, p: float = 0.4) -> Data:
    return lgan.EgoLineGraph()(random_graph(seed, nodes, p))


def network(**options) -> lgan.LGAN:
    return lgan.LGAN(3, 8, 2, num_layers=2, **options).double().eval()


def speaks_through_triangles_alone() -> lgan.LGAN:
    """An LGAN whose fusion ignores the target pairs."""
    model = network()
    with torch.no_grad():
        for conv in model.convs:
            conv.fuse.weight[: conv.out_channels] = 0
    return model


class Products(nn.Module):
    """``3 w_0 w_1 - w_2`` of the edges in the order given, both ways counted as one."""

    def forward(self, x, edge_index, edge_weight=None, batch=None):
        a, b, c = edge_weight.view(-1, 3).unbind(1)
        return torch.stack([torch.zeros_like(a), 3 * a * b - c], 1)


def test_scores_of_a_polynomial_are_those_found_by_hand():
    path = Data(x=torch.ones(4, 1), edge_index=torch.tensor([[0, 1, 2], [1, 2, 3]]))
    found = attribute(Products(), path, target=1, of="logit")
    # The integral of 3 alpha over [0, 1] is 3/2 for each factor.
    assert found.edge_scores.tolist() == pytest.approx([1.5, 1.5, -1])
    assert found.node_scores.tolist() == pytest.approx([0.75, 1.5, 0.25, -0.5])
    assert (found.output, found.baseline_output, found.steps) == (2, 0, 32)
    assert found.complete
    assert found.target == 1
    assert found.triangles.shape == (3, 0)


def test_scores_from_drawn_baselines_are_the_mean_over_them():
    path = Data(x=torch.ones(4, 1), edge_index=torch.tensor([[0, 1, 2], [1, 2, 3]]))
    drawn = Path(baseline="drawn", baselines=6)
    found = attribute(Products(), path, target=1, of="logit", path=drawn, seed=2)
    starts = drawn.starts(3, torch.Generator().manual_seed(2))
    expected, outputs = [], []
    for a, b, c in torch.stack(starts).tolist():
        expected.append([1.5 * (1 - a) * (1 + b), 1.5 * (1 - b) * (1 + a), c - 1])
        outputs.append(3 * a * b - c)
    assert found.edge_scores.tolist() == pytest.approx(torch.tensor(expected).mean(0).tolist())
    assert found.baseline_output == pytest.approx(sum(outputs) / 6)
    assert found.complete


def test_triangles_of_drawn_baselines_hold_all_that_passes_through_them():
    model = speaks_through_triangles_alone()
    found = attribute(model, graph(), target=1, path=Path(baseline="drawn"))
    assert found.complete
    assert float(found.triangle_scores.sum()) == pytest.approx(found.undirected()[1].sum().item())


@pytest.mark.parametrize("options", [{}, {"residual": True}, {"comb": "linear"}])
def test_scores_are_complete_and_symmetric(options):
    data, model = graph(), network(**options)
    found = attribute(model, data, target=1)
    empty = Data(x=data.x, edge_index=data.edge_index[:, :0])
    ends = torch.cat([model(d).detach() for d in (lgan.EgoLineGraph()(empty), data)])
    outputs = (ends[:, 1] - ends[:, 0]).tolist()
    assert (found.baseline_output, found.output) == pytest.approx(outputs, abs=1e-12)
    _, scores = found.undirected()
    assert found.gap == pytest.approx(abs(float(scores.sum()) - (outputs[1] - outputs[0])))
    assert found.relative_gap < 0.01
    assert found.complete
    assert float(found.node_scores.sum()) == pytest.approx(float(scores.sum()))
    columns = [tuple(column) for column in found.edge_index.t().tolist()]
    score = dict(zip(columns, found.edge_scores.tolist(), strict=True))
    assert all(score[v, u] == s for (u, v), s in score.items())


def test_the_predicted_class_is_explained_by_default():
    data, model = graph(), network()
    found = attribute(model, data)
    assert found.target == int(model(data).argmax())
    torch.testing.assert_close(found.prediction, model(data)[0].softmax(-1).detach())


def test_log_odds_of_two_classes_are_the_difference_of_their_logits():
    data, model = graph(), network()
    path = {"path": Path(steps=64, max_steps=64)}
    odds = attribute(model, data, 1, **path)
    one, other = (attribute(model, data, target, of="logit", **path) for target in (1, 0))
    torch.testing.assert_close(odds.edge_scores, one.edge_scores - other.edge_scores)
    assert odds.output == pytest.approx(one.output - other.output)
    assert (odds.of, one.of) == ("log-odds", "logit")


def test_a_single_output_is_explained_as_it_is():
    data, model = graph(), lgan.LGAN(3, 8, 1, num_layers=2).double().eval()
    found = attribute(model, data)
    assert found.of == "logit"
    assert found.output == pytest.approx(float(model(data).detach()))
    assert found.complete


def test_log_odds_do_not_change_with_a_number_added_to_all_logits():
    data, model = graph(), lgan.LGAN(3, 8, 3, num_layers=2).double().eval()
    before = attribute(model, data, 2, of="log-odds")
    assert before.output == pytest.approx(float(torch.logit(before.prediction[2])))
    assert before.complete
    with torch.no_grad():
        model.head.weight += torch.randn(model.head.weight.size(0), 1)
    after = attribute(model, data, 2, of="log-odds")
    torch.testing.assert_close(after.edge_scores, before.edge_scores)


def test_triangles_get_what_goes_through_the_neighbour_branch():
    found = attribute(speaks_through_triangles_alone(), graph(1, 12, 0.6), target=0)
    pairs, scores = found.undirected()
    assert found.triangles.size(1) > 3
    # Here all goes through triangles, and each gives a third to every one of its edges.
    of_edge = {tuple(pair): 0.0 for pair in pairs.t().tolist()}
    for (a, b, c), score in zip(
        found.triangles.t().tolist(), found.triangle_scores.tolist(), strict=True
    ):
        for edge in ((a, b), (a, c), (b, c)):
            of_edge[edge] += score / 3
    assert scores.tolist() == pytest.approx(list(of_edge.values()), abs=1e-12)


def test_a_graph_without_triangles_has_no_triangle_scores():
    data = laws.data(nx.path_graph(5), torch.randn(5, 3).double())
    found = attribute(network(), data)
    assert found.triangles.shape == (3, 0)
    assert found.triangle_scores.shape == (0,)
    assert found.edge_scores.abs().sum() > 0


@pytest.mark.parametrize("nodes", [0, 1, 4])
@pytest.mark.parametrize("build", [network, lambda: GIN(3, 4, 2).double()])
def test_a_graph_without_edges_has_an_empty_explanation(nodes, build):
    data = laws.data(nx.empty_graph(nodes), torch.randn(nodes, 3).double())
    found = attribute(build(), data)
    assert found.edge_scores.shape == (0,)
    assert found.node_scores.tolist() == [0] * nodes
    assert found.output == found.baseline_output
    assert (found.gap, found.relative_gap, found.steps, found.complete) == (0, 0, 0, True)


def test_compressed_graphs_are_scored_at_their_original_edges():
    shape = nx.complete_graph(4)
    shape.add_edges_from([(3, 4), (4, 5), (5, 3)])
    x = torch.tensor([0, 0, 0, 1, 2, 2])
    model = lgan.LGAN(3, 8, 2, num_layers=2).double()
    data = laws.data(shape, x)
    plain = attribute(model, data, target=0)
    merged = attribute(model, lgan.EgoLineGraph(compress=True)(data), target=0)
    # Twins follow one another already, so that nodes keep their numbers.
    assert torch.equal(merged.undirected()[0], plain.undirected()[0])
    torch.testing.assert_close(merged.undirected()[1], plain.undirected()[1])
    torch.testing.assert_close(merged.triangle_scores, plain.triangle_scores)


def test_a_graph_of_a_union_is_explained_like_the_graph():
    data = graph()
    pairs = data.pair_index
    union = lgan.GraphUnion.build(
        torch.cat([data.x, data.x]),
        torch.cat([pairs, pairs + 12], 1),
        torch.tensor([0, 1]),
        torch.tensor([0, 12, 24]),
        num_features=3,
        num_classes=2,
    )
    model = network()
    found = attribute(model, union.batch(torch.tensor([1])), target=0)
    expected = attribute(model, data, target=0)
    torch.testing.assert_close(found.undirected()[1], expected.undirected()[1])


def test_graphs_explained_together_get_the_scores_they_get_alone():
    graphs, model = [graph(s, 8 + s, 0.5) for s in range(4)], network(residual=True)
    graphs.append(laws.data(nx.empty_graph(2), torch.randn(2, 3).double()))
    for data, found in zip(graphs, attribute(model, graphs), strict=True):
        alone = attribute(model, data)
        torch.testing.assert_close(found.edge_scores, alone.edge_scores)
        assert (found.steps, found.complete) == (alone.steps, alone.complete)


def test_steps_double_until_the_gap_is_small_or_the_result_says_so():
    data, model = graph(1), network()
    coarse = attribute(model, data, path=Path(steps=2, max_steps=2, tolerance=1e-6))
    assert (coarse.complete, coarse.steps) == (False, 2)
    assert coarse.relative_gap > 1e-6
    finer = attribute(model, data, path=Path(steps=2, tolerance=1e-3))
    assert finer.complete
    assert finer.steps > 2
    assert finer.relative_gap <= 1e-3


def test_chunks_change_no_score(monkeypatch):
    data, model = graph(2), network()
    whole = attribute(model, data)
    monkeypatch.setattr(module, "CHUNK", 300)
    torch.testing.assert_close(attribute(model, data).edge_scores, whole.edge_scores)


def test_float32_models_explain_too():
    data, model = graph(), network(residual=True)
    exact = attribute(model, data, target=0)
    data.x = data.x.float()
    found = attribute(model.float(), data, target=0)
    assert found.edge_scores.dtype == torch.float32
    torch.testing.assert_close(found.edge_scores.double(), exact.edge_scores, rtol=1e-3, atol=1e-4)


def test_a_model_that_reads_structural_codes_gets_them():
    data = graph(5)
    for name in ("pair_index", "opposite_index"):
        del data[name]
    model = network(pair_code="triangles")
    found = attribute(model, data, target=0, of="logit")
    coded = lgan.EgoLineGraph(pair_code="triangles")(data)
    assert found.output == pytest.approx(float(model(coded)[0, 0].detach()), abs=1e-12)
    torch.testing.assert_close(
        attribute(model, coded, target=0, of="logit").edge_scores, found.edge_scores
    )
    assert found.complete


@pytest.mark.gpu
def test_a_model_on_the_gpu_explains_a_graph_on_the_cpu():
    data, model = graph(), network(residual=True)
    expected = attribute(model, data, target=0)
    found = attribute(model.cuda(), data, target=0)
    torch.testing.assert_close(found.edge_scores, expected.edge_scores)


def test_the_model_is_left_as_it_was():
    model = network().train()
    attribute(model, graph())
    assert model.training
    assert all(p.grad is None for p in model.parameters())


class _OverMasks(nn.Module):
    """A model as a function of the mask, as captum wants it."""

    def __init__(self, model: nn.Module, data: Data) -> None:
        super().__init__()
        self.model, self.union = model, MaskableUnion.of([MaskableGraph.of(data)])

    def forward(self, mask: Tensor) -> Tensor:
        return masked_outputs(self.model, self.union, mask)[:, 0]


@pytest.mark.parametrize("build", [network, lambda: GIN(3, 4, 2, num_layers=2).double().eval()])
def test_the_scores_are_those_of_captum_on_the_same_path(build):
    captum = pytest.importorskip("captum.attr")
    data, model = graph(3), build()
    found = attribute(model, data, target=1, of="logit", path=Path(16, 16, order=16))
    mask = torch.ones(1, data.pair_index.size(1), dtype=torch.float64)
    expected = captum.IntegratedGradients(_OverMasks(model, data)).attribute(
        mask, torch.zeros_like(mask), target=1, n_steps=16, method="gausslegendre"
    )
    torch.testing.assert_close(found.undirected()[1], expected[0], rtol=1e-6, atol=1e-9)


def test_a_model_on_weighted_messages_is_explained():
    class Sum(nn.Module):
        def forward(self, x, edge_index, edge_weight, batch):
            out = x.new_zeros(x.size(0), 1).index_add(0, edge_index[1], edge_weight[:, None])
            return global_add_pool(out, batch)

    found = attribute(Sum(), ToUndirected()(laws.data(nx.star_graph(3), torch.ones(4, 1))))
    assert found.edge_scores.tolist() == pytest.approx([2] * 6)


def test_wrong_settings_are_refused():
    with pytest.raises(ValueError, match=r"class from 0 to 1, got 2. Leave it out"):
        attribute(network(), graph(), target=2)
    with pytest.raises(ValueError, match="`of` must be one of log-odds, logit, number, got 'odds'"):
        attribute(network(), graph(), of="odds")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="need two classes or more"):
        attribute(lgan.LGAN(3, 4, 1).double(), graph(), of="log-odds")
    with pytest.raises(ValueError, match="one class for each of 1 graphs, got 2"):
        attribute(network(), [graph()], [0, 1])


def test_a_model_blind_to_its_edges_is_refused():
    class Blind(nn.Module):
        def forward(self, x, edge_index, edge_weight=None, batch=None):
            return global_add_pool(x, batch)

    with pytest.raises(TypeError, match="does not depend on its edges"):
        attribute(Blind(), graph())

from dataclasses import replace
from functools import partial

import networkx as nx
import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.transforms import ToUndirected

import laws
import lgan
from lgan.explain import peers
from lgan.explain.maskable import MaskableUnion
from lgan.explain.masking import masked_outputs, prepared
from lgan.explain.methods import FARTHEST, METHODS, SHORT, method_spec
from lgan.explain.question import Question
from lgan.explain.removal import EXACT
from lgan.zoo import GIN


def graph(seed: int = 0) -> Data:
    return ToUndirected()(laws.data(nx.gnp_random_graph(8, 0.5, seed=seed), torch.randn(8, 3)))


@pytest.fixture
def few_epochs(monkeypatch):
    """The same methods, learning for a moment only."""
    slow = {"gnn-explainer": peers.gnn_explainer, "pg-explainer": peers.pg_explainer}
    for name, method in slow.items():
        quick = replace(METHODS[name], explain=partial(method, epochs=2))
        monkeypatch.setitem(METHODS, name, quick)


@pytest.mark.parametrize("build", [lgan.LGAN, GIN])
@pytest.mark.parametrize("name", METHODS)
def test_every_method_scores_every_edge_of_every_graph(name, build, few_epochs):
    model = build(3, 4, 2, num_layers=2).eval()
    graphs = prepared(model, [graph(0), laws.data(nx.empty_graph(2), torch.ones(2, 3)), graph(1)])
    found = method_spec(name).explain(Question(model, graphs, [0, 1, 1], seed=3))
    assert [each.pairs.shape for each in found] == [(1, g.num_pairs) for g in graphs]
    assert all(each.pairs.isfinite().all() for each in found)
    assert all(p.requires_grad and p.grad is None for p in model.parameters())


@pytest.mark.parametrize("name", METHODS)
def test_the_seed_decides_methods_that_draw_and_no_others(name, few_epochs):
    model = lgan.LGAN(3, 4, 2, num_layers=1).eval()
    graphs = prepared(model, [graph(3)])
    assert graphs[0].num_pairs > EXACT
    explain = method_spec(name).explain
    first, again, other = (
        explain(Question(model, graphs, [0], seed=seed))[0].pairs for seed in (1, 1, 2)
    )
    assert torch.equal(first, again)
    assert torch.equal(first, other) != method_spec(name).random


@pytest.mark.parametrize("of", ["logit", "log-odds"])
def test_gradient_is_the_slope_at_the_full_graph(of):
    model = lgan.LGAN(3, 4, 2, num_layers=2).double().eval()
    data = graph(2)
    data.x = data.x.double()
    maskables = prepared(model, [data])
    union, step = MaskableUnion.of(maskables), 1e-6
    shifted = torch.ones(union.num_pairs, union.num_pairs).double() - step * torch.eye(
        union.num_pairs
    )
    full = torch.ones(1, union.num_pairs).double()
    slope = (masked_outputs(model, union, full) - masked_outputs(model, union, shifted)) / step
    found = method_spec("gradient").explain(Question(model, maskables, [1], of))[0].pairs[0]
    size = method_spec("absolute-gradient").explain(Question(model, maskables, [1], of))[0].pairs
    assert torch.equal(size[0], found.abs())
    other = slope[:, 0, 0] if of == "log-odds" else 0
    torch.testing.assert_close(found, (slope[:, 0, 1] - other).detach(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_explains_the_output_asked_for_or_refuses(name, few_epochs):
    model, data = lgan.LGAN(3, 4, 2, num_layers=1).eval(), graph()
    odds = lgan.attribute(model, data, 1, method=name)
    assert odds.of == "log-odds"
    if method_spec(name).instead:
        with pytest.raises(ValueError, match=r"cannot explain of='logit': its scores speak of"):
            lgan.attribute(model, data, 1, method=name, of="logit")
        return
    logit = lgan.attribute(model, data, 1, method=name, of="logit")
    assert logit.of == "logit"
    assert not torch.allclose(logit.edge_scores, odds.edge_scores)


def test_the_consensus_hears_of_losses_what_counts():
    model, data = lgan.LGAN(3, 4, 2, num_layers=2).double().eval(), graph()
    data.x = data.x.double()
    alone = lgan.attribute(model, data, 1, method="leave-one-out")
    losses = alone.edge_scores.tolist()
    log_odds = max(losses, key=abs) / 2  # so that the largest loss turns the prediction
    with torch.no_grad():
        model.head.bias[1] += log_odds - alone.output
    integral = lgan.attribute(model, data, 1, method="integrated-gradients", path=SHORT)
    assert integral.output == pytest.approx(log_odds)
    counted, whole = [], integral.edge_scores.tolist()
    for lost, one in zip(losses, whole, strict=True):
        grows = lost * log_odds < 0  # without the edge
        turned = (log_odds - lost) * log_odds < 0
        counted.append(one if grows and one * log_odds > 0 else log_odds if turned else lost)
    assert counted != losses
    assert any(one == other for one, other in zip(counted, losses, strict=True))
    expected = [(a + b) / 2 for a, b in zip(whole, counted, strict=True)]
    found = lgan.attribute(model, data, 1)
    total = sum(expected) / 2  # every edge is there twice
    factor = (found.output - found.baseline_output) / total
    factor = factor if 1 / FARTHEST < factor < FARTHEST else 1
    assert found.edge_scores.tolist() == pytest.approx([factor * each for each in expected])
    against = lgan.attribute(model, data, 0).edge_scores
    torch.testing.assert_close(against, -found.edge_scores)  # the other class, the other sign


def test_degree_counts_the_edges_an_edge_touches():
    star = prepared(lgan.LGAN(1, 2, 2), [laws.data(nx.star_graph(3), torch.ones(4, 1))])
    found = method_spec("degree").explain(Question(lgan.LGAN(1, 2, 2), star, [0]))
    assert found[0].pairs.tolist() == [[2, 2, 2]]


def test_gnn_explainer_learns_which_edges_an_lgan_needs():
    """Triangles alone decide, so that their edges get the largest masks."""
    model = lgan.LGAN(1, 4, 2, num_layers=1).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(0.5)
        model.convs[0].fuse.weight[:4] = 0
        model.head.weight[:, 0], model.head.weight[:, 1] = -1.0, 1.0
    lollipop = laws.data(nx.lollipop_graph(3, 4), torch.ones(7, 1))
    graphs = prepared(model, [ToUndirected()(lollipop)])
    scores = peers.gnn_explainer(Question(model, graphs, [1]), epochs=60, lr=0.1)[0].pairs[0]
    assert scores[:3].min() > scores[3:].max()


def test_attribute_takes_a_method_by_name():
    model, data = lgan.LGAN(3, 4, 2, num_layers=1), graph()
    found = lgan.attribute(model, data, method="degree")
    assert found.method == "degree"
    assert not found.complete
    assert found.gap != found.gap  # there is no sum to reach
    assert found.edge_scores.shape == (data.edge_index.size(1),)
    assert found.to_json()["gap"] is None
    with pytest.raises(
        ValueError, match=r"Unknown method 'lime'. Choose one of: consensus, integrated-grad"
    ):
        lgan.attribute(model, data, method="lime")


def test_a_contrast_explains_the_difference_of_two_logits():
    graph = laws.data(nx.gnp_random_graph(8, 0.4, seed=1), torch.randn(8, 3).double())
    model = lgan.LGAN(3, 8, 3, num_layers=2).double().eval()
    asked = {"method": "integrated-gradients", "path": lgan.explain.Path(steps=8, max_steps=8)}
    found = lgan.attribute(model, graph, 2, against=0, **asked)
    one, other = (lgan.attribute(model, graph, t, of="logit", **asked) for t in (2, 0))
    torch.testing.assert_close(found.edge_scores, one.edge_scores - other.edge_scores)
    assert found.output == pytest.approx(one.output - other.output)
    assert found.against == 0
    with pytest.raises(ValueError, match="class from 0 to 2 other than the one explained, got 2"):
        lgan.attribute(model, graph, 2, against=2)
    with pytest.raises(ValueError, match="compares two classes by their log-odds, got of='logit'"):
        lgan.attribute(model, graph, 2, against=0, of="logit")
    with pytest.raises(ValueError, match=r"speak of the probability of the class. Leave it out"):
        lgan.attribute(model, graph, 2, against=0, method="gnn-explainer")

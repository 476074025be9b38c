import math

import networkx as nx
import pytest
import torch
from sklearn.metrics import roc_auc_score

import laws
import lgan
from lgan.explain.masking import prepared
from paper.faithfulness import edge_auc, faithfulness, kept_edges, stability


def test_auc_is_that_of_scikit_learn_ties_included():
    scores = [torch.randint(0, 5, (40,)).float(), torch.randint(0, 5, (30,)).float()]
    truths = [torch.rand(40) < 0.3, torch.rand(30) < 0.5]
    pooled, single = edge_auc(scores, truths)
    assert pooled == pytest.approx(roc_auc_score(torch.cat(truths), torch.cat(scores)))
    each = [roc_auc_score(t, s) for s, t in zip(scores, truths, strict=True)]
    assert single == pytest.approx(sum(each) / 2)


def test_graphs_with_edges_of_one_kind_have_no_area_of_their_own():
    both = torch.tensor([1.0, 0.0]), torch.tensor([True, False])
    alike = torch.tensor([0.5]), torch.tensor([True])
    pooled, single = edge_auc(*zip(both, alike, strict=True))
    assert (pooled, single) == (1, 1)
    assert all(math.isnan(area) for area in edge_auc(*zip(alike, strict=True)))


def test_kept_edges_are_the_best_and_at_least_one():
    scores = torch.tensor([0.3, 0.9, 0.1, 0.5])
    assert kept_edges(scores, 0.5).tolist() == [False, True, False, True]
    assert kept_edges(scores, 0.99).tolist() == [False, True, False, False]
    assert kept_edges(scores, 0.0).all()
    assert kept_edges(torch.zeros(0), 0.5).numel() == 0


def test_fidelity_compares_the_prediction_with_deleted_edges():
    model = lgan.LGAN(3, 4, 2, num_layers=2).double().eval()
    data = laws.data(nx.gnp_random_graph(9, 0.5, seed=1), torch.randn(9, 3).double())
    maskable = prepared(model, [data])[0]
    scores = torch.rand(maskable.num_pairs)
    found = faithfulness(model, [maskable], [scores], [1], [0.7])

    def chance(kept):
        pairs = maskable.lines.pair_index[:, kept]
        left = lgan.EgoLineGraph()(laws.Data(x=data.x, edge_index=pairs, num_nodes=9))
        return model(left)[0].softmax(-1).detach()

    kept = kept_edges(scores, 0.7)
    whole, without, alone = chance(torch.ones_like(kept)), chance(~kept), chance(kept)
    divergence = (whole * (whole / alone).log()).sum()
    assert found.plus[0] == pytest.approx(float(whole[1] - without[1]), abs=1e-9)
    assert found.minus[0] == pytest.approx(float(whole[1] - alone[1]), abs=1e-9)
    assert found.unfaithfulness[0] == pytest.approx(float(1 - (-divergence).exp()), abs=1e-9)


def test_sparsities_outside_the_unit_interval_are_refused():
    with pytest.raises(ValueError, match="between 0 and 1, 1 excluded, got 1"):
        faithfulness(lgan.LGAN(1, 2, 2), [], [], [], [0.5, 1.0])


def test_stability_is_a_rank_correlation():
    rising = torch.arange(5.0)
    assert stability([rising], [rising**3]) == pytest.approx(1)
    assert stability([rising], [-rising]) == pytest.approx(-1)
    assert stability([rising, rising], [rising, -rising]) == pytest.approx(0)
    assert math.isnan(stability([torch.ones(3)], [rising[:3]]))

import json
import math

import networkx as nx
import pytest
import torch

import laws
import lgan
from paper.evaluate import evaluate
from paper.faithfulness import edge_auc

METHODS = ["integrated-gradients", "gradient", "random", "degree"]


def setting():
    graphs = [laws.data(nx.lollipop_graph(3, k), torch.ones(3 + k, 1)) for k in (2, 3, 4)]
    truths = [torch.tensor([True] * 3 + [False] * k) for k in (2, 3, 4)]
    return lgan.LGAN(1, 4, 2, num_layers=2).train(), graphs, truths


def test_every_method_gets_a_row_of_numbers():
    model, graphs, truths = setting()
    found = evaluate(model, graphs, truths, methods=METHODS)
    assert list(found.rows) == METHODS
    assert [row["method"] for row in found.to_json()["rows"]] == METHODS
    assert (found.graphs, found.edges, found.counted) == (3, 18, 9)
    assert model.training
    for row in found.rows.values():
        assert 0 <= row.auc <= 1
        assert len(row.faithfulness.plus) == len(row.faithfulness.sparsities) == 5
        assert row.seconds > 0
    assert found.rows["degree"].stability == 1
    scores = [torch.tensor([2.0, 3, 3, 3, 1]), torch.tensor([2.0, 3, 3, 3, 2, 1])]
    scores.append(torch.tensor([2.0, 3, 3, 3, 2, 2, 1]))
    degree = found.rows["degree"]
    assert (degree.auc, degree.auc_per_graph) == edge_auc(scores, truths)
    assert json.dumps(found.to_json(), allow_nan=False)


def test_without_a_truth_there_is_no_area():
    model, graphs, _ = setting()
    found = evaluate(model, graphs, methods=["random"])
    assert math.isnan(found.rows["random"].auc)
    assert found.to_json()["rows"][0]["auc"] is None


def test_truths_that_do_not_fit_are_refused():
    model, graphs, truths = setting()
    with pytest.raises(ValueError, match="must have 3 entries, one a graph, got 2"):
        evaluate(model, graphs, truths[:2], methods=["degree"])
    truths[1] = truths[1][:-1]
    with pytest.raises(ValueError, match=r"`truths\[1\]` must have one value for each of 6"):
        evaluate(model, graphs, truths, methods=["degree"])

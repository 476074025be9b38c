import json

import networkx as nx
import pytest
import torch

import laws
import lgan
from paper.evaluate import evaluate
from paper.explanation_scores import over_models, score_explanations
from paper.json_records import write_record

METHODS = ("integrated-gradients", "random")


def test_triangles_are_found_and_noise_finds_nothing(tmp_path):
    given = {"epochs": 6, "num_layers": 2}
    found = score_explanations("triangles", seeds=(0, 1), limit=4, methods=METHODS, given=given)
    summary = found["summary"]
    assert summary["integrated-gradients"]["auc"] > 0.95
    assert summary["random"]["auc"] < 0.8
    assert summary["random"]["auc deviation"] > 0
    assert len(found["accuracies"]) == len(found["evaluations"]) == 2
    assert found["holds"] == (summary["integrated-gradients"]["auc"] >= 0.99)
    write_record(tmp_path / "deeper" / "triangles.json", found)
    plain = json.loads((tmp_path / "deeper" / "triangles.json").read_text())
    assert plain["seeds"] == [0, 1]
    assert plain["settings"]["training"]["epochs"] == 6
    assert plain["evaluations"][0]["graphs"] == 4
    assert plain["environment"]["lgan"]


def test_wrong_cases_and_methods_are_refused():
    with pytest.raises(ValueError, match=r"Unknown case 'squares'. Choose one of: triangles"):
        score_explanations("squares")
    with pytest.raises(ValueError, match="`methods` must contain ours"):
        score_explanations("triangles", methods=["random"])


def test_numbers_of_several_models_are_averaged():
    graphs = [laws.data(nx.lollipop_graph(3, k), torch.ones(3 + k, 1)) for k in (2, 3)]
    truths = [torch.tensor([True] * 3 + [False] * k) for k in (2, 3)]
    model = lgan.LGAN(1, 4, 2, num_layers=2)
    found = [evaluate(model, graphs, truths, methods=["random"], seed=s) for s in (0, 1)]
    areas = [each.rows["random"].auc for each in found]
    table = over_models(found)["random"]
    assert table["auc"] == pytest.approx(sum(areas) / 2)
    assert table["auc deviation"] == pytest.approx(abs(areas[0] - areas[1]) / 2)

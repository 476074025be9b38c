import dataclasses
import json
import math

import pytest
import torch

from lgan import CVResult


def _result(*, inner: bool = True) -> CVResult:
    some = 2 if inner else 0
    return CVResult(
        dataset="small",
        model={"name": "lgan", "hidden": 8},
        config={"epochs": 3, "seed": 0},
        fold_sizes=[10, 20],
        test=torch.tensor([[5, 8, 6], [14, 12, 18]]),
        loss=torch.tensor([[0.7, 0.5, 0.25], [0.75, 0.5, 0.125]]),
        inner_sizes=[10, 20][:some],
        inner_test=torch.tensor([[4, 5, 6], [10, 12, 14]])[:some],
        inner_validation=torch.tensor([[9, 1, 2], [6, 16, 14]])[:some],
        seconds=torch.tensor([1.0, 2.0, 0.5]),
        info={"folds": [0, 1]},
    )


def _same(a: CVResult, b: CVResult) -> bool:
    return all(
        torch.equal(x, y) if isinstance(x, torch.Tensor) else x == y
        for x, y in ((getattr(a, f.name), getattr(b, f.name)) for f in dataclasses.fields(CVResult))
    )


@pytest.mark.parametrize("inner", [True, False])
def test_record_survives_json(inner, tmp_path):
    result = _result(inner=inner)
    plain = json.loads(json.dumps(result.to_json()))
    assert _same(CVResult.from_json(plain), result)
    result.save(tmp_path / "new" / "result.json")
    assert _same(CVResult.load(tmp_path / "new" / "result.json"), result)
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["result.json"]


def test_rules_are_read_from_right_answers_and_fold_sizes():
    result = _result()
    assert result.selected("gin").folds == (0.6, 0.9)
    assert result.selected("fold-max").folds == (0.8, 0.9)
    assert result.selected("fair").folds == (0.4, 0.6)
    assert result.selected("fair").epochs == (1, 2)
    assert result.selected().rule == "gin"


def test_record_names_the_rule_beside_every_number():
    results = _result().to_json()["results"]
    assert list(results) == ["gin", "fold-max", "fair"]
    for rule, numbers in results.items():
        assert numbers["rule"] == rule
        assert numbers["mean"] == pytest.approx(sum(numbers["folds"]) / 2)
    assert list(_result(inner=False).to_json()["results"]) == ["gin", "fold-max"]


def test_fair_without_an_inner_hold_out_is_refused():
    result = _result(inner=False)
    assert result.rules == ("gin", "fold-max")
    with pytest.raises(ValueError, match=r"'fair' needs an inner hold-out.*--fair"):
        result.selected("fair")


def test_unknown_rule_is_answered_with_the_names():
    with pytest.raises(ValueError, match="must be one of gin, fold-max, fair, got 'best'"):
        _result().selected("best")


def test_record_of_another_format_is_refused():
    plain = _result().to_json() | {"format": 99}
    with pytest.raises(ValueError, match="Expected a record of format 1, got 99"):
        CVResult.from_json(plain)


def test_record_of_a_run_that_diverged_is_still_json(tmp_path):
    result = dataclasses.replace(_result(), loss=torch.tensor([[0.5, math.nan], [math.inf, 1.0]]))
    result.save(tmp_path / "result.json")
    plain = json.loads((tmp_path / "result.json").read_text(), parse_constant=pytest.fail)
    assert plain["loss"] == [[0.5, None], [None, 1.0]]
    assert CVResult.load(tmp_path / "result.json").loss.isnan().sum() == 2


def test_folder_that_is_a_file_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=r"result\.json"):
        _result().save(tmp_path / "file" / "result.json")

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
        test=torch.tensor([[0.5, 0.8, 0.6], [0.7, 0.6, 0.9]], dtype=torch.float64),
        loss=torch.tensor([[0.7, 0.5, 0.25], [0.75, 0.5, 0.125]]),
        inner_sizes=[10, 20][:some],
        inner_test=torch.tensor([[0.4, 0.5, 0.6], [0.5, 0.6, 0.7]], dtype=torch.float64)[:some],
        inner_validation=torch.tensor([[0.9, 0.1, 0.2], [0.3, 0.8, 0.7]], dtype=torch.float64)[
            :some
        ],
        seconds=torch.tensor([1.0, 2.0, 0.5]),
        info={"folds": [0, 1]},
        predictions={"gin": torch.tensor([[0.25, 0.75], [torch.nan, torch.nan]])},
    )


def _equal(x: object, y: object) -> bool:
    if isinstance(x, dict):
        return x.keys() == y.keys() and all(_equal(x[key], y[key]) for key in x)
    if isinstance(x, torch.Tensor):
        if not x.numel() and not y.numel():  # no curves have no epochs
            return x.dtype == y.dtype
        return torch.allclose(x, y, rtol=0, atol=1e-7, equal_nan=True) and x.dtype == y.dtype
    return x == y


def _same(a: CVResult, b: CVResult) -> bool:
    return all(
        _equal(x, y)
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


def test_rules_are_read_from_the_curves():
    result = _result()
    assert result.selected("gin").folds == (0.6, 0.9)
    assert result.selected("fold-max").folds == (0.8, 0.9)
    assert result.selected("fair").folds == (0.4, 0.6)
    assert result.selected("fair").epochs == (1, 2)
    assert result.selected().rule == "gin"


def test_accuracies_are_written_as_right_answers_and_read_back_to_the_bit():
    sizes, right = [19, 7, 18], torch.randint(0, 7, (3, 5))
    share = right / torch.tensor(sizes, dtype=torch.float64)[:, None]
    inner = {"inner_sizes": [], "inner_test": share[:0], "inner_validation": share[:0]}
    result = dataclasses.replace(
        _result(), fold_sizes=sizes, test=share, seconds=torch.ones(5), loss=share.float(), **inner
    )
    plain = json.loads(json.dumps(result.to_json()))
    assert (plain["unit"], plain["test"]) == ("right answers", right.tolist())
    assert torch.equal(CVResult.from_json(plain).test, share)


def test_a_record_of_the_first_format_is_read():
    """lgan 0.1 wrote right answers alone."""
    plain = _result().to_json()
    old = {k: v for k, v in plain.items() if k not in ("unit", "metric", "task", "predictions")}
    result = CVResult.from_json({**old, "format": 1})
    assert (result.metric, result.task, result.predictions) == ("accuracy", {}, {})
    for rule in result.rules:
        assert result.selected(rule) == _result().selected(rule)


def test_of_an_error_the_least_is_best_and_folds_without_the_metric_are_left_out(tmp_path):
    nan = math.nan
    test = torch.tensor([[1.5, 0.25, 0.5], [nan, nan, nan], [2.0, 1.0, 0.25]]).double()
    result = dataclasses.replace(
        _result(inner=False), metric="rmse", test=test, loss=test.float(), fold_sizes=[3, 3, 3],
        inner_test=test[:0], inner_validation=test[:0],
    )  # fmt: skip
    assert result.selected("gin").epochs == (3, 3, 3)
    assert result.selected("gin").mean == pytest.approx(0.375)
    assert result.selected("fold-max").mean == pytest.approx(0.25)
    result.save(tmp_path / "result.json")
    plain = json.loads((tmp_path / "result.json").read_text(), parse_constant=pytest.fail)
    assert plain["unit"] == "metric"
    assert plain["results"]["gin"]["folds"] == [0.5, None, 0.25]
    assert CVResult.load(tmp_path / "result.json").selected("gin").mean == pytest.approx(0.375)


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
    with pytest.raises(ValueError, match=r"'fair' needs models with an inner hold-out.*--fair"):
        result.selected("fair")


def test_members_are_read_at_the_epoch_of_their_joint_curve_and_kept_in_the_record(tmp_path):
    joint = torch.tensor([[0.1, 0.5, 0.4], [0.9, 0.1, 0.2]], dtype=torch.float64)
    result = dataclasses.replace(
        _result(), bagged_members=2, bagged_test=_result().test, bagged_validation=joint
    )
    assert result.rules == ("gin", "fold-max", "fair", "bagged")
    assert (result.to_json()["format"], _result().to_json()["format"]) == (3, 2)
    result.save(tmp_path / "result.json")
    for read in (result, CVResult.load(tmp_path / "result.json")):
        assert read.selected("bagged").folds == (0.8, 0.7)
        assert read.selected("bagged").epochs == (2, 1)
        assert read.bagged_members == 2
    smooth = dataclasses.replace(result, config={**result.config, "window": 3})
    assert smooth.selected("bagged").epochs == (3, 1)
    with pytest.raises(ValueError, match=r"'bagged' needs models with an inner hold-out.*--bagged"):
        _result().selected("bagged")


def test_unknown_rule_is_answered_with_the_names():
    with pytest.raises(ValueError, match="must be one of gin, fold-max, fair, bagged, got 'best'"):
        _result().selected("best")


def test_record_of_another_format_is_refused():
    plain = _result().to_json() | {"format": 99}
    with pytest.raises(ValueError, match="Expected a record of format 1 to 3, got 99"):
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

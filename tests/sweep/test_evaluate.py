from dataclasses import replace
from statistics import mean
from types import SimpleNamespace

import pytest
import torch

from lgan.data import drawn_folds
from lgan.experiment import Reading, prepare, run_network, settings_for
from lgan.sweep.evaluate import _so_far, checkpoints, evaluate
from lgan.task import METRICS

PARAMS = [{"hidden": 4, "lr": 0.01, "dropout": 0.5}, {"hidden": 4, "lr": 0.003, "dropout": 0.0}]


def _evaluated(batch, **changed):
    """The outcomes of a batch whose search, or which itself, differs in some fields."""
    own = {name: changed.pop(name) for name in ("params", "folds", "medians") if name in changed}
    return evaluate(replace(batch, head=replace(batch.head, **changed), **own))


def test_a_trial_in_a_batch_gives_what_it_gives_alone(batch):
    together = _evaluated(batch, params=PARAMS)
    for params, outcome in zip(PARAMS, together, strict=True):
        settings = settings_for("lgan", "triangles", **batch.head.fixed, **params)
        union = prepare(settings)
        [alone] = run_network(settings, union, drawn_folds("triangles", union.y, 2, seed=0))
        assert outcome.state == "done"
        assert outcome.value == pytest.approx(alone.selected("gin").mean, abs=0.02)
        assert set(outcome.results) == {"gin", "fold-max"}
        assert outcome.progress[2] == outcome.value


def test_the_objective_of_a_trial_is_the_mean_of_its_seeds(batch):
    fixed = {**batch.head.fixed, "hidden": 4, "epochs": 8, "iterations": 4}
    params = [{"lr": 0.01}, {"lr": 1e-6}]
    outcomes = _evaluated(batch, params=params, fixed=fixed, seed=3, seeds=2)
    for own, outcome in zip(params, outcomes, strict=True):
        settings = settings_for("lgan", "triangles", **fixed, **own, seed=3)
        union = prepare(settings, reading=Reading(seed=3))
        alone = run_network(settings, union, drawn_folds("triangles", union.y, 2, seed=3), seeds=2)
        assert [result.config["seed"] for result in alone] == [3, 4]
        assert outcome.value == pytest.approx(mean(_best(r, 8) for r in alone), abs=0.02)
        assert outcome.progress[4] == pytest.approx(mean(_best(r, 4) for r in alone), abs=0.02)
        stds = [result.selected("gin").std for result in alone]
        assert outcome.results["gin"]["std"] == pytest.approx(mean(stds), abs=0.02)
    assert outcomes[0].value > outcomes[1].value + 0.1


def _best(result, epochs):
    """The best mean accuracy over folds in the first epochs."""
    share = result.test[:, :epochs]
    return float(share.mean(0).max())


@pytest.mark.parametrize("seeds", [1, 2])
def test_the_objective_fair_is_read_on_the_inner_hold_out(batch, seeds):
    [outcome] = _evaluated(batch, params=PARAMS[:1], objective="fair", folds=3, seeds=seeds)
    settings = settings_for("lgan", "triangles", **batch.head.fixed, **PARAMS[0])
    union = prepare(settings)
    fold = drawn_folds("triangles", union.y, 3, seed=0)
    alone = run_network(settings, union, fold, seeds=seeds, fair=True)
    share = [r.inner_validation for r in alone]
    assert outcome.value == pytest.approx(mean(float(s.amax(1).mean()) for s in share), abs=1e-6)
    expected = mean(r.selected("fair").mean for r in alone)
    assert outcome.results["fair"]["mean"] == pytest.approx(expected)


@pytest.mark.parametrize("seeds", [1, 2])
def test_a_batch_is_stopped_where_all_its_trials_are_below_the_median(batch, seeds):
    outcomes = _evaluated(batch, params=PARAMS, seeds=seeds, medians={1: 1.1})
    assert [outcome.state for outcome in outcomes] == ["pruned", "pruned"]
    assert all(set(outcome.progress) == {1} for outcome in outcomes)


def test_a_batch_goes_on_where_one_of_its_trials_is_not(batch):
    [outcome] = _evaluated(batch, params=PARAMS[:1], medians={1: 0.0})
    assert outcome.state == "done"


@pytest.mark.parametrize("seeds", [1, 2])
def test_settings_that_do_not_work_are_an_outcome(batch, seeds):
    outcomes = _evaluated(batch, params=PARAMS, seeds=seeds, folds=1000)
    assert [outcome.state for outcome in outcomes] == ["failed", "failed"]
    assert "Choose fewer folds" in outcomes[0].message


def test_the_objective_so_far_by_hand():
    test = torch.tensor([[0.1, 0.2, 9], [0, 0.8, 9], [0.3, 0.1, 9], [0.8, 0, 9]])
    curves = SimpleNamespace(test=test, metric=METRICS["accuracy"])  # two trials of two folds
    assert _so_far(curves, 0, 2, 2, fair=False) == pytest.approx((0.2 + 0.8) / 2)
    assert _so_far(curves, 1, 2, 2, fair=False) == pytest.approx((0.3 + 0.8) / 2)


def test_the_objective_fair_reads_the_models_behind_those_of_the_folds():
    validation = torch.tensor([[0, 0], [0, 0], [0.2, 0.4], [0.8, 0.3]])
    curves = SimpleNamespace(validation=validation, metric=METRICS["roc-auc"])
    assert _so_far(curves, 0, 2, 2, fair=True) == pytest.approx(0.6)


def test_of_an_error_less_is_better():
    curves = SimpleNamespace(
        test=torch.tensor([[3.0, 1.0], [5.0, 2.0]]),
        validation=torch.tensor([[0.0, 0], [0, 0], [2, 4], [8, 3]]),
        metric=METRICS["rmse"],
    )
    assert _so_far(curves, 0, 2, 2, fair=False) == -1.5
    assert _so_far(curves, 0, 2, 2, fair=True) == -2.5


def test_a_trial_that_diverges_fails_alone(batch):
    params = [{**PARAMS[0], "lr": 1e30}, {**PARAMS[0], "lr": 0.01}]
    wild, tame = _evaluated(batch, params=params, fixed={**batch.head.fixed, "epochs": 30})
    assert (wild.state, tame.state) == ("failed", "done")
    assert "no longer finite" in wild.message


def test_trials_are_compared_at_quarters():
    assert checkpoints(8) == [2, 4, 6]
    assert checkpoints(2) == [1]
    assert checkpoints(1) == []

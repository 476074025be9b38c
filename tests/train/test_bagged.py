"""Strict nesting with members: one program against a slow, literal loop."""

import logging
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from lgan import CVResult, TrainConfig, cross_validate
from lgan.task import METRICS, TargetScale, Task
from lgan.train import groups as groups_module
from lgan.train.folds import choose_groups
from lgan.train.jobs import Variant, held_out_job
from lgan.train.loop import train_together
from lgan.zoo import model_spec

CONFIG = TrainConfig(epochs=5, iterations=2, batch_size=16, seed=4, window=2)
FOLDS = 4


def _slow(build, data, config, inner_of, metric):
    """Every model trained alone, for every number of epochs; predictions averaged by hand."""
    fold, _ = choose_groups(data, FOLDS, config.seed)
    test, joint, averaged = [], [], []
    for k in range(FOLDS):
        said, inner = [], []
        for j in inner_of(k):
            job = held_out_job(fold, k, j, seed=config.seed)
            by_epoch, scores = [], []
            for epochs in range(1, config.epochs + 1):
                stacked, _ = train_together(
                    data, [Variant(build, config)], [job], groups=fold, until=epochs
                )
                model = build()
                model.load_state_dict({n: t[0] for n, t in stacked.state_dict().items()})
                model.eval()
                scale = None
                if data.known_task.kind == "regression":
                    scale = TargetScale.fit(data.y, job.train)
                with torch.no_grad():
                    out = data.known_task.link(model(data.batch(job.test)), scale)
                    held = data.known_task.link(model(data.batch(job.validation)), scale)
                by_epoch.append(out.numpy())
                scores.append(metric(data.y[job.validation].numpy(), held.numpy()))
            said.append(np.stack(by_epoch))
            inner.append(scores)
        mean = np.mean(said, 0)  # [E, n, O]
        truth = data.y[fold == k].numpy()
        test.append([metric(truth, epoch) for epoch in mean])
        joint.append(np.nanmean(inner, 0))
        averaged.append(mean)
    return fold, np.array(test), np.array(joint), averaged


def _numbers(union):
    sizes = torch.diff(union.node_ptr).to(torch.get_default_dtype())
    return replace(union, y=100 + sizes[:, None], task=Task("regression", ("size",)), name="own")


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize(("kind", "members"), [("classes", True), ("classes", 2), ("numbers", 2)])
def test_the_average_is_that_of_models_trained_one_by_one(kind, members, union, factory):
    data = union if kind == "classes" else _numbers(union)
    build = factory("gin", dropout=0.3)
    if kind == "numbers":
        build = partial(model_spec("gin").build, union.num_features, 6, 1, num_layers=2)
    metric = METRICS["log-loss" if kind == "classes" else "rmse"]
    result = cross_validate(
        build, data, folds=FOLDS, config=CONFIG, metric=metric.name, bagged=members
    )
    offsets = (1, 2, 3) if members is True else (1, 2)
    fold, test, joint, averaged = _slow(
        build, data, CONFIG, lambda k: [(k + d) % FOLDS for d in offsets], metric
    )
    assert result.bagged_members == len(offsets)
    np.testing.assert_allclose(result.bagged_test, test, rtol=1e-9)
    np.testing.assert_allclose(result.bagged_validation, joint, rtol=1e-9)
    chosen = result.selected("bagged")
    for k in range(FOLDS):
        smooth = [joint[k, max(0, e - 1) : e + 1].mean() for e in range(CONFIG.epochs)]
        epoch = int(np.argmin(smooth))
        assert (chosen.epochs[k], chosen.folds[k]) == (epoch + 1, pytest.approx(test[k, epoch]))
        np.testing.assert_allclose(
            result.predictions["bagged"][fold == k], averaged[k][epoch], rtol=1e-9
        )


def test_fair_read_from_a_bagged_run_is_fair(union, factory, tmp_path):
    build = factory("lgan", dropout=0.2)
    options = {"folds": FOLDS, "config": CONFIG, "fair": True}
    plain = cross_validate(build, union, **options)
    both = cross_validate(build, union, bagged=True, output=tmp_path, **options)
    assert both.rules == ("gin", "fold-max", "fair", "bagged")
    assert torch.equal(both.inner_validation, plain.inner_validation)
    for rule in plain.rules:
        assert both.selected(rule) == plain.selected(rule)
    torch.testing.assert_close(both.predictions["fair"], plain.predictions["fair"])
    loaded = CVResult.load(tmp_path / "result.json")
    assert loaded.selected("bagged") == both.selected("bagged")
    assert loaded.bagged_members == 3


def _same(a: CVResult, b: CVResult) -> bool:
    names = ("test", "loss", "inner_validation", "bagged_test", "bagged_validation")
    same = all(torch.equal(getattr(a, name), getattr(b, name)) for name in names)
    return same and torch.equal(a.predictions["bagged"], b.predictions["bagged"])


@pytest.mark.parametrize("at_once", [100, 5])
def test_resumed_run_ends_with_the_same_bits(at_once, monkeypatch, union, factory, tmp_path):
    monkeypatch.setattr(groups_module, "models_at_once", lambda *_: at_once)
    build, seen = factory("lgan", dropout=0.2), []
    options = {"folds": FOLDS, "config": CONFIG, "bagged": True}
    whole = cross_validate(build, union, **options)

    def stop(epoch, curves):
        seen.append(epoch)
        if len(seen) == 3 + (CONFIG.epochs if at_once == 5 else 0):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cross_validate(build, union, output=tmp_path, on_epoch=stop, **options)
    resumed = cross_validate(build, union, output=tmp_path, resume=True, **options)
    assert _same(whole, resumed)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("patience", [0, 2])
def test_groups_by_memory_end_as_one_program(patience, monkeypatch, union, factory, caplog):
    config = replace(CONFIG, epochs=12, patience=patience)
    options = {"folds": FOLDS, "config": config, "bagged": 2, "metric": "log-loss"}
    whole = cross_validate(factory("gin"), union, **options)
    monkeypatch.setattr(groups_module, "models_at_once", lambda *_: 5)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    with caplog.at_level(logging.WARNING):
        parts = cross_validate(factory("gin"), union, **options)
    assert "training 4 at a time" in caplog.text  # so that no thread waits for the other
    assert parts.test.shape == whole.test.shape
    torch.testing.assert_close(parts.bagged_test, whole.bagged_test, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(parts.predictions["bagged"], whole.predictions["bagged"])
    assert parts.selected("bagged").epochs == whole.selected("bagged").epochs


@pytest.mark.parametrize(("fair", "bagged"), [(False, False), (True, False), (True, 2)])
def test_training_stops_where_a_slow_rule_says(fair, bagged, union, factory):
    config = replace(CONFIG, epochs=25, lr=0.03)
    options = {"folds": FOLDS, "fair": fair, "bagged": bagged}
    full = cross_validate(factory("gin"), union, config=config, **options)
    short = cross_validate(factory("gin"), union, config=replace(config, patience=4), **options)
    choices = [full.test.mean(0)]
    if fair:
        choices = list(full.bagged_validation if bagged else full.inner_validation)
    since, best = [0] * len(choices), [-1.0] * len(choices)
    for epoch in range(25):
        for i, curve in enumerate(choices):
            value = float(curve[max(0, epoch - 1) : epoch + 1].mean())
            since[i] = 0 if value >= best[i] - 1e-9 else since[i] + 1
            best[i] = max(best[i], value)
        if min(since) >= 4:
            break
    assert short.test.size(1) == epoch + 1 < 25
    assert torch.equal(short.loss, full.loss[:, : epoch + 1])
    if bagged:
        assert torch.equal(short.bagged_test, full.bagged_test[:, : epoch + 1])
    assert short.seconds.numel() == epoch + 1


def test_a_run_that_stopped_early_is_not_gone_on_with(union, factory, tmp_path):
    options = {"folds": FOLDS, "config": replace(CONFIG, epochs=25, lr=0.03, patience=3)}
    first = cross_validate(factory("gin"), union, output=tmp_path, **options)
    told: list[int] = []
    again = cross_validate(
        factory("gin"), union, output=tmp_path, resume=True,
        on_epoch=lambda epoch, _: told.append(epoch), **options,
    )  # fmt: skip
    assert first.test.size(1) < 25
    assert told == []
    assert torch.equal(first.test, again.test)


@pytest.mark.parametrize("members", [4, -1])
def test_more_members_than_inner_folds_are_refused(members, union, factory, tmp_path):
    with pytest.raises(ValueError, match=rf"from 1 to 3 with 4 folds, got {members}\. Choose"):
        cross_validate(factory(), union, folds=4, bagged=members, output=tmp_path)
    with pytest.raises(ValueError, match=r"'bagged' holds two folds out.*got 2"):
        cross_validate(factory(), union, folds=2, bagged=True)

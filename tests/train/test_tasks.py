"""Training for every kind of task: losses, metrics, missing targets, held-out predictions."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

import lgan
from lgan import GraphUnion, TrainConfig, cross_validate, predict
from lgan.task import METRICS, TargetScale, Task
from lgan.train import train_ensemble
from lgan.train.folds import choose_groups
from lgan.train.jobs import Variant, held_out_job
from lgan.train.loop import train_together
from lgan.train.stack import drawn, model_view, unstack

CONFIG = TrainConfig(epochs=4, iterations=3, batch_size=16, seed=4)
TASKS = {
    "binary": Task("binary", ("class",), ("no", "yes")),
    "multiclass": Task("multiclass", ("class",), ("a", "b", "c")),
    "multilabel": Task("multilabel", ("p", "q"), ("0", "1")),
    "regression": Task("regression", ("u", "v")),
}


def _with_task(union: GraphUnion, kind: str, *, missing: bool = True) -> GraphUnion:
    """The graphs with targets of another kind, some of them missing."""
    generator = torch.Generator().manual_seed(1)
    size = torch.diff(union.node_ptr).float()
    gone = torch.rand(union.num_graphs, 2, generator=generator) < (0.2 if missing else -1)
    targets: dict[str, Tensor] = {
        "binary": union.y.masked_fill(gone[:, 0], -1),
        "multiclass": (torch.arange(46) % 3).masked_fill(gone[:, 0], -1),
        "multilabel": torch.stack([union.y, union.y * (size > 9)], 1).float(),
        "regression": torch.stack([100 + size, size.square() - union.y], 1),
    }
    y = targets[kind]
    if y.is_floating_point():
        y = y.masked_fill(gone, torch.nan)
    return replace(union, y=y, task=TASKS[kind], num_classes=TASKS[kind].num_outputs, name="own")


def _build(union: GraphUnion, **options: object):
    sizes = (union.num_features, 6, union.known_task.num_outputs)
    return lambda: lgan.LGAN(*sizes, num_layers=2, **options)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("class_weight", ["none", "balanced"])
@pytest.mark.parametrize("kind", TASKS)
def test_models_side_by_side_are_separate_trainings(kind, class_weight, union):
    if (kind, class_weight) == ("regression", "balanced"):
        pytest.skip("numbers have no classes")
    data = _with_task(union, kind)
    fold, _ = choose_groups(data, 4, 0)
    variant = Variant(_build(data, dropout=0.3), replace(CONFIG, class_weight=class_weight))
    jobs = [held_out_job(fold, k, seed=1) for k in range(4)]
    together, curves = train_together(data, [variant], jobs, groups=fold)
    for k, job in enumerate(jobs):
        alone, its_own = train_together(data, [variant], [job], groups=fold)
        torch.testing.assert_close(curves.loss[k], its_own.loss[0], rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(curves.test[k], its_own.test[0], rtol=1e-9, atol=1e-9)
        for name, tensor in unstack(alone, 0).items():
            torch.testing.assert_close(unstack(together, k)[name], tensor, rtol=1e-8, atol=1e-8)


@pytest.mark.usefixtures("float64")
def test_one_step_is_torch_on_the_targets_that_are_there(union):
    """A regression by hand: targets scaled on the training part, missing ones left out."""
    data = _with_task(union, "regression")
    fold, _ = choose_groups(data, 4, 0)
    job = held_out_job(fold, 0, seed=1)
    config = replace(CONFIG, epochs=1, iterations=0, batch_size=46)
    _, curves = train_together(data, [Variant(_build(data), config)], [job], groups=fold)
    model = drawn(_build(data), job.seed)
    train = job.train.nonzero().flatten()
    scale = TargetScale.fit(data.y, job.train)
    error = model(data.batch(train)) - scale.scaled(data.y[train])
    there = ~error.isnan()
    assert not there.all()
    assert float(curves.loss[0, 0]) == pytest.approx(float(error[there].square().mean().detach()))


@pytest.mark.parametrize(
    ("kind", "metric"),
    [
        ("binary", "roc-auc"), ("binary", "accuracy"), ("binary", "log-loss"),
        ("multiclass", "balanced-accuracy"), ("multilabel", "roc-auc"),
        ("multilabel", "average-precision"), ("regression", "rmse"), ("regression", "mae"),
        ("regression", "r2"),
    ],
)  # fmt: skip
def test_records_hold_the_predictions_of_the_selected_epoch(kind, metric, union, tmp_path):
    data = _with_task(union, kind)
    result = cross_validate(
        _build(data), data, folds=4, config=CONFIG, metric=metric, fair=True, output=tmp_path
    )
    read = METRICS[metric]
    assert (result.metric, Task.from_json(result.task)) == (metric, data.task)
    fold = torch.tensor(result.info["folds"])
    loaded = lgan.CVResult.load(tmp_path / "result.json")
    for rule in ("gin", "fair"):
        chosen = result.selected(rule)
        for k in range(4):
            rows = fold == k
            found = read(data.y[rows].numpy(), result.predictions[rule][rows].numpy())
            assert found == pytest.approx(chosen.folds[k], abs=1e-6, nan_ok=True)
        assert loaded.selected(rule).epochs == chosen.epochs
        torch.testing.assert_close(
            loaded.predictions[rule], result.predictions[rule], rtol=1e-4, atol=1e-5
        )
        pooled = read(data.y.numpy(), result.predictions[rule].numpy())
        assert result.pooled[rule] == pytest.approx(pooled)
        assert loaded.pooled == result.pooled
    best = np.nanmean(result.test.numpy(), 0)
    epoch = int(best.argmax() if read.higher_is_better else best.argmin())
    assert result.selected("gin").epochs == (epoch + 1,) * 4


@pytest.mark.parametrize("kind", TASKS)
def test_a_resumed_run_ends_with_the_same_predictions(kind, union, tmp_path):
    data = _with_task(union, kind)

    def stop(epoch: int, curves: object) -> None:
        if epoch == 3:
            raise KeyboardInterrupt

    options = {"folds": 3, "config": CONFIG, "fair": True}
    whole = cross_validate(_build(data), data, **options)
    with pytest.raises(KeyboardInterrupt):
        cross_validate(_build(data), data, output=tmp_path, on_epoch=stop, **options)
    resumed = cross_validate(_build(data), data, output=tmp_path, resume=True, **options)
    assert resumed.predictions.keys() == {"gin", "fair"}
    for rule, rows in whole.predictions.items():
        assert torch.equal(rows.nan_to_num(-9), resumed.predictions[rule].nan_to_num(-9))


def test_a_model_alone_gives_numbers_in_the_units_of_the_targets(union):
    data = _with_task(union, "regression", missing=False)
    one = train_ensemble(_build(data), data, members=1, folds=4, config=CONFIG, metric="rmse")
    graphs = (one.fold == 0).nonzero().flatten()
    scale = TargetScale(one.scale.mean[0], one.scale.std[0])
    found = data.known_task.link(predict(model_view(one.network, 0), data, graphs), scale)
    rmse = METRICS["rmse"](data.y[graphs].numpy(), found.numpy())
    assert (one.info["metric"], one.score) == ("rmse", pytest.approx(rmse, rel=1e-5))
    assert 90 < float(found[:, 0].mean()) < 130  # the first target is 100 and the size of a graph


def test_the_metric_is_that_of_the_task_unless_the_set_has_a_table(union):
    own = _with_task(union, "binary")
    metrics = [
        cross_validate(_build(data), data, folds=2, config=replace(CONFIG, epochs=1)).metric
        for data in (own, replace(own, name="MUTAG"), union)
    ]
    assert metrics == ["roc-auc", "accuracy", "accuracy"]


def test_a_metric_that_does_not_fit_is_refused(union):
    with pytest.raises(ValueError, match=r"metric of a binary task must be one of .*got 'rmse'"):
        cross_validate(_build(union), union, folds=2, config=CONFIG, metric="rmse")


def test_class_weights_of_numbers_are_refused(union):
    data = _with_task(union, "regression")
    with pytest.raises(ValueError, match="Class weights need classes"):
        cross_validate(_build(data), data, folds=2, config=replace(CONFIG, class_weight="balanced"))


@pytest.mark.usefixtures("float64")
def test_balanced_classes_have_the_same_share_of_the_loss(union):
    """Ten graphs against 36, in the first step by hand."""
    data = replace(union, y=(torch.arange(46) < 10).long(), name="own")
    fold, _ = choose_groups(data, 4, 0)
    job = held_out_job(fold, 0, seed=1)
    config = replace(CONFIG, epochs=1, iterations=0, batch_size=46, class_weight="balanced")
    _, curves = train_together(data, [Variant(_build(data), config)], [job], groups=fold)
    train = job.train.nonzero().flatten()
    out = drawn(_build(data), job.seed)(data.batch(train))
    each = torch.nn.functional.cross_entropy(out, data.y[train], reduction="none")
    shares = [each[data.y[train] == label].mean() for label in range(2)]
    assert float(curves.loss[0, 0]) == pytest.approx(float(sum(shares).detach()) / 2)

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

import lgan
from lgan import TrainConfig, cross_validate, predict
from lgan.data import drawn_folds, stratified_folds
from lgan.task import METRICS, TargetScale, Task
from lgan.train import OUTSIDE, train_ensemble, train_ensembles
from lgan.train import groups as groups_module
from lgan.train.jobs import Job, Variant, held_out_job, model_seed
from lgan.train.loop import train_together
from lgan.train.stack import model_view, unstack
from lgan.zoo import model_spec

CONFIG = TrainConfig(epochs=6, iterations=3, batch_size=16, seed=2, lr=0.03)


def _choose(test: torch.Tensor, window: int) -> int:
    mean = test.mean(0).tolist()
    smooth = [np.mean(mean[max(0, e - window + 1) : e + 1]).round(12) for e in range(len(mean))]
    return max(e for e, value in enumerate(smooth) if value == max(smooth)) + 1


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("average", [0.0, 0.6])
def test_members_are_models_trained_alone_up_to_the_joint_epoch(average, union, factory):
    build, config = factory("lgan-res", dropout=0.3), replace(CONFIG, window=2, average=average)
    trained = train_ensemble(build, union, members=3, config=config)
    fold = stratified_folds(union.y, 5, seed=2)
    assert torch.equal(trained.fold, fold)
    assert trained.held_out.tolist() == [0, 1, 2]
    curves = []
    for i in range(3):
        job = held_out_job(fold, i, seed=2)
        alone = partial(train_together, union, [Variant(build, config)], [job], groups=fold)
        curves.append(alone()[1].test[0])
        model, _ = alone(until=trained.epoch)
        for name, tensor in unstack(model, 0).items():
            torch.testing.assert_close(unstack(trained.network, i)[name], tensor)
        said = predict(model_view(model, 0), union, job.test).softmax(-1)
        torch.testing.assert_close(trained.member_predictions[i, job.test], said)
        assert trained.member_predictions[i, job.train].isnan().all()
        torch.testing.assert_close(trained.predictions[job.test], said)
    assert trained.epoch == _choose(torch.stack(curves), 2)
    assert torch.equal(trained.test, torch.stack(curves))
    never = fold >= 3
    assert trained.predictions[never].isnan().all()
    right = trained.predictions.argmax(1) == union.y
    shares = [float(right[fold == k].double().mean()) for k in range(3)]
    assert trained.fold_scores == pytest.approx(shares)
    assert trained.score == pytest.approx(np.mean(shares))
    assert trained.pooled_score == pytest.approx(float(right[~never].double().mean()))
    assert not trained.network.training


def test_more_members_than_folds_count_round_with_seeds_of_their_own(union, factory):
    fold = torch.arange(46) // 2 % 3
    fold[:4] = -1
    trained = train_ensemble(factory(), union, members=5, folds=fold, config=CONFIG)
    assert trained.held_out.tolist() == [0, 1, 2, 0, 1]
    held = ~trained.member_predictions.isnan().any(-1)
    assert torch.equal(held.sum(0), torch.where(fold < 0, 0, torch.where(fold < 2, 2, 1)))
    mean = (trained.member_predictions[0] + trained.member_predictions[3]) / 2
    torch.testing.assert_close(trained.predictions[fold == 0], mean[fold == 0])
    assert not torch.equal(trained.network.head.weight[0], trained.network.head.weight[3])


@pytest.mark.usefixtures("float64")
def test_one_member_is_the_first_fold_of_ten(union, factory):
    build = factory("lgan-res", dropout=0.3)
    one = train_ensemble(build, union, members=1, config=CONFIG)
    result = cross_validate(build, union, folds=10, config=CONFIG)
    assert one.network.head.weight.size(0) == one.members == 1
    torch.testing.assert_close(one.test[0], result.test[0])
    torch.testing.assert_close(one.loss[0], result.loss[0])
    assert one.score == float(result.test[0].max())
    assert one.epoch == int(result.test[0].argmax()) + 1


@pytest.mark.parametrize("name", ["lgan", "gin"])
def test_the_state_of_a_member_is_that_of_a_plain_model_with_its_score(name, union, factory):
    one = train_ensemble(factory(name), union, members=1, folds=3, config=CONFIG)
    model = factory(name)()
    model.load_state_dict(unstack(one.network, 0))
    held_out = (stratified_folds(union.y, 3, seed=2) == 0).nonzero().squeeze(1)
    right = predict(model, union, held_out).argmax(-1) == union.y[held_out]
    assert one.score == right.double().mean()


def test_folds_that_cannot_be_trained_on_are_refused(union, factory, tmp_path):
    train = partial(train_ensemble, factory(), union, members=1, config=CONFIG, output=tmp_path)
    with pytest.raises(ValueError, match="at least two classes"):
        train(folds=torch.arange(46) % 2)
    with pytest.raises(ValueError, match=r"as many graphs as there are folds \(30\).*fewer folds"):
        train(folds=30)
    assert not list(tmp_path.iterdir())


def test_partners_are_held_out_together():
    """Graphs 2i and 2i + 1 of `triangles` are partners, and what is learned of one by heart is
    wrong for the other."""
    pairs = lgan.load("triangles")
    build = partial(lgan.LGAN, pairs.num_features, 4, pairs.num_classes, num_layers=1)
    config = replace(CONFIG, epochs=1, iterations=1)
    fold = train_ensemble(build, pairs, members=1, config=config).fold
    assert torch.equal(fold, drawn_folds("triangles", pairs.y, 10, CONFIG.seed))
    assert torch.equal(fold[::2], fold[1::2])


def _numbers(union):
    sizes = torch.diff(union.node_ptr).float()
    data = replace(union, y=100 + sizes[:, None], task=Task("regression", ("size",)), name="own")
    return data, partial(model_spec("gin").build, union.num_features, 6, 1, num_layers=2)


def test_numbers_come_back_in_their_units_with_the_scale_of_every_member(union):
    data, build = _numbers(union)
    trained = train_ensemble(build, data, members=2, config=CONFIG)
    assert trained.info["metric"] == "rmse"
    assert trained.epoch == int(trained.test.mean(0).argmin()) + 1
    for i in range(2):
        rows = trained.fold == i
        own = TargetScale.fit(data.y, ~rows)
        torch.testing.assert_close(trained.scale.mean[i], own.mean)
        torch.testing.assert_close(trained.scale.std[i], own.std)
        out = predict(trained.network, data)[i]
        torch.testing.assert_close(trained.predictions[rows], own.original(out)[rows])
        rmse = METRICS["rmse"](data.y[rows].numpy(), trained.predictions[rows].numpy())
        assert trained.fold_scores[i] == pytest.approx(rmse)


@pytest.mark.parametrize("at_once", [10, 2])
def test_resumed_ensemble_ends_with_the_same_bits(at_once, monkeypatch, union, factory, tmp_path):
    monkeypatch.setattr(groups_module, "models_at_once", lambda *_: at_once)
    build, seen = factory("lgan", dropout=0.2), []
    options = {"members": 3, "config": replace(CONFIG, average=0.5, window=2)}
    whole = train_ensemble(build, union, **options)

    def stop(epoch, curves):
        seen.append(epoch)
        if len(seen) == 4 + (CONFIG.epochs if at_once == 2 else 0):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_ensemble(build, union, output=tmp_path, on_epoch=stop, **options)
    resumed = train_ensemble(build, union, output=tmp_path, resume=True, **options)
    assert resumed.epoch == whole.epoch
    assert torch.equal(resumed.loss, whole.loss)
    for name, tensor in whole.network.state_dict().items():
        assert torch.equal(resumed.network.state_dict()[name], tensor), name


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("patience", [0, 3])
def test_members_in_groups_choose_the_epoch_of_one_program(patience, monkeypatch, union, factory):
    options = {"members": 3, "config": replace(CONFIG, epochs=15, window=2, patience=patience)}
    whole = train_ensemble(factory("gin"), union, **options)
    monkeypatch.setattr(groups_module, "models_at_once", lambda *_: 2)
    parts = train_ensemble(factory("gin"), union, **options)
    assert (parts.epoch, parts.test.shape) == (whole.epoch, whole.test.shape)
    for name, tensor in whole.network.state_dict().items():
        torch.testing.assert_close(parts.network.state_dict()[name], tensor)
    torch.testing.assert_close(parts.predictions, whole.predictions, equal_nan=True)


def test_training_stops_when_the_members_no_longer_improve(union, factory):
    config = replace(CONFIG, epochs=30, patience=3)
    trained = train_ensemble(factory("gin"), union, members=3, config=config)
    epochs = trained.test.size(1)
    assert epochs == trained.epoch + 3 < 30
    full = train_ensemble(factory("gin"), union, members=3, config=replace(config, patience=0))
    assert torch.equal(full.test[:, :epochs], trained.test)


def test_no_member_is_refused(union, factory):
    with pytest.raises(ValueError, match="`members` must be 1 or more, got 0"):
        train_ensemble(factory(), union, members=0)


def _parts(union):
    """Folds of two ensembles that leave out other graphs, one of them with a graph for all."""
    first, second = torch.arange(46) // 2 % 4, torch.arange(46) // 2 % 3
    first[:12] = OUTSIDE
    second[30:] = OUTSIDE
    second[0] = -1
    return [first, second]


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("at_once", [10, 3, 1])
def test_ensembles_side_by_side_are_each_trained_alone_on_the_same_batches(
    at_once, monkeypatch, union, factory
):
    monkeypatch.setattr(groups_module, "models_at_once", lambda *_: at_once)
    build, folds = factory("lgan-res", dropout=0.3), _parts(union)
    config = replace(CONFIG, window=2, average=0.5)
    together = train_ensembles(build, union, folds, members=3, config=config)
    trains = [(f != OUTSIDE) & (f != i) for f in folds for i in range(3)]
    share = float(torch.stack(trains).double().mean())
    drawn = replace(config, batch_size=round(config.batch_size / share))
    for fold, trained in zip(folds, together, strict=True):
        curves = []
        for i in range(3):
            seen = (fold != OUTSIDE) & (fold != i)
            test = (fold == i).nonzero().flatten()
            job = Job(model_seed(2, i), seen, test, torch.empty(0, dtype=torch.int64))
            alone = partial(
                train_together, union, [Variant(build, drawn)], [job],
                groups=torch.full((46,), -1),
            )  # fmt: skip
            curves.append(alone()[1].test[0])
            for name, tensor in unstack(alone(until=trained.epoch)[0], 0).items():
                torch.testing.assert_close(unstack(trained.network, i)[name], tensor)
            assert trained.member_predictions[i, test].isfinite().all()
            assert trained.member_predictions[i, fold != i].isnan().all()
        assert trained.epoch == _choose(torch.stack(curves), 2)
        assert torch.equal(trained.test, torch.stack(curves))


def test_one_ensemble_of_all_graphs_is_the_plain_one_but_for_the_batches(union, factory):
    fold = torch.arange(46) // 2 % 3
    plain = train_ensemble(factory(), union, members=4, folds=fold, config=CONFIG)
    [one] = train_ensembles(factory(), union, [fold], members=4, config=CONFIG)
    assert torch.equal(plain.fold, one.fold)
    assert torch.equal(plain.held_out, one.held_out)
    assert plain.info["config"] == one.info["config"]
    assert one.member_predictions.isfinite().equal(plain.member_predictions.isfinite())

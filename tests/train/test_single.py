from dataclasses import replace
from functools import partial

import pytest
import torch

import lgan
from lgan import TrainConfig, cross_validate, predict
from lgan.data import drawn_folds, stratified_folds
from lgan.train import train_one

CONFIG = TrainConfig(epochs=4, iterations=3, batch_size=16, seed=2)


@pytest.mark.usefixtures("float64")
def test_it_is_the_model_of_the_first_fold_of_the_cross_validation(union, factory):
    build = factory("lgan-res", dropout=0.3)
    one = train_one(build, union, folds=5, config=CONFIG)
    result = cross_validate(build, union, folds=5, config=CONFIG)
    assert one.info["test"] == pytest.approx(result.test[0].tolist(), abs=1e-6)
    assert one.info["loss"] == pytest.approx(result.loss[0].tolist(), abs=1e-5)
    assert one.accuracy == one.score == result.test[0].max()
    assert one.info["epoch"] == int(result.test[0].argmax()) + 1


@pytest.mark.parametrize("name", ["lgan", "gin"])
def test_state_is_that_of_a_plain_model_with_the_accuracy_told(name, union, factory):
    one = train_one(factory(name), union, folds=3, config=CONFIG)
    model = factory(name)()
    model.load_state_dict(one.state)
    held_out = (stratified_folds(union.y, 3, seed=2) == 0).nonzero().squeeze(1)
    right = predict(model, union, held_out).argmax(-1) == union.y[held_out]
    assert one.accuracy == right.double().mean()
    assert one.info["held_out"] == held_out.numel()


def test_folds_may_be_given(union, factory):
    fold = torch.arange(46) // 2 % 3
    one = train_one(factory(), union, folds=fold, config=CONFIG)
    assert one.info["held_out"] == int((fold == 0).sum())


def test_resumed_training_ends_with_the_same_bits(union, factory, tmp_path):
    def stop(epoch, curves):
        if epoch == 2:
            raise KeyboardInterrupt

    options = {"folds": 3, "config": CONFIG, "output": str(tmp_path), "model": {"name": "lgan"}}
    whole = train_one(factory(), union, folds=3, config=CONFIG)
    with pytest.raises(KeyboardInterrupt):
        train_one(factory(), union, on_epoch=stop, **options)
    resumed = train_one(factory(), union, resume=True, **options)
    assert resumed.info["loss"] == whole.info["loss"]
    assert all(torch.equal(resumed.state[name], t) for name, t in whole.state.items())


def test_fold_with_a_single_class_left_is_refused(union, factory, tmp_path):
    with pytest.raises(ValueError, match="at least two classes"):
        train_one(factory(), union, folds=torch.arange(46) % 2, config=CONFIG, output=tmp_path)
    assert not list(tmp_path.iterdir())


def test_too_many_folds_are_refused(union, factory):
    with pytest.raises(ValueError, match=r"as many graphs as there are folds \(30\).*fewer folds"):
        train_one(factory(), union, folds=30, config=replace(CONFIG, epochs=1))


def test_partners_are_held_out_together():
    """Graphs 2i and 2i + 1 of `triangles` are partners, and what is learned of one by heart is
    wrong for the other."""
    pairs = lgan.load("triangles")
    build = partial(lgan.LGAN, pairs.num_features, 4, pairs.num_classes, num_layers=1)
    one = train_one(build, pairs, config=replace(CONFIG, epochs=1, iterations=1))
    held_out = one.info["held_out_graphs"]
    assert len(held_out) == 20
    assert {graph ^ 1 for graph in held_out} == set(held_out)
    assert drawn_folds("triangles", pairs.y, 10, CONFIG.seed)[held_out].unique().tolist() == [0]

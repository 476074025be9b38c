from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from lgan import GraphUnion, TrainConfig
from lgan.data import stratified_folds
from lgan.train import predict
from lgan.train.average import RunningMean
from lgan.train.curves import Curves
from lgan.train.jobs import Variant, held_out_job
from lgan.train.loop import train_together
from lgan.train.stack import model_view, unstack

CONFIG = TrainConfig(epochs=6, iterations=3, batch_size=12, lr_halving=2, seed=5)
FOLDS = (0, 3)


@pytest.fixture(scope="module")
def fold(union: GraphUnion) -> Tensor:
    return stratified_folds(union.y, 10, seed=1)


def _train(
    union: GraphUnion, factory, fold: Tensor, *averages: float, epochs: int = 6
) -> tuple[nn.Module, Curves]:
    """Two models for every average."""
    configs = [replace(CONFIG, epochs=epochs, average=average) for average in averages]
    jobs = [
        held_out_job(fold, k, seed=100 + k, variant=variant)
        for variant in range(len(configs))
        for k in FOLDS
    ]
    return train_together(union, [Variant(factory, c) for c in configs], jobs, groups=fold)


def _by_hand(seen: list[Tensor]) -> np.ndarray:
    """The mean with three quarters of the past: plain for 1 / (1 - 0.75) epochs."""
    values = [tensor.numpy() for tensor in seen]
    mean = np.mean(values[:4], axis=0)
    for value in values[4:]:
        mean = 0.75 * mean + 0.25 * value
    return mean


@pytest.mark.parametrize("epochs", [1, 2, 4, 5, 7])
def test_the_mean_is_plain_at_first_and_exponential_later(epochs):
    model = nn.Linear(3, 2).double()  # two models, one a row
    running, seen = RunningMean(model, [0.75, 0.0]), []
    for epoch in range(epochs):
        nn.init.normal_(model.weight)
        running.update(epoch)
        seen.append(model.weight.detach().clone())
    np.testing.assert_allclose(running.mean["weight"][0], _by_hand(seen)[0], rtol=1e-12)
    assert torch.equal(running.mean["weight"][1], seen[-1][1])


def test_models_hold_their_means_inside_the_context_alone():
    model = nn.Linear(3, 2)
    running = RunningMean(model, [0.5, 0.5])
    running.update(0)
    before = model.weight.detach().clone()
    nn.init.normal_(model.weight)
    last = model.weight.detach().clone()

    def interrupted() -> None:
        with running.in_place():
            assert torch.equal(model.weight, before)
            raise KeyboardInterrupt

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            interrupted()
        assert torch.equal(model.weight, last)
    assert torch.equal(running.mean["weight"], before)


def test_without_averaging_nothing_is_kept():
    assert RunningMean(nn.Linear(3, 2), [0.0, 0.0]).mean == {}


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("name", ["lgan-res", "gin"])
def test_training_returns_the_mean_of_weights_and_statistics(name, union, factory, fold):
    build = factory(name, dropout=0.4)
    model, curves = _train(union, build, fold, 0.75)
    runs = [_train(union, build, fold, 0.0, epochs=epochs) for epochs in range(1, 7)]
    assert torch.equal(curves.loss, runs[-1][1].loss)
    for k in range(len(FOLDS)):
        states = [unstack(stacked, k) for stacked, _ in runs]
        for key, got in unstack(model, k).items():
            if got.is_floating_point():
                by_hand = _by_hand([state[key] for state in states])
                np.testing.assert_allclose(got, by_hand, rtol=1e-9, atol=1e-12, err_msg=key)
            else:  # seed and counter of dropout
                assert torch.equal(got, states[-1][key]), key


def test_what_is_tested_is_the_mean(union, factory, fold):
    build = factory("lgan-res")
    _, curves = _train(union, build, fold, 0.75)
    _, plain = _train(union, build, fold, 0.0)
    assert not torch.equal(curves.test, plain.test)
    for epochs in range(1, 7):
        model, _ = _train(union, build, fold, 0.75, epochs=epochs)
        for k, held_out in enumerate(FOLDS):
            ids = (fold == held_out).nonzero().squeeze(1)
            guess = predict(model_view(model, k), union, ids).argmax(-1)
            assert float((guess == union.y[ids]).double().mean()) == curves.test[k, epochs - 1]


def test_a_model_beside_an_averaged_one_is_what_it_is_without(union, factory, fold):
    build = factory("lgan", dropout=0.4)
    model, curves = _train(union, build, fold, 0.0, 0.9)
    plain, plain_curves = _train(union, build, fold, 0.0, 0.0)
    assert torch.equal(curves.loss, plain_curves.loss)
    assert torch.equal(curves.test[:2], plain_curves.test[:2])
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor[:2], plain.state_dict()[name][:2]), name
    assert not torch.equal(model.head.weight[2:], plain.head.weight[2:])

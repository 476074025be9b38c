"""Kernel ridge regression beside networks, against a literal one."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import lgan
from lgan import TrainConfig, cross_validate
from lgan.experiment import settings_for
from lgan.task import METRICS, TargetScale, Task
from lgan.train import OUTSIDE, companion, train_ensemble, train_ensembles
from lgan.train.companion import Companion, Compared, Landmarks
from lgan.train.folds import choose_groups
from lgan.train.objective import Objective
from lgan.train.share import OF_BEST_SHARE, agreement, share_of
from lgan.zoo import model_spec

CONFIG = TrainConfig(epochs=4, iterations=2, batch_size=16, seed=4, window=2, companion="kernel")
ALONE = replace(CONFIG, companion="none")


def _told(graphs: int, seed: int = 0) -> torch.Tensor:
    """Counts and numbers of some graphs, two of them alike."""
    draw = np.random.default_rng(seed)
    told = np.hstack([draw.poisson(1, (graphs, 6)), draw.normal(size=(graphs, 3))])
    told[1] = told[0]
    return torch.from_numpy(told).float()


@pytest.fixture(scope="module")
def told(union):
    """The small graphs with features of whole graphs that tell something of their class."""
    features = _told(union.num_graphs)
    features[:, 0] += 2 * union.y
    return replace(union, graph_x=features)


@pytest.fixture(scope="module")
def build(told):
    sizes = (told.num_features, 6, told.num_classes)
    dim = told.num_graph_features
    return partial(model_spec("lgan").build, *sizes, num_layers=1, graph_dim=dim)


def _slow_similarity(a, b, counts):
    """Two graphs, one number after another."""
    common = sum(x * y for x, y, count in zip(a, b, counts, strict=True) if count)
    either = sum(x * x + y * y - x * y for x, y, count in zip(a, b, counts, strict=True) if count)
    apart = [(x - y) ** 2 for x, y, count in zip(a, b, counts, strict=True) if not count]
    return (common / either + np.exp(-sum(apart) / len(apart))) / 2


def _slow_ridge(near, truth, seen, penalty):
    """What a member's companion says of all graphs."""
    rows = np.flatnonzero(seen & ~np.isnan(truth))
    mean = truth[rows].mean()
    among = near[np.ix_(rows, rows)] + penalty * np.eye(len(rows))
    return near[:, rows] @ np.linalg.solve(among, truth[rows] - mean) + mean


def test_similarities_are_those_of_every_pair_of_graphs():
    features = _told(7)
    found = Landmarks(features).like(features)
    rows = features.double().tolist()
    counts = [True] * 6 + [False] * 3
    slow = [[_slow_similarity(a, b, counts) for b in rows] for a in rows]
    np.testing.assert_allclose(found, slow, rtol=1e-12)
    assert torch.linalg.eigvalsh(found).min() > -1e-9


def test_features_of_one_kind_and_empty_ones_have_similarities_too():
    features = _told(5)
    assert Landmarks(features[:, :6]).like(features[:, :6]).diagonal().tolist() == [1.0] * 5
    assert Landmarks(features[:, 6:]).like(features[:, 6:]).diagonal().tolist() == [1.0] * 5
    constant = torch.cat([torch.zeros(5, 2), features[:, 6:]], 1)  # as of scaled numbers
    assert torch.equal(
        Landmarks(constant).like(constant), Landmarks(features[:, 6:]).like(features[:, 6:])
    )
    assert Landmarks(torch.zeros(1, 3)).like(torch.zeros(2, 3)).tolist() == [[0.0], [0.0]]
    assert Landmarks(features).like(features[:0]).shape == (0, 5)


@pytest.mark.parametrize("kind", ["classes", "numbers", "labels"])
def test_companions_are_ridge_regressions_on_what_their_members_see(kind, monkeypatch):
    monkeypatch.setattr(companion, "PENALTIES", (0.3,))
    monkeypatch.setattr(companion, "JITTER", 1e-11)
    features, draw = _told(30), np.random.default_rng(1)
    fold = torch.arange(30) % 3
    if kind == "classes":
        task, y = Task("multiclass", ("t",), ("a", "b", "c")), torch.arange(30) % 3
        truth = np.eye(3)[y]
    else:
        values = draw.normal(size=(30, 2)) if kind == "numbers" else draw.integers(0, 2, (30, 2))
        values = values.astype(float)
        values[3:9, 1] = np.nan  # of other graphs than the first target's
        task = Task("regression", ("s", "t"))
        if kind == "labels":
            task = Task("multilabel", ("s", "t"), ("0", "1"))
        y, truth = torch.from_numpy(values), values
    seen = [fold != k for k in range(3)]
    scale = TargetScale.fit(y, torch.stack(seen)) if kind == "numbers" else None
    objective = Objective(task, METRICS["rmse"], y, scale)
    compared = Compared.of(features, torch.ones(30, dtype=torch.bool))
    held_out = [(fold == k).nonzero()[:, 0] for k in range(3)]
    found = compared.fit(objective, seen, held_out)
    near = Landmarks(features).like(features).numpy()
    for k in range(3):
        slow = np.stack([_slow_ridge(near, column, seen[k].numpy(), 0.3) for column in truth.T], 1)
        if kind != "numbers":
            slow = slow.clip(0, 1)
        if kind == "classes":
            slow = (slow + 1e-6) / (slow + 1e-6).sum(1, keepdims=True)
        said = found.answers(features, task)[k]
        np.testing.assert_allclose(said, slow, atol=1e-4 if kind == "numbers" else 1e-5)
        other = compared.answers(found, k, held_out[k], task)
        torch.testing.assert_close(other, said[held_out[k]])


def test_the_penalty_is_the_one_with_the_least_error_on_held_out_graphs():
    features, fold = _told(40), torch.arange(40) % 4
    y = features[:, :1] + torch.from_numpy(np.random.default_rng(2).normal(size=(40, 1))).float()
    seen, held_out = [fold != k for k in range(4)], [(fold == k).nonzero()[:, 0] for k in range(4)]
    objective = Objective(Task("regression", ("t",)), METRICS["rmse"], y)
    objective = replace(objective, scale=TargetScale.fit(y, torch.stack(seen)))
    compared = Compared.of(features, torch.ones(40, dtype=torch.bool))
    near, errors = Landmarks(features).like(features).numpy(), {}
    truth = y[:, 0].double().numpy()
    for penalty in companion.PENALTIES:
        said = [_slow_ridge(near, truth, own.numpy(), penalty) for own in seen]
        off = [(said[k] - truth)[rows] / objective.scale.std[k].item()
               for k, rows in enumerate(held_out)]  # fmt: skip
        errors[penalty] = np.square(np.concatenate(off)).sum()
    best = min(errors, key=errors.get)
    slow = _slow_ridge(near, truth, seen[1].numpy(), best)
    said = compared.fit(objective, seen, held_out).answers(features, objective.task)[1, :, 0]
    np.testing.assert_allclose(said, slow, atol=1e-3)


def test_held_out_targets_and_graphs_outside_change_nothing(told, build):
    fold = torch.arange(told.num_graphs) % 5
    fold[fold == 4] = OUTSIDE
    other = replace(told, y=torch.where(fold == OUTSIDE, 1 - told.y, told.y))
    other = replace(
        other, graph_x=torch.where((fold == OUTSIDE)[:, None], torch.zeros(()), told.graph_x)
    )
    known, same = (
        train_ensemble(build, data, members=4, folds=fold, config=CONFIG) for data in (told, other)
    )
    torch.testing.assert_close(known.companion.weights, same.companion.weights)
    assert known.companion.share == same.companion.share
    assert len(known.companion.landmarks) == int((fold != OUTSIDE).sum())


@given(st.lists(st.floats(-3, 3), min_size=8, max_size=8), st.integers(0, 10**6))
def test_the_share_makes_the_squared_error_least(other, seed):
    draw = np.random.default_rng(seed)
    said, truth = torch.from_numpy(draw.normal(size=(2, 8, 1)))
    objective = Objective(Task("regression", ("t",)), METRICS["rmse"], truth)
    beside = torch.tensor(other, dtype=torch.float64)[:, None]
    found = agreement(objective, 0, torch.arange(8), said, beside)
    share = float(share_of(found)) / OF_BEST_SHARE
    errors = {w / 100: float((said.lerp(beside, w / 100) - truth).square().sum())
              for w in range(101)}  # fmt: skip
    assert float((said.lerp(beside, share) - truth).square().sum()) <= min(errors.values()) + 1e-9


def test_a_share_of_nothing_known_is_nothing():
    assert float(share_of(torch.zeros(2))) == 0
    assert share_of(torch.tensor([[-1.0, 2.0], [5.0, 1.0]])).tolist() == [
        0.0, pytest.approx(OF_BEST_SHARE),
    ]  # fmt: skip


def test_members_answer_with_their_companions_beside_them(told, build, tmp_path):
    alone = train_ensemble(build, told, members=3, config=ALONE)
    both = train_ensemble(build, told, members=3, config=CONFIG)
    share, graphs = both.companion.share, torch.arange(told.num_graphs)
    assert 0 < share <= OF_BEST_SHARE
    assert alone.companion is None
    said = both.companion.answers(told.graph_x, told.known_task)
    expected = alone.answers(told, graphs).lerp(said, share)
    torch.testing.assert_close(both.answers(told, graphs), expected)
    for k in range(3):
        own = both.fold == k
        mixed = expected[k, own].to(both.member_predictions)
        torch.testing.assert_close(both.member_predictions[k, own], mixed)
    assert both.epoch == alone.epoch
    assert torch.equal(both.test, alone.test)


def test_ensembles_side_by_side_have_the_companions_of_single_ones(told, build):
    folds = [torch.arange(told.num_graphs) % 5, torch.arange(told.num_graphs) % 3]
    folds[1][::7] = OUTSIDE
    for fold, own in zip(
        folds, train_ensembles(build, told, folds, members=3, config=CONFIG), strict=True
    ):
        alone = train_ensemble(build, told, members=3, folds=fold, config=CONFIG)
        torch.testing.assert_close(own.companion.weights, alone.companion.weights)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("at_once", [False, True])
def test_bagged_is_the_mean_of_members_beside_their_companions(at_once, told, build, monkeypatch):
    told = replace(told, graph_x=told.graph_x.double())
    how = {"folds": 4, "metric": "log-loss", "bagged": True}
    alone = cross_validate(build, told, config=ALONE, **how)
    if not at_once:
        monkeypatch.setattr("lgan.train.folds.how_many_at_once", lambda *_, **__: 5)
    both = cross_validate(build, told, config=CONFIG, **how)
    for name in ("test", "inner_validation", "bagged_validation"):
        torch.testing.assert_close(getattr(both, name), getattr(alone, name))
    fold, _ = choose_groups(told, 4, CONFIG.seed)
    chosen = both.selected("bagged")
    for k in range(4):
        members = [j for j in range(4) if j != k]
        order = [(k + 1 + i) % 4 for i in range(3)]
        seen = [(fold != k) & (fold != j) for j in order]
        held_out = [(fold == j).nonzero()[:, 0] for j in order]
        objective = Objective(told.known_task, METRICS["log-loss"], told.y)
        compared = Compared.of(told.graph_x, fold != k)
        beside = compared.fit(objective, seen, held_out)
        test = (fold == k).nonzero()[:, 0]
        said = [compared.answers(beside, i, test, told.known_task) for i in range(3)]
        other = torch.stack(said).mean(0)
        share = both.info["companion"][k]
        expected = alone.predictions["bagged"][test].lerp(other.to(told.graph_x), share)
        torch.testing.assert_close(both.predictions["bagged"][test], expected, atol=1e-4, rtol=0)
        assert len(members) == both.bagged_members
        value = METRICS["log-loss"](told.y[test].numpy(), expected.numpy())
        assert chosen.folds[k] == pytest.approx(value, abs=1e-3)
    assert len(both.info["companion"]) == 4


def test_test_folds_do_not_decide_what_is_said_of_them(told, build):
    fold = torch.arange(told.num_graphs) // 2 % 4
    other = replace(told, y=torch.where(fold == 2, 1 - told.y, told.y))
    first, second = (
        cross_validate(build, data, folds=fold, config=CONFIG, bagged=True)
        for data in (told, other)
    )
    assert first.info["companion"][2] == second.info["companion"][2]
    said = [result.predictions["bagged"][fold == 2] for result in (first, second)]
    torch.testing.assert_close(*said)


def test_nothing_is_fitted_where_there_is_nothing_to_read(union, told, build):
    plain = train_ensemble(
        partial(model_spec("lgan").build, union.num_features, 6, 2, num_layers=1),
        union, members=2, config=CONFIG,
    )  # fmt: skip
    assert plain.companion is None
    balanced = replace(CONFIG, class_weight="balanced")
    assert train_ensemble(build, told, members=2, config=balanced).companion is None


def test_features_that_cannot_be_compared_leave_members_alone(told, build, caplog):
    far = torch.full_like(told.graph_x, 5e4)
    far[:, 0] = torch.where(torch.arange(len(far)) % 2 == 0, -5e4, -4.9e4)
    trained = train_ensemble(build, replace(told, graph_x=far), members=2, config=CONFIG)
    assert trained.member_predictions[0, trained.fold == 0].isfinite().all()
    assert trained.companion is None or trained.companion.share >= 0


def test_too_many_targets_have_fewer_landmarks_or_none(told, build, monkeypatch, caplog):
    monkeypatch.setattr(companion, "WORK", 1e5)
    assert companion.how_many_landmarks(46, 46, 2, 1) < 46
    monkeypatch.setattr(companion, "WORK", 1.0)
    assert train_ensemble(build, told, members=2, config=CONFIG).companion is None
    assert "members answer alone" in caplog.text


def test_more_features_than_fit_into_memory_are_not_read(told, build, monkeypatch, caplog):
    monkeypatch.setattr(companion, "MOST_TOLD", told.graph_x.numel() - 1)
    assert train_ensemble(build, told, members=2, config=CONFIG).companion is None
    assert "9 features of them as wholes" in caplog.text


def test_graphs_without_weight_are_not_read(told, build):
    weight = torch.ones(told.num_graphs)
    weight[::3] = 0
    half = told.y.clone()
    half[::3] = 1 - half[::3]
    fold = torch.arange(told.num_graphs) % 5
    how = {"members": 2, "folds": fold, "config": CONFIG, "graph_weight": weight}
    found = [train_ensemble(build, replace(told, y=y), **how) for y in (told.y, half)]
    torch.testing.assert_close(found[0].companion.weights, found[1].companion.weights)
    assert found[0].companion.share == pytest.approx(found[1].companion.share)
    assert len(found[0].companion.landmarks) == int((weight > 0).sum())


def test_a_heavy_graph_counts_where_it_is_seen_alone(monkeypatch):
    monkeypatch.setattr(companion, "PENALTIES", (0.3,))
    features, fold = _told(30), torch.arange(30) % 3
    y = features[:, :1] + torch.arange(30)[:, None] / 10
    seen, held_out = [fold != k for k in range(3)], [(fold == k).nonzero()[:, 0] for k in range(3)]
    objective = Objective(Task("regression", ("t",)), METRICS["rmse"], y)
    compared = Compared.of(features, torch.ones(30, dtype=torch.bool))
    weight = torch.ones(30)
    weight[0] = 1e20
    plain, found = (compared.fit(objective, seen, held_out, w) for w in (None, weight))
    torch.testing.assert_close(found.weights[0], plain.weights[0])  # holds the heavy graph out
    assert found.weights.isfinite().all()
    assert float(share_of(torch.tensor([torch.inf, torch.inf]))) == 0


def test_threads_change_no_bit():
    features, fold = _told(60), torch.arange(60) % 3
    objective = Objective(Task("regression", ("t",)), METRICS["rmse"], features[:, :1])
    seen, held_out = [fold != k for k in range(3)], [(fold == k).nonzero()[:, 0] for k in range(3)]
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            compared = Compared.of(features, torch.ones(60, dtype=torch.bool))
            found.append(compared.fit(objective, seen, held_out).weights)
    finally:
        torch.set_num_threads(before)
    assert torch.equal(*found)


def test_a_file_gives_the_companion_back(told, build):
    found = train_ensemble(build, told, members=2, config=CONFIG).companion
    again = Companion.from_tensors(found.tensors())
    torch.testing.assert_close(
        again.answers(told.graph_x, told.known_task), found.answers(told.graph_x, told.known_task)
    )
    assert again.share == found.share
    assert again.fits(2, 2, told.num_graph_features)
    assert not again.fits(3, 2, told.num_graph_features)
    assert not again.fits(2, 2, 1)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("companion_share", lambda t: t + 2),
        ("companion_share", lambda t: t[0]),
        ("companion_weights", lambda t: t[:, :-1]),
        ("companion_weights", lambda t: t * float("nan")),
        ("companion_mean", lambda t: t.float()),
        ("companion_mean", lambda t: t + float("inf")),
        ("companion_mean", lambda t: t[:1]),
        ("companion_landmarks", lambda t: t.long()),
        ("companion_landmarks", lambda t: t[0]),
    ],
)
def test_a_damaged_companion_is_refused(name, damage, told, build):
    tensors = train_ensemble(build, told, members=2, config=CONFIG).companion.tensors()
    with pytest.raises(ValueError, match="its companion"):
        Companion.from_tensors({**tensors, name: damage(tensors[name])})
    with pytest.raises(ValueError, match="not complete"):
        Companion.from_tensors({key: t for key, t in tensors.items() if key != name})


def test_the_default_has_one_but_for_columns_and_the_papers_protocol():
    def asked(**given):
        return settings_for("lgan", "mine.csv", **given).training.companion

    assert asked() == asked(graph_features="morgan") == "kernel"
    assert asked(companion="none") == asked(graph_features="none") == "none"
    assert asked(graph_dropout=0.0) == "none"  # the network is explained with what it is told
    assert asked(graph_features="morgan,pH") == asked(recipe="paper") == "none"
    assert settings_for("gin", "mine.csv").training.companion == "kernel"
    assert settings_for("cwn", "mine.csv").training.companion == "none"
    with pytest.raises(ValueError, match="`companion` must be one of"):
        asked(companion="forest")


def test_a_model_file_answers_as_the_estimator_did(tmp_path):
    pytest.importorskip("rdkit", reason="molecules need rdkit")
    smiles = ["CCO", "CCN", "CCC", "c1ccccc1", "c1ccccc1O", "CC(=O)O", "CCCl", "CCBr"] * 3
    model = lgan.LGANRegressor(members=2, epochs=2, random_state=0)
    model.fit(smiles, [float(len(text)) for text in smiles])
    model.save(tmp_path / "model.safetensors")
    again = lgan.load_model(tmp_path / "model.safetensors")
    assert again.checkpoint.companion.share > 0
    np.testing.assert_allclose(again.predict(smiles[:4]), model.predict(smiles[:4]), rtol=1e-12)
    found = model.explain("CCO")
    assert found.withheld
    assert float(found.prediction) == pytest.approx(model.predict(["CCO"])[0])

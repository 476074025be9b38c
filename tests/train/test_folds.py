import json
import logging
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from lgan import CVResult, GraphUnion, TrainConfig, cross_validate
from lgan.data import stratified_folds
from lgan.train import cross_validate_variants
from lgan.train import folds as folds_module
from lgan.train import groups as groups_module
from lgan.train import loop as loop_module
from lgan.train.batches import drawn_graphs
from lgan.train.curves import Curves
from lgan.train.jobs import Variant, held_out_job
from lgan.train.loop import train_together
from lgan.train.memory import models_at_once
from lgan.train.stack import drawn_together

CONFIG = TrainConfig(epochs=3, iterations=3, batch_size=16, seed=4)


def _curves(result: CVResult) -> list[Tensor]:
    return [result.test, result.loss, result.inner_test, result.inner_validation]


def _same_bits(a: CVResult, b: CVResult) -> bool:
    return all(torch.equal(x, y) for x, y in zip(_curves(a), _curves(b), strict=True))


def _bytes_of_models(union: GraphUnion, build: Callable, models: int) -> int:
    """The least memory budget under which this many of four models train at once."""
    fold = stratified_folds(union.y, 4, seed=4)

    def fits(budget: int) -> bool:
        graphs = drawn_graphs(fold, CONFIG.batch_size)
        return models_at_once(build(), torch.diff(union.node_ptr), graphs, budget) >= models

    low, high = 1, 1 << 32
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle + 1, high)
    return low


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize(("at_once", "groups"), [(2, 2), (1, 4)])
def test_small_memory_budget_trains_in_groups_with_the_same_result(
    at_once, groups, union, factory, caplog, tmp_path
):
    build = factory("lgan", dropout=0.2)
    config = replace(CONFIG, memory_budget=_bytes_of_models(union, build, at_once))
    whole = cross_validate(build, union, folds=4, config=CONFIG)
    assert not caplog.records
    with caplog.at_level(logging.WARNING):
        parts = cross_validate(build, union, folds=4, config=config, output=tmp_path)
    assert f"4 models need more than the memory budget of 0.0 GiB: training {at_once}" in (
        caplog.text
    )
    assert len(list(tmp_path.glob("state-*.safetensors"))) == groups
    for a, b in zip(_curves(parts), _curves(whole), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9)
    assert parts.seconds.shape == whole.seconds.shape
    assert list(parts.predictions) == ["gin"]
    torch.testing.assert_close(parts.predictions["gin"], whole.predictions["gin"])
    assert parts.pooled == whole.pooled


def test_run_in_groups_goes_on_in_the_group_where_it_was_stopped(union, factory, tmp_path):
    build = factory("lgan", dropout=0.2)
    config = replace(CONFIG, memory_budget=_bytes_of_models(union, build, 2))
    whole = cross_validate(build, union, folds=4, config=config)
    seen: list[int] = []

    def stop_in_second_group(epoch: int, curves: Curves) -> None:
        seen.append(epoch)
        if seen == [1, 2, 3, 1]:
            raise KeyboardInterrupt

    options = {"folds": 4, "config": config, "output": tmp_path}
    with pytest.raises(KeyboardInterrupt):
        cross_validate(build, union, on_epoch=stop_in_second_group, **options)
    assert not (tmp_path / "result.json").exists()
    seen.clear()
    resumed = cross_validate(
        build, union, resume=True, on_epoch=lambda e, _: seen.append(e), **options
    )
    assert seen == [2, 3]
    assert _same_bits(resumed, whole)


def test_inner_hold_outs_leave_the_other_models_as_they_are(union, factory):
    plain = cross_validate(factory(), union, folds=4, config=CONFIG)
    both = cross_validate(factory(), union, folds=4, config=CONFIG, fair=True)
    assert plain.rules == ("gin", "fold-max")
    assert both.rules == ("gin", "fold-max", "fair")
    torch.testing.assert_close(both.loss, plain.loss)
    assert both.inner_test.shape == both.inner_validation.shape == (4, 3)
    # Fold k + 1 is the inner hold-out of fold k.
    assert both.inner_sizes == both.fold_sizes[1:] + both.fold_sizes[:1]


def test_two_folds_leave_nothing_for_an_inner_hold_out(union, factory, tmp_path):
    with pytest.raises(ValueError, match=r"'fair' holds two folds out.*three folds or more, got 2"):
        cross_validate(factory(), union, folds=2, config=CONFIG, fair=True, output=tmp_path)
    assert not list(tmp_path.iterdir())


def test_single_class_beside_an_inner_hold_out_is_refused(union, factory):
    graph = torch.arange(46) // 2
    fold = torch.where(union.y == 1, graph % 2, graph % 3)  # the last fold has one class only
    with pytest.raises(ValueError, match=r"beside the inner hold-out.*only \[0\] in fold 1 of 3"):
        cross_validate(factory(), union, folds=fold, config=CONFIG, fair=True)


@pytest.mark.parametrize(
    ("fold", "message"),
    [
        (torch.zeros(46, dtype=torch.int64), "two folds or more"),
        (torch.arange(46) % 2, r"at least two classes, got only \[1\] in fold 1"),
        (torch.arange(45) % 3, r"one entry per graph, shape \[46\], got \[45\]"),
        (torch.arange(46) % 3 * 2, "Every fold must hold out a graph, got none in fold 2"),
    ],
)
def test_folds_that_cannot_be_trained_on_are_refused(fold, message, union, factory, tmp_path):
    with pytest.raises(ValueError, match=message):
        cross_validate(factory(), union, folds=fold, config=CONFIG, output=tmp_path)
    assert not list(tmp_path.iterdir())


def test_graphs_in_no_test_fold_are_always_trained_on(union, factory):
    fold = torch.arange(46) // 2 % 4 - 1
    result = cross_validate(factory(), union, folds=fold, config=CONFIG)
    assert result.fold_sizes == torch.bincount(fold[fold >= 0]).tolist()
    assert len(result.fold_sizes) == 3


def test_folder_holds_the_record_and_the_state(union, factory, tmp_path):
    told: list[tuple[int, int]] = []
    result = cross_validate(
        factory(),
        union,
        folds=4,
        config=CONFIG,
        output=str(tmp_path / "run"),
        model={"name": "lgan"},
        on_epoch=lambda epoch, curves: told.append((epoch, int((curves.loss[0] > 0).sum()))),
    )
    assert told == [(1, 1), (2, 2), (3, 3)]
    names = {path.name for path in (tmp_path / "run").iterdir() if path.suffix != ".lock"}
    assert names == {"result.json", "state-0.safetensors"}
    plain = json.loads((tmp_path / "run" / "result.json").read_text())
    assert plain["config"]["seed"] == 4
    assert plain["model"] == {"name": "lgan"}
    assert plain["info"]["folds"] == stratified_folds(union.y, 4, seed=4).tolist()
    assert {"lgan", "torch", "revision", "python", "device"} <= plain["info"]["environment"].keys()
    assert plain["info"]["peak_memory"] > 0
    assert len(plain["seconds"]) == 3
    loaded = CVResult.load(tmp_path / "run" / "result.json")
    assert loaded.selected("gin") == result.selected("gin")


def test_global_generator_plays_no_part(union, factory):
    first = cross_validate(factory(dropout=0.5), union, folds=3, config=CONFIG)
    torch.rand(3)
    before = torch.get_rng_state()
    assert _same_bits(first, cross_validate(factory(dropout=0.5), union, folds=3, config=CONFIG))
    assert torch.equal(torch.get_rng_state(), before)


def test_another_seed_gives_other_folds_weights_and_curves(union, factory):
    results = [
        cross_validate(factory(), union, folds=3, config=replace(CONFIG, seed=seed))
        for seed in (0, 1)
    ]
    assert results[0].info["folds"] != results[1].info["folds"]
    assert not torch.equal(results[0].loss, results[1].loss)


@pytest.mark.usefixtures("float64")
def test_seeds_side_by_side_are_separate_trainings_on_the_batches_of_the_first(union, factory):
    seeds, build = (4, 9), factory("lgan", dropout=0.2)
    variants = [Variant(build, replace(CONFIG, seed=seed)) for seed in seeds]
    results = cross_validate_variants(variants, union, folds=4)
    fold = stratified_folds(union.y, 4, seed=4)
    for seed, result in zip(seeds, results, strict=True):
        jobs = [held_out_job(fold, k, seed=seed) for k in range(4)]
        _, alone = train_together(union, variants[:1], jobs, groups=fold)
        torch.testing.assert_close(result.loss, alone.loss, rtol=1e-9, atol=1e-9)
        assert torch.equal(result.test, alone.test)
        assert (result.config["seed"], result.info["batch_seed"]) == (seed, 4)
    assert not torch.equal(results[0].loss, results[1].loss)


def test_running_out_of_gpu_memory_halves_the_models_at_a_time(monkeypatch, caplog, union, factory):
    whole = cross_validate(factory(), union, folds=4, config=CONFIG)
    train_together, sizes = folds_module.train_together, []

    def limited(union, build, jobs, **settings):
        sizes.append(len(jobs))
        if len(jobs) > 1:
            raise torch.OutOfMemoryError
        return train_together(union, build, jobs, **settings)

    monkeypatch.setattr(folds_module, "train_together", limited)
    again = cross_validate(factory(), union, folds=4, config=CONFIG)
    assert sizes == [4, 2, 1, 1, 2, 1, 1]
    assert "2 models at a time" in caplog.text
    assert torch.equal(whole.test, again.test)


def test_a_run_that_was_halved_goes_on_as_it_was(monkeypatch, union, factory, tmp_path):
    """Free memory changes; a run that goes on trains as many models together as it did."""
    options = {"folds": 4, "config": CONFIG, "output": tmp_path}
    whole = cross_validate(factory(), union, folds=4, config=CONFIG)
    train_together, at_once = folds_module.train_together, groups_module.models_at_once
    sizes: list[int] = []

    def watched(union, build, jobs, **settings):
        sizes.append(len(jobs))
        return train_together(union, build, jobs, **settings)

    def stop(epoch: int, curves: Curves) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(folds_module, "train_together", watched)
    monkeypatch.setattr(groups_module, "models_at_once", lambda *_: 2)
    with pytest.raises(KeyboardInterrupt):
        cross_validate(factory(), union, on_epoch=stop, **options)
    monkeypatch.setattr(groups_module, "models_at_once", at_once)
    again = cross_validate(factory(), union, resume=True, **options)
    assert sizes == [2, 2, 2]
    assert torch.equal(whole.test, again.test)


@pytest.mark.parametrize("fair", [False, True])
def test_every_model_of_every_seed_begins_with_weights_of_its_own(
    fair, union, factory, monkeypatch
):
    """Sums of seed and fold would give three seeds of ten folds twelve beginnings."""
    begun: list[tuple[float, ...]] = []

    def recorded(*given) -> torch.nn.Module:
        model = drawn_together(*given)
        rows = torch.cat([p.detach().flatten(1) for p in model.parameters()], 1)
        begun.extend(map(tuple, rows.tolist()))
        return model

    monkeypatch.setattr(loop_module, "drawn_together", recorded)
    config = replace(CONFIG, epochs=1, iterations=1)
    variants = [Variant(factory(), replace(config, seed=seed)) for seed in range(3)]
    cross_validate_variants(variants, union, folds=10, fair=fair)
    models = 60 if fair else 30
    assert (len(begun), len(set(begun))) == (models, models)

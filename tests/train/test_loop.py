import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from lgan import LGAN, GraphUnion, TrainConfig
from lgan.data import load_tensors, prepare_shards, stratified_folds
from lgan.data.shards.union import ShardedUnion
from lgan.train.batches import epoch_batches
from lgan.train.config import Precision
from lgan.train.curves import Curves
from lgan.train.jobs import Job, Variant, held_out_job
from lgan.train.loop import content, train_together
from lgan.train.stack import unstack
from stacks import build_stack

CONFIG = TrainConfig(epochs=3, iterations=4, batch_size=12, lr_halving=2, weight_decay=1e-3, seed=5)
Factory = Callable[[], nn.Module]


@pytest.fixture(scope="module")
def fold(union: GraphUnion) -> Tensor:
    return stratified_folds(union.y, 10, seed=1)


def _jobs(fold: Tensor, models: Sequence[int] = range(10)) -> list[Job]:
    return [held_out_job(fold, k, seed=100 + k) for k in models]


def _train(
    union: GraphUnion,
    factory: Factory,
    fold: Tensor,
    models: Sequence[int] = range(10),
    config: TrainConfig = CONFIG,
    about: dict | None = None,
    **options: object,
) -> tuple[nn.Module, Curves]:
    return train_together(
        union, [Variant(factory, config, about or {})], _jobs(fold, models), groups=fold, **options
    )


def _assert_close(got: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    assert got.keys() == expected.keys()
    for name, tensor in expected.items():
        torch.testing.assert_close(
            got[name], tensor, rtol=1e-9, atol=1e-9, msg=lambda m, name=name: f"{name}: {m}"
        )


def _same_bits(a: tuple[nn.Module, Curves], b: tuple[nn.Module, Curves]) -> bool:
    states = a[0].state_dict(), b[0].state_dict()
    curves = a[1].tensors(), b[1].tensors()
    return all(torch.equal(states[0][k], states[1][k]) for k in states[0] | states[1]) and all(
        torch.equal(curves[0][k], curves[1][k]) for k in ("loss", "test", "validation")
    )


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("name", ["lgan", "lgan-res", "gin"])
def test_ten_models_side_by_side_are_ten_separate_trainings(name, union, factory, fold):
    build = factory(name, dropout=0.4)
    assert len(set(torch.bincount(fold).tolist())) > 1, "folds of unequal size"
    together, curves = _train(union, build, fold)
    for k in range(10):
        alone, alone_curves = _train(union, build, fold, [k])
        _assert_close(unstack(together, k), unstack(alone, 0))
        torch.testing.assert_close(curves.loss[k], alone_curves.loss[0], rtol=1e-9, atol=1e-9)
        assert torch.equal(curves.test[k], alone_curves.test[0])


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("name", ["lgan", "lgan-res", "gin"])
def test_masking_a_fold_is_leaving_its_graphs_out_of_plain_training(name, union, factory, fold):
    together, curves = _train(union, factory(name), fold, [0, 3])
    for row, k in enumerate((0, 3)):
        model, loss = _plain_training(union, factory(name), fold, k)
        _assert_close(unstack(together, row), model.state_dict())
        torch.testing.assert_close(curves.loss[row], loss, rtol=1e-9, atol=1e-9)


def _plain_training(
    union: GraphUnion, factory: Factory, fold: Tensor, k: int, weight: Tensor | None = None
) -> tuple[nn.Module, Tensor]:
    """One model, torch's optimiser and loss, batches that hold the training graphs alone."""
    model = factory()
    model.load_state_dict(unstack(build_stack(factory, [_jobs(fold)[k].seed]), 0))
    optimizer = torch.optim.Adam(model.parameters(), weight_decay=CONFIG.weight_decay)
    losses = torch.zeros(CONFIG.epochs)
    for epoch in range(CONFIG.epochs):
        optimizer.param_groups[0]["lr"] = CONFIG.lr * CONFIG.lr_factor(epoch)
        for ids in epoch_batches(
            fold,
            iterations=CONFIG.iterations,
            batch_size=CONFIG.batch_size,
            seed=CONFIG.seed,
            epoch=epoch,
        ):
            ids = ids[fold[ids] != k]
            optimizer.zero_grad()
            out = model(union.batch(ids))
            each = nn.functional.cross_entropy(out, union.y[ids], reduction="none")
            loss = (each if weight is None else each * weight[ids]).mean()
            loss.backward()
            optimizer.step()
            losses[epoch] += loss.detach() / CONFIG.iterations
    return model, losses


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("name", ["lgan", "gin"])
def test_a_weight_multiplies_the_loss_of_its_graph_and_nothing_else(name, union, factory, fold):
    """A graph without weight is still part of the statistics of its batch."""
    weight = torch.rand(46) * 3
    weight[::5] = 0
    together, curves = _train(union, factory(name), fold, [0, 3], graph_weight=weight)
    for row, k in enumerate((0, 3)):
        model, losses = _plain_training(union, factory(name), fold, k, weight)
        _assert_close(unstack(together, row), model.state_dict())
        torch.testing.assert_close(curves.loss[row], losses, rtol=1e-9, atol=1e-9)


def test_equal_weights_change_no_bit(union, factory, fold):
    plain = _train(union, factory(), fold)
    assert _same_bits(plain, _train(union, factory(), fold, graph_weight=torch.ones(46)))


@pytest.mark.parametrize(
    "weight",
    [torch.ones(45), torch.ones(46, 1), -torch.ones(46), torch.zeros(46), torch.ones(46) / 0],
)
def test_weights_that_do_not_fit_are_refused(weight, union, factory, fold):
    with pytest.raises(ValueError, match="`graph_weight` must have a finite number of 0 or more"):
        _train(union, factory(), fold, graph_weight=weight)


def test_a_run_goes_on_with_its_own_weights_only(union, factory, fold, tmp_path):
    state, weight = tmp_path / "state.safetensors", torch.rand(46)
    _train(union, factory(), fold, graph_weight=weight, state=state)
    _train(union, factory(), fold, graph_weight=weight, state=state, resume=True)
    with pytest.raises(ValueError, match="folds"):
        _train(union, factory(), fold, graph_weight=weight + 1, state=state, resume=True)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_captured_steps_weigh_graphs_as_plain_ones_do(union, factory, fold):
    weight = torch.rand(46)
    losses = [
        _train(union.to("cuda"), factory(), fold, graph_weight=weight, captured=captured)[1].loss
        for captured in (True, False)
    ]
    torch.testing.assert_close(*losses, rtol=1e-3, atol=1e-4)


def test_a_model_never_sees_its_held_out_graphs(union, factory, fold):
    held_out = fold == 2
    of_node = torch.repeat_interleave(held_out, union.node_ptr.diff())
    other = replace(
        union,
        y=torch.where(held_out, 1 - union.y, union.y),
        x=torch.where(of_node, union.num_features - 1 - union.x, union.x),
    )
    before, _ = _train(union, factory(), fold, [2])
    after, _ = _train(other, factory(), fold, [2])
    for name, tensor in unstack(before, 0).items():
        assert torch.equal(unstack(after, 0)[name], tensor), name


def test_same_seed_gives_the_same_bits_and_another_seed_others(union, factory, fold):
    build = factory("lgan", dropout=0.3)
    first = _train(union, build, fold, [0, 1])
    torch.rand(10)
    assert _same_bits(first, _train(union, build, fold, [0, 1]))
    other = _train(union, build, fold, [0, 1], config=replace(CONFIG, seed=6))
    assert not torch.equal(first[1].loss, other[1].loss)


def test_two_models_of_one_run_start_from_their_own_seeds(union, factory, fold):
    job = held_out_job(fold, 0, seed=1)
    config = replace(CONFIG, epochs=1)
    jobs = [job, replace(job, seed=2), job]
    model, curves = train_together(union, [Variant(factory(), config)], jobs, groups=fold)
    assert curves.loss[0] == curves.loss[2] != curves.loss[1]
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(parameter[0], parameter[2], msg=name)


def test_settings_that_all_models_share_must_agree(union, factory, fold):
    variants = [Variant(factory(), config) for config in (CONFIG, replace(CONFIG, batch_size=7))]
    with pytest.raises(ValueError, match=r"may differ in lr, .*average, seed only, got .*size=7"):
        train_together(union, variants, _jobs(fold), groups=fold)


def test_batches_in_which_a_model_sees_nothing_leave_it_finite(union, factory, fold):
    config = replace(CONFIG, batch_size=1, iterations=30, epochs=1)
    model, curves = _train(union, factory("lgan-res"), fold, config=config)
    assert curves.loss.isfinite().all()
    assert all(tensor.isfinite().all() for tensor in model.state_dict().values())


def test_inner_hold_out_is_neither_trained_nor_tested_on():
    fold = torch.arange(12) % 4
    job = held_out_job(fold, 1, 2, seed=0)
    assert fold[job.train].unique().tolist() == [0, 3]
    assert fold[job.test].unique().tolist() == [1]
    assert fold[job.validation].unique().tolist() == [2]
    assert held_out_job(fold, 1, seed=0).validation.numel() == 0


def test_validation_curve_counts_the_inner_hold_out(union, factory, fold):
    first = held_out_job(fold, 0, 1, seed=3)
    jobs = [first, replace(first, test=first.validation, validation=first.test)]
    config = replace(CONFIG, epochs=2)
    _, curves = train_together(union, [Variant(factory(), config)], jobs, groups=fold)
    # Both train on the same graphs from the same seed, so one's test fold is the other's hold-out.
    assert torch.equal(curves.test[0], curves.validation[1])
    assert torch.equal(curves.test[1], curves.validation[0])


def _killed_after(epochs: int) -> Callable[[int, Curves], None]:
    def on_epoch(epoch: int, curves: Curves) -> None:
        if epoch == epochs:
            raise KeyboardInterrupt

    return on_epoch


@pytest.mark.parametrize("average", [0.0, 0.75])
@pytest.mark.parametrize("name", ["lgan", "gin"])
def test_resumed_run_ends_with_the_same_bits(name, average, union, factory, fold, tmp_path):
    build, config = factory(name, dropout=0.4), replace(CONFIG, epochs=6, average=average)
    whole = _train(union, build, fold, [0, 1, 2], config)
    state = tmp_path / "state.safetensors"
    options = {"config": config, "state": state}
    with pytest.raises(KeyboardInterrupt):
        _train(union, build, fold, [0, 1, 2], on_epoch=_killed_after(3), **options)
    assert load_tensors(state)[1]["done"] == "3"
    epochs: list[int] = []
    resumed = _train(
        union,
        build,
        fold,
        [0, 1, 2],
        resume=True,
        on_epoch=lambda e, _: epochs.append(e),
        **options,
    )
    assert epochs == [4, 5, 6]
    assert _same_bits(resumed, whole)
    again = _train(union, build, fold, [0, 1, 2], resume=True, **options)
    assert _same_bits(again, whole)


def test_resuming_without_a_state_starts_from_the_beginning(union, factory, fold, tmp_path):
    state = tmp_path / "state.safetensors"
    resumed = _train(union, factory(), fold, [0], state=state, resume=True)
    assert _same_bits(resumed, _train(union, factory(), fold, [0]))


def test_without_resume_a_state_is_replaced(union, factory, fold, tmp_path):
    state = tmp_path / "state.safetensors"
    _train(union, factory(), fold, [0], config=replace(CONFIG, epochs=1, seed=9), state=state)
    run = _train(union, factory(), fold, [0], state=state)
    assert _same_bits(run, _train(union, factory(), fold, [0]))


@pytest.fixture(scope="module")
def started(union: GraphUnion, factory, fold: Tensor, tmp_path_factory) -> Path:
    state = tmp_path_factory.mktemp("started") / "state.safetensors"
    config, about = replace(CONFIG, epochs=1), {"name": "lgan", "readout": "sum"}
    _train(union, factory(), fold, [0, 1], config=config, state=state, about=about)
    return state


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lr": 0.5}, "other settings: lr 0.01 → 0.5"),
        ({"seed": 6}, "seed 5 → 6"),
        ({"average": 0.5}, "average 0.0 → 0.5"),
        ({"epochs": 9, "batch_size": 7}, "epochs 1 → 9, batch_size 12 → 7"),
        ({"models": [0]}, "models 2 → 1"),
        ({"models": [0, 2]}, "settings: folds, or what is held out inside them"),
        ({"about": {"name": "lgan", "readout": "max"}}, "model readout sum → max"),
        ({"dataset": "other"}, "dataset small → other"),
        ({"model": "lgan-res"}, "a model of another shape"),
    ],
)
def test_state_of_another_run_is_refused(change, message, started, union, factory, fold):
    config = replace(CONFIG, epochs=1)
    change = dict(change)
    data = replace(union, name=change.pop("dataset", "small"))
    models = change.pop("models", [0, 1])
    about = change.pop("about", {"name": "lgan", "readout": "sum"})
    build = factory(change.pop("model", "lgan"))
    before = started.read_bytes()
    with pytest.raises(ValueError, match=message):
        _train(
            data,
            build,
            fold,
            models,
            config=replace(config, **change),
            state=started,
            resume=True,
            about=about,
        )
    assert started.read_bytes() == before


def test_half_precision_needs_a_gpu(union, factory, fold):
    config = replace(CONFIG, precision="bfloat16")
    with pytest.raises(ValueError, match=r"'bfloat16'. needs a GPU, got the device cpu"):
        _train(union, factory(), fold, [0], config=config)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("name", ["lgan", "lgan-res"])
def test_half_precision_trains_as_float32_does(name, union, factory, fold):
    def losses(precision: Precision, steps: int, epochs: int) -> Tensor:
        config = replace(CONFIG, precision=precision, iterations=steps, epochs=epochs)
        return _train(union.to("cuda"), factory(name), fold, config=config)[1].loss

    # Before the first update only rounding differs, and training must end as low on average. In
    # between, single models of a few graphs part: their normalisations magnify rounding.
    first, first_half = losses("float32", 1, 1), losses("bfloat16", 1, 1)
    assert not torch.equal(first, first_half)
    torch.testing.assert_close(first, first_half, rtol=0.05, atol=0.02)
    last, last_half = (losses(p, 4, 10)[:, -1].mean() for p in ("float32", "bfloat16"))
    assert max(float(last), float(last_half)) < 0.2 * float(first.mean())


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_two_runs_on_a_gpu_give_the_same_bits(union, factory, fold):
    on_gpu = union.to("cuda")
    first, second = (_train(on_gpu, factory("lgan-res"), fold) for _ in range(2))
    assert _same_bits(first, second)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_data_in_main_memory_trains_on_a_gpu_as_on_the_cpu(union, factory, fold):
    on_cpu = _train(union, factory("lgan-res"), fold)[1]
    from_host = _train(union, factory("lgan-res"), fold, device=torch.device("cuda"))[1]
    torch.testing.assert_close(from_host.loss[:, 0], on_cpu.loss[:, 0], rtol=1e-3, atol=1e-3)
    moved = (from_host.test - on_cpu.test).abs().sum()
    assert int(moved) <= 0.05 * union.num_graphs * CONFIG.epochs


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_running_mean_on_a_gpu_gives_the_same_bits_twice(union, factory, fold):
    config = replace(CONFIG, average=0.5)
    first, second, plain = (
        _train(union.to("cuda"), factory("lgan-res"), fold, config=c)
        for c in (config, config, CONFIG)
    )
    assert _same_bits(first, second)
    assert torch.equal(first[1].loss, plain[1].loss), "training itself is left alone"
    assert not _same_bits(first, plain)


def test_training_that_is_not_finite_stops_and_says_in_which_epoch(union, factory, fold, tmp_path):
    config = replace(CONFIG, lr=1e30, epochs=50)
    job = held_out_job(fold, 0, seed=0)
    state, seen = tmp_path / "state.safetensors", []
    with pytest.raises(
        ValueError, match=r"no longer finite: in epoch (\d+).*`lr`, now 1e\+30"
    ) as e:
        train_together(
            union,
            [Variant(factory(), config)],
            [job],
            groups=fold,
            state=state,
            on_epoch=lambda epoch, curves: seen.append(epoch),
        )
    stopped = int(re.search(r"epoch (\d+)", str(e.value))[1])
    assert seen == list(range(1, stopped))
    if seen:
        assert load_tensors(state)[1]["done"] == str(seen[-1])
        assert all(bool(t.isfinite().all()) for t in load_tensors(state)[0].values())


def test_a_model_that_is_not_finite_may_leave_the_others_alone(union, factory, fold):
    variants = [Variant(factory(), replace(CONFIG, lr=lr, epochs=20)) for lr in (1e30, 0.01)]
    jobs = [held_out_job(fold, 0, seed=0, variant=k) for k in range(2)]
    _, curves = train_together(union, variants, jobs, groups=fold, stop_if_not_finite=False)
    assert not curves.loss[0].isfinite().all()
    _, alone = train_together(union, variants[1:], [replace(jobs[1], variant=0)], groups=fold)
    torch.testing.assert_close(curves.loss[1], alone.loss[0])


@pytest.mark.parametrize("what", ["targets", "features and edges"])
def test_a_run_goes_on_with_its_own_data_alone(what, union, factory, fold, tmp_path):
    state = tmp_path / "state.safetensors"
    _train(union, factory(), fold, [0], state=state)
    y, x = union.y, union.x
    other = replace(union, y=y.flip(0)) if what == "targets" else replace(union, x=x.flip(0))
    with pytest.raises(ValueError, match=what):
        _train(other, factory(), fold, [0], state=state, resume=True)


def test_a_run_on_shards_goes_on_with_these_alone(tmp_path):
    state, unions = tmp_path / "state.safetensors", []
    for atoms in ("NO", "ON"):
        (tmp_path / atoms).mkdir()
        path = tmp_path / atoms / "t.csv"
        rows = [f"{'C' * (1 + i % 5)}{atoms[i % 2]},{i % 2}" for i in range(20)]
        path.write_text("\n".join(["smiles,y", *rows]) + "\n")
        options = {"shards": 2, "graph_features": "shape"}
        unions.append(ShardedUnion(prepare_shards(path, path.parent / "shards", **options), 1))
    first, second = unions
    sizes = {"edge_dim": first.num_edge_features, "graph_dim": first.num_graph_features}
    build = partial(LGAN, first.num_features, 4, 1, num_layers=1, **sizes)
    fold = torch.arange(20) % 2
    _train(first, build, fold, [0], state=state)
    _train(first, build, fold, [0], state=state, resume=True)
    with pytest.raises(ValueError, match="other settings: features and edges"):
        _train(second, build, fold, [0], state=state, resume=True)
    other = ShardedUnion(first.shards.without_graph_features(), 1)
    assert content(other) != content(first)

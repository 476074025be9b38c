import math

import pytest
import torch

from lgan import TrainConfig


def test_defaults_are_the_protocol_of_xu_et_al():
    config = TrainConfig()
    assert (config.epochs, config.iterations, config.batch_size) == (350, 50, 32)
    assert (config.lr, config.lr_halving, config.weight_decay) == (0.01, 50, 0.0)


def test_learning_rate_halves_every_so_many_epochs():
    config = TrainConfig(lr_halving=3)
    assert [config.lr_factor(epoch) for epoch in (0, 2, 3, 5, 6)] == [1, 1, 0.5, 0.5, 0.25]


def test_learning_rate_without_halving_stays():
    assert TrainConfig(lr_halving=0).lr_factor(10_000) == 1


@pytest.mark.parametrize(("warmup", "rise"), [(0.0, 0), (0.01, 1), (0.25, 5)])
@pytest.mark.filterwarnings("ignore:The epoch parameter:UserWarning")  # torch 2.8, of itself
@pytest.mark.parametrize("schedule", ["cosine", "halving"])
def test_schedules_are_those_of_torch(schedule, warmup, rise):
    from torch.optim import lr_scheduler

    epochs = 20
    config = TrainConfig(
        epochs=epochs, lr=0.3, schedule=schedule, warmup=warmup, lr_halving=epochs + 1
    )
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=config.lr)
    after = lr_scheduler.CosineAnnealingLR(optimizer, epochs - rise)
    if schedule == "halving":
        after = lr_scheduler.ConstantLR(optimizer, factor=1)
    if rise:
        rising = lr_scheduler.LinearLR(optimizer, start_factor=1 / (rise + 1), total_iters=rise)
        after = lr_scheduler.SequentialLR(optimizer, [rising, after], milestones=[rise])
    for epoch in range(epochs):
        expected = optimizer.param_groups[0]["lr"]
        assert config.lr * config.lr_factor(epoch) == pytest.approx(expected, rel=1e-12)
        optimizer.step()
        after.step()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("epochs", -1, "`epochs` must be 0 or more, got -1"),
        ("iterations", -1, "`iterations` must be 0 or more, got -1"),
        ("batch_size", -1, "`batch_size` must be 0 or more, got -1"),
        ("lr_halving", -5, "`lr_halving` must be 0 or more, got -5"),
        ("seed", -1, "`seed` must be 0 or more, got -1"),
        ("memory_budget", -1, "`memory_budget` must be 0 or more, got -1"),
        ("lr", 0.0, "`lr` must be positive and finite, got 0.0"),
        ("lr", math.nan, "`lr` must be positive and finite, got nan"),
        ("lr", math.inf, "`lr` must be positive and finite, got inf"),
        ("weight_decay", -0.1, "`weight_decay` must be 0 or more, finite, got -0.1"),
        ("precision", "int8", "`precision` must be one of .*bfloat16.*got 'int8'"),
        ("average", -0.1, "`average` must be at least 0 and below 1, got -0.1"),
        ("average", 1.0, "`average` must be at least 0 and below 1, got 1.0"),
        ("average", math.nan, "`average` must be at least 0 and below 1, got nan"),
        ("optimizer", "sgd", "`optimizer` must be one of .*adamw.*got 'sgd'"),
        ("schedule", "linear", "`schedule` must be one of .*cosine.*got 'linear'"),
        ("warmup", 1.0, "`warmup` must be at least 0 and below 1, got 1.0"),
        ("window", 0, "`window` must be 1 or more, got 0"),
        ("patience", -2, "`patience` must be -1 or more, got -2"),
        ("weight_decay", math.nan, "`weight_decay` must be 0 or more, finite, got nan"),
    ],
)
def test_impossible_settings_are_refused(name, value, message):
    with pytest.raises(ValueError, match=message):
        TrainConfig(**{name: value})


def test_the_memory_budget_is_what_was_given_or_fits_the_device(monkeypatch):
    cpu, gpu = torch.device("cpu"), torch.device("cuda")
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _: (80 << 30, 139 << 30))
    assert TrainConfig().budget_on(cpu) == 4 << 30
    assert TrainConfig().budget_on(gpu) == 60 << 30
    assert TrainConfig(memory_budget=7).budget_on(gpu) == 7

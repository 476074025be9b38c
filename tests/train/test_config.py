import math

import pytest
import torch

from lgan import TrainConfig


def test_defaults_are_the_protocol_of_xu_et_al():
    config = TrainConfig()
    assert (config.epochs, config.iterations, config.batch_size) == (350, 50, 32)
    assert (config.lr, config.lr_halving, config.weight_decay) == (0.01, 50, 0.0)


def test_learning_rate_halves_every_so_many_epochs():
    config = TrainConfig(lr=0.08, lr_halving=3)
    assert [config.lr_at(epoch) for epoch in (0, 2, 3, 5, 6)] == [0.08, 0.08, 0.04, 0.04, 0.02]


def test_learning_rate_without_halving_stays():
    assert TrainConfig(lr=0.5, lr_halving=0).lr_at(10_000) == 0.5


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("epochs", 0, "`epochs` must be 1 or more, got 0"),
        ("iterations", -1, "`iterations` must be 0 or more, got -1"),
        ("batch_size", 0, "`batch_size` must be 1 or more, got 0"),
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

"""The table of stopping early, on curves written by hand."""

from dataclasses import replace

import torch

from lgan import TrainConfig, load
from lgan.train import cross_validate
from lgan.zoo import GIN
from paper.stopping import stopping_grid


def test_a_late_gain_is_seen_by_those_who_wait(tmp_path):
    union = load("triangles", compress=False)
    folds = torch.arange(union.num_graphs) // 2 % 3
    config = TrainConfig(epochs=12, iterations=1, schedule="cosine")
    result = cross_validate(
        lambda: GIN(union.num_features, 4, union.num_classes, num_layers=1), union,
        folds=folds, config=config, bagged=1, model={"name": "gin"},
    )  # fmt: skip
    # The best of the first epochs is the second, the best of all the eighth, six later.
    chosen_on = torch.tensor([5, 7, 6, 6, 6, 6, 6, 9, 8, 8, 8, 8]) / 10
    test = torch.tensor([0, 60, 0, 0, 0, 0, 0, 75, 0, 0, 0, 0]) / 100
    result = replace(
        result, bagged_validation=chosen_on.expand(3, -1), bagged_test=test.expand(3, -1)
    )
    result.save(tmp_path / "lgan.json")
    [row, change] = stopping_grid([tmp_path / "lgan.json"]).rows
    cells = ["75.0 (100%)", "60.0 (33%)", "60.0 (42%)", "60.0 (50%)", "75.0 (100%)"]
    assert row == ["triangles", "gin", *cells]
    assert change == ["mean change", "", "", "-15.00", "-15.00", "-15.00", "+0.00"]

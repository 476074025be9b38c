from typing import Any

import pytest
import torch
from torch import Tensor

from lgan.train.selection import Selected, best_epoch, has_stopped, select, stop_epoch

# Three epochs; the means over folds are 0.6, 0.7 and 0.75.
TEST = torch.tensor([[0.5, 0.8, 0.6], [0.7, 0.6, 0.9]], dtype=torch.float64)


def _close(got: Selected, expected: Selected) -> bool:
    return (got.rule, got.epochs) == (expected.rule, expected.epochs) and (
        got.mean,
        got.std,
        *got.folds,
    ) == pytest.approx((expected.mean, expected.std, *expected.folds))


def _gin(curves: Tensor, **options: Any) -> Selected:
    return select("gin", curves, curves, **options)


def test_gin_reads_all_folds_at_the_epoch_with_the_best_mean():
    assert _close(_gin(TEST), Selected("gin", 0.75, 0.15, (0.6, 0.9), (3, 3)))


def test_fold_max_reads_each_fold_at_its_own_best_epoch():
    found = select("fold-max", TEST, TEST)
    assert _close(found, Selected("fold-max", 0.85, 0.05, (0.8, 0.9), (2, 3)))


@pytest.mark.parametrize("rule", ["fair", "bagged"])
def test_fair_and_bagged_read_each_fold_where_its_hold_outs_are_best(rule):
    validation = torch.tensor([[0.9, 0.1, 0.2], [0.3, 0.8, 0.7]])
    assert _close(select(rule, TEST, validation), Selected(rule, 0.55, 0.05, (0.5, 0.6), (1, 2)))


@pytest.mark.parametrize("rule", ["gin", "fold-max", "fair", "bagged"])
def test_the_earliest_of_equal_epochs_is_taken(rule):
    flat = torch.full((2, 4), 0.5)
    assert select(rule, flat, flat).epochs == (1, 1)


def test_gin_never_exceeds_fold_max():
    for _ in range(20):
        curves = torch.rand(10, 30)
        assert _gin(curves).mean <= select("fold-max", curves, curves).mean


def test_a_sum_in_another_order_is_no_better():
    """0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 differ in the last bit."""
    curves = torch.tensor([[0.1, 0.3], [0.2, 0.2], [0.3, 0.1]], dtype=torch.float64)
    for order in (curves, curves.flip(1)):
        assert best_epoch(order) == 0
    once, again = [0.5, 0.7, 0.9, 0.6], [0.9, 0.6, 0.7, 0.5]
    curve = torch.tensor([[0.0] * 4 + once + [0.0] + again], dtype=torch.float64)
    assert best_epoch(curve, window=4) == 12  # of equal windows the last


def _slow_smoothed(curve: list[float], window: int) -> list[float]:
    means = []
    for epoch in range(len(curve)):
        past = [v for v in curve[max(0, epoch - window + 1) : epoch + 1] if v == v]
        means.append(sum(past) / len(past) if past else float("-inf"))
    return means


@pytest.mark.parametrize("window", [1, 2, 5])
@pytest.mark.parametrize("higher", [True, False])
def test_the_window_is_the_mean_of_the_last_epochs(window, higher):
    for _ in range(20):
        curves = torch.rand(3, 12, dtype=torch.float64)
        curves[torch.rand(3, 12) < 0.3] = torch.nan
        curves[:, 4] = torch.nan
        mean = curves.nanmean(0) if higher else -curves.nanmean(0)
        slow = _slow_smoothed(mean.tolist(), window)
        best = [i for i, value in enumerate(slow) if value > max(slow) - 1e-12]
        expected = best[0] if window == 1 else best[-1]
        assert best_epoch(curves, higher=higher, window=window) == expected
        if not curves.isnan().any():
            chosen = _gin(curves, higher=higher, window=window).epochs[0] - 1
            assert chosen == expected


def test_rounded_curves_choose_the_epoch_that_exact_ones_choose():
    curve = torch.tensor([[0, 0, 2, 0, 1, 1]], dtype=torch.float64) / 3
    rounded = torch.tensor([[round(value, 9) for value in curve[0].tolist()]])
    assert best_epoch(curve, window=2) == best_epoch(rounded, window=2) == 5


@pytest.mark.parametrize("window", [1, 3])
@pytest.mark.parametrize("patience", [1, 2, 4])
def test_training_stops_when_no_choice_has_improved_for_so_long(window, patience):
    for _ in range(20):
        choices = [torch.rand(2, 15, dtype=torch.float64) for _ in range(3)]
        best, since, stop = [float("-inf")] * 3, [0] * 3, 15
        for epoch in range(15):
            for i, curves in enumerate(choices):
                value = _slow_smoothed(curves.mean(0).tolist(), window)[epoch]
                since[i] = 0 if value > best[i] else since[i] + 1
                best[i] = max(best[i], value)
            if min(since) >= patience:
                stop = epoch + 1
                break
        assert stop_epoch(choices, patience=patience, window=window) == stop
        assert not has_stopped(choices, patience=0)


def test_training_goes_on_while_a_smoothed_metric_stays_at_its_best():
    flat = torch.tensor([[0.2, 0.5, *[1.0] * 6, 0.9, 0.9, 0.9]], dtype=torch.float64)
    assert stop_epoch([flat], patience=2, window=2) == 10
    assert stop_epoch([flat], patience=2, window=1) == 5  # as published rules, which take the first


def test_of_an_error_the_least_is_best():
    assert _gin(TEST, higher=False).epochs == (1, 1)
    assert select("fair", TEST, TEST, higher=False).epochs == (1, 2)


def test_a_fold_that_does_not_define_the_metric_is_left_out():
    some = torch.cat([TEST, torch.full((1, 3), torch.nan, dtype=torch.float64)])
    assert _gin(some).epochs == (3, 3, 3)
    assert _gin(some).mean == _gin(TEST).mean
    assert _gin(some).std == _gin(TEST).std
    nothing = torch.full((2, 3), torch.nan)
    assert _gin(nothing).epochs == (1, 1)
    assert _gin(nothing).to_json()["mean"] is None

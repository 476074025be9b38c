import pytest
import torch

from lgan.train.selection import RULES, Selected, fair, fold_max, gin

# Three epochs; the means over folds are 0.6, 0.7 and 0.75.
TEST = torch.tensor([[0.5, 0.8, 0.6], [0.7, 0.6, 0.9]], dtype=torch.float64)


def _close(got: Selected, expected: Selected) -> bool:
    return (got.rule, got.epochs) == (expected.rule, expected.epochs) and (
        got.mean,
        got.std,
        *got.folds,
    ) == pytest.approx((expected.mean, expected.std, *expected.folds))


def test_gin_reads_all_folds_at_the_epoch_with_the_best_mean():
    assert _close(gin(TEST), Selected("gin", 0.75, 0.15, (0.6, 0.9), (3, 3)))


def test_fold_max_reads_each_fold_at_its_own_best_epoch():
    assert _close(fold_max(TEST), Selected("fold-max", 0.85, 0.05, (0.8, 0.9), (2, 3)))


def test_fair_reads_each_fold_where_its_hold_out_is_best():
    validation = torch.tensor([[0.9, 0.1, 0.2], [0.3, 0.8, 0.7]])
    assert _close(fair(TEST, validation), Selected("fair", 0.55, 0.05, (0.5, 0.6), (1, 2)))


def test_fair_does_not_look_at_the_test_fold_to_choose():
    validation = torch.rand(2, 3)
    assert fair(TEST, validation).epochs == fair(TEST.flip(1), validation).epochs


def test_the_earliest_of_equal_epochs_is_taken():
    flat = torch.full((2, 4), 0.5)
    assert gin(flat).epochs == fold_max(flat).epochs == fair(flat, flat).epochs == (1, 1)


def test_gin_never_exceeds_fold_max():
    for _ in range(20):
        curves = torch.rand(10, 30)
        assert gin(curves).mean <= fold_max(curves).mean


def test_rules_have_the_names_of_the_field():
    assert RULES == ("gin", "fold-max", "fair")
    assert (gin(TEST).rule, fold_max(TEST).rule, fair(TEST, TEST).rule) == RULES


def test_of_an_error_the_least_is_best():
    assert gin(TEST, higher=False).epochs == (1, 1)
    assert fold_max(TEST, higher=False).epochs == (1, 2)
    assert fair(TEST, TEST, higher=False).epochs == (1, 2)


def test_a_fold_that_does_not_define_the_metric_is_left_out():
    some = torch.cat([TEST, torch.full((1, 3), torch.nan, dtype=torch.float64)])
    assert gin(some).epochs == (3, 3, 3)
    assert gin(some).mean == gin(TEST).mean
    assert gin(some).std == gin(TEST).std
    nothing = torch.full((2, 3), torch.nan)
    assert gin(nothing).epochs == (1, 1)
    assert gin(nothing).to_json()["mean"] is None

import pytest
import torch
from scipy.stats import ttest_rel

from paper.significance import corrected_t_test


def test_without_correction_it_is_the_paired_t_test():
    a, b = torch.rand(2, 10, dtype=torch.float64).tolist()
    assert corrected_t_test(a, b, 0.0) == pytest.approx(ttest_rel(a, b).pvalue, rel=1e-9)


def test_value_by_hand():
    # d = 0.1, 0.1, 0.4: mean 0.2, variance 0.03; t = 0.2 / sqrt((1/3 + 1/2) 0.03) = 1.2649,
    # and Student's distribution with 2 degrees: p = 1 - t / sqrt(t^2 + 2) = 1 - 2 / 3.
    p = corrected_t_test([0.6, 0.7, 0.9], [0.5, 0.6, 0.5], 0.5)
    assert p == pytest.approx(1 / 3)


def test_overlap_makes_the_test_more_careful():
    a, b = [0.90, 0.85, 0.88, 0.91], [0.86, 0.84, 0.85, 0.88]
    assert corrected_t_test(a, b, 1 / 9) > corrected_t_test(a, b, 0.0)


def test_it_is_symmetric_and_knows_equal_folds():
    a, b = [0.9, 0.8, 0.7], [0.8, 0.8, 0.5]
    assert corrected_t_test(a, b, 0.1) == corrected_t_test(b, a, 0.1)
    assert corrected_t_test(a, a, 0.1) == 1.0
    assert corrected_t_test([0.5, 0.6], [0.4, 0.5], 0.1) == 0.0


def test_other_folds_are_refused():
    with pytest.raises(ValueError, match=r"same two folds or more.*got 3 and 2"):
        corrected_t_test([1, 2, 3], [1, 2], 0.1)

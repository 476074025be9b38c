import pytest
import torch

from lgan.predictor.calibration import Calibration, calibration
from lgan.task import Task

BINARY = Task("binary", ("active",), ("no", "yes"))


def test_error_of_a_hand_computation():
    # Bins of width 0.5: {0.1, 0.3} with one of two true, {0.5, 0.9, 1.0} with two of three.
    found = Calibration.of(
        torch.tensor([0.1, 0.9, 0.3, 1.0, 0.5], dtype=torch.float64),
        torch.tensor([True, True, False, True, False]),
        bins=2,
    )
    assert found.count.tolist() == [2, 3]
    torch.testing.assert_close(found.said, torch.tensor([0.2, 0.8], dtype=torch.float64))
    torch.testing.assert_close(found.came, torch.tensor([1 / 2, 2 / 3], dtype=torch.float64))
    assert found.error == pytest.approx(2 / 5 * 0.3 + 3 / 5 * (0.8 - 2 / 3))


def test_error_agrees_with_a_loop_over_bins():
    torch.manual_seed(0)
    said = torch.rand(500, dtype=torch.float64)
    came = torch.rand(500) < said**2
    expected = 0.0
    for b in range(10):
        own = [i for i in range(500) if b / 10 <= said[i] < (b + 1) / 10]
        off = sum(float(said[i]) - bool(came[i]) for i in own) / len(own)
        expected += abs(off) * len(own) / 500
    assert Calibration.of(said, came).error == pytest.approx(expected)


def test_probabilities_that_come_true_as_said_have_no_error():
    said = torch.tensor([0.25] * 4 + [0.75] * 4, dtype=torch.float64)
    came = torch.tensor([1, 0, 0, 0, 1, 1, 1, 0])
    assert Calibration.of(said, came).error == 0


def test_of_classes_it_is_that_of_the_predicted_one():
    said = torch.tensor([[0.85, 0.15], [0.25, 0.75], [0.35, 0.65]]).double()
    found = calibration(said, torch.tensor([0, 0, 1]), BINARY)
    torch.testing.assert_close(found.said, torch.tensor([0.65, 0.75, 0.85], dtype=torch.float64))
    assert found.came.tolist() == [1, 0, 1]


def test_of_labels_missing_ones_do_not_count():
    task = Task("multilabel", ("a", "b"), ("0", "1"))
    said = torch.tensor([[0.15, 0.9], [0.15, 0.15]])
    y = torch.tensor([[0.0, torch.nan], [1.0, 0.0]])
    found = calibration(said, y, task)
    assert found.count.tolist() == [3]
    assert found.came.tolist() == pytest.approx([1 / 3])


def test_numbers_have_no_calibration():
    with pytest.raises(ValueError, match=r"needs probabilities, got numbers .*intervals"):
        calibration(torch.zeros(2, 1), torch.zeros(2, 1), Task("regression", ("logS",)))

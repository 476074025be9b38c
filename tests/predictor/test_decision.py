import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, balanced_accuracy_score

from lgan.predictor.decision import best_threshold, decided, fitted_sharpness, sharpened
from lgan.predictor.prediction_rows import PredictionRows
from lgan.task import Task
from lgan.train.out_of_fold import OutOfFold

BINARY = Task("binary", ("active",), ("no", "yes"))
THREE = Task("multiclass", ("kind",), ("a", "b", "c"))
SEVERAL = Task("multilabel", ("a", "b"), ("0", "1"))


def _known(y, predictions):
    n = len(y)
    return OutOfFold(y, predictions, torch.arange(n) % 5, torch.arange(5))


def _surprise(power, said, y):
    found = sharpened(said, torch.tensor([power]), THREE if said.size(1) == 3 else BINARY)
    return -float(found[torch.arange(len(y)), y].log().mean())


@pytest.mark.parametrize("task", [BINARY, THREE])
@pytest.mark.parametrize("power", [0.4, 1.0, 2.5])
def test_the_power_that_spoilt_probabilities_is_found_and_undone(task, power):
    classes = len(task.classes)
    generator = torch.Generator().manual_seed(0)
    true = torch.randn(20000, classes, generator=generator, dtype=torch.float64).softmax(1)
    y = torch.multinomial(true, 1, generator=generator)[:, 0]
    spoilt = sharpened(true, torch.tensor([1 / power]), task)
    found = fitted_sharpness(_known(y, spoilt), task)
    assert found.tolist() == pytest.approx([power], rel=0.05)
    best = _surprise(float(found), spoilt, y)
    assert all(best <= _surprise(p / 10, spoilt, y) + 1e-6 for p in range(1, 60))


def test_every_label_has_its_own_power_and_missing_ones_are_left_out():
    generator = torch.Generator().manual_seed(1)
    true = torch.rand(20000, 2, generator=generator, dtype=torch.float64)
    y = (torch.rand(true.shape, generator=generator) < true).float()
    spoilt = sharpened(true, torch.tensor([2.0, 0.5]), SEVERAL)
    y[::3, 0], spoilt[::3, 0] = torch.nan, 0.999  # would say something else
    assert fitted_sharpness(_known(y, spoilt), SEVERAL).tolist() == pytest.approx([0.5, 2], rel=0.1)


@pytest.mark.parametrize(("graphs", "positives"), [(12, 1), (40, 2)])
def test_few_graphs_that_are_told_apart_make_nothing_certain(graphs, positives):
    """Without a prior the power would be the largest, and every probability 0 or 1."""
    y = torch.zeros(graphs, 1)
    y[:positives] = 1
    said = torch.where(y == 1, 0.6, 0.1)
    one = Task("multilabel", ("a",), ("0", "1"))
    [power] = fitted_sharpness(_known(y, said), one).tolist()
    assert 1 < power < 4
    sharp = sharpened(said, torch.tensor([power]), one)
    assert 0.6 < float(sharp.max()) < 0.9
    both = _known(y[:, 0].long(), torch.cat([1 - said, said], 1))
    assert fitted_sharpness(both, BINARY).tolist() == pytest.approx([power], rel=1e-3)


def test_many_graphs_outweigh_the_prior():
    generator = torch.Generator().manual_seed(2)
    true = torch.rand(5000, 1, generator=generator, dtype=torch.float64)
    y = (torch.rand(true.shape, generator=generator) < true).float()
    one = Task("multilabel", ("a",), ("0", "1"))
    spoilt = sharpened(true, torch.tensor([1 / 3]), one)
    [power] = fitted_sharpness(_known(y, spoilt), one).tolist()

    def surprise(tried):
        found = sharpened(spoilt, torch.tensor([tried]), one)
        return float(torch.nn.functional.binary_cross_entropy(found, y.double()))

    likeliest = min((2 + step / 500 for step in range(1000)), key=surprise)
    assert power == pytest.approx(likeliest, rel=0.01)


def test_certainty_stays_finite_and_the_order_of_classes_stays():
    said = torch.tensor([[0.0, 1.0], [0.7, 0.3]], dtype=torch.float64)
    found = sharpened(said, torch.tensor([3.0]), BINARY)
    assert bool(found.isfinite().all())
    assert found.argmax(1).tolist() == said.argmax(1).tolist()
    assert found.sum(1).tolist() == pytest.approx([1, 1])


@given(
    values=st.lists(st.tuples(st.integers(0, 10), st.booleans()), min_size=2, max_size=30),
    metric=st.sampled_from(["accuracy", "balanced-accuracy"]),
)
def test_no_other_threshold_decides_better(values, metric):
    said = torch.tensor([(value + 1) / 12 for value, _ in values], dtype=torch.float64)
    y = torch.tensor([int(label) for _, label in values])
    both = torch.stack([1 - said, said], 1)
    [threshold] = best_threshold(_known(y, both), BINARY, metric, None).tolist()
    if len(y.unique()) < 2:
        assert threshold == 0.5
        return
    score = accuracy_score if metric == "accuracy" else balanced_accuracy_score
    reached = score(y, decided(both, BINARY, torch.tensor([threshold])))
    for other in [*said.tolist(), 0.0, 1.0]:
        assert reached >= score(y, decided(both, BINARY, torch.tensor([other]))) - 1e-12


def test_of_equally_good_thresholds_the_one_nearest_to_a_half_is_taken():
    said = torch.tensor([0.1, 0.2, 0.8, 0.9], dtype=torch.float64)
    known = _known(torch.tensor([0, 0, 1, 1]), torch.stack([1 - said, said], 1))
    assert best_threshold(known, BINARY, "accuracy", None).tolist() == [0.5]


def test_labels_have_thresholds_of_their_own():
    said = torch.tensor([[0.1, 0.6], [0.2, 0.7], [0.3, 0.8], [0.4, 0.9]], dtype=torch.float64)
    y = torch.tensor([[0, 0], [0, 0], [1, math.nan], [1, 1]])
    low, high = best_threshold(_known(y, said), SEVERAL, "balanced-accuracy", None).tolist()
    assert 0.2 < low < 0.3
    assert 0.7 < high < 0.9
    places = decided(said, SEVERAL, torch.tensor([low, high]))
    assert places[:, 0].tolist() == [0, 0, 1, 1]
    assert decided(said, SEVERAL).tolist() == (said > 0.5).long().tolist()


def test_what_cannot_be_decided_by_a_threshold_is_refused():
    known = _known(torch.tensor([0, 1, 2]), torch.full((3, 3), 1 / 3))
    with pytest.raises(ValueError, match="needs two classes"):
        best_threshold(known, THREE, "accuracy", None)
    known = _known(torch.tensor([0, 1]), torch.full((2, 2), 0.5))
    with pytest.raises(ValueError, match="balanced-accuracy, got 'roc-auc'"):
        best_threshold(known, BINARY, "roc-auc", None)


def test_a_predictor_calibrates_and_decides(binary):
    smiles, known = ["CCO", "c1ccccc1"], binary.checkpoint.out_of_fold
    sharp = binary.calibrated()
    expected = torch.from_numpy(binary.predict_proba(smiles))
    expected = sharpened(expected, fitted_sharpness(known, binary.task), binary.task)
    assert sharp.predict_proba(smiles) == pytest.approx(expected.numpy())
    first, second = binary.task.classes
    for threshold, model in itertools.product((0.0, 1.0), (binary, sharp)):
        answer = model.deciding(threshold).predict(smiles)
        assert set(answer) == {second if threshold == 0 else first}
    # Whole numbers and arrays are numbers too.
    assert binary.deciding(np.array(1)).threshold == binary.deciding(1).threshold == 1
    for wrong in (1.5, "roc-auc", None, [0.3], math.nan):
        with pytest.raises(ValueError, match="between 0 and 1"):
            binary.deciding(wrong)


def test_rows_follow_the_threshold_and_the_calibration(binary):
    def row(model):
        return next(PredictionRows.of(model, ["CCO"]).rows)

    assert row(binary.deciding(0.0))["active_predicted"] == "yes"
    assert row(binary.deciding(1.0))["active_predicted"] == "no"
    assert row(binary.deciding("balanced-accuracy"))["active_predicted"] in ("yes", "no")
    plain, scaled = row(binary), row(binary.calibrated())
    assert plain["active_predicted"] == scaled["active_predicted"]
    assert plain["active_probability_yes"] != scaled["active_probability_yes"]


def test_numbers_have_no_calibration(number):
    with pytest.raises(ValueError, match="needs probabilities"):
        number.calibrated()
    with pytest.raises(ValueError, match="needs two classes"):
        number.deciding(0.5)

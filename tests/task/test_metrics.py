import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as reference

from lgan.task import METRICS, Task

PER_TARGET = {
    "accuracy": lambda y, p: reference.accuracy_score(y, p > 0.5),
    "balanced-accuracy": lambda y, p: reference.balanced_accuracy_score(y, p > 0.5),
    "roc-auc": reference.roc_auc_score,
    "average-precision": reference.average_precision_score,
    "log-loss": reference.log_loss,
}
PER_NUMBER = {
    "mae": reference.mean_absolute_error,
    "rmse": reference.root_mean_squared_error,
    "r2": reference.r2_score,
}


def _drawn(seed: int, rows: int = 60, targets: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Labels with blanks and probabilities with many ties."""
    draw = np.random.default_rng(seed)
    y = draw.integers(0, 2, (rows, targets)).astype(np.float32)
    y[:2] = [[0.0] * targets, [1.0] * targets]  # both classes everywhere
    y[draw.random((rows, targets)) < 0.2] = np.nan
    y[-2:] = [[0.0] * targets, [1.0] * targets]
    return y, (draw.integers(1, 8, (rows, targets)) / 8).astype(np.float64)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", PER_TARGET)
def test_metrics_of_labels_agree_with_scikit_learn(name: str, seed: int) -> None:
    y, p = _drawn(seed)
    expected = []
    for target in range(y.shape[1]):
        rows = ~np.isnan(y[:, target])
        expected.append(PER_TARGET[name](y[rows, target].astype(int), p[rows, target]))
    assert METRICS[name].by_target(y, p) == pytest.approx(expected)
    assert METRICS[name](y, p) == pytest.approx(np.mean(expected))


@pytest.mark.parametrize("name", PER_NUMBER)
def test_metrics_of_numbers_agree_with_scikit_learn(name: str) -> None:
    draw = np.random.default_rng(0)
    y, p = draw.normal(size=(2, 50, 4)).astype(np.float32)
    y[draw.random((50, 4)) < 0.2] = np.nan
    rows = ~np.isnan(y)
    expected = [PER_NUMBER[name](y[r, t], p[r, t]) for t, r in enumerate(rows.T)]
    assert METRICS[name].by_target(y, p) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("classes", [2, 3])
def test_metrics_of_classes_agree_with_scikit_learn(classes: int) -> None:
    draw = np.random.default_rng(classes)
    y = draw.integers(0, classes, 80)
    p = draw.integers(1, 5, (80, classes)).astype(np.float64)
    p /= p.sum(1, keepdims=True)
    one_hot = np.eye(classes)[y]
    several = {"multi_class": "ovr"} if classes > 2 else {}
    scores = p if classes > 2 else p[:, 1]
    precision = (
        reference.average_precision_score(one_hot, p)
        if classes > 2
        else reference.average_precision_score(y, scores)
    )
    expected = {
        "accuracy": reference.accuracy_score(y, p.argmax(1)),
        "balanced-accuracy": reference.balanced_accuracy_score(y, p.argmax(1)),
        "roc-auc": reference.roc_auc_score(y, scores, **several),
        "average-precision": precision,
        "log-loss": reference.log_loss(y, p),
    }
    assert {name: METRICS[name](y, p) for name in expected} == pytest.approx(expected)


def test_values_by_hand() -> None:
    y = np.array([0, 0, 1, 1])
    p = np.array([0.1, 0.4, 0.35, 0.8])
    p = np.stack([1 - p, p], 1)
    assert METRICS["roc-auc"](y, p) == pytest.approx(0.75)
    assert METRICS["average-precision"](y, p) == pytest.approx(5 / 6)
    assert METRICS["accuracy"](y, p) == 0.75
    constant = np.full((4, 2), 0.5)
    assert METRICS["roc-auc"](y, constant) == 0.5
    numbers = np.array([[1.0], [2.0], [4.0]])
    assert METRICS["rmse"](numbers, np.array([[4.0], [2.0], [4.0]])) == pytest.approx(3**0.5)
    assert METRICS["mae"](numbers, numbers + 2) == pytest.approx(2)
    assert METRICS["r2"](numbers, np.full((3, 1), 7 / 3)) == pytest.approx(0)


@given(st.sampled_from(sorted(METRICS)), st.integers(0, 99))
def test_order_of_rows_does_not_matter(name: str, seed: int) -> None:
    y, p = _drawn(seed)
    order = np.random.default_rng(seed).permutation(len(y))
    assert METRICS[name](y[order], p[order]) == pytest.approx(METRICS[name](y, p))


@given(st.sampled_from(sorted(METRICS)), st.integers(0, 99))
def test_a_missing_value_counts_as_a_row_that_is_not_there(name: str, seed: int) -> None:
    y, p = _drawn(seed, targets=1)
    kept = ~np.isnan(y[:, 0])
    assert 0 < kept.sum() < len(y)
    assert METRICS[name](y, p) == METRICS[name](y[kept], p[kept])


def test_classes_that_are_missing_are_left_out() -> None:
    y = np.array([0, -1, 1, 1])
    p = np.array([[0.9, 0.1], [0.0, 1.0], [0.2, 0.8], [0.6, 0.4]])
    for name in ("accuracy", "roc-auc", "log-loss"):
        assert METRICS[name](y, p) == METRICS[name](y[y >= 0], p[y >= 0])


def test_targets_with_one_class_are_skipped_and_counted() -> None:
    y = np.array([[0, 1, np.nan], [1, 1, np.nan], [0, np.nan, np.nan]])
    p = np.array([[0.2, 0.3, 0.5], [0.9, 0.1, 0.5], [0.1, 0.1, 0.5]])
    metric = METRICS["roc-auc"]
    assert metric(y, p) == 1.0
    assert metric.defined(y).tolist() == [True, False, False]
    assert np.isnan(metric(y[:1], p[:1]))
    assert np.isnan(metric(y[:0], p[:0]))
    assert METRICS["log-loss"].defined(y).tolist() == [True, True, False]
    assert METRICS["r2"].defined(np.array([[1.0, 2.0], [3.0, 2.0]])).tolist() == [True, False]


def test_predictions_that_are_not_finite_have_no_score() -> None:
    y, p = _drawn(0)
    p[-1, 1] = np.nan
    for metric in METRICS.values():
        assert np.isnan(metric(y, p)), metric.name


def test_directions() -> None:
    down = {name for name, metric in METRICS.items() if not metric.higher_is_better}
    assert down == {"log-loss", "mae", "rmse"}


def test_a_metric_of_another_kind_is_refused() -> None:
    task = Task("regression", ("logS",))
    with pytest.raises(ValueError, match="one of mae, rmse, r2, got 'roc-auc'"):
        task.metric("roc-auc")
    with pytest.raises(ValueError, match="a known name, one of mae, rmse, r2, got 'auc'"):
        task.metric("auc")
    assert task.metric().name == "rmse"
    assert Task("multiclass", ("c",), ("a", "b")).metric("log-loss").name == "log-loss"


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match=r"got \[3\] and \[3\]"):
        METRICS["accuracy"](np.zeros(3, int), np.zeros(3))
    with pytest.raises(ValueError, match=r"got \[3, 2\] and \[3, 1\]"):
        METRICS["rmse"](np.zeros((3, 2)), np.zeros((3, 1)))

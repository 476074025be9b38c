"""How good predictions are, in one number with a direction.

All functions read what `Task.link` gives: probabilities, or numbers in the target's own units.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
CLASSES = ("binary", "multiclass")
ALL_CLASSES = (*CLASSES, "multilabel")


@dataclass(frozen=True)
class Metric:
    """A metric, averaged over the targets for which it is defined.

    Attributes:
        name: Its name.
        higher_is_better: Its direction.
        kinds: The kinds of task it is for.
        needs: What the true values of a target must have for it to be defined: some
            ``"values"``, ``"both"`` classes, or a ``"spread"`` of different numbers.
        one_target: The metric of one target, from true values ``[n]`` and predictions ``[n]``,
            or from classes ``[n]`` and probabilities ``[n, C]``.
    """

    name: str
    higher_is_better: bool
    kinds: tuple[str, ...]
    needs: str
    one_target: Callable[[Array, Array], float]

    def __call__(self, y_true: Array, prediction: Array) -> float:
        """The mean over targets; NaN where no target defines it, or predictions are not finite.

        Args:
            y_true: Classes ``[n]`` (-1 where missing), or values ``[n, T]`` (NaN where missing).
            prediction: Probabilities ``[n, C]``, or probabilities or numbers ``[n, T]``.

        Example:
            >>> METRICS["roc-auc"](np.array([0, 1]), np.array([[0.9, 0.1], [0.2, 0.8]]))
            1.0
        """
        scores = self.by_target(y_true, prediction)
        used = self.defined(y_true)
        return float(scores[used].mean()) if used.any() else float("nan")

    def by_target(self, y_true: Array, prediction: Array) -> NDArray[np.float64]:
        """The metric of every target ``[T]``; NaN where it is not defined."""
        y_true, prediction = np.asarray(y_true), np.asarray(prediction)
        _check_shapes(y_true, prediction)
        used = self.defined(y_true)
        scores = np.full(len(used), np.nan)
        for target in np.flatnonzero(used):
            y, p = y_true, prediction
            if y.ndim == 2:
                y, p = y[:, target], p[:, target]
            rows = _present(y)
            y, p = (y, p) if rows.all() else (y[rows], p[rows])
            if np.isfinite(p).all():
                scores[target] = self.one_target(y, p)
        return scores

    def defined(self, y_true: Array) -> NDArray[np.bool_]:
        """For which targets the true values define the metric ``[T]``; others are skipped."""
        y_true = np.asarray(y_true)
        columns = y_true[:, None] if y_true.ndim == 1 else y_true
        present = _present(columns)
        low = np.where(present, columns, np.inf).min(0, initial=np.inf)
        high = np.where(present, columns, -np.inf).max(0, initial=-np.inf)
        return np.asarray(low <= high if self.needs == "values" else low < high)


def _present(y: Array) -> NDArray[np.bool_]:
    return np.asarray(~np.isnan(y) if y.dtype.kind == "f" else y >= 0)


def _check_shapes(y: Array, prediction: Array) -> None:
    fits = prediction.ndim == 2 and len(y) == len(prediction)
    if not fits or (y.ndim == 2 and y.shape != prediction.shape) or y.ndim not in (1, 2):
        raise ValueError(
            "`y_true` must be classes [n] with probabilities [n, C], or [n, T] with predictions "
            f"[n, T], got {list(y.shape)} and {list(prediction.shape)}. Pass what `Task.encode` "
            "and `Task.link` give, for one model."
        )


def _accuracy(y: Array, p: Array) -> float:
    return float((_decided(p) == y).mean())


def _balanced_accuracy(y: Array, p: Array) -> float:
    """The mean over the classes that occur of the share of them that is found."""
    right = _decided(p) == y
    return float(np.mean([right[y == label].mean() for label in np.unique(y)]))


def _decided(p: Array) -> Array:
    return p.argmax(1) if p.ndim == 2 else p > 0.5


def _each_class(score: Callable[[Array, Array], float]) -> Callable[[Array, Array], float]:
    """A score of two classes for any number: the mean over classes of one against the rest."""

    def mean(y: Array, p: Array) -> float:
        if p.ndim == 1:
            return score(y > 0.5, p)
        if p.shape[1] == 2:
            return score(y == 1, p[:, 1])
        return float(np.mean([score(y == label, p[:, label]) for label in np.unique(y)]))

    return mean


def _roc_auc(positive: Array, p: Array) -> float:
    """The chance that a positive ranks above a negative, ties counted half (Mann-Whitney)."""
    _, place, count = np.unique(p, return_inverse=True, return_counts=True)
    rank = np.cumsum(count) - (count - 1) / 2  # the mean rank of equal predictions
    positives = int(positive.sum())
    wins = rank[place][positive].sum() - positives * (positives + 1) / 2
    return float(wins / (positives * (len(p) - positives)))


def _average_precision(positive: Array, p: Array) -> float:
    """The precision at every distinct threshold, weighed by the recall it adds."""
    order = np.argsort(-p, kind="stable")
    found = np.cumsum(positive[order])
    last = np.append(np.flatnonzero(np.diff(p[order])), len(p) - 1)  # of equal predictions
    found = found[last]
    return float((np.diff(found, prepend=0) / found[-1] * (found / (last + 1))).sum())


def _log_loss(y: Array, p: Array) -> float:
    """The mean of -log of the probability given to what was true."""
    least = np.finfo(p.dtype if p.dtype.kind == "f" else np.float64).eps
    if p.ndim == 2:
        p = np.take_along_axis(p, y[:, None].astype(np.int64), axis=1)[:, 0]
    else:
        p = np.where(y > 0.5, p, 1 - p)
    return float(-np.log(np.clip(p.astype(np.float64), least, 1 - least)).mean())


def _mae(y: Array, p: Array) -> float:
    return float(np.abs(p.astype(np.float64) - y).mean())


def _rmse(y: Array, p: Array) -> float:
    return float(np.sqrt(np.square(p.astype(np.float64) - y).mean()))


def _r2(y: Array, p: Array) -> float:
    """One minus the error's share of the variance."""
    y = y.astype(np.float64)
    return float(1 - np.square(p - y).sum() / np.square(y - y.mean()).sum())


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("accuracy", True, ALL_CLASSES, "values", _accuracy),
        Metric("balanced-accuracy", True, ALL_CLASSES, "values", _balanced_accuracy),
        Metric("roc-auc", True, ALL_CLASSES, "both", _each_class(_roc_auc)),
        Metric("average-precision", True, ALL_CLASSES, "both", _each_class(_average_precision)),
        Metric("log-loss", False, ALL_CLASSES, "values", _log_loss),
        Metric("mae", False, ("regression",), "values", _mae),
        Metric("rmse", False, ("regression",), "values", _rmse),
        Metric("r2", True, ("regression",), "spread", _r2),
    )
}

"""Probabilities that come true as often as they say, and where a class begins.

Both are learnt from out-of-fold predictions, which the model file keeps; no further data is needed.
"""

import math

import torch
from scipy.optimize import minimize_scalar
from torch import Tensor
from torch.nn.functional import binary_cross_entropy

from lgan.task import Task
from lgan.train.out_of_fold import OutOfFold

# Metrics of a decision, not of probabilities.
DECISIVE = ("accuracy", "balanced-accuracy")
# Probabilities nearer to 0 or 1 than this are taken for this near.
NEAREST = 1e-6
SHARPEST = 16.0


def sharpened(answers: Tensor, sharpness: Tensor, task: Task) -> Tensor:
    """Probabilities with their odds raised to a power; which class is likeliest stays.

    Args:
        answers: Probabilities ``[*, C]``, or of the second class ``[*, T]``.
        sharpness: The power, ``[1]``, or one for every label ``[T]``; below 1 they become humbler.
        task: What is predicted.
    """
    kept = answers.double().clamp(NEAREST, 1 - NEAREST)
    if task.has_classes:
        return (kept.log() * sharpness).softmax(-1)
    return (kept.logit() * sharpness).sigmoid()


def fitted_sharpness(known: OutOfFold, task: Task) -> Tensor:
    """The power by which out-of-fold predictions are likeliest (temperature scaling, Guo et al.,
    On Calibration of Modern Neural Networks, 2017): ``[1]``, or one for every label ``[T]``. Its
    logarithm to base 2 is held to be normal about 0, so that few graphs move it little.
    """
    said = known.predictions.double()
    if task.has_classes:
        return torch.tensor([_likeliest(said, known.y.long(), task)])
    return torch.tensor([
        _likeliest(said[there, t][:, None], known.y[there, t][:, None], task)
        for t, there in enumerate(known.y.isfinite().T)
    ])  # fmt: skip


def _likeliest(said: Tensor, y: Tensor, task: Task) -> float:
    if len(y) == 0:
        return 1.0

    def surprise(log_power: float) -> float:
        power = torch.tensor([2.0**log_power], dtype=torch.float64)
        found = sharpened(said, power, task)
        if task.has_classes:
            of_graphs = -float(found[torch.arange(len(y)), y].log().sum())
        else:
            of_graphs = float(binary_cross_entropy(found, y.double(), reduction="sum"))
        return of_graphs + log_power**2 / 2

    most = torch.tensor(SHARPEST).log2().item()
    return float(2.0 ** minimize_scalar(surprise, bounds=(-most, most), method="bounded").x)


def decided(answers: Tensor, task: Task, threshold: Tensor | None = None) -> Tensor:
    """The place of the class ``[G]``, or of that of every label ``[G, T]``.

    Args:
        answers: Probabilities ``[G, C]``, or of the second class ``[G, T]``.
        task: What is predicted.
        threshold: From which probability of the second class on it is said, ``[1]`` or ``[T]``; the
            likeliest class is said unless given.
    """
    if not task.has_classes:
        return (answers > 0.5 if threshold is None else answers >= threshold.to(answers)).long()
    if threshold is None:
        return answers.argmax(1)
    return (answers[:, 1] >= threshold.to(answers)[0]).long()


def best_threshold(known: OutOfFold, task: Task, metric: str, sharpness: Tensor | None) -> Tensor:
    """The threshold by which a metric of the out-of-fold decisions is best, ``[1]`` or one for
    every label ``[T]``; of several equally good ones the nearest to one half.
    """
    check_two_classes(task)
    if metric not in DECISIVE:
        raise ValueError(
            f"A threshold is a number between 0 and 1, or chosen by one of {', '.join(DECISIVE)}, "
            f"got {metric!r}."
        )
    said = known.predictions
    said = said.double() if sharpness is None else sharpened(said, sharpness, task)
    if task.has_classes:
        return torch.tensor([_best(said[:, 1], known.y.long(), metric)], dtype=torch.float64)
    found = [
        _best(said[there, t], known.y[there, t].long(), metric)
        for t, there in enumerate(known.y.isfinite().T)
    ]
    return torch.tensor(found, dtype=torch.float64)


def given_threshold(threshold: float, task: Task) -> Tensor:
    """A threshold that was given as a number, ``[1]``, or the same for every label ``[T]``."""
    try:
        value = float(threshold)
    except (TypeError, ValueError, RuntimeError):  # nothing, or several numbers
        value = math.nan
    if not 0 <= value <= 1:
        raise ValueError(f"A threshold must lie between 0 and 1, got {threshold!r}.")
    number = 1 if task.has_classes else len(task.targets)
    return torch.full((number,), value, dtype=torch.float64)


def check_two_classes(task: Task) -> None:
    """Raise an error unless one probability decides."""
    if len(task.classes) != 2:
        raise ValueError(
            f"A threshold needs two classes, got {task}. Leave it out: the likeliest class is said."
        )


def _best(said: Tensor, y: Tensor, metric: str) -> float:
    positives, negatives = int((y == 1).sum()), int((y == 0).sum())
    if not positives or not negatives:
        return 0.5
    ends = torch.tensor([0.0, 1.0], dtype=said.dtype)
    steps = torch.cat([said, ends]).unique()
    tried = torch.cat([(steps[1:] + steps[:-1]) / 2, torch.tensor([0.5], dtype=said.dtype)])
    tried = tried[(tried - 0.5).abs().argsort(stable=True)]
    missed = torch.searchsorted(said[y == 1].sort().values, tried)  # first class, falsely
    right = torch.searchsorted(said[y == 0].sort().values, tried)  # first class, rightly
    found = positives - missed
    if metric == "accuracy":
        return float(tried[int((found + right).argmax())])
    return float(tried[int((found / positives + right / negatives).argmax())])

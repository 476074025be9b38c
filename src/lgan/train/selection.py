"""The rules by which curves become a number: three of this field, and one that averages models.

A curve holds the metric on a held-out fold after every epoch; NaN where the fold does not define
it (a fold with one class has no ROC-AUC), which leaves the fold out of means. A rule may choose its
epoch on the mean over a window of epochs that ends there; it reads the metric at the epoch itself.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from math import isnan
from typing import Any

import torch
from torch import Tensor

RULES = ("gin", "fold-max", "fair", "bagged")
# Means that differ by less, relatively, are equal: records round curves to nine digits.
ROUNDING = 1e-8


@dataclass(frozen=True)
class Selected:
    """A mean over folds, its deviation, and the rule it comes from.

    Attributes:
        rule: Name of the rule.
        mean: Mean over folds.
        std: Standard deviation over folds (population).
        folds: The metric in every fold.
        epochs: Epoch each fold was read at, counted from 1.
    """

    rule: str
    mean: float
    std: float
    folds: tuple[float, ...]
    epochs: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values; ``None`` for a fold that does not define the metric."""
        plain = asdict(self)
        for name in ("mean", "std"):
            plain[name] = None if isnan(plain[name]) else plain[name]
        return {**plain, "folds": [None if isnan(value) else value for value in self.folds]}


def select(
    rule: str, test: Tensor, chosen_on: Tensor, *, higher: bool = True, window: int = 1
) -> Selected:
    """The result by a rule.

    - ``gin`` (Xu et al.): the single epoch with the best mean over folds, read on the held-out
      folds. Optimistic: the epoch is chosen on what is reported.
    - ``fold-max``: every fold at its own best epoch. For comparison only: it flatters by several
      points.
    - ``fair`` (Errica et al.): every fold at the epoch chosen on an inner hold-out; the test fold
      is read once. That holds for the epoch alone: the default settings of the registered data
      sets were searched on these very folds.
    - ``bagged``: strict nesting with members. Every fold is read once, by the averaged predictions
      of models that each hold out another inner fold, at the epoch chosen on these together.

    Args:
        rule: One of :data:`RULES`.
        test: The metric on the test fold, of the averaged predictions for ``bagged``
            ``[folds, epochs]``.
        chosen_on: The metric that epochs are chosen on ``[folds, epochs]``: ``test`` itself, or for
            ``fair`` that of the same models on their inner hold-out, for ``bagged`` the mean of the
            members' metrics on theirs.
        higher: Whether more of the metric is better.
        window: Epochs over which the metric is averaged before an epoch is chosen.
    """
    if rule == "gin":
        epochs = [best_epoch(chosen_on, higher=higher, window=window)] * test.size(0)
    else:
        epochs = best_epochs(chosen_on, higher=higher, window=window).tolist()
    folds = test[range(test.size(0)), epochs].double()
    known = folds[~folds.isnan()]
    return Selected(
        rule=rule,
        mean=float(known.mean()),
        std=float(known.std(unbiased=False)) if known.numel() else torch.nan,
        folds=tuple(folds.tolist()),
        epochs=tuple(epoch + 1 for epoch in epochs),
    )


def best_epoch(curves: Tensor, *, higher: bool = True, window: int = 1) -> int:
    """The epoch with the best mean over folds, counted from 0.

    Of several it is the first, as in the published rules, and with a window the last: where the
    metric stays at its best, probabilities still become better. Sums of the same numbers in another
    order differ in the last bit: that is no difference here.

    Args:
        curves: The metric by fold and epoch ``[folds, epochs]``.
        higher: Whether more of the metric is better.
        window: Epochs, up to and with an epoch, over which its mean is averaged.

    Example:
        >>> best_epoch(torch.tensor([[1.0, 3.0, 2.0]])), best_epoch(torch.tensor([[1.0, 0.5]]),
        ...                                                         higher=False)
        (1, 1)
        >>> best_epoch(torch.tensor([[1.0, 3.0, 1.0, 2.0, 2.5]]), window=2)
        4
        >>> [best_epoch(torch.ones(1, 4), window=window) for window in (1, 2)]
        [0, 3]
    """
    return int(best_epochs(mean_over_models(curves)[None], higher=higher, window=window))


def best_epochs(curves: Tensor, *, higher: bool = True, window: int = 1) -> Tensor:
    """:func:`best_epoch` of every row of ``[n, epochs]`` on its own ``[n]``."""
    curves = curves.double()
    if window > 1:
        before = curves.new_full((curves.size(0), window - 1), torch.nan)
        curves = torch.cat([before, curves], 1).unfold(1, window, 1).nanmean(2)
    curves = curves if higher else -curves
    curves = curves.masked_fill(curves.isnan(), -torch.inf)
    best = curves.amax(1, keepdim=True)
    among = (curves >= best - ROUNDING * best.abs()).int()
    if window > 1:
        return among.size(1) - 1 - among.flip(1).argmax(1)
    return among.argmax(1)


def has_stopped(
    choices: Sequence[Tensor], *, patience: int, window: int = 1, higher: bool = True
) -> bool:
    """Whether no epoch of the last ``patience`` is as good, for any choice, as the best before.

    By the rule of :func:`best_epoch`: with a window, the metric may stay at its best.

    Args:
        choices: The metric so far of the models that choose together ``[models, epochs]``, for
            every choice.
        patience: Number of epochs; 0 and less go on for ever.
        window: Epochs over which the metric is averaged before an epoch is chosen.
        higher: Whether more of the metric is better.
    """
    if patience <= 0 or choices[0].size(1) <= patience:
        return False
    means = torch.stack([mean_over_models(curves) for curves in choices])
    latest = int(best_epochs(means, higher=higher, window=window).max())
    return choices[0].size(1) - 1 - latest >= patience


def stop_epoch(
    choices: Sequence[Tensor], *, patience: int, window: int = 1, higher: bool = True
) -> int:
    """After how many epochs training stops, see :func:`has_stopped`, from curves over all."""
    ended = partial(has_stopped, patience=patience, window=window, higher=higher)
    epochs = choices[0].size(1)
    return next((n for n in range(1, epochs) if ended([c[:, :n] for c in choices])), epochs)


def mean_over_models(curves: Tensor) -> Tensor:
    """The mean over models ``[epochs]``; NaN, where a fold does not define the metric, is left
    out.
    """
    if len(curves) == 1:  # a hundred models that choose alone are looked at after every epoch
        return curves[0]
    return curves.nanmean(0) if bool(curves.isnan().any()) else curves.mean(0)

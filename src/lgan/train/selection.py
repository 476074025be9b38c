"""The three rules by which this field turns curves into a number.

A curve holds the metric on a held-out fold after every epoch; NaN where the fold does not define
it (a fold with one class has no ROC-AUC), which leaves the fold out of means.
"""

from dataclasses import asdict, dataclass
from math import isnan
from typing import Any

import torch
from torch import Tensor

__all__ = ["RULES", "Selected", "best_epoch", "fair", "fold_max", "gin"]

RULES = ("gin", "fold-max", "fair")


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


def gin(test: Tensor, *, higher: bool = True) -> Selected:
    """Xu et al.: the single epoch with the best mean over folds, read on the held-out folds.

    Optimistic: the epoch is chosen on what is reported.

    Args:
        test: The metric on the held-out fold by fold and epoch ``[folds, epochs]``.
        higher: Whether more of the metric is better.
    """
    return _read("gin", test, [best_epoch(test, higher=higher)] * test.size(0))


def fold_max(test: Tensor, *, higher: bool = True) -> Selected:
    """Every fold at its own best epoch. For comparison only: it flatters by several points."""
    return _read("fold-max", test, [best_epoch(row[None], higher=higher) for row in test])


def fair(test: Tensor, validation: Tensor, *, higher: bool = True) -> Selected:
    """Errica et al.: every fold at the epoch chosen on an inner hold-out; the test fold is read
    once.

    That holds for the epoch alone: the default settings of the registered data sets were searched
    on these very folds.

    Args:
        test: The metric on the test fold ``[folds, epochs]``.
        validation: The metric of the same models on their inner hold-out ``[folds, epochs]``.
        higher: Whether more of the metric is better.
    """
    return _read("fair", test, [best_epoch(row[None], higher=higher) for row in validation])


def best_epoch(curves: Tensor, *, higher: bool = True) -> int:
    """The first epoch with the best mean over folds, counted from 0.

    Args:
        curves: The metric by fold and epoch ``[folds, epochs]``.
        higher: Whether more of the metric is better.

    Example:
        >>> best_epoch(torch.tensor([[1.0, 3.0, 2.0]])), best_epoch(torch.tensor([[1.0, 0.5]]),
        ...                                                         higher=False)
        (1, 1)
    """
    mean = _mean(curves, 0) if higher else -_mean(curves, 0)
    return int(mean.masked_fill(mean.isnan(), -torch.inf).argmax())


def _mean(curves: Tensor, dim: int) -> Tensor:
    return curves.nanmean(dim) if bool(curves.isnan().any()) else curves.mean(dim)


def _read(rule: str, curves: Tensor, epochs: list[int]) -> Selected:
    folds = curves[range(curves.size(0)), epochs].double()
    known = folds[~folds.isnan()]
    return Selected(
        rule=rule,
        mean=float(known.mean()),
        std=float(known.std(unbiased=False)) if known.numel() else torch.nan,
        folds=tuple(folds.tolist()),
        epochs=tuple(epoch + 1 for epoch in epochs),
    )

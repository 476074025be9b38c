"""The three rules by which this field turns curves into a number."""

from dataclasses import dataclass

from torch import Tensor

__all__ = ["RULES", "Selected", "fair", "fold_max", "gin"]

RULES = ("gin", "fold-max", "fair")


@dataclass(frozen=True)
class Selected:
    """A mean accuracy, its deviation over folds, and the rule it comes from.

    Attributes:
        rule: Name of the rule.
        mean: Mean over folds.
        std: Standard deviation over folds (population).
        folds: Accuracy of every fold.
        epochs: Epoch each fold was read at, counted from 1.
    """

    rule: str
    mean: float
    std: float
    folds: tuple[float, ...]
    epochs: tuple[int, ...]


def gin(test: Tensor) -> Selected:
    """Xu et al.: the single epoch with the best mean over folds, read on the held-out folds.

    Optimistic: the epoch is chosen on what is reported.

    Args:
        test: Accuracy on the held-out fold by fold and epoch ``[folds, epochs]``.
    """
    epoch = int(test.mean(0).argmax())
    return _read("gin", test, [epoch] * test.size(0))


def fold_max(test: Tensor) -> Selected:
    """Every fold at its own best epoch. For comparison only: it flatters by several points."""
    return _read("fold-max", test, test.argmax(1).tolist())


def fair(test: Tensor, validation: Tensor) -> Selected:
    """Errica et al.: every fold at the epoch chosen on an inner hold-out; the test fold is read
    once.

    Args:
        test: Accuracy on the test fold ``[folds, epochs]``.
        validation: Accuracy of the same models on their inner hold-out ``[folds, epochs]``.
    """
    return _read("fair", test, validation.argmax(1).tolist())


def _read(rule: str, curves: Tensor, epochs: list[int]) -> Selected:
    folds = curves[range(curves.size(0)), epochs].double()
    return Selected(
        rule=rule,
        mean=float(folds.mean()),
        std=float(folds.std(unbiased=False)),
        folds=tuple(folds.tolist()),
        epochs=tuple(epoch + 1 for epoch in epochs),
    )

"""The paired test over folds, corrected for training sets that overlap."""

import math
from collections.abc import Sequence
from statistics import fmean

LEVEL = 0.05
TEST = (
    "paired t-test over folds with the variance corrected for overlapping training sets "
    "(Nadeau and Bengio, 2003), two-sided, p < 0.05, not adjusted for the number of comparisons"
)


def corrected_t_test(a: Sequence[float], b: Sequence[float], test_share: float) -> float:
    r"""The two-sided p-value of the corrected resampled t-test (Nadeau and Bengio, 2003).

    .. math::
        t = \frac{\bar d}{\sqrt{(1/k + n_{test}/n_{train})\, s_d^2}}, \quad k - 1
        \text{ degrees of freedom}

    where ``d`` are the differences of ``k`` folds. The second term stands for the correlation of
    models whose training sets overlap; without it the test finds far too much.

    Args:
        a: Accuracy of one model in every fold.
        b: Accuracy of the other in the same folds.
        test_share: Size of a test fold over the size of its training part.

    Example:
        >>> round(corrected_t_test([0.9, 0.8, 0.7], [0.8, 0.7, 0.7], 0.5), 3)
        0.333
    """
    from scipy.stats import t as student

    if len(a) != len(b) or len(a) < 2:
        raise ValueError(
            f"Expected the same two folds or more for both models, got {len(a)} and {len(b)}. "
            "Compare records with the same folds."
        )
    d = [x - y for x, y in zip(a, b, strict=True)]
    k, mean = len(d), math.fsum(d) / len(d)
    variance = math.fsum((x - mean) ** 2 for x in d) / (k - 1)
    # Differences that are all the same up to rounding leave nothing to doubt.
    if variance < 1e-24:
        return 1.0 if abs(mean) < 1e-12 else 0.0
    t = mean / math.sqrt((1 / k + test_share) * variance)
    return float(2 * student.sf(abs(t), k - 1))


def mark(a: Sequence[float], b: Sequence[float], test_share: float) -> str:
    """▼ where ``a`` is significantly below ``b``, ▲ where it is above; see above."""
    if corrected_t_test(a, b, test_share) >= LEVEL:
        return ""
    return " ▼" if fmean(a) < fmean(b) else " ▲"

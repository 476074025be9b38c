"""Intervals and sets of classes that hold the truth as often as they say.

Residuals of graphs by members that had not seen them say how far off predictions of new graphs are
(Barber et al., Predictive Inference with the Jackknife+, 2021; Romano et al., Classification with
Valid and Adaptive Coverage, 2020). Where every graph was held out by some member this is CV+; where
only some were, it is split conformal prediction on these.
"""

import math

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from lgan.task import Task
from lgan.train.out_of_fold import OutOfFold

# Held-out folds from which on every fold's own members speak for it.
FEWEST_FOLDS = 5
# Numbers of new by known graphs that are taken at a time, for which 0.5 GiB are needed.
BLOCK = 1 << 24


def check_alpha(alpha: float) -> None:
    """Raise an error unless this is a share of misses."""
    try:
        right = bool(0 < alpha < 1)
    except (TypeError, ValueError, RuntimeError):  # a text, or several numbers
        right = False
    if not right:
        raise ValueError(
            f"`alpha` must lie between 0 and 1, got {alpha!r}. It is the share of new graphs whose "
            "truth may lie outside: 0.1 for intervals of 90 %."
        )


def prediction_intervals(members: Tensor, known: OutOfFold, alpha: float) -> Tensor:
    """Lower and upper ends for numbers ``[m, T, 2]``; they hold the mean of the members.

    Args:
        members: What each member says of new graphs ``[K, m, T]``.
        known: Out-of-fold predictions.
        alpha: Share of misses.
    """
    check_alpha(alpha)
    point, speakers, speaker = members.mean(0).double(), *_speakers(members, known)
    ends = []
    for target in range(point.size(1)):
        there = known.y[:, target].isfinite()
        residual = (known.y - known.predictions)[there, target].abs().double()
        n, middle = len(residual), point[:, target]
        # Ranks as the theorem has them; too few graphs say nothing of so rare a miss.
        low, high = math.floor(alpha * (n + 1)), math.ceil((1 - alpha) * (n + 1))
        if low < 1 or high > n:
            ends.append(torch.stack([middle - torch.inf, middle + torch.inf], 1))
            continue
        own, rows = speaker[there], max(1, BLOCK // n)
        lower, upper = torch.empty_like(middle), torch.empty_like(middle)
        for some in torch.arange(len(middle)).split(rows):
            centre = speakers[:, some, target][own].T.double()  # [rows, n]
            lower[some] = (centre - residual).kthvalue(low, 1).values
            upper[some] = (centre + residual).kthvalue(high, 1).values
        ends.append(torch.stack([torch.minimum(lower, middle), torch.maximum(upper, middle)], 1))
    return torch.stack(ends, 1)


def prediction_sets(members: Tensor, known: OutOfFold, alpha: float, task: Task) -> Tensor:
    """Which classes may be true ``[m, C]``; for several labels ``[m, T, 2]``; none where a member
    says what is not finite.

    Args:
        members: Probabilities by each member ``[K, m, C]``, or of the second class ``[K, m, T]``.
        known: Out-of-fold predictions.
        alpha: Share of misses.
        task: What is predicted.
    """
    check_alpha(alpha)
    if task.has_classes:
        return _sets(members, known, alpha)
    found = []
    for target in range(members.size(2)):
        there = known.y[:, target].isfinite()
        label, said = known.y[there, target], known.predictions[there, target]
        both = OutOfFold(
            label.long(), torch.stack([1 - said, said], 1), known.fold[there], known.held_out
        )
        second = members[..., target]
        found.append(_sets(torch.stack([1 - second, second], -1), both, alpha))
    return torch.stack(found, 1)


def _sets(members: Tensor, known: OutOfFold, alpha: float) -> Tensor:
    """Classes that are not stranger than all but a few of the graphs whose class is known."""
    n = len(known.y)
    strange = 1 - known.predictions[torch.arange(n), known.y.long()].double()
    speakers, speaker = _speakers(members, known)
    below = torch.zeros(members.shape[1:], dtype=torch.int64)
    for number, said in enumerate(speakers):
        ordered = strange[speaker == number].sort().values
        below += torch.searchsorted(ordered, (1 - said.double()).contiguous())
    # An empty set would say that no class is possible.
    likeliest = one_hot(members.mean(0).argmax(-1), members.size(-1)).bool()
    said_all = members.isfinite().all(0).all(-1, keepdim=True)
    return ((below < (1 - alpha) * (n + 1)) | likeliest) & said_all


def _speakers(members: Tensor, known: OutOfFold) -> tuple[Tensor, Tensor]:
    """What is said of new graphs for each known one: ``[F, m, O]``, and which of the ``F`` ``[n]``.

    For a known graph the members speak that had not seen it; where few folds were held out, all of
    them.
    """
    folds = known.folds
    if len(folds) < FEWEST_FOLDS:
        return members.mean(0, keepdim=True), torch.zeros_like(known.fold)
    each = torch.stack([members[known.held_out == fold].mean(0) for fold in folds])
    return each, torch.searchsorted(torch.tensor(folds), known.fold)

"""What a member and its companion say together, and the share of the companion in it.

Numbers are mixed as they are, probabilities by their logarithms: a member that is too sure of
itself has less to say then, and the share with the least log-loss is a good one of their mean too.
"""

import torch
from torch import Tensor

from lgan.task import Task
from lgan.train.objective import Objective

# The shares that are tried.
SHARES = torch.linspace(0, 1, 11, dtype=torch.float64)
# Of numbers, of the share that is best for single members: the mean of members is better.
OF_BEST_SHARE = 0.5
# Added to probabilities before their logarithm is taken: nothing is said for certain.
LEAST = 1e-3
# Regressions say less than 0 or more than 1 of classes: how far from there they are bent.
BENT = 0.1


def in_range(said: Tensor, task: Task) -> Tensor:
    """What a regression says as the task has it: of classes probabilities, in the order of what was
    said, and numbers as they are.
    """
    if not task.classes:
        return said
    if task.has_classes:
        positive = _positive(said)
        return positive / positive.sum(-1, keepdim=True)
    positive = _positive(said)
    return positive / (positive + _positive(1 - said))


def joined(said: Tensor, other: Tensor, share: float | Tensor, task: Task) -> Tensor:
    """What both say together where a member says one thing and its companion another ``[…, O]``;
    without a share, what the member says.
    """
    if not task.classes:
        return _mixed(said, other, share)
    if task.has_classes:
        both = _mixed(_logs(said), _logs(other), share).softmax(-1)
    else:
        both = _mixed(_log_odds(said), _log_odds(other), share).sigmoid()
    return torch.where(torch.as_tensor(share) > 0, both, said)


def losses(
    objective: Objective,
    model: int,
    graphs: Tensor,
    said: Tensor,
    other: Tensor,
    weight: Tensor | None = None,
) -> Tensor:
    """What the share comes from: the loss of what a member and its companion say together of graphs
    that both held out, summed over these, for every one of `SHARES` ``[S]``. Of numbers it is the
    squared error in the units of the training part, of classes the log-loss.
    """
    task, shares = objective.task, SHARES[:, None, None]
    truth = truth_of(task, objective.y[graphs])
    said, other = said.double(), other.double()
    if not task.classes:
        off = joined(said, other, shares, task) - truth
        each = (off / unit_of(objective, model, truth)).square()
    elif task.has_classes:
        each = -truth * _mixed(_logs(said), _logs(other), shares).log_softmax(-1)
    else:
        odds = _mixed(_log_odds(said), _log_odds(other), shares)
        each = torch.nn.functional.softplus(odds) - truth * odds
    own = torch.ones(len(graphs)) if weight is None else weight.cpu()[graphs]
    return (own[:, None] * each).nansum((1, 2))


def share_of(lost: Tensor, task: Task) -> Tensor:
    """The share of companions by the :func:`losses` of all members ``[…, S]``, the least of those
    that are level.
    """
    best = SHARES[lost.argmin(-1)]
    return best if task.classes else OF_BEST_SHARE * best


def truth_of(task: Task, y: Tensor) -> Tensor:
    """The answers that would be right ``[G, O]``, in double precision; NaN where none is known."""
    if not task.has_classes:
        return y.double()
    right = torch.nn.functional.one_hot(y.clamp(min=0).long(), task.num_outputs).double()
    return right.masked_fill(~task.present(y), torch.nan)


def unit_of(objective: Objective, model: int, like: Tensor) -> Tensor:
    """The deviation of every target in the training part of a model; 1 of classes."""
    scale = objective.scale
    return like.new_ones(like.size(1)) if scale is None else scale.std[model].to(like)


def _mixed(own: Tensor, other: Tensor, share: float | Tensor) -> Tensor:
    return own + share * (other - own)


def _logs(probability: Tensor) -> Tensor:
    return torch.log(probability + LEAST)


def _log_odds(probability: Tensor) -> Tensor:
    return torch.log((probability + LEAST) / (1 - probability + LEAST))


def _positive(said: Tensor) -> Tensor:
    """A number above 0 for every number, in their order; nearly the same from `BENT` on."""
    return (said + (said.square() + BENT**2).sqrt()) / 2

"""The share of companions in what members and they say together."""

import torch
from torch import Tensor

from lgan.task import Task
from lgan.train.objective import Objective

# Of the share that is best for single members on graphs like the others: their mean is better.
OF_BEST_SHARE = 0.5
# The least probability, before they are made to add up to 1.
LEAST = 1e-6


def in_range(said: Tensor, task: Task) -> Tensor:
    """What a regression says as the task has it: of classes probabilities, numbers as they are."""
    if not task.classes:
        return said
    kept = said.clamp(0, 1)
    if not task.has_classes:
        return kept
    kept = kept + LEAST  # a row may have nothing else
    return kept / kept.sum(-1, keepdim=True)


def truth_of(task: Task, y: Tensor) -> Tensor:
    """The answers that would be right ``[G, O]``, in double precision; NaN where none is known."""
    if not task.has_classes:
        return y.double()
    right = torch.nn.functional.one_hot(y.clamp(min=0).long(), task.num_outputs).double()
    return right.masked_fill(~task.present(y), torch.nan)


def agreement(
    objective: Objective,
    model: int,
    graphs: Tensor,
    said: Tensor,
    other: Tensor,
    weight: Tensor | None = None,
) -> Tensor:
    """What the share comes from: how far what a companion says leads from what its member says
    towards the truth, and how far it leads at all, summed over graphs that both held out ``[2]``.
    """
    truth = truth_of(objective.task, objective.y[graphs])
    unit = unit_of(objective, model, truth)
    step, left = (other - said) / unit, (truth - said) / unit
    own = torch.ones(len(graphs)) if weight is None else weight.cpu()[graphs]
    both = torch.stack([step * left, step.square().masked_fill(left.isnan(), 0)])
    return (own[:, None] * both).nansum((1, 2))


def share_of(agreements: Tensor) -> Tensor:
    """The share of companions by what :func:`agreement` found of all members ``[…, 2]``: that with
    the least squared error of single members, and less, as their mean is better.
    """
    towards, length = agreements.unbind(-1)
    best = towards / length.clamp(min=1e-12)
    return OF_BEST_SHARE * best.nan_to_num(0.0).clamp(0, 1)  # NaN where weights are too large


def unit_of(objective: Objective, model: int, like: Tensor) -> Tensor:
    """The deviation of every target in the training part of a model; 1 of classes."""
    scale = objective.scale
    return like.new_ones(like.size(1)) if scale is None else scale.std[model].to(like)

"""The folds that the members of an estimator hold out."""

import warnings
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from lgan.data.split_words import group_folds
from lgan.data.splits import stratified_folds
from lgan.estimator.rows import FEWEST_GRAPHS
from lgan.graph import GraphUnion


def member_folds(
    members: int,
    union: GraphUnion,
    seed: int,
    graphs: Tensor,
    groups: Sequence[Any] | None = None,
) -> Tensor:
    """The fold of some graphs: with groups together, or the target spread evenly."""
    task, y = union.known_task, union.y.cpu()[graphs]
    if len(y) < FEWEST_GRAPHS:
        raise ValueError(
            f"{FEWEST_GRAPHS} graphs or more must be left to train on, so that some can be "
            f"held out, got {len(y)} that can be read and have a target. Add graphs."
        )
    number = 10 if members == 1 else max(5, members)
    if groups is not None:
        return group_folds(groups, number, seed, at_most=True)
    if not task.has_classes:
        strata = task.strata(y, number).clamp(min=0)
        return stratified_folds(strata, number, seed, at_most=True)
    sizes = torch.bincount(y, minlength=len(task.classes))
    fewest = int(sizes.argmin())
    if int(sizes[fewest]) < 2:
        raise ValueError(
            "Every class must have two graphs or more that can be read, so that some are held "
            f"out and others trained on, got {int(sizes[fewest])} of {task.classes[fewest]!r}. "
            "Add graphs of that class, or leave it out."
        )
    fold = stratified_folds(y, number, seed, at_most=True)
    if (made := int(fold.max()) + 1) < 5:
        warnings.warn(
            f"The rarest class has {made} graphs, so that {made} folds are made instead of "
            f"{number}, and every member trains on {1 - 1 / made:.0%} of the graphs.",
            stacklevel=3,
        )
    return fold

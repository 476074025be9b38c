"""Folds for cross-validation: which graph is held out when."""

from collections.abc import Sequence
from itertools import count
from pathlib import Path

import torch
from torch import Tensor

from lgan.catalogue import DATASETS

# The fold of a graph that nothing is trained on and nothing chosen by.
OUTSIDE = -2


def drawn_folds(
    dataset: str,
    y: Tensor,
    num_folds: int = 10,
    seed: int = 0,
    *,
    at_most: bool = False,
    names: Sequence[str] = (),
) -> Tensor:
    """Stratified folds of a data set, see :func:`stratified_folds`; partners share one.

    Otherwise what a network learns of one partner by heart is wrong for the other, and a network
    that cannot tell them apart comes out below chance.
    """
    if dataset in DATASETS and DATASETS[dataset].paired:
        one = torch.zeros_like(y[::2])
        return stratified_folds(one, num_folds, seed, at_most=at_most).repeat_interleave(2)
    return stratified_folds(y, num_folds, seed, at_most=at_most, names=names)


def stratified_folds(
    y: Tensor,
    num_folds: int = 10,
    seed: int = 0,
    *,
    at_most: bool = False,
    names: Sequence[str] = (),
) -> Tensor:
    """The fold in which each graph is held out, with every class spread evenly.

    Args:
        y: The class of every graph.
        num_folds: How many folds to make.
        seed: Fixes the shuffling.
        at_most: Make fewer folds where a class has fewer graphs, down to two.
        names: What the classes are called, for messages.

    Shapes:
        ``y [G]``, returns ``[G]`` with values ``0..num_folds - 1``.

    Example:
        >>> y = torch.tensor([0, 0, 1, 1])
        >>> stratified_folds(y, num_folds=2).bincount().tolist()
        [2, 2]
        >>> stratified_folds(y, num_folds=10, at_most=True).bincount().tolist()
        [2, 2]
    """
    if y.ndim != 1 or len(y) == 0:
        raise ValueError(
            f"`y` must hold one class per graph, shape [G], got {list(y.shape)}. "
            "Pass the labels of at least one graph."
        )
    classes, sizes = torch.unique(y, return_counts=True)
    rarest, there = int(classes[sizes.argmin()]), int(sizes.min())
    rule = "Every class must have at least as many graphs as there are folds"
    got = f"{there} of class {repr(names[rarest]) if names else rarest}"
    if len(classes) == 1:  # which is no class where targets are numbers
        rule, got = "There must be at least as many graphs as folds", str(there)
    num_folds = possible_folds(num_folds, there, rule, got, at_most=at_most)
    from sklearn.model_selection import StratifiedKFold

    folds = torch.empty(len(y), dtype=torch.int64)
    splitter = StratifiedKFold(n_splits=num_folds, shuffle=True, random_state=seed)
    labels = y.cpu().numpy()
    for k, (_, held_out) in enumerate(splitter.split(labels, labels)):
        folds[torch.from_numpy(held_out)] = k
    return folds


def possible_folds(num_folds: int, there: int, rule: str, got: str, *, at_most: bool) -> int:
    """How many folds to make where no more are possible than there are graphs or groups: an error
    that tells the rule and what is there, or, with ``at_most``, fewer than wanted, down to two.
    """
    if num_folds < 2:
        raise ValueError(f"`num_folds` must be 2 or more, got {num_folds}. Choose 10, as usual.")
    number = min(num_folds, max(2, there)) if at_most else num_folds
    if there < number:
        remedy = "Choose fewer folds." if number > 2 else "Two are the fewest: add graphs."
        raise ValueError(f"{rule} ({number}), got {got}. {remedy}")
    return number


def read_folds(folder: str | Path, num_graphs: int) -> Tensor:
    """Folds from the files published with GIN, ``test_idx-K.txt`` and ``train_idx-K.txt``.

    Args:
        folder: Holds two files of 0-based graph ids per fold ``K = 1, 2, ...``.
        num_graphs: The number of graphs of the set.

    Returns:
        The fold, ``0..K - 1``, in which each graph is held out, ``[G]``; ``-1`` for a graph
        that is never held out and hence always trained on.
    """
    folder = Path(folder)
    folds = torch.full((num_graphs,), -1, dtype=torch.int64)
    for k in count():
        test_file = folder / f"test_idx-{k + 1}.txt"
        train_file = folder / f"train_idx-{k + 1}.txt"
        if not test_file.exists() and not train_file.exists() and k >= 2:
            return folds
        test, train = _read_ids(test_file, num_graphs), _read_ids(train_file, num_graphs)
        if (twice := _first(test & train)) is not None:
            raise ValueError(
                f"{test_file} and {train_file} must not share a graph, got {twice} in both. "
                "Remove it from one of them."
            )
        if (lost := _first(~(test | train))) is not None:
            raise ValueError(
                f"{train_file} must hold every graph that {test_file} does not, got no {lost}. "
                f"Add it, or check that the set has {num_graphs} graphs."
            )
        if (twice := _first(test & (folds >= 0))) is not None:
            raise ValueError(
                f"A graph must be held out once, got {twice} in {test_file} and in "
                f"test_idx-{int(folds[twice]) + 1}.txt. Remove it from one of them."
            )
        folds[test] = k
    raise AssertionError("count() does not end")


def check_folds(folds: Tensor, y: Tensor, *, outside: bool = False) -> None:
    """Refuse folds on which nothing can be trained or tested.

    Every fold from 0 to the largest must hold out a graph, and what remains for training must
    have graphs of at least two classes.

    Args:
        folds: The fold in which each graph is held out, ``-1`` for never.
        y: The class of every graph.
        outside: Whether graphs may be left out of everything, as :data:`OUTSIDE`; one fold of the
            others is then enough.

    Shapes:
        ``folds [G]``, ``y [G]``.
    """
    if folds.shape != y.shape or folds.ndim != 1:
        raise ValueError(
            f"`folds` must have one entry per graph, shape {list(y.shape)}, got "
            f"{list(folds.shape)}. Make or read them for this set."
        )
    num_folds = int(folds.max()) + 1 if len(folds) else 0
    inside = folds != OUTSIDE
    apart = outside and not bool(inside.all())
    if num_folds < (1 if apart else 2) or int(folds.min()) < (OUTSIDE if apart else -1):
        raise ValueError(
            "`folds` must number two folds or more from 0, with -1 for graphs never held out, got "
            f"{torch.unique(folds).tolist()[:8]}. Use `stratified_folds` or `read_folds`."
        )
    for k in range(num_folds):
        held_out = folds == k
        if not bool(held_out.any()):
            raise ValueError(
                f"Every fold must hold out a graph, got none in fold {k + 1} of {num_folds}. "
                "Choose fewer folds."
            )
        classes = torch.unique(y[~held_out & inside]).tolist()
        if len(classes) < 2:
            raise ValueError(
                "The training part of every fold must hold at least two classes, got only "
                f"{classes} in fold {k + 1} of {num_folds}. Use `stratified_folds` or add graphs."
            )


def _read_ids(file: Path, num_graphs: int) -> Tensor:
    """Which graphs a file names, as a mask ``[G]``."""
    if not file.is_file():
        raise FileNotFoundError(
            f"Expected the fold file {file}, got none. A folder of folds holds test_idx-K.txt and "
            "train_idx-K.txt for K = 1, 2, and so on."
        )
    mask = torch.zeros(num_graphs, dtype=torch.bool)
    for number, line in enumerate(file.read_text(errors="replace").splitlines(), start=1):
        for word in line.split():
            if not word.isdecimal() or int(word) >= num_graphs:
                raise ValueError(
                    f"{file}, line {number}: expected a graph id from 0 to {num_graphs - 1}, got "
                    f"{word[:60]!r}. Use the folds of this very set."
                )
            if mask[int(word)]:
                raise ValueError(
                    f"{file}, line {number}: expected every graph once, got {word} again. "
                    "Remove the line."
                )
            mask[int(word)] = True
    return mask


def _first(mask: Tensor) -> int | None:
    return int(mask.nonzero()[0]) if bool(mask.any()) else None

"""Folds by one word: ``stratified``, ``random``, ``scaffold``, ``group:COLUMN`` and others."""

import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lgan._optional import require
from lgan.data.raw import RawGraphs
from lgan.data.splits import OUTSIDE, drawn_folds, possible_folds, read_folds
from lgan.task import Task
from lgan.task.cells import spelled

SPLITS = ("stratified", "random", "scaffold", "group:COLUMN", "column:NAME", "published:FOLDER")
PARTS = {  # what a column may call the parts, and the fold in which they are held out
    "train": -1, "training": -1,
    "test": OUTSIDE, "testing": OUTSIDE,
    "val": 0, "valid": 0, "validation": 0, "dev": 0,
}  # fmt: skip


@dataclass(frozen=True)
class Split:
    """How folds are made.

    Attributes:
        word: The first word of one of `SPLITS`.
        of: What follows its colon: a column or a folder.

    Example:
        >>> Split.parse("group:batch").columns
        ('batch',)
    """

    word: str = "stratified"
    of: str = ""

    @staticmethod
    def parse(text: str) -> "Split":
        """From the text that a user gives."""
        word, colon, of = text.partition(":")
        known = dict(split.partition(":")[::2] for split in SPLITS)
        if word not in known or bool(known[word]) != bool(of) or (colon and not of):
            raise ValueError(f"A split must be one of {', '.join(SPLITS)}, got {text!r}.")
        if word == "published" and not Path(of).is_dir():
            raise ValueError(
                f"`published:FOLDER` must name a folder with test_idx-1.txt and so on, got {of!r}. "
                "Check the path."
            )
        return Split(word, of)

    def __str__(self) -> str:
        return f"{self.word}:{self.of}" if self.of else self.word

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a source that it reads, see `lgan.data.load_raw`."""
        return (self.of,) if self.word in ("group", "column") else ()

    def folds(
        self,
        raw: RawGraphs,
        task: Task,
        num_folds: int = 10,
        seed: int = 0,
        *,
        at_most: bool = False,
    ) -> Tensor:
        """The fold in which every graph is held out ``[G]``; -1 for one that never is, and
        :data:`OUTSIDE` for one that a column calls a test. Folds are then drawn among the others,
        unless the column says which of them are held out.

        Args:
            raw: The graphs, with the columns and SMILES that the split reads.
            task: Says by what folds are stratified.
            num_folds: How many folds to make; a column or a folder decides that itself.
            seed: Fixes the draw.
            at_most: Make fewer folds where a class has fewer graphs, or there are fewer groups.
        """
        if self.word == "published":
            return read_folds(self.of, raw.num_graphs)
        if self.word == "column":
            folds = column_folds(self._cells(raw), self.of, raw.rows.tolist())
            if int(folds.max()) >= 0:
                return folds
            inside = (folds != OUTSIDE).nonzero().flatten()
            part = raw.select(inside.tolist())
            drawn = Split().folds(part, task, num_folds, seed, at_most=at_most)
            return folds.index_copy(0, inside, drawn)
        if self.word == "group":
            return group_folds(self._cells(raw), num_folds, seed, at_most=at_most)
        if self.word == "scaffold":
            if raw.ids is None or raw.featuriser is None:
                raise ValueError(
                    f"The split `scaffold` needs molecules, got {raw.name}, which has none. Choose "
                    f"another of {', '.join(SPLITS)}."
                )
            return group_folds(scaffold_groups(raw.ids), num_folds, seed, at_most=at_most)
        if self.word == "random":
            return random_folds(raw.num_graphs, num_folds, seed, at_most=at_most)
        # Graphs of which the target is missing go where there is room.
        strata = task.strata(task.encode(raw.targets), num_folds).clamp(min=0)
        names = task.classes if task.has_classes else ()
        return drawn_folds(raw.name, strata, num_folds, seed, at_most=at_most, names=names)

    def _cells(self, raw: RawGraphs) -> Sequence[Any]:
        there = {**raw.targets, **raw.columns}
        if self.of not in there:
            got = ", ".join(map(repr, there)) or "none"
            raise ValueError(
                f"The split `{self}` needs the column {self.of!r} of {raw.name}, got {got}. Name a "
                "column that the source has."
            )
        return there[self.of]


def random_folds(
    num_graphs: int, num_folds: int = 10, seed: int = 0, *, at_most: bool = False
) -> Tensor:
    """Folds of equal size, drawn without a look at the graphs ``[G]``; fewer of them where
    ``at_most`` is set and there are fewer graphs.

    Example:
        >>> random_folds(6, 3).bincount().tolist()
        [2, 2, 2]
    """
    rule = "There must be at least as many graphs as folds"
    num_folds = possible_folds(num_folds, num_graphs, rule, str(num_graphs), at_most=at_most)
    order = np.random.default_rng(seed).permutation(num_graphs)
    return torch.from_numpy(order % num_folds)


def group_folds(
    groups: Sequence[Hashable], num_folds: int = 10, seed: int = 0, *, at_most: bool = False
) -> Tensor:
    """Folds that keep groups together, of sizes as equal as they allow.

    Groups are placed from the largest to the smallest, those of equal size in a random order, each
    into the fold with the fewest graphs. A graph whose group is missing is a group of its own. With
    ``at_most`` fewer groups make fewer folds.

    Example:
        >>> group_folds(["a", "b", "a", "c"], 2).tolist()
        [0, 1, 0, 1]
    """
    members: dict[Hashable, list[int]] = {}
    for graph, group in enumerate(groups):
        name = spelled(group) if not isinstance(group, tuple) else group
        members.setdefault(("alone", graph) if name is None else name, []).append(graph)
    rule = "There must be at least as many groups as folds"
    num_folds = possible_folds(num_folds, len(members), rule, str(len(members)), at_most=at_most)
    listed = list(members.values())
    order = np.random.default_rng(seed).permutation(len(listed))
    sizes = np.zeros(num_folds, dtype=np.int64)
    folds = torch.empty(len(groups), dtype=torch.int64)
    for place in sorted(order.tolist(), key=lambda k: -len(listed[k])):
        fold = int(sizes.argmin())
        sizes[fold] += len(listed[place])
        folds[listed[place]] = fold
    return folds


def scaffold_groups(smiles: Sequence[str]) -> list[Hashable]:
    """The Bemis-Murcko scaffold of every molecule, without chirality.

    A molecule without rings has no scaffold and is a group of its own, with its duplicates;
    otherwise all of them, a third of some sets, would fill one fold.
    """
    return [
        ring or ("no rings", text) for ring, text in zip(scaffolds(smiles), smiles, strict=True)
    ]


def scaffolds(smiles: Sequence[str]) -> list[str]:
    """The Bemis-Murcko scaffold of every molecule, without chirality; empty without rings, and
    with a warning where the text cannot be read.

    Example:
        >>> scaffolds(["Cc1ccccc1", "CCO"])
        ['c1ccccc1', '']
    """
    murcko = require("rdkit.Chem.Scaffolds.MurckoScaffold")
    texts = list(smiles)
    found: dict[Any, str | None] = {}
    with require("rdkit.rdBase").BlockLogs():
        for text in dict.fromkeys(texts):
            try:
                found[text] = murcko.MurckoScaffoldSmiles(text) if isinstance(text, str) else None
            except ValueError:
                found[text] = None
    unread = [row for row, text in enumerate(texts) if found[text] is None]
    if unread:
        named = ", ".join(map(str, unread[:5])) + (" and others" if len(unread) > 5 else "")
        warnings.warn(
            f"{len(unread)} of {len(texts)} molecules cannot be read and have no scaffold, in the "
            f"rows {named}, the first of them {texts[unread[0]]!r}",
            stacklevel=2,
        )
    return [found[text] or "" for text in texts]


def column_folds(
    cells: Sequence[Any], name: str = "split", rows: Sequence[int] | None = None
) -> Tensor:
    """Folds that a column gives: their numbers, or the words train, val and test.

    What is called test is :data:`OUTSIDE`, val is held out in fold 0; train never is. Messages
    name the column and the row of a graph, where some rows were left out.

    Example:
        >>> column_folds(["train", "test", "valid", "train"]).tolist()
        [-1, -2, 0, -1]
    """
    words = [(spelled(cell) or "").lower() for cell in cells]
    if all(word in PARTS for word in words):
        folds = torch.tensor([PARTS[word] for word in words], dtype=torch.int64)
        if not bool((folds == OUTSIDE).any()) or not bool((folds == -1).any()):
            raise ValueError(
                f"The column {name!r} must call some graphs `train` and some `test`, got "
                f"{', '.join(map(repr, sorted(set(words))))}. Correct it."
            )
        return folds
    if not all(word.isdecimal() for word in words):
        strange = (
            row for row, word in enumerate(words) if not word.isdecimal() and word not in PARTS
        )
        wrong = next(strange, None)
        got = (
            f"{cells[wrong]!r} in row {(rows[wrong] if rows else wrong) + 1}. Correct it."
            if wrong is not None
            else f"both: {', '.join(map(repr, sorted(set(words))[:6]))}. Keep to one of them."
        )
        raise ValueError(
            f"The column {name!r} must hold train, val and test, or the number of a fold, got {got}"
        )
    numbers = sorted({int(word) for word in words})
    if len(numbers) < 2:
        raise ValueError(
            f"The column {name!r} must number two folds or more, got {numbers[0]} in every row. "
            "Correct it, or let another split draw them."
        )
    place = {number: fold for fold, number in enumerate(numbers)}
    return torch.tensor([place[int(word)] for word in words], dtype=torch.int64)

"""Named features of nodes, of pairs or of graphs."""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Columns:
    """Features as a source names and spells them: categories and numbers.

    Args:
        categories: The place of every value in the vocabulary of its column.
        names: The names of the columns of categories.
        vocabularies: For every column of categories its values, as the source spells them.
        numbers: Real values.
        number_names: The names of the columns of numbers.

    Shapes:
        ``categories [n, c]`` int32, ``numbers [n, d]`` float32.

    Example:
        >>> atoms = Columns.of_categories({"element": ["C", "N", "C"]})
        >>> atoms.categories[:, 0].tolist(), atoms.vocabularies
        ([0, 1, 0], (('C', 'N'),))
    """

    categories: Tensor
    names: tuple[str, ...] = ()
    vocabularies: tuple[tuple[str, ...], ...] = ()
    numbers: Tensor = field(default_factory=lambda: torch.zeros(0, 0))
    number_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.number_names and self.numbers.numel() == 0:
            none = torch.zeros(len(self.categories), 0, dtype=torch.float32)
            object.__setattr__(self, "numbers", none)
        _check_table("categories", self.categories, torch.int32, self.names)
        _check_table("numbers", self.numbers, torch.float32, self.number_names)
        if len(self.categories) != len(self.numbers):
            raise ValueError(
                f"`categories` and `numbers` must have the same rows, got {len(self.categories)} "
                f"and {len(self.numbers)}. Give every node, pair or graph a row in both."
            )
        every = self.names + self.number_names
        if len(set(every)) != len(every):
            raise ValueError(f"Columns must have different names, got {every}. Rename some.")
        if len(self.vocabularies) != len(self.names):
            raise ValueError(
                f"`vocabularies` must have one entry for each of {self.names}, got "
                f"{len(self.vocabularies)}. List the values of every column of categories."
            )
        for column, (name, words) in enumerate(zip(self.names, self.vocabularies, strict=True)):
            _check_vocabulary(name, words, self.categories[:, column])

    @staticmethod
    def empty(length: int) -> "Columns":
        """No columns for so many rows."""
        return Columns(torch.zeros(length, 0, dtype=torch.int32))

    @staticmethod
    def of_categories(values: dict[str, Sequence[Any]]) -> "Columns":
        """Columns of categories from their values; vocabularies hold the values that occur.

        Numbers are in their order, other values in that of the alphabet.
        """
        words, ids = [], []
        for column in values.values():
            spelled = [str(value) for value in column]
            vocabulary = sorted(set(spelled), key=_by_value)
            place = {word: i for i, word in enumerate(vocabulary)}
            words.append(tuple(vocabulary))
            ids.append(torch.tensor([place[word] for word in spelled], dtype=torch.int32))
        categories = torch.stack(ids, 1) if ids else torch.zeros(0, 0, dtype=torch.int32)
        return Columns(categories, tuple(values), tuple(words))

    @staticmethod
    def of_labels(labels: Tensor, count: int | None = None) -> "Columns":
        """One column of labels that are numbers from 0 on; of so many, or as many as occur."""
        if count is None:
            count = int(labels.max()) + 1 if len(labels) else 0
        return Columns(labels.int()[:, None], ("label",), (tuple(map(str, range(count))),))

    def __len__(self) -> int:
        return len(self.categories)

    def __getitem__(self, rows: Tensor) -> "Columns":
        """The same columns for some rows."""
        return replace(self, categories=self.categories[rows], numbers=self.numbers[rows])

    @property
    def num_columns(self) -> int:
        """Columns of categories and of numbers together."""
        return len(self.names) + len(self.number_names)

    def part(self, categories: slice, numbers: slice) -> "Columns":
        """Some of the columns of categories and of numbers, for all rows."""
        return Columns(
            self.categories[:, categories],
            self.names[categories],
            self.vocabularies[categories],
            self.numbers[:, numbers],
            self.number_names[numbers],
        )

    def with_numbers(self, numbers: Tensor, names: tuple[str, ...]) -> "Columns":
        """The same categories beside these numbers."""
        return replace(self, numbers=numbers, number_names=names)


def column_names(word: str, count: int) -> tuple[str, ...]:
    """The names of columns that have one word together: numbered from 1 where they are several."""
    return (word,) if count == 1 else tuple(f"{word}_{i + 1}" for i in range(count))


def unlike_most(kinds: Mapping[int, Hashable]) -> dict[int, tuple[Any, Any]]:
    """The rows of another kind than more than half of them: that kind and their own.

    Example:
        >>> unlike_most({0: "number", 2: "text", 3: "number"})
        {2: ('number', 'text')}
        >>> unlike_most({0: "number", 2: "text"})
        {}
    """
    [(most, count)] = Counter(kinds.values()).most_common(1) or [(None, 0)]
    if 2 * count <= len(kinds):
        return {}
    return {row: (most, kind) for row, kind in kinds.items() if kind != most}


def _check_table(name: str, table: Tensor, dtype: torch.dtype, names: tuple[str, ...]) -> None:
    if table.ndim != 2 or table.dtype != dtype or table.shape[1] != len(names):
        raise ValueError(
            f"`{name}` must be {dtype} of shape [n, {len(names)}], a column for each of {names}, "
            f"got {table.dtype} of shape {list(table.shape)}. Convert it, or name its columns."
        )


def _check_vocabulary(name: str, words: tuple[str, ...], ids: Tensor) -> None:
    if len(set(words)) != len(words):
        twice = next(word for i, word in enumerate(words) if word in words[:i])
        raise ValueError(
            f"The vocabulary of {name!r} must hold every value once, got {twice!r} twice."
        )
    if len(ids):
        low, high = (int(bound) for bound in torch.aminmax(ids))
        if low < 0 or high >= len(words):
            raise ValueError(
                f"`categories` of {name!r} must lie from 0 to {len(words) - 1}, places in its "
                f"vocabulary, got values from {low} to {high}. Number the categories from 0."
            )


def _by_value(word: str) -> tuple[int, float, str]:
    try:
        number = float(word)
    except ValueError:
        return 1, 0.0, word
    return (0, number, word) if np.isfinite(number) else (1, 0.0, word)

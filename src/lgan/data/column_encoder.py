"""Columns of features as the numbers a model reads."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from lgan.data.columns import Columns


@dataclass(frozen=True)
class ColumnEncoder:
    """The columns of nodes or of pairs that a model reads, with their vocabularies.

    Attributes:
        names: The columns of categories.
        vocabularies: Their values, in order.
        number_names: The columns of numbers, which stay as they are.
        other: Whether values that are in no vocabulary have a column of their own.
    """

    names: tuple[str, ...] = ()
    vocabularies: tuple[tuple[str, ...], ...] = ()
    number_names: tuple[str, ...] = ()
    other: bool = True

    @staticmethod
    def fit(columns: Columns, *, other: bool = True) -> "ColumnEncoder":
        """The encoder of these columns."""
        return ColumnEncoder(columns.names, columns.vocabularies, columns.number_names, other)

    @property
    def only_categories(self) -> bool:
        """Whether there is one column, and it holds categories."""
        return len(self.names) == 1 and not self.number_names

    @property
    def width(self) -> int:
        """Columns of the encoded features; categories where they are the only column."""
        categories = sum(len(words) + self.other for words in self.vocabularies)
        return categories + len(self.number_names)

    @property
    def starts(self) -> tuple[int, ...]:
        """Where the encoded columns of every column of categories begin."""
        widths = [len(words) + self.other for words in self.vocabularies]
        return tuple(sum(widths[:i]) for i in range(len(widths)))

    @property
    def column_names(self) -> tuple[str, ...]:
        """The name of every encoded column."""
        named = [
            f"{name}={word}"
            for name, words in zip(self.names, self.vocabularies, strict=True)
            for word in (*words, *(["(other)"] if self.other else []))
        ]
        return (*named, *self.number_names)

    def places_in(self, other: "ColumnEncoder") -> Tensor:
        """Where the encoded columns are among those of an encoder of more values ``[width]``."""
        places = []
        for words, theirs, start in zip(
            self.vocabularies, other.vocabularies, other.starts, strict=True
        ):
            place = {word: start + i for i, word in enumerate(theirs)}
            places += [place[word] for word in words]
            places += [start + len(theirs)] if self.other else []
        return torch.tensor(places, dtype=torch.int64)

    def unseen(self, columns: Columns, of: str = "rows") -> dict[str, dict[str, int]]:
        """How often values occur that are in no vocabulary, by column; see `encode`."""
        found: dict[str, dict[str, int]] = {}
        for name, words in zip(self.names, self.vocabularies, strict=True):
            ids, spelled = _categories(columns, name, of)
            known = set(words)
            counts = torch.bincount(ids, minlength=len(spelled)).tolist()
            unknown = {
                word: count
                for word, count in zip(spelled, counts, strict=True)
                if count and word not in known
            }
            if unknown:
                found[name] = unknown
        return found

    def encode(self, columns: Columns, of: str = "rows") -> Tensor:
        """Categories ``[n]`` where they are the only column, otherwise vectors ``[n, F]``.

        Args:
            columns: Columns that have at least those of this encoder.
            of: What the rows are, for messages.
        """
        return self._ids(columns, 0, of) if self.only_categories else self._vectors(columns, of)

    def distinct(self, columns: Columns, of: str = "rows") -> tuple[Tensor, Tensor]:
        """The distinct vectors ``[U, F]`` of `encode`, and which of them every row has ``[n]``.

        Of a million atoms a few hundred are distinct.
        """
        parts = [self._ids(columns, i, of) for i in range(len(self.names))]
        parts += [
            torch.unique(_numbers(columns, name, of), return_inverse=True)[1]
            for name in self.number_names
        ]
        rows, bound = torch.zeros(len(columns), dtype=torch.int64), 1
        for ids in parts:
            width = int(ids.max()) + 1 if len(ids) else 1
            if bound * width >= 2**63:
                rows = torch.unique(rows, return_inverse=True)[1]
                bound = len(rows) + 1
            rows, bound = rows * width + ids, bound * width
        rows = torch.unique(rows, return_inverse=True)[1]
        count = int(rows.max()) + 1 if len(rows) else 0
        first = torch.full((count,), len(rows)).scatter_reduce(
            0, rows, torch.arange(len(rows)), "amin"
        )
        return self._vectors(columns[first], of), rows

    def labels(self, columns: Columns, of: str = "rows") -> Columns:
        """The categories of its columns, as they are spelled, and no numbers.

        Example:
            >>> atoms = Columns.of_categories({"element": ["C", "N"], "charge": [0, 1]})
            >>> ColumnEncoder.fit(atoms.part(slice(1), slice(0))).labels(atoms).vocabularies
            (('C', 'N'),)
        """
        found = [_categories(columns, name, of) for name in self.names]
        if not found:
            return Columns.empty(len(columns))
        categories = torch.stack([ids for ids, _ in found], 1).int()
        return Columns(categories, self.names, tuple(words for _, words in found))

    def to_json(self) -> dict[str, Any]:
        """The encoder as JSON's types."""
        return {
            "names": list(self.names),
            "vocabularies": [list(words) for words in self.vocabularies],
            "number_names": list(self.number_names),
            "other": self.other,
        }

    @staticmethod
    def from_json(plain: Any) -> "ColumnEncoder":
        """The encoder that `to_json` wrote."""
        fields = ("names", "vocabularies", "number_names", "other")
        fits = isinstance(plain, Mapping) and set(plain) == set(fields)
        fits = fits and all(map(_is_words, (plain["names"], plain["number_names"])))
        fits = fits and isinstance(plain["vocabularies"], list)
        fits = fits and len(plain["vocabularies"]) == len(plain["names"])
        fits = fits and all(map(_is_words, plain["vocabularies"]))
        if not fits or not isinstance(plain["other"], bool):
            raise ValueError(
                f"The columns of an encoder must be an object with {', '.join(fields)}, lists of "
                f"different words and a vocabulary for every name, got {str(plain)[:80]}. Read it "
                "from a model file of this version."
            )
        return ColumnEncoder(
            names=tuple(plain["names"]),
            vocabularies=tuple(map(tuple, plain["vocabularies"])),
            number_names=tuple(plain["number_names"]),
            other=plain["other"],
        )

    def _vectors(self, columns: Columns, of: str) -> Tensor:
        parts = [
            F.one_hot(self._ids(columns, i, of), len(words) + self.other).float()
            for i, words in enumerate(self.vocabularies)
        ]
        parts += [_numbers(columns, name, of)[:, None] for name in self.number_names]
        return torch.cat(parts, 1) if parts else torch.zeros(len(columns), 0)

    def _ids(self, columns: Columns, column: int, of: str) -> Tensor:
        """The place of every value in the vocabulary; behind the last where it is in none."""
        name, words = self.names[column], self.vocabularies[column]
        ids, spelled = _categories(columns, name, of)
        if spelled == words:
            return ids
        place = {word: i for i, word in enumerate(words)}
        new = torch.tensor([place.get(word, len(words)) for word in spelled], dtype=torch.int64)
        ids = new[ids]
        if not self.other and len(ids) and int(ids.max()) == len(words):
            unknown = ", ".join(repr(word) for word in spelled if word not in place)
            raise ValueError(
                f"The values of {name!r} of the {of} must be among those the model was trained on, "
                f"got {unknown} too. Train a model on graphs like these."
            )
        return ids


def _categories(columns: Columns, name: str, of: str = "rows") -> tuple[Tensor, tuple[str, ...]]:
    """A column as categories; whole numbers may have been read as numbers elsewhere."""
    if name in columns.names:
        column = columns.names.index(name)
        return columns.categories[:, column].long(), columns.vocabularies[column]
    if name in columns.number_names:
        numbers = columns.numbers[:, columns.number_names.index(name)]
        values, ids = torch.unique(numbers, return_inverse=True)
        words = (str(int(v)) if float(v).is_integer() else repr(v) for v in values.tolist())
        return ids, tuple(words)
    if len(columns) == 0:  # graphs without edges say nothing of the features of edges
        return torch.zeros(0, dtype=torch.int64), ()
    raise _missing(columns, name, of)


def _numbers(columns: Columns, name: str, of: str) -> Tensor:
    """A column as finite numbers; few whole numbers may have been read as categories elsewhere."""
    if name in columns.number_names:
        numbers = columns.numbers[:, columns.number_names.index(name)]
    elif name in columns.names:
        column = columns.names.index(name)
        words = columns.vocabularies[column]
        try:
            values = torch.tensor([float(word) for word in words])
        except ValueError as error:
            raise ValueError(
                f"The column {name!r} of the {of} must hold numbers, got {words[:4]}. "
                "Correct it, or train a model on graphs like these."
            ) from error
        numbers = values[columns.categories[:, column].long()]
    elif len(columns) == 0:
        return torch.zeros(0)
    else:
        raise _missing(columns, name, of)
    wrong = (~numbers.isfinite()).nonzero()
    if len(wrong):
        row = int(wrong[0])
        raise ValueError(
            f"The column {name!r} of the {of} must be finite, got {numbers[row].item()} in row "
            f"{row} ({len(wrong)} rows in all). Repair it, or choose other features."
        )
    return numbers


def _missing(columns: Columns, name: str, of: str) -> ValueError:
    there = ", ".join(map(repr, columns.names + columns.number_names)) or "none"
    return ValueError(
        f"The {of} must have the feature {name!r}, which the model reads, got {there}. "
        "Read the source with the same features."
    )


def _is_words(words: Any) -> bool:
    return (
        isinstance(words, list)
        and all(isinstance(word, str) for word in words)
        and len(set(words)) == len(words)
    )

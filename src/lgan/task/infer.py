"""From the columns of a table to what is to be predicted."""

import math
import re
from collections.abc import Mapping, Sequence

import numpy as np

from lgan.task.cells import TargetColumn

# Up to so many distinct whole numbers are classes rather than a quantity.
MOST_NUMBERED_CLASSES = 10
# Pairs of words of which the first is the negative one; elsewhere the order of the alphabet.
NEGATIVE_FIRST = (
    ("false", "true"),
    ("no", "yes"),
    ("n", "y"),
    ("f", "t"),
    ("inactive", "active"),
    ("negative", "positive"),
    ("neg", "pos"),
    ("nontoxic", "toxic"),
    ("non-toxic", "toxic"),
    ("-", "+"),
)
SHOWN = 8


def infer_kind(columns: Mapping[str, TargetColumn]) -> str:
    """The kind of task that the target columns ask for.

    One column: two values make ``binary``, text or up to ten whole numbers ``multiclass``, other
    numbers ``regression``. Several columns: two values each make ``multilabel``, other numbers
    ``regression``.
    """
    for column in columns.values():
        refuse_commas(column)
        refuse_mixed(column)
    if len(columns) == 1:
        return _kind_of_one(next(iter(columns.values())))
    distinct = {name: column.distinct() for name, column in columns.items()}
    if all(len(values) <= 2 for values in distinct.values()):
        return "multilabel"
    texts = [name for name, column in columns.items() if not column.all_numbers()]
    if texts:
        raise ValueError(
            "Several targets must be numbers, or share two values (0 and 1, say), got "
            f"{len(distinct[texts[0]])} different texts in {texts[0]!r}: "
            f"{_some(distinct[texts[0]])}. Train one model for each such target."
        )
    return "regression"


def class_names(columns: Mapping[str, TargetColumn], kind: str) -> tuple[str, ...]:
    """The classes of a task of this kind, in order; refuse columns that do not fit it."""
    for column in columns.values():
        if all(text is None for text in column.texts):
            if not column.texts:
                raise ValueError(
                    f"The target {column.name!r} must have a value for some graph, got no rows. "
                    "Check that the source is not empty."
                )
            raise ValueError(
                f"The target {column.name!r} must have a value in some row, got "
                f"{len(column.texts)} empty cells. Choose another target, or leave this one out."
            )
    if kind == "regression":
        return _check_numbers(columns)
    if kind == "multilabel":
        return _shared_values(columns)
    if len(columns) != 1:
        raise ValueError(
            f"A {kind} task has one target, got {len(columns)}: {_some(list(columns))}. "
            "Choose one of them, or the task `multilabel`."
        )
    column = next(iter(columns.values()))
    values = column.distinct()
    if len(values) == 1:
        raise ValueError(
            f"The target {column.name!r} must have at least two different values, got "
            f"{values[0]!r} in every row that has one. Add rows with another, or choose another "
            "target."
        )
    if kind == "binary" and len(values) != 2:
        raise ValueError(
            f"A binary task needs two classes, got {len(values)} in {column.name!r}: "
            f"{_some(values)}. Choose the task `multiclass` or `regression`."
        )
    return negative_first(values)


# "2,5" for 2.5, "1.234,5" or "1,234.5" for 1234.5, and "2" beside them.
_WITH_COMMAS = re.compile(r"[+-]?(\d+|\d{1,3}([.,]\d{3})+)([.,]\d+)?([eE][+-]?\d+)?")


def negative_first(values: Sequence[str]) -> tuple[str, ...]:
    """Two values with the negative one first; others in the order given.

    Example:
        >>> negative_first(["Active", "Inactive"])
        ('Inactive', 'Active')
    """
    if tuple(value.lower() for value in reversed(values)) in NEGATIVE_FIRST:
        return tuple(reversed(values))
    return tuple(values)


def refuse_commas(column: TargetColumn, what: str = "target") -> None:
    """Refuse numbers with decimal commas or separators of thousands, which would be words."""
    values = column.distinct()
    numbers = [value for value in values if _WITH_COMMAS.fullmatch(value)]
    if any("," in value for value in numbers) and 2 * len(numbers) > len(values):
        or_classes = ", or choose the task `multiclass` if these are classes"
        raise ValueError(
            f"The {what} {column.name!r} must hold numbers with a decimal point and no other "
            f"separator, got decimal commas: {_some(values)}. Write points"
            f"{or_classes if what == 'target' else ''}."
        )


def refuse_mixed(column: TargetColumn, what: str = "target") -> None:
    """Refuse numbers with text among them."""
    cells = zip(column.texts, column.numbers, strict=True)
    number, text = next((cell for cell, n in cells if not math.isnan(n)), None), column.first_text()
    if number is not None and text is not None:
        remedy = "Correct the cells, or leave them empty where nothing was measured."
        if what == "target":
            remedy = (
                "Correct the cells, leave them empty where nothing was measured, or choose the "
                "task `multiclass` to take all of them as class names."
            )
        raise ValueError(
            f"The {what} {column.name!r} must hold numbers or text, got both: {number!r} and "
            f"{text!r}. {remedy}"
        )


def refuse_names(column: TargetColumn, what: str = "target") -> None:
    """Refuse text that is another one in each of many rows, and tells nothing of others."""
    values, present = column.distinct(), sum(text is not None for text in column.texts)
    if len(values) == present > MOST_NUMBERED_CLASSES:
        or_classes = ", or the task `multiclass` if these are classes"
        raise ValueError(
            f"The {what} {column.name!r} must be a number or a class, got another text in each of "
            f"its {present} rows: {_some(values)}. It looks like a name; choose another {what}"
            f"{or_classes if what == 'target' else ', or leave it out'}."
        )


def _kind_of_one(column: TargetColumn) -> str:
    values = column.distinct()
    if len(values) <= 2:
        return "binary"
    if column.all_numbers():
        whole = all("." not in value and "e" not in value for value in values)
        return "multiclass" if whole and len(values) <= MOST_NUMBERED_CLASSES else "regression"
    refuse_names(column)
    return "multiclass"


def _check_numbers(columns: Mapping[str, TargetColumn]) -> tuple[str, ...]:
    for column in columns.values():
        if not column.all_numbers():
            refuse_commas(column)
            refuse_mixed(column)
            raise ValueError(
                f"A regression needs numbers, got text in {column.name!r}: "
                f"{_some(column.distinct())}. Choose another target, or the task `multiclass`."
            )
    if all(np.nanmin(c.numbers) == np.nanmax(c.numbers) for c in columns.values()):
        raise ValueError(
            f"A regression needs a target with different values, got one value only in "
            f"{_some(list(columns))}. Choose another target."
        )
    for column in columns.values():
        _refuse_rounded(column)
    return ()


def _refuse_rounded(column: TargetColumn) -> None:
    """Refuse numbers that single precision makes infinite, or equal where they differ."""
    numbers = column.numbers[~np.isnan(column.numbers)]
    low, high = float(numbers.min()), float(numbers.max())
    with np.errstate(over="ignore"):
        lost = float(np.abs(numbers.astype(np.float32) - numbers).max())
    if math.isinf(lost) or 0 < high - low < 100 * lost:
        raise ValueError(
            f"The target {column.name!r} must fit single precision (seven digits, up to 3.4e38), "
            f"got numbers from {low!r} to {high!r}. Choose another unit, or subtract an offset."
        )


def _shared_values(columns: Mapping[str, TargetColumn]) -> tuple[str, ...]:
    pooled = TargetColumn(
        "",
        [text for column in columns.values() for text in column.texts],
        np.concatenate([column.numbers for column in columns.values()]),
    )
    values = pooled.distinct()
    if len(values) != 2:
        per_target = "; ".join(
            f"{name!r}: {_some(column.distinct())}" for name, column in list(columns.items())[:3]
        )
        raise ValueError(
            f"The targets of a multilabel task must share two values (0 and 1, say), got "
            f"{len(values)}: {_some(values)} ({per_target}). Spell them alike in all columns, or "
            "train one model for each target."
        )
    if all(len(column.distinct()) == 1 for column in columns.values()):
        raise ValueError(
            f"A multilabel task needs a target with both values, got one value only in each of "
            f"{_some(list(columns))}. Choose other targets."
        )
    return negative_first(values)


def _some(values: Sequence[str]) -> str:
    more = f", … ({len(values)} in all)" if len(values) > SHOWN else ""
    return ", ".join(map(repr, values[:SHOWN])) + more

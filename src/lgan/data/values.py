"""Attributes of Python objects as columns of features."""

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

import torch

from lgan.data.columns import Columns

# Up to so many different whole numbers are categories rather than a quantity.
MOST_NUMBERED = 64


def attribute_columns(values: dict[str, list[Any]], length: int, of: str) -> Columns:
    """Attributes of nodes or edges as named features.

    Text, truth values and few different whole numbers are categories; other numbers stay numbers,
    and lists of numbers become a column for each place. Messages say what the rows are ``of``.
    """
    categories: dict[str, Sequence[Any]] = {}
    numbers: dict[str, list[float]] = {}
    for name, column in values.items():
        for part, cells in _flat(name, column, of).items():
            kinds = {_kind(cell, part, of) for cell in cells}
            if kinds == {"text", "number"}:
                raise ValueError(
                    f"The attribute {part!r} of {of} must be numbers or text, got both. "
                    "Correct it, or leave it out."
                )
            whole = all(float(cell).is_integer() for cell in cells) if kinds == {"number"} else True
            if kinds == {"number"} and not (whole and len(set(cells)) <= MOST_NUMBERED):
                numbers[part] = [float(cell) for cell in cells]
            else:
                categories[part] = [_spelled(cell) for cell in cells]
    columns = Columns.of_categories(categories) if categories else Columns.empty(length)
    if not numbers:
        return columns
    return columns.with_numbers(torch.tensor(list(numbers.values())).T.contiguous(), tuple(numbers))


def _flat(name: str, column: list[Any], of: str) -> dict[str, list[Any]]:
    """A column of lists as one column for each place."""
    plain = [cell.tolist() if hasattr(cell, "tolist") else cell for cell in column]
    lengths = {len(cell) if isinstance(cell, list | tuple) else -1 for cell in plain}
    if lengths <= {-1}:
        return {name: plain}
    if len(lengths) > 1:
        raise ValueError(
            f"The attribute {name!r} of {of} must have the same number of values everywhere, got "
            f"{sorted(max(n, 1) for n in lengths)}. Fill it up, or leave it out."
        )
    return {f"{name}_{i + 1}": [cell[i] for cell in plain] for i in range(lengths.pop())}


def _kind(cell: Any, name: str, of: str) -> str:
    if isinstance(cell, str | bool):
        return "text"
    if isinstance(cell, Real):
        if not math.isfinite(cell):
            raise ValueError(
                f"The attribute {name!r} of {of} must be finite, got {cell}. Repair it, or leave "
                "it out."
            )
        return "number"
    raise TypeError(
        f"The attribute {name!r} of {of} must be text, a number or a list of numbers, got "
        f"{cell!r}. Convert it, or leave it out."
    )


def _spelled(cell: Any) -> str:
    return str(cell) if isinstance(cell, str | bool) else str(int(cell))

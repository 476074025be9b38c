"""The cells of a target column: missing, a number, or text."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Cells that say "not measured". "none" is not among them: it is a class in many a table.
MISSING = frozenset({"", "na", "n/a", "#n/a", "nan", "<na>", "null"})


def spelled(value: Any) -> str | None:
    """A cell as a class name: one spelling for one number, and ``None`` where it is missing.

    Example:
        >>> spelled(1.0), spelled("1"), spelled(" yes "), spelled(True), spelled("NA")
        ('1', '1', 'yes', 'True', None)
    """
    return _read(value)[0]


@dataclass(frozen=True, eq=False)
class TargetColumn:
    """A column of targets as it was read.

    Attributes:
        name: The column's name.
        texts: Every cell as `spelled`.
        numbers: Every cell as a number; NaN where it is missing or text.
    """

    name: str
    texts: list[str | None]
    numbers: NDArray[np.float64]

    @staticmethod
    def read(
        name: str, values: Sequence[Any] | Iterable[Any], first: int = 0, *, infinite: bool = False
    ) -> "TargetColumn":
        """Read a list, an array or a pandas column, of which the first cell is in that row of a
        table; refuse infinite numbers, or keep them as text where these are allowed.
        """
        if isinstance(values, str):
            raise TypeError(
                f"The target {name!r} must be a list with one value per graph, got the text "
                f"{values!r}. Put it in a list."
            )
        if hasattr(values, "tolist"):  # arrays, tensors and pandas columns
            values = values.tolist()
        cells = [_read(value) for value in values]
        numbers = np.array([number for _, number in cells], dtype=np.float64)
        endless = np.flatnonzero(np.isinf(numbers))
        if infinite:
            numbers[endless] = np.nan
        elif len(endless):
            text = str(cells[endless[0]][0])
            raise ValueError(
                f"The column {name!r} must hold finite numbers, got {text[:40]} in "
                f"row {first + endless[0] + 1} ({len(endless)} of {len(cells)} rows are "
                "infinite). Correct these rows, or leave their cells empty."
            )
        return TargetColumn(name, [text for text, _ in cells], numbers)

    def distinct(self) -> list[str]:
        """The values that occur: numbers in their order, then text in its own."""
        pairs = zip(self.texts, self.numbers.tolist(), strict=True)
        present = {(math.isnan(number), text, number) for text, number in pairs if text is not None}
        ordered = sorted(present, key=lambda v: (v[0], v[1]) if v[0] else (v[0], v[2], v[1]))
        return list(dict.fromkeys(text for _, text, _ in ordered))

    def first_text(self) -> str | None:
        """The first cell that is neither missing nor a number, where there is one."""
        cells = zip(self.texts, self.numbers, strict=True)
        return next((text for text, n in cells if text is not None and math.isnan(n)), None)

    def all_numbers(self) -> bool:
        """Whether every cell that is not missing is a number."""
        return self.first_text() is None


def _read(value: Any) -> tuple[str | None, float]:
    """The spelling of a cell, and its number (NaN for text and for missing cells)."""
    if value is None or type(value).__name__ == "NaTType":  # what pandas has for no date
        return None, math.nan
    if hasattr(value, "tolist") and not isinstance(value, np.generic):  # arrays and tensors
        value = value.tolist()
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value)), math.nan
    if isinstance(value, (list, tuple, dict, set)):
        raise ValueError(
            f"A target must have one number or text for a graph, got {value!r}. Pass one column "
            "for each target."
        )
    return _read_text(str(value).strip())


@lru_cache(1 << 16)  # classes occur again and again
def _read_text(text: str) -> tuple[str | None, float]:
    if text.lower() in MISSING:
        return None, math.nan
    # Python reads "1_000" as a number, and "1_2" would become the class 12.
    if "_" in text:
        return text, math.nan
    try:
        number = float(text)
    except ValueError:
        return text, math.nan
    if math.isnan(number):
        return None, math.nan
    digits = text.lstrip("+-")
    if digits.isdecimal():  # "007" may be a name, and floats know no 10**17 + 1
        return text if digits[0] == "0" != digits else str(int(text)), number
    if number.is_integer() and abs(number) < 1e15:
        return str(int(number)), number
    return repr(number), number

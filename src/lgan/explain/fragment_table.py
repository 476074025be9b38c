"""Which fragments speak for and against something, over many explained graphs."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt
from statistics import fmean

from lgan.explain.attribution import Attribution

COLUMNS = ("fragment", "graphs", "occurrences", "mean score", "standard error", "same sign")


@dataclass(frozen=True)
class FragmentRow:
    """A fragment that occurs in explained graphs.

    Attributes:
        fragment: Its name.
        graphs: Graphs that have it.
        occurrences: How often it occurs in them.
        mean: Mean score of an occurrence: above 0 it speaks for what is explained, below against.
        error: Standard error of the mean.
        agree: Share of the occurrences whose score has the sign of the mean.
    """

    fragment: str
    graphs: int
    occurrences: int
    mean: float
    error: float
    agree: float

    @property
    def cells(self) -> tuple[str, ...]:
        """The row of a table with the columns ``COLUMNS``."""
        numbers = f"{self.mean:+.3f}", f"{self.error:.3f}", f"{self.agree:.0%}"
        return self.fragment, f"{self.graphs:,}", f"{self.occurrences:,}", *numbers


def fragment_tables(found: Iterable[Attribution]) -> dict[int, list[FragmentRow]]:
    """The tables of fragments of many graphs, one for every output that some are explained for."""
    by_target: dict[int, list[Attribution]] = {}
    for each in found:
        by_target.setdefault(each.target, []).append(each)
    tables = {t: fragment_table(by_target[t]) for t in sorted(by_target)}
    return {target: rows for target, rows in tables.items() if rows}


def fragment_table(found: Iterable[Attribution]) -> list[FragmentRow]:
    """The fragments of two or more of many graphs, explained for the same output, from those that
    speak most for it to those that speak most against it.
    """
    scores: dict[str, list[float]] = {}
    graphs: dict[str, set[int]] = {}
    for number, attribution in enumerate(found):
        values = attribution.fragment_scores.tolist()
        for fragment, score in zip(attribution.fragments, values, strict=True):
            scores.setdefault(fragment.name, []).append(score)
            graphs.setdefault(fragment.name, set()).add(number)
    rows = []
    for name, values in scores.items():
        if len(graphs[name]) > 1:
            mean, count = fmean(values), len(values)
            error = sqrt(sum((s - mean) ** 2 for s in values) / (count - 1) / count)
            agree = sum((s >= 0) == (mean >= 0) for s in values) / count
            rows.append(FragmentRow(name, len(graphs[name]), count, mean, error, agree))
    return sorted(rows, key=lambda row: (-row.mean, row.fragment))

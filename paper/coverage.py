"""Truths that intervals and sets hold, from the records of `python -m benchmarks.coverage`."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from paper.render import Grid

METHODS = ("CV+", "split conformal")
COLUMNS = ["table", "what", "splits", *(f"{name}, {what}" for name in METHODS
                                        for what in ("covered", "size"))]  # fmt: skip


def coverage_grid(rows: Sequence[dict[str, Any]]) -> Grid:
    """A row for every table: covered in percent with its deviation over splits, and the size."""
    cells = []
    for table in dict.fromkeys(row["table"] for row in rows):
        own = [row for row in rows if row["table"] == table]
        cell = [table, own[0]["kind"], str(len(own))]
        for name in METHODS:
            share, size = np.array([row["found"][name] for row in own]).T
            cell += [f"{100 * share.mean():.1f} ± {100 * share.std():.1f}", f"{size.mean():.3f}"]
        cells.append(cell)
    notes = [
        "Random splits, a fifth for the test. *CV+* is what a model of ten members gives; *split "
        "conformal* is the same model without a fifth of its molecules, on which it is calibrated. "
        "Of intervals the size is the mean width in units of the target, of sets the mean number "
        "of classes. Asked for: 90 percent.",
    ]
    return Grid("Intervals and sets: truths covered, in percent", COLUMNS, cells, notes)

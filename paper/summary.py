"""The accuracy table in short: on every set the best LGAN beside GIN, the kernels and the paper."""

from lgan.zoo import MODELS, KernelSpec
from paper.cells import Cell
from paper.classification import OPTIMISM, SHORT, Classification
from paper.published import ACCURACY, SETS
from paper.render import Grid

__all__ = ["summary_grid"]

COLUMNS = [
    "set", "best LGAN, rule gin", "the paper's", "GIN, rule gin",
    "best LGAN, rule fair", "GIN, rule fair", "best kernel",
]  # fmt: skip


def summary_grid(table: Classification) -> Grid:
    """A row for every set of the paper."""
    kernels = [name for name, spec in MODELS.items() if isinstance(spec, KernelSpec)]
    rows = []
    for name in SETS:
        paper = max(ACCURACY[row][name].mean for row in ("lgan", "lgan-res"))
        scores = [(cell.mean, row) for row in kernels if (cell := table.cell(row, name, "fair"))]
        rows.append([
            SHORT.get(name, name),
            _best(table, name, "gin"),
            f"{paper:.1f}",
            _text(table.cell("gin", name, "gin")),
            _best(table, name, "fair"),
            _text(table.cell("gin", name, "fair")),
            "{:.1f} ({})".format(*max(scores)) if scores else "not done",
        ])  # fmt: skip
    notes = [
        OPTIMISM["gin"],
        OPTIMISM["fair"],
        "×n: the mean of n seeds, ° where they share initial weights (records of lgan 0.1.0). "
        "Kernels choose inside the training part.",
    ]
    return Grid("Accuracy in percent, GIN's published folds", COLUMNS, rows, notes)


def _best(table: Classification, dataset: str, rule: str) -> str:
    row = table.best_lgan(dataset, rule)
    return "not run" if row is None else f"{_text(table.cell(row, dataset, rule))} ({row})"


def _text(cell: Cell | None) -> str:
    return "not run" if cell is None else str(cell)

"""The accuracy table in short: on every set the best LGAN beside GIN, the kernels and the paper."""

from lgan.data.encoder import STRUCTURAL
from lgan.zoo import MODELS, KernelSpec
from paper.cells import NOT_RUN
from paper.classification import OPTIMISM, SHORT, Classification
from paper.published import ACCURACY, SETS
from paper.records import Run
from paper.render import Grid

DEFAULT = "lgan (default recipe)"
COLUMNS = [
    "set", "best LGAN, rule gin", "the paper's", "GIN, rule gin",
    "LGAN, rule bagged", "GIN, rule bagged", "best kernel",
]  # fmt: skip


def summary_grid(table: Classification) -> Grid:
    """A row for every set of the paper."""
    kernels = [name for name, spec in MODELS.items() if isinstance(spec, KernelSpec)]
    rows = []
    for name in SETS:
        paper = max(ACCURACY[row][name].mean for row in ("lgan", "lgan-res"))
        best = table.best_lgan(name, "gin")
        scores = [(cell.mean, row) for row in kernels if (cell := table.cell(row, name, "fair"))]
        rows.append([
            SHORT.get(name, name),
            NOT_RUN if best is None else f"{table.cell(best, name, 'gin')} ({best})",
            f"{paper:.1f}",
            str(table.cell("gin", name, "gin") or NOT_RUN),
            str(table.cell(DEFAULT, name, "bagged") or NOT_RUN),
            str(table.cell("gin (default recipe)", name, "bagged") or NOT_RUN),
            "{:.1f} ({})".format(*max(scores)) if scores else "not done",
        ])  # fmt: skip
    notes = [
        OPTIMISM["gin"],
        "The rule `bagged` measures what `lgan train` does, by its default recipe for all sets: "
        "models that each hold out another inner fold choose one epoch together, and their mean "
        "reads the test fold once. The suite that the recipe was chosen on holds these sets but "
        "COLLAB.",
        "×n: the mean of n seeds, ° where they share initial weights (records of lgan 0.1.0). "
        "Kernels choose inside the training part.",
    ]
    older = {run.dataset for run in table.runs if _before_codes(run)}
    if older:
        names = ", ".join(SHORT.get(name, name) for name in SETS if name in older)
        notes[1] += f" {names}: measured before pairs of graphs without labels carried codes."
    return Grid("Accuracy in percent, GIN's published folds", COLUMNS, rows, notes)


def _before_codes(run: Run) -> bool:
    told = run.settings.get("features") not in STRUCTURAL
    return run.row == DEFAULT and not told and run.settings.get("pair_code") == "none"

"""What bonds add on sets of molecules, from cross-validation records."""

from collections.abc import Sequence

from lgan.zoo import MODELS, KernelSpec
from paper.cells import CHOICE, Cell, beside, measure_rule
from paper.classification import MEANING, OPTIMISM
from paper.records import Run
from paper.render import Grid
from paper.significance import TEST

RULES = ("gin", "fair", "bagged")
SETS = ("MUTAG", "PTC_MR", "Mutagenicity")
# Rows of the records and what they are called with bonds.
ROWS = {
    "lgan-res": "lgan-res",
    "lgan-res + rings": "lgan-res + rings",
    "gin": "GINE",
    "wl": "wl with edge labels",
    "lgan (default recipe, graphs alone)": "lgan (default recipe, graphs alone)",
    "gin (default recipe, graphs alone)": "GINE (default recipe, graphs alone)",
}


def bond_grids(runs: Sequence[Run]) -> list[Grid]:
    """A table for every rule: models without and with bonds, the difference in brackets."""
    return [_grid(runs, rule) for rule in RULES]


def _grid(runs: Sequence[Run], rule: str) -> Grid:
    rows = []
    for row, with_bonds in ROWS.items():
        plain = [_cell(runs, row, name, rule, bonds=False) for name in SETS]
        bonded = [_cell(runs, row, name, rule, bonds=True) for name in SETS]
        rows.append([row, "none", *map(beside, plain, plain)])
        rows.append([with_bonds, "bonds", *map(beside, bonded, plain)])
    notes = [OPTIMISM[rule]]
    if rule == RULES[0]:
        notes += [
            "In brackets: the difference to the same model without bonds in points. But for the "
            "default recipe, both rows have the settings of the accuracy table, which were "
            "searched for without bonds.",
            f"▼ below, ▲ above the model without bonds: {TEST}.",
            CHOICE,
        ]
    title = f"Accuracy in percent with and without bonds, rule {rule}: {MEANING[rule]}"
    return Grid(title, ["model", "edge features", *SETS], rows, notes)


def _cell(runs: Sequence[Run], row: str, dataset: str, rule: str, *, bonds: bool) -> Cell | None:
    some = [
        run
        for run in runs
        if (run.row, run.dataset) == (row, dataset)
        and (run.settings.get("edge_features", "none") != "none") == bonds
    ]
    return measure_rule(some, rule, kernel=isinstance(MODELS.get(row), KernelSpec))

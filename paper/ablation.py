"""What each part of LGAN is worth on each set, from cross-validation records."""

from collections.abc import Sequence
from typing import Any

from lgan.graph.pair_codes import LEVELS
from paper.cells import beside, chosen_group, measure
from paper.published import SETS
from paper.records import Run
from paper.render import Grid
from paper.significance import TEST

# The layer of the paper: what a record leaves out is as here.
PAPER: dict[str, Any] = {
    "branches": "both",
    "comb": "deepsets",
    "residual": False,
    "include_input": False,
    "fusion": "concat",
    "pair_code": "none",
    "code_map": "linear",
    "squash": False,
    "norm": "batch",
}
# What a change is called, in the order of the rows.
ROWS: dict[tuple[str, Any], str] = {
    ("branches", "target"): "without AGGR_n (no neighbour pairs)",
    ("branches", "neighbour"): "without AGGR_t (no target pairs)",
    ("comb", "linear"): "linear pair sum",
    ("residual", True): "residual (LGAN-res)",
    ("include_input", True): "input in the skip-cat",
    ("fusion", "sum"): "fusion by sum",
    ("fusion", "mean"): "fusion by mean",
    ("fusion", "gate"): "fusion by gate",
    **{("pair_code", level): f"pair code {level}" for level in LEVELS if level != "none"},
    ("code_map", "spline"): "counts as splines",
    ("squash", True): "squashed sums (asinh)",
    ("norm", "layer"): "layer normalisation",
    ("norm", "none"): "no normalisation",
    ("compress", False): "without compression",
}
FULL = "full (the paper's LGAN)"


def variant_name(run: Run) -> str:
    """What a run changes in the paper's LGAN; :data:`FULL` where nothing."""
    return ", ".join(changes_of({**run.settings, "compress": run.compress})) or FULL


def changes_of(settings: dict[str, Any], aside: Sequence[str] = ()) -> list[str]:
    """What settings change in the paper's LGAN, by name, some of them aside."""
    given = {**PAPER, **settings}
    return [
        name for (key, value), name in ROWS.items() if key not in aside and given.get(key) == value
    ]


def ablation_grid(runs: Sequence[Run], rule: str = "gin") -> Grid:
    """One table: variants down, sets across, each beside the full model on the same folds."""
    found: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        found.setdefault((variant_name(run), run.dataset), []).append(run)
    cells = {key: measure(chosen_group(some), rule) for key, some in found.items()}
    order = [FULL, *ROWS.values()]
    names = dict.fromkeys(name for name, _ in found)
    rows = sorted(names, key=lambda name: order.index(name) if name in order else len(order))
    datasets = [name for name in SETS if any(key[1] == name for key in found)]
    datasets += sorted({key[1] for key in found} - set(datasets))
    text = [
        [row, *(beside(cells.get((row, name)), cells.get((FULL, name))) for name in datasets)]
        for row in rows
    ]
    notes = [
        "In brackets: the difference to the full model in points.",
        f"▼ below, ▲ above the full model: {TEST}.",
        "All rows have the settings of the full model but for what they name. Compression "
        "changes no sum, so that its row differs by rounding alone.",
    ]
    if rule == "gin":
        notes.append("The epoch is chosen on the folds that are reported: optimistic.")
    return Grid(f"Ablation: accuracy in percent, rule {rule}", ["variant", *datasets], text, notes)

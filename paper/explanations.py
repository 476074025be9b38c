"""How well methods of explanation find what is known to matter, from records."""

import json
from pathlib import Path
from typing import Any

from lgan.explain.integrated_gradients import METHOD
from paper.render import Grid

# Numbers of a method in a record (`paper.explanation_scores`), and what they are called here.
COLUMNS = {
    "auc": "edge ROC-AUC",
    "auc_per_graph": "per graph",
    "fidelity plus": "fidelity+",
    "fidelity minus": "fidelity-",
    "unfaithfulness": "unfaithfulness",
    "stability": "stability",
    "seconds": "seconds",
}


def read_explanations(folder: Path | str) -> list[dict[str, Any]]:
    """The records of scored explanations in a folder; other files there are left alone."""
    plain = [json.loads(path.read_text()) for path in sorted(Path(folder).glob("*.json"))]
    return [record for record in plain if {"case", "summary", "seeds"} <= set(record)]


def explanation_grids(records: list[dict[str, Any]]) -> list[Grid]:
    """All methods by edge ROC-AUC, then a table for every case, methods down."""
    return [_summary(records), *(_grid(record) for record in records)]


def _summary(records: list[dict[str, Any]]) -> Grid:
    methods = list(dict.fromkeys(method for record in records for method in record["summary"]))
    rows = [
        [method, *(_text(record["summary"].get(method, {}), "auc") for record in records)]
        for method in methods
    ]
    notes = [
        "All edges of all graphs in one curve; mean ± deviation over models. A half is chance.",
        *(f"{record['case']}: {record['truth']}." for record in records),
    ]
    title = "Edge ROC-AUC: do the scores find what is known to matter?"
    return Grid(title, ["method", *(record["case"] for record in records)], rows, notes)


def _grid(record: dict[str, Any]) -> Grid:
    rows = [
        [method, *(_text(numbers, name) for name in COLUMNS)]
        for method, numbers in record["summary"].items()
    ]
    shares = [f"{100 * accuracy:.1f}" for accuracy in record["accuracies"]]
    notes = [
        f"The truth: {record['truth']}.",
        f"Mean ± deviation over {len(record['seeds'])} models, each explained on graphs it "
        f"classifies right; their accuracy on graphs they did not see: {', '.join(shares)} %.",
        "Fidelity and unfaithfulness are means over the sparsities; lower is better for fidelity- "
        "and unfaithfulness, higher for the rest. Seconds are those of one explanation.",
    ]
    if record["bar"] is not None:
        verdict = "reached" if record["holds"] else "not reached"
        notes.append(f"The bar for {METHOD}, edge ROC-AUC of {record['bar']}, is {verdict}.")
    return Grid(f"Explanations on {record['case']}", ["method", *COLUMNS.values()], rows, notes)


def _text(numbers: dict[str, float | None], name: str) -> str:
    value, deviation = numbers.get(name), numbers.get(f"{name} deviation")
    if value is None:
        return ""
    return f"{value:.3f}" if deviation is None else f"{value:.3f} ± {deviation:.3f}"

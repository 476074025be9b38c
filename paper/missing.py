"""Why a cell of a table is empty."""

import json
from pathlib import Path
from typing import Any

from lgan.experiment import settings_for
from lgan.zoo import MODELS
from lgan.zoo.registry import NetworkSpec

NOT_RUN = "not run"
NO_HOLD_OUT = "no inner hold-out"
# Hours of ten folds from which the time is a reason.
LONG = 1.0


def read_refusals(folder: Path | str) -> dict[tuple[str, str], str]:
    """What models said of sets they cannot do, from the records of ``lgan table runtime``, and
    how long those would take that can.

    Args:
        folder: Folder of these records; may be missing.

    Returns:
        The reason by model and data set.
    """
    refusals = {}
    for path in sorted(Path(folder).glob("*.json")):
        for cell in json.loads(path.read_text()).get("cells", []):
            reason = str(cell.get("refused") or _duration(cell))
            if reason:
                refusals[cell["model"], cell["dataset"]] = reason
    return refusals


def _duration(cell: dict[str, Any]) -> str:
    """What ten folds would take, where that is long and an epoch is one pass."""
    if not isinstance(MODELS.get(cell["model"]), NetworkSpec):
        return ""
    training, seconds = settings_for(cell["model"], cell["dataset"]).training, cell["epoch"]
    hours = 10 * training.epochs * seconds / 3600
    if training.iterations > 0 or hours < LONG:
        return ""
    return (
        f"an epoch of one {cell['model']} took {seconds:.0f} s, which makes {hours:.0f} h for ten "
        f"folds of {training.epochs} epochs, and nobody has run them."
    )

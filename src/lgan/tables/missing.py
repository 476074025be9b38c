"""Why a cell of a table is empty."""

import json
from pathlib import Path

__all__ = ["NOT_RUN", "NO_HOLD_OUT", "read_refusals"]

NOT_RUN = "not run"
NO_HOLD_OUT = "no inner hold-out"


def read_refusals(folder: Path | str) -> dict[tuple[str, str], str]:
    """What models said of sets they cannot do, from the records of ``lgan table runtime``.

    Args:
        folder: Folder of these records; may be missing.

    Returns:
        The reason by model and data set.
    """
    refusals = {}
    for path in sorted(Path(folder).glob("*.json")):
        for cell in json.loads(path.read_text()).get("cells", []):
            if cell.get("refused"):
                refusals[cell["model"], cell["dataset"]] = str(cell["refused"])
    return refusals

"""Records of measurements on disk."""

import json
from pathlib import Path
from typing import Any

from lgan.data import replaced

FORMAT = 1


def write_record(path: Path | str, content: dict[str, Any]) -> None:
    """Write a record as JSON, whole or not at all."""
    with replaced(Path(path)) as temporary:
        text = json.dumps({"format": FORMAT, **content}, indent=1, allow_nan=False)
        temporary.write_text(text + "\n")


def read_record(path: Path | str, what: str) -> dict[str, Any]:
    """The content of a record; ``what`` it is, for the message where its format is another."""
    plain: dict[str, Any] = json.loads(Path(path).read_text())
    if plain.get("format") != FORMAT:
        raise ValueError(
            f"Expected {what} of format {FORMAT} in {path}, got {plain.get('format')}. "
            "Measure again."
        )
    return plain

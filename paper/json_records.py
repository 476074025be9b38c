"""Records of measurements on disk."""

import json
from pathlib import Path
from typing import Any

from lgan.data.cache import save_record

FORMAT = 1


def write_record(path: Path | str, content: dict[str, Any]) -> None:
    """Write a record as JSON, whole or not at all."""
    save_record(path, {"format": FORMAT, **content})


def read_record(path: Path | str, what: str) -> dict[str, Any]:
    """The content of a record; ``what`` it is, for the message where its format is another."""
    plain: dict[str, Any] = json.loads(Path(path).read_text())
    if plain.get("format") != FORMAT:
        raise ValueError(
            f"Expected {what} of format {FORMAT} in {path}, got {plain.get('format')}. "
            "Measure again."
        )
    return plain

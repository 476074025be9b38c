"""The outcome of a benchmark on disk."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.row import Row
from lgan.data.cache import save_record

FORMAT = 1


@dataclass(frozen=True)
class Record:
    """What was measured, and where.

    Attributes:
        benchmark: Name of the benchmark.
        rows: Its rows.
        environment: Versions, revision, machine, time (`lgan.train.environment`).
        mode: ``quick``, ``default`` or ``full``.
    """

    benchmark: str
    rows: list[Row]
    environment: dict[str, Any]
    mode: str = "default"

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        rows = [row.to_json() for row in self.rows]
        return {"format": FORMAT, **self.__dict__, "rows": rows}

    @staticmethod
    def from_json(plain: dict[str, Any]) -> "Record":
        """The record back from :meth:`to_json`."""
        if plain.get("format") != FORMAT:
            raise ValueError(
                f"Expected a benchmark record of format {FORMAT}, got {plain.get('format')}. "
                "Read it with the version of lgan that wrote it, or measure again."
            )
        rows = [Row.from_json(row) for row in plain["rows"]]
        return Record(plain["benchmark"], rows, plain["environment"], plain["mode"])

    def save(self, path: Path) -> None:
        """Write the record as JSON, whole or not at all."""
        save_record(path, self.to_json())

    @staticmethod
    def load(path: Path) -> "Record":
        """Read a record."""
        try:
            return Record.from_json(json.loads(path.read_text()))
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error


def add_json_line(path: Path, row: dict[str, Any]) -> None:
    """Add a row to a record that grows line by line."""
    with path.open("a") as file:
        file.write(json.dumps(row) + "\n")


def json_lines(path: Path) -> list[dict[str, Any]]:
    """The rows of a record that grows line by line, one JSON object each."""
    rows = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        try:
            rows.append(dict(json.loads(line)))
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"Line {number} of {path} must be a JSON object, got {line[:40]!r}. A run that was "
                "stopped may have left it: delete the line, and what it held is measured again."
            ) from error
    return rows

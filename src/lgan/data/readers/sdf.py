"""Records of an SDF: a molecule with named values."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

# The columns of what has no name in the file: the molecule itself and its title.
MOLBLOCK = "molblock"
NAME = "name"
END = "M  END"
SEPARATOR = "$$$$"


def read_sdf(lines: Iterable[str]) -> Iterator[dict[str, str]]:
    """Every record as its columns: the molecule, its title, and its named values."""
    return map(_columns, _records(lines))


def scan_sdf(lines: Iterable[str], path: Path) -> tuple[tuple[str, ...], int]:
    """The columns of all records and how many there are; refuse a file that breaks off."""
    names: dict[str, None] = {MOLBLOCK: None, NAME: None}
    count = 0
    titled = False
    record: list[str] = []
    for record in _records(lines):
        count += 1
        columns = _columns(record)
        titled = titled or bool(columns[NAME])
        names.update(dict.fromkeys(columns))
    # The last separator may be missing, but not the end of the last molecule.
    if END not in record and (not record or record[-1] != SEPARATOR):
        raise ValueError(
            f"{path} must be an SDF of whole molecules, each with a line {END!r}, got the end of "
            f"the file within record {count}. Copy or download the file again."
        )
    if not titled:
        del names[NAME]
    return tuple(names), count


def _records(lines: Iterable[str]) -> Iterator[list[str]]:
    record: list[str] = []
    for line in lines:
        line = line.rstrip("\r\n")
        record.append(line)
        if line == SEPARATOR:
            yield record
            record = []
    if any(line.strip() for line in record):
        yield record


# A value may begin with that sign too, as in ">10000".
_HEADER = re.compile(r"^>.*<[^>]*>")


def _columns(record: list[str]) -> dict[str, str]:
    end = next(
        (i for i, line in enumerate(record) if _HEADER.match(line) or line == SEPARATOR), None
    )
    # The line break at the end tells even one line from a SMILES.
    columns = {MOLBLOCK: "\n".join(record[:end]) + "\n", NAME: record[0].strip()}
    name = ""
    values: list[str] = []
    for line in record[end:] if end is not None else []:
        if _HEADER.match(line):
            name, values = line[line.find("<") + 1 : line.rfind(">")].strip(), []
        elif line.strip() and line != SEPARATOR:
            values.append(line)
        if name and name != MOLBLOCK:
            columns[name] = "\n".join(values)
    return columns

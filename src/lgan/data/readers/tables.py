"""Tables of molecules: CSV, TSV, SMILES files, SDF and Parquet, read in blocks of rows."""

import codecs
import csv
import gzip
import io
import lzma
import re
import zlib
from bz2 import BZ2File
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, Any

from lgan._optional import require
from lgan.data.readers.sdf import read_sdf, scan_sdf

FORMATS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".smi": "smi",
    ".smiles": "smi",
    ".sdf": "sdf",
    ".sd": "sdf",
    ".parquet": "parquet",
    ".pq": "parquet",
}
COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
SEPARATORS = (",", "\t", ";", "|")
SMILES_NAMES = ("smiles", "canonical_smiles", "isomeric_smiles", "smi", "structure")
BLOCK = 4096
PIECE = 1 << 20
SNIFFED_LINES = 50


@dataclass(frozen=True)
class TableBlock:
    """Consecutive rows of a table.

    Attributes:
        first: The number of its first row, counted from 0.
        columns: The cells of every column, as text where the file holds text.
        errors: Reasons by place in the block, for rows that do not fit the columns.
    """

    first: int
    columns: dict[str, list[Any]]
    errors: dict[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), []))


@dataclass(frozen=True)
class Table:
    """A table in a file: what is known before its rows are read.

    Attributes:
        path: The file.
        names: The columns.
        rows: The number of rows, or of lines where cells may hold line breaks.
        encoding: How its text is encoded, where it is text.
        separator: What separates its cells, where something does.
    """

    path: Path
    names: tuple[str, ...]
    rows: int
    encoding: str | None
    separator: str | None
    _read: Callable[[], Iterator[list[Any]]] = field(repr=False)

    def blocks(self, rows: int = BLOCK) -> Iterator[TableBlock]:
        """All rows, block by block; never more than one block is held."""
        first = 0
        with _explained(self.path):
            cells = self._read()
            while block := list(islice(cells, rows)):
                yield self._block(first, block)
                first += len(block)

    def _block(self, first: int, rows: list[list[Any]]) -> TableBlock:
        width = len(self.names)
        errors = {}
        for place, row in enumerate(rows):
            if len(row) > width:
                if any(cell.strip() for cell in row[width:]):
                    errors[place] = (
                        f"the row has {len(row)} cells, the header {width}; put cells that hold "
                        f"{self.separator!r} in quotes"
                    )
                rows[place] = row[:width]
            elif len(row) < width:
                rows[place] = row + [""] * (width - len(row))
        cells = zip(*rows, strict=True)
        columns = {name: list(column) for name, column in zip(self.names, cells, strict=True)}
        return TableBlock(first, columns, errors)


def is_table(path: Path) -> bool:
    """Whether a file's name is that of a table of molecules."""
    return _suffixes(Path(path))[0] in FORMATS


def open_table(
    path: Path | str, *, encoding: str | None = None, separator: str | None = None
) -> Table:
    """Look at a table: its columns, its encoding, what separates its cells, and its length.

    The whole file is looked at once, so that one that breaks off or is in another encoding is
    refused before any work.

    Args:
        path: A file ``.csv``, ``.tsv``, ``.smi``, ``.sdf`` or ``.parquet``; all but the last may be
            compressed (``.gz``, ``.bz2``, ``.xz``, ``.zst``).
        encoding: The encoding of the text; found from its bytes unless given.
        separator: What separates cells; found from the first lines unless given.
    """
    path = Path(path)
    suffix, compression = _suffixes(path)
    if suffix not in FORMATS:
        raise ValueError(
            f"A table must be one of {', '.join(FORMATS)}, possibly with {', '.join(COMPRESSED)}, "
            f"got {path.name}. Rename or convert the file."
        )
    if not path.is_file():
        raise FileNotFoundError(f"Expected a table in {path}, got no such file. Check the path.")
    with _explained(path):
        if FORMATS[suffix] == "parquet":
            return _parquet(path, compression)
        with _opened(path) as stream:
            if not stream.read(PIECE).strip():
                raise ValueError(f"{path} must hold a table, got an empty file.")
        encoding, lines = _encoding(path, encoding)
        if FORMATS[suffix] == "sdf":
            with _text(path, encoding) as text:
                names, records = scan_sdf(text, path)
            return Table(
                path, names, records, encoding, None, lambda: _from_sdf(path, encoding, names)
            )
        if FORMATS[suffix] == "smi":
            with _text(path, encoding) as text:
                head = text.readline().rstrip("\r\n")
            header = _smi_header(head)
            if header is None or "\t" not in head:
                names = tuple(header or ("smiles", "name"))
                rows = lines - bool(header)
                return Table(
                    path, names, rows, encoding, " ", lambda: _from_smi(path, encoding, header)
                )
            separator = "\t"
        with _text(path, encoding) as text:
            lead = list(islice(text, SNIFFED_LINES))
        blank = next((i for i, line in enumerate(lead) if line.strip()), 0)
        told = _TOLD.fullmatch("".join(lead[blank : blank + 1]))
        skipped = blank + (told is not None)
        separator = separator or (told and told[1]) or _separator(lead[blank:], suffix != ".csv")
        with _text(path, encoding) as text:
            cells = csv.reader(text, delimiter=separator, strict=True)
            header = next(islice(cells, skipped, None), [])
        names = _checked(header, path)
        return Table(
            path,
            names,
            lines - 1 - (told is not None),
            encoding,
            separator,
            lambda: _from_csv(path, encoding, separator, skipped),
        )


def safe_cell(value: object) -> str:
    """A cell as text that no spreadsheet takes for a formula.

    Text that begins like a formula gets an apostrophe before it; numbers and lone signs stay.

    Example:
        >>> safe_cell("=cmd()"), safe_cell("-3.2"), safe_cell("+"), safe_cell(None)
        ("'=cmd()", '-3.2', '+', '')
    """
    text = "" if value is None else str(value)
    # The wide forms are signs of formulas in East Asian spreadsheets.
    if text[:1] in tuple("=+-@\t\r\n＝＋－＠") and text and not _NUMBER.fullmatch(text):
        return f"'{text}"
    return text


def plain_cell(text: str) -> str:
    """The text that `safe_cell` wrote.

    Example:
        >>> plain_cell("'=cmd()"), plain_cell("'a'")
        ('=cmd()', "'a'")
    """
    return text[1:] if text[:1] == "'" and safe_cell(text[1:]) == text else text


# The line with which spreadsheets tell each other what separates the cells of the others.
_TOLD = re.compile(r"sep=([,;|\t])\s*")
# Points and commas may be of any country.
_NUMBER = re.compile(r"[+-]?[.,]?[0-9][0-9.,]*([eE][+-]?[0-9]+)?|[+-]?(inf|nan)|[+-]")


def _suffixes(path: Path) -> tuple[str, str]:
    """The suffix that names the format, and that of the compression."""
    compression = path.suffix.lower() if path.suffix.lower() in COMPRESSED else ""
    stem = path.name[: -len(compression)] if compression else path.name
    return Path(stem).suffix.lower(), compression


def _opened(path: Path) -> IO[bytes]:
    compression = _suffixes(path)[1]
    if compression == ".zst":
        return require("pyarrow").input_stream(str(path), compression="zstd")  # type: ignore[no-any-return]
    plain: dict[str, Any] = {"": open, ".gz": gzip.open, ".bz2": BZ2File, ".xz": lzma.open}
    return plain[compression](path, "rb")  # type: ignore[no-any-return]


@contextmanager
def _text(path: Path, encoding: str) -> Iterator[io.TextIOWrapper]:
    with _opened(path) as stream, io.TextIOWrapper(stream, encoding, newline="") as text:
        yield text


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Say of errors in a file which file it is and what to do."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} must be {error.encoding} text, got the byte {error.object[error.start]:#04x} "
            'in it. Name its encoding (`encoding="cp1252"`, say), or save it as UTF-8.'
        ) from error
    except LookupError as error:
        raise ValueError(f"`encoding` must be one that Python knows, got {error}.") from error
    except csv.Error as error:
        raise ValueError(
            f"{path} must be a table of cells, got a row that cannot be read: {error}. Check the "
            "quotes around its cells, and shorten a cell that is longer than all others."
        ) from error
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # of the system; decompressors give no number
        raise ValueError(
            f"{path} must be a whole compressed file, got {str(error) or 'its end too early'}. "
            "Copy or download it again."
        ) from error


def _encoding(path: Path, given: str | None) -> tuple[str, int]:
    """The encoding of a file and the number of its lines that are not blank."""
    if given is not None:
        codecs.lookup(given)
        return given, _lines(path, given)
    with _opened(path) as stream:
        start = stream.read(4)
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16", _lines(path, "utf-16")
    if b"\0" in start[:2]:  # UTF-16 without the mark that says so
        encoding = "utf-16-le" if start[1:2] == b"\0" else "utf-16-be"
        return encoding, _lines(path, encoding)
    try:
        return "utf-8-sig", _lines(path, "utf-8-sig")
    except UnicodeDecodeError:
        # What spreadsheets write where they do not write UTF-8.
        return "cp1252", _lines(path, "cp1252")


def _lines(path: Path, encoding: str) -> int:
    with _text(path, encoding) as text:  # tabs alone may be a row of empty cells
        return sum(1 for line in text if line.strip(" \r\n"))


def _separator(lines: list[str], prefer_tab: bool) -> str:
    """The separator with which the first lines have the same number of cells, the more the better.

    One column is a table too, separated by anything.
    """
    preferred = ("\t", ",", ";", "|") if prefer_tab else SEPARATORS
    best, found = (0.5, 1), preferred[0]
    for separator in preferred:
        try:
            widths = [len(row) for row in csv.reader(lines, delimiter=separator) if row]
        except csv.Error:
            continue
        alike = sum(width == widths[0] for width in widths) / max(1, len(widths))
        if widths and widths[0] > 1 and (alike, widths[0]) > best:
            best, found = (alike, widths[0]), separator
    return found


def _checked(header: Sequence[str], path: Path) -> tuple[str, ...]:
    names = tuple(name.strip() for name in header)
    if names.count("") > 1:  # as spreadsheets leave them behind a table
        names = tuple(name or f"column {place}" for place, name in enumerate(names, 1))
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(
            f"The columns of {path} must have different names, got {', '.join(map(repr, twice))} "
            "more than once. Rename one of them."
        )
    return names


def _from_csv(
    path: Path, encoding: str, separator: str | None, skipped: int
) -> Iterator[list[str]]:
    with _text(path, encoding) as text:
        rows = csv.reader(text, delimiter=separator or ",", strict=True)
        for row in islice(rows, skipped + 1, None):
            if len(row) > 1 or (row and not row[0].isspace()):  # not a blank line
                yield row


def _smi_header(line: str) -> list[str] | None:
    words = line.split("\t") if "\t" in line else line.split()
    return words if words and words[0].strip().lower() in SMILES_NAMES else None


def _from_smi(path: Path, encoding: str, header: Sequence[str] | None) -> Iterator[list[str]]:
    width = len(header or ("smiles", "name"))
    with _text(path, encoding) as text:
        for line in islice(text, 1 if header else 0, None):
            if line.strip():
                yield [cell.strip() for cell in line.strip().split(maxsplit=width - 1)]


def _from_sdf(path: Path, encoding: str, names: Sequence[str]) -> Iterator[list[str]]:
    with _text(path, encoding) as text:
        for record in read_sdf(text):
            yield [record.get(name, "") for name in names]


def _parquet(path: Path, compression: str) -> Table:
    if compression:
        raise ValueError(f"A Parquet file is compressed inside, got {path.name}. Unpack it first.")
    parquet = require("pyarrow.parquet")
    try:
        file = parquet.ParquetFile(path)
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} must be a Parquet file, got {error}. Write it again.") from error
    names = _checked(file.schema_arrow.names, path)

    def read() -> Iterator[list[Any]]:
        for batch in parquet.ParquetFile(path).iter_batches(BLOCK):
            yield from map(list, zip(*map(_cells, batch.columns), strict=True))

    return Table(path, names, file.metadata.num_rows, None, None, read)


def _cells(column: Any) -> list[Any]:
    """The cells of a column of Arrow; bytes that are text as text, as some programs write it."""
    cells: list[Any] = column.to_pylist()
    for place, cell in enumerate(cells):
        if isinstance(cell, bytes):  # those of a molecule of RDKit are no text
            with suppress(UnicodeDecodeError):
                cells[place] = cell.decode()
    return cells

import bz2
import csv
import gzip
import io
import lzma
from pathlib import Path

import pytest

from lgan.data.readers.tables import is_table, open_table, safe_cell

ROWS = [["smiles", "active"], ["CCO", "1"], ["c1ccccc1", ""], ["CC(=O)O, salt", "0"]]


def _csv(separator: str = ",") -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=separator).writerows(ROWS)
    return text.getvalue()


def _columns(path: Path, **options: str) -> dict[str, list]:
    blocks = list(open_table(path, **options).blocks())
    assert [block.first for block in blocks] == [0]
    assert not blocks[0].errors
    return blocks[0].columns


EXPECTED = {"smiles": ["CCO", "c1ccccc1", "CC(=O)O, salt"], "active": ["1", "", "0"]}


@pytest.mark.parametrize("first", ["\n", " \r\n\n", "\n\nsep=,\n"])
def test_blank_lines_before_the_header_are_skipped(tmp_path: Path, first: str) -> None:
    path = tmp_path / "table.csv"
    path.write_text(first + _csv())
    assert _columns(path) == EXPECTED
    assert open_table(path).rows == 3


def test_bytes_of_parquet_that_are_text_are_read_as_text(tmp_path: Path) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    molecule = b"\xef\xbe\xad\xde\x00\x00"
    cells = pa.array([b"CCO", None, molecule], pa.binary())
    parquet.write_table(pa.table({"smiles": cells}), tmp_path / "t.parquet")
    assert _columns(tmp_path / "t.parquet") == {"smiles": ["CCO", None, molecule]}


@pytest.mark.parametrize("separator", [",", "\t", ";", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_separator_and_encoding_are_found(
    tmp_path: Path, separator: str, encoding: str, suffix: str
) -> None:
    path = tmp_path / f"table{suffix}"
    path.write_bytes(_csv(separator).encode(encoding))
    table = open_table(path)
    assert table.separator == separator
    assert table.names == ("smiles", "active")
    assert table.rows == 3
    assert _columns(path) == EXPECTED


def test_a_table_written_by_an_old_spreadsheet_is_read(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("smiles;Aktivität (µM)\nCCO;1\n".encode("cp1252"))
    table = open_table(path)
    assert (table.encoding, table.names) == ("cp1252", ("smiles", "Aktivität (µM)"))
    assert _columns(path, encoding="cp1252")["smiles"] == ["CCO"]
    with pytest.raises(ValueError, match="must be utf-8 text, got the byte 0xe4"):
        open_table(path, encoding="utf-8")
    with pytest.raises(ValueError, match="`encoding` must be one that Python knows"):
        open_table(path, encoding="utf-80")


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
def test_compressed_tables_are_read_and_broken_ones_refused(tmp_path: Path, suffix: str) -> None:
    content = _csv().encode()
    if suffix == ".zst":
        arrow = pytest.importorskip("pyarrow")
        packed = arrow.compress(content, codec="zstd", asbytes=True)
    else:
        packed = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}[suffix](content)
    path = tmp_path / f"table.csv{suffix}"
    path.write_bytes(packed)
    assert is_table(path)
    assert _columns(path) == EXPECTED
    path.write_bytes(packed[: len(packed) - 12])
    with pytest.raises(ValueError, match="must be a whole compressed file, got"):
        open_table(path)
    path.write_bytes(content)
    with pytest.raises(ValueError, match="must be a whole compressed file, got"):
        open_table(path)


def test_parquet_keeps_the_types_of_its_cells(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "t.parquet"
    parquet.write_table(arrow.table({"smiles": ["C", None], "y": [1.5, None]}), path)
    table = open_table(path)
    assert (table.names, table.rows) == (("smiles", "y"), 2)
    assert _columns(path) == {"smiles": ["C", None], "y": [1.5, None]}
    path.write_bytes(b"PAR1 and nothing more")
    with pytest.raises(ValueError, match="must be a Parquet file, got"):
        open_table(path)
    (tmp_path / "t.parquet.gz").touch()
    with pytest.raises(ValueError, match="compressed inside"):
        open_table(tmp_path / "t.parquet.gz")


@pytest.mark.parametrize(
    ("text", "names", "first"),
    [
        ("CCO ethanol, pure\nC\n", ("smiles", "name"), ["CCO", "ethanol, pure"]),
        ("smiles name\nCCO ethanol\nC\n", ("smiles", "name"), ["CCO", "ethanol"]),
        ("SMILES\tname\ty\nCCO\tan alcohol\t1\nC\t\t\n", ("SMILES", "name", "y"), None),
        ("CCO\tethanol\n\nC\n", ("smiles", "name"), ["CCO", "ethanol"]),
    ],
)
def test_smiles_files(tmp_path: Path, text: str, names: tuple, first: list | None) -> None:
    path = tmp_path / "t.smi"
    path.write_text(text)
    columns = _columns(path)
    assert tuple(columns) == names
    assert columns[names[0]] == ["CCO", "C"]
    assert [c[0] for c in columns.values()] == (first or ["CCO", "an alcohol", "1"])


def test_blocks_hold_all_rows_in_order(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("smiles,n\n" + "".join(f"C,{i}\n" for i in range(10)))
    blocks = list(open_table(path).blocks(rows=4))
    assert [(block.first, len(block)) for block in blocks] == [(0, 4), (4, 4), (8, 2)]
    assert [cell for block in blocks for cell in block.columns["n"]] == list(map(str, range(10)))


def test_rows_of_empty_cells_keep_their_place(tmp_path: Path) -> None:
    path = tmp_path / "gaps.csv"
    path.write_text("smiles,name\nCCO,x\n,\n\n  \nCCN,y\n")
    [block] = open_table(path).blocks()
    assert block.columns["smiles"] == ["CCO", "", "CCN"]
    path.write_text('smiles\nCCO\n""\n\nCCN\n')
    [block] = open_table(path).blocks()
    assert block.columns["smiles"] == ["CCO", "", "CCN"]


@pytest.mark.parametrize("separator", [";", ","])
def test_a_line_of_spreadsheets_tells_the_separator(tmp_path: Path, separator: str) -> None:
    path = tmp_path / "told.csv"
    path.write_text(f"sep={separator}\r\n" + f"smiles{separator}y\r\nCCO{separator}1\r\n")
    table = open_table(path)
    assert (table.names, table.rows, table.separator) == (("smiles", "y"), 1, separator)
    assert [block.columns for block in table.blocks()] == [{"smiles": ["CCO"], "y": ["1"]}]


def test_rows_of_another_length_keep_their_place(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('smiles,y,z\nC,1,2\nC\nC,1,2,3\n"C\nC",1,2,, \n')
    (block,) = open_table(path).blocks()
    assert block.columns == {
        "smiles": ["C", "C", "C", "C\nC"],
        "y": ["1", "", "1", "1"],
        "z": ["2", "", "2", "2"],
    }
    assert list(block.errors) == [2]
    assert "4 cells, the header 3; put cells that hold ',' in quotes" in block.errors[2]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"", "must hold a table, got an empty file"),
        ("t.csv", b"\n \n", "must hold a table, got an empty file"),
        ("t.smi", b"", "must hold a table, got an empty file"),
        ("t.sdf", b"", "must hold a table, got an empty file"),
        ("t.csv", b"smiles,y,y\nC,1,2\n", "must have different names, got 'y' more than once"),
        ("t.xlsx", b"", r"must be one of .csv, .*got t\.xlsx"),
        ("t.csv", b'smiles,y\nC,1\n"C,2\n', "a row that cannot be read: unexpected end of data"),
    ],
)
def test_files_that_are_no_tables_are_refused(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        list(open_table(path).blocks())


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere\.csv, got no such file"):
        open_table(tmp_path / "nowhere.csv")


@pytest.mark.parametrize(
    "cell",
    ["=cmd()", "=1+1", "+cmd", "-2+3+cmd|' /C calc'!A0", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1",
     "-4,69-1", "+1,2 ", "-,", "-.", "+1e", "-1,2e+", "-٣,٤", "-1;2", "=-4,69", "-4,69\n"],
)  # fmt: skip
def test_formulas_are_written_as_text(cell: str) -> None:
    assert safe_cell(cell) == f"'{cell}"


@pytest.mark.parametrize(
    "cell", ["-3.2", "+1", "-1e-05", "-.5", "CCO", "", "a=b", "-inf", "[NH4+]", "-4,69",
             "+1.234,5", "-1,234.5", "-,5", "-4,69e-3", "+7.", "-12,"],
)  # fmt: skip
def test_numbers_and_other_text_stay_as_they_are(cell: str) -> None:
    assert safe_cell(cell) == cell


def test_columns_without_a_name_are_called_by_their_place(tmp_path: Path) -> None:
    path = tmp_path / "from-a-spreadsheet.csv"
    path.write_text("smiles,y,,\nC,1,,\nCC,2,x,\n")
    table = open_table(path)
    assert table.names == ("smiles", "y", "column 3", "column 4")
    [block] = table.blocks()
    assert block.columns["column 3"] == ["", "x"]
    path.write_text(",smiles\n0,C\n")  # an index, as pandas writes it
    assert open_table(path).names == ("", "smiles")


def test_a_row_of_tabs_is_a_row_of_empty_cells(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text("smiles\ty\nCCO\t1\n\t\n \n")
    table = open_table(path)
    found = [row for block in table.blocks() for row in block.columns["smiles"]]
    assert (table.rows, found) == (2, ["CCO", ""])

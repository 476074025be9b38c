from pathlib import Path

import pytest

from lgan.data.readers.sdf import read_sdf
from lgan.data.readers.tables import open_table


def _record(title: str, fields: dict[str, str]) -> str:
    from rdkit import Chem

    mol = Chem.MolFromSmiles("CO")
    mol.SetProp("_Name", title)
    values = "".join(f"> <{name}>\n{value}\n\n" for name, value in fields.items())
    return f"{Chem.MolToMolBlock(mol)}{values}$$$$\n"


def test_fields_become_columns(tmp_path: Path) -> None:
    path = tmp_path / "t.sdf"
    path.write_text(_record("one", {"y": "1", "note": "a\nb"}) + _record("", {"z": "", "y": "2"}))
    table = open_table(path)
    assert (table.names, table.rows) == (("molblock", "name", "y", "note", "z"), 2)
    (block,) = table.blocks()
    assert block.columns["name"] == ["one", ""]
    assert block.columns["y"] == ["1", "2"]
    assert block.columns["note"] == ["a\nb", ""]
    assert all(cell.endswith("M  END\n") for cell in block.columns["molblock"])


def test_the_last_separator_may_be_missing(tmp_path: Path) -> None:
    path = tmp_path / "t.sdf"
    path.write_text((_record("", {}) * 2).removesuffix("$$$$\n"))
    table = open_table(path)
    assert (table.names, table.rows) == (("molblock",), 2)


@pytest.mark.parametrize("cut", [30, 80])
def test_a_file_that_breaks_off_is_refused(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "t.sdf"
    whole = _record("", {"y": "1"})
    path.write_text(whole + whole[:cut])
    with pytest.raises(ValueError, match=r"got the end of the file within record 2\. Copy or down"):
        open_table(path)


def test_a_value_may_begin_as_a_header_does():
    lines = ["", "", "", "M  END", "> <IC50>", ">10000", "", ">  <note>", "a", "", "$$$$"]
    [read] = read_sdf(lines)
    assert (read["IC50"], read["note"]) == (">10000", "a")

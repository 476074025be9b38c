import csv
from pathlib import Path

import pytest

pytest.importorskip("rdkit")

from rdkit import Chem

from lgan import load
from lgan.data import load_raw
from lgan.data.molecules.tables import (
    Duplicates,
    choose_structures,
    choose_targets,
    count_duplicates,
    molecules_of_blocks,
    read_molecule_table,
)
from lgan.data.readers.tables import open_table

TABLE = "id,smiles,active\na,CCO,1\nb,bad,0\nc,c1ccccc1,\nd,OCC,0\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "molecules.csv"
    path.write_text(TABLE)
    return path


def test_targets_belong_to_the_graphs_that_could_be_read(path: Path) -> None:
    table = read_molecule_table(path, targets="active", columns=["id"])
    assert (table.name, table.structures) == ("molecules.csv", ("CCO", "c1ccccc1", "OCC"))
    assert table.rows.tolist() == [0, 2, 3]
    assert table.targets == {"active": ["1", "", "0"]}
    assert table.columns == {"id": ["a", "c", "d"]}
    assert [row for row, _ in table.errors] == [1]


def test_files_frames_and_columns_give_the_same(path: Path, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(path)
    frame.to_parquet(tmp_path / "molecules.parquet")
    columns = {name: frame[name].tolist() for name in frame}
    expected = read_molecule_table(path, targets=["active"])
    for source in (frame, frame.iloc[::1], columns, tmp_path / "molecules.parquet"):
        table = read_molecule_table(source, targets=["active"])
        assert table.ids == expected.ids
        assert table.errors == expected.errors
        assert table.targets["active"][::2] == [1, 0]
    shuffled = read_molecule_table(frame.iloc[[3, 0]], targets=["active"])
    assert shuffled.targets == {"active": [0, 1]}


def test_frames_of_polars_and_tables_of_arrow_are_read_too() -> None:
    arrow = pytest.importorskip("pyarrow")
    cells = {"smiles": ["CCO", "bad", "C"], "active": [1, 0, None]}

    class Frame:  # what polars has of it
        columns = tuple(cells)

        def __getitem__(self, name: str) -> list:
            return cells[name]

    for source in (Frame(), arrow.table(cells)):
        raw = load_raw(source, targets=["active"], progress=lambda _: None)
        assert raw.targets == {"active": [1, None]}
        assert [row for row, _ in raw.errors] == [1]


def test_a_column_twice_is_refused() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([["CCO", 1, 2]], columns=["smiles", "y", "y"])
    with pytest.raises(ValueError, match="must have different names, got 'y' more than once"):
        read_molecule_table(frame, targets=["y"])


def test_rows_that_cannot_be_read_are_told(path: Path, tmp_path: Path) -> None:
    told = r"1 of 4 rows of molecules\.csv cannot be read and are left out, the first of them row 2"
    with pytest.warns(UserWarning, match=told), pytest.warns(UserWarning, match="have no target"):
        assert load(path, targets="active", root=tmp_path).num_graphs == 2


def test_an_sdf_gives_its_fields(tmp_path: Path) -> None:
    path = tmp_path / "t.sdf"
    with Chem.SDWriter(str(path)) as writer:
        for smiles, y in (("CCO", 1.5), ("c1ccccc1", 2.5)):
            mol = Chem.MolFromSmiles(smiles)
            mol.SetProp("_Name", smiles)
            mol.SetDoubleProp("y", y)
            writer.write(mol)
    table = read_molecule_table(path)
    assert table.ids == ("CCO", "c1ccccc1")
    assert [float(cell) for cell in table.targets["y"]] == [1.5, 2.5]


def test_streamed_blocks_hold_all_columns_and_all_rows(path: Path) -> None:
    table = open_table(path)
    blocks = list(molecules_of_blocks(table.blocks(3), "smiles", processes=2))
    assert [(block.first, len(block)) for block, _ in blocks] == [(0, 3), (3, 1)]
    assert [cell for block, _ in blocks for cell in block.columns["id"]] == ["a", "b", "c", "d"]
    assert [molecules.rows.tolist() for _, molecules in blocks] == [[0, 2], [0]]
    assert [row for row, _ in blocks[0][1].errors] == [1]


def test_a_row_that_does_not_fit_is_an_error_with_its_reason(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("smiles,y\nC,1\nN,1,5\nO,0\n")
    table = read_molecule_table(path)
    assert table.targets == {"y": ["1", "0"]}
    ((row, reason),) = table.errors
    assert (row, reason[:28]) == (1, "the row has 3 cells, the hea")
    ((_, molecules),) = molecules_of_blocks(open_table(path).blocks(), "smiles")
    assert molecules.errors == table.errors


def test_the_column_of_structures_is_found_by_its_name() -> None:
    assert choose_structures(["id", "SMILES"]) == "SMILES"
    assert choose_structures(["smi", "canonical_smiles"]) == "canonical_smiles"
    assert choose_structures(["a", "b"], "b") == "b"
    with pytest.raises(ValueError, match=r"must have a column of SMILES.*got 'CCO', '1'. Name the"):
        choose_structures(["CCO", "1"])
    with pytest.raises(ValueError, match="must be among the columns 'a', 'b', got 'c'"):
        choose_structures(["a", "b"], "c")


def test_targets_are_the_only_other_column_or_named() -> None:
    assert choose_targets(["smiles", "y"], "smiles") == ("y",)
    assert choose_targets(["smiles", "name", "y"], "smiles") == ("y",)
    assert choose_targets(["smiles", "x", "y"], "smiles", "all") == ("x", "y")
    assert choose_targets(["smiles", "x", "y"], "smiles", ["y", "x", "y"]) == ("y", "x")
    with pytest.raises(ValueError, match=r"must be named .*got 'x', 'y'\. Name one or more"):
        choose_targets(["smiles", "x", "y"], "smiles")
    with pytest.raises(ValueError, match=r"must be named .*got none"):
        choose_targets(["smiles"], "smiles")
    with pytest.raises(ValueError, match="among the columns 'x', 'y', got 'z'"):
        choose_targets(["smiles", "x", "y"], "smiles", ["x", "z"])


def test_a_table_without_rows_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("smiles,y\n")
    with pytest.raises(ValueError, match=r"t\.csv must have a row, got none below .*'smiles', 'y'"):
        read_molecule_table(path)
    with pytest.raises(ValueError, match=r"same length, got \[1, 2\]"):
        read_molecule_table({"smiles": ["C"], "y": [1, 2]})


def test_duplicates_with_other_labels_are_counted() -> None:
    smiles = ["C", "N", "C", "O", "N", "C", "N"]
    assert count_duplicates(smiles, {"y": [1, 0, "1.0", 0, 1, None, 0]}) == Duplicates(2, 6, 1)
    assert count_duplicates(smiles[1:4], {"y": [1, 1, 1]}) == Duplicates(0, 0, 0)


@pytest.mark.data
def test_real_tables_have_the_rows_and_the_unreadable_ones_that_are_known(mirror: Path) -> None:
    folder = mirror.parent / "molecules"
    for name, rows, unreadable in (("ClinTox", 1484, 4), ("FreeSolv", 642, 0)):
        path = folder / f"{name}.csv"
        if not path.is_file():
            pytest.skip(f"needs {path}")
        table = read_molecule_table(path, targets="all", processes=2)
        assert (table.num_graphs, len(table.errors)) == (rows - unreadable, unreadable)
        with path.open() as file:
            cells = [row["smiles"] for row in csv.DictReader(file)]
        sizes = [Chem.MolFromSmiles(cells[row]).GetNumAtoms() for row in table.rows.tolist()]
        assert table.node_ptr.diff().tolist() == sizes


def test_stereoisomers_are_told_apart_from_duplicates():
    smiles = ["C[C@H](N)O", "C[C@@H](N)O", "CC(N)O", "F/C=C/F", "F/C=C/F", "CC"]
    canonical = read_molecule_table({"smiles": smiles}, targets=[]).ids
    found = count_duplicates(canonical, {})
    assert (found.molecules, found.rows, found.stereo) == (1, 2, 1)


@pytest.mark.parametrize("column", [1, "CCO"])
def test_a_column_in_memory_must_be_a_list_of_cells(column):
    with pytest.raises(TypeError, match=r"must be a list of cells, got \w+ as 'smiles'"):
        read_molecule_table({"smiles": column})

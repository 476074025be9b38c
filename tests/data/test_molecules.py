from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rdkit")

from rdkit import Chem

from lgan.data.molecules import parallel as module
from lgan.data.molecules.features import MoleculeFeatures
from lgan.data.molecules.featurise import Molecules
from lgan.data.molecules.parallel import ARRAYS, featurise_blocks, featurise_molecules

ROWS = ["CCO", "bad", "c1ccccc1", "[Na+].[Cl-]", "", "C[C@H](N)C(=O)O", "OCC"]


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK", 3)


def _assert_equal(one: Molecules, two: Molecules) -> None:
    assert (one.errors, one.smiles) == (two.errors, two.smiles)
    for name in ARRAYS:
        ours, theirs = getattr(one, name), getattr(two, name)
        assert ours.dtype == theirs.dtype, name
        assert np.array_equal(ours, theirs), name


def test_rows_stay_aligned() -> None:
    molecules = featurise_molecules(ROWS)
    assert molecules.rows.tolist() == [0, 2, 3, 5, 6]
    assert [row for row, _ in molecules.errors] == [1, 4]
    assert molecules.node_ptr.tolist() == [0, 3, 9, 11, 17, 20]
    assert molecules.smiles[0] == molecules.smiles[-1] == "CCO"


def test_pairs_are_sorted_and_stay_within_their_graph() -> None:
    molecules = featurise_molecules(ROWS)
    u, v = molecules.pair_index
    assert (u < v).all()
    assert (np.diff(u * 100 + v) > 0).all()
    graph = np.searchsorted(molecules.node_ptr, molecules.pair_index, side="right")
    assert (graph[0] == graph[1]).all()
    assert len(np.unique(molecules.atom_table, axis=0)) == len(molecules.atom_table)
    assert len(np.unique(molecules.bond_table, axis=0)) == len(molecules.bond_table)


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("processes", [1, 2])
def test_chunks_and_processes_change_nothing(
    processes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[float] = []
    parts = featurise_molecules(ROWS, processes=processes, progress=told.append)
    assert told == [3 / 7, 6 / 7, 1]
    monkeypatch.setattr(module, "CHUNK", 500)
    _assert_equal(parts, featurise_molecules(ROWS))


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("processes", [1, 2])
def test_blocks_are_featurised_one_by_one(processes: int) -> None:
    blocks = [ROWS, ROWS[:2], [], ROWS[2:]]
    given = list(featurise_blocks(blocks, processes=processes))
    assert len(given) == 4
    for block, molecules in zip(blocks, given, strict=True):
        _assert_equal(molecules, featurise_molecules(block, processes=1))


def test_the_cache_holds_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = featurise_molecules(ROWS)
    _assert_equal(featurise_molecules(ROWS, cache=tmp_path), made)
    monkeypatch.setattr(module, "featurised", None)  # what is cached needs no work
    told: list[float] = []
    _assert_equal(featurise_molecules(ROWS, cache=tmp_path, progress=told.append), made)
    assert told == [1]


def test_the_cache_knows_what_shapes_the_result(tmp_path: Path) -> None:
    base = MoleculeFeatures()
    key = module._key(ROWS, base)
    others = [
        module._key(ROWS[:-1], base),
        module._key(["CC", "O"], base),
        module._key(["CCO"], base),
        module._key(ROWS, MoleculeFeatures(hydrogens=True)),
        module._key(ROWS, MoleculeFeatures(standardise=True)),
        module._key([Chem.MolFromSmiles("CCO")], base),
    ]
    assert len({key, *others}) == 7
    assert module._key(ROWS, MoleculeFeatures(atoms=("element",))) == key


def test_nothing_readable_is_an_empty_union(tmp_path: Path) -> None:
    for rows in ([], ["bad"]):
        molecules = featurise_molecules(rows, cache=tmp_path)
        assert molecules.node_ptr.tolist() == [0]
        assert molecules.smiles == ()
        _assert_equal(molecules, featurise_molecules(rows, cache=tmp_path))


def test_a_number_of_processes_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="`processes` must be 1 or more, got 0"):
        featurise_molecules(["C"], processes=0)

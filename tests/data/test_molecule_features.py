import json

import pytest

pytest.importorskip("rdkit")

from lgan.data.molecules.features import (
    ATOM_FEATURES,
    BOND_FEATURES,
    MoleculeFeatures,
    spelled_columns,
)
from lgan.data.molecules.featurise import featurise


def _spelled(smiles: list[str], features: dict[str, str], names: list[str]) -> list[tuple]:
    chunk = featurise(smiles)
    atoms = features is ATOM_FEATURES
    table, ids = (chunk.atom_table, chunk.atoms) if atoms else (chunk.bond_table, chunk.bonds)
    categories, words = spelled_columns(table, features, names)
    assert categories.shape == (len(table), len(names))
    return [tuple(words[c][i] for c, i in enumerate(row)) for row in categories[ids].tolist()]


def test_atoms_in_words() -> None:
    rows = _spelled(["C[C@H](N)C#N", "c1cc[nH]c1", "[Na+]"], ATOM_FEATURES, list(ATOM_FEATURES))
    assert rows[0] == ("C", "1", "0", "3", "sp3", "no", "no", "none")
    assert rows[1] == ("C", "3", "0", "1", "sp3", "no", "no", "S")
    assert rows[4] == ("N", "1", "0", "0", "sp", "no", "no", "none")
    assert rows[8] == ("N", "2", "0", "1", "sp2", "yes", "yes", "none")
    assert rows[10][:3] == ("Na", "0", "1")


def test_bonds_in_words() -> None:
    rows = _spelled(["F/C=C/F", "c1ccccc1", "C#N"], BOND_FEATURES, list(BOND_FEATURES))
    assert rows[1] == ("double", "no", "no", "E")
    assert rows[3] == ("aromatic", "yes", "yes", "none")
    assert rows[-1] == ("triple", "no", "no", "none")


def test_chosen_columns_come_in_the_order_chosen() -> None:
    assert _spelled(["CO"], ATOM_FEATURES, ["hydrogens", "element"]) == [("3", "C"), ("1", "O")]
    assert _spelled(["CO"], BOND_FEATURES, []) == [()]


def test_features_are_chosen_by_name() -> None:
    features = MoleculeFeatures.parse(atoms="element, charge", bonds="none", hydrogens=True)
    assert features == MoleculeFeatures(("element", "charge"), (), hydrogens=True)
    assert MoleculeFeatures.parse() == MoleculeFeatures()
    assert MoleculeFeatures.from_json(json.loads(json.dumps(features.to_json()))) == features


def test_unknown_features_are_refused() -> None:
    with pytest.raises(ValueError, match=r"`atoms` must be among element, degree.*got 'mass'"):
        MoleculeFeatures.parse(atoms="mass")
    with pytest.raises(ValueError, match=r"`bonds` must be among .*each once, got 'ring', 'ring'"):
        MoleculeFeatures.parse(bonds="ring,ring")
    with pytest.raises(ValueError, match="`atoms` must name a feature, got none"):
        MoleculeFeatures.parse(atoms="none")


def test_features_of_another_featuriser_are_refused() -> None:
    plain = MoleculeFeatures().to_json()
    with pytest.raises(ValueError, match=r"'rdkit', version 1, got 'rdkit', version 0\. Train"):
        MoleculeFeatures.from_json({**plain, "version": 0})
    with pytest.raises(ValueError, match="got 'other', version 1"):
        MoleculeFeatures.from_json({**plain, "featuriser": "other"})
    with pytest.raises(ValueError, match="must say 'atoms', got featuriser, version"):
        MoleculeFeatures.from_json({name: plain[name] for name in plain if name != "atoms"})

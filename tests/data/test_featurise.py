import re
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("rdkit")

from rdkit import Chem, rdBase

from lgan.data.molecules import featurise as module
from lgan.data.molecules.featurise import featurise, joined

MOLECULES = [
    "C",
    "CCO",
    "c1ccccc1[N+](=O)[O-]",
    "F/C=C/F",
    "F/C=C\\F",
    "C[C@H](N)C(=O)O",
    "C[C@@H](N)C(=O)O",
    "[Na+].[Cl-]",
    "C1CC1C#N",
    "O=S(=O)(O)c1cc[nH]c1",
    "C[S@](=O)CC",
    "C1=CC2=CC=CC2=CC=C1",
    "[2H]C([2H])O",
    "*CC",
    "[H][H]",
    "C[Pt](Cl)(Cl)N",
]


def _row(smiles: str, atom: int, **options: bool) -> list[int]:
    chunk = featurise([smiles], **options)
    return chunk.atom_table[chunk.atoms[atom]].tolist()


def test_atoms_of_acetamide_by_hand() -> None:
    # Element, degree, charge, hydrogens, hybridisation (sp2 is 3, sp3 is 4), aromatic, ring, R/S.
    assert _row("CC(=O)N", 0) == [6, 1, 0, 3, 4, 0, 0, 0]
    assert _row("CC(=O)N", 1) == [6, 3, 0, 0, 3, 0, 0, 0]
    assert _row("CC(=O)N", 2) == [8, 1, 0, 0, 3, 0, 0, 0]
    assert _row("CC(=O)N", 3) == [7, 1, 0, 2, 3, 0, 0, 0]
    assert _row("c1ccccc1", 3) == [6, 2, 0, 1, 3, 1, 1, 0]
    assert _row("C[N+](C)(C)C", 1)[2] == 1


def test_bonds_by_hand() -> None:
    chunk = featurise(["C=CC#N", "c1ccccc1", "F/C=C/F"])
    rows = chunk.bond_table[chunk.bonds].tolist()
    # Order (aromatic is 12), conjugated, ring, stereo (E is 3).
    assert rows[:3] == [[2, 1, 0, 0], [1, 1, 0, 0], [3, 1, 0, 0]]
    assert rows[3:9] == [[12, 1, 1, 0]] * 6
    assert rows[10] == [2, 0, 0, 3]
    assert chunk.pair_index[:, :4].tolist() == [[0, 1, 2, 4], [1, 2, 3, 5]]


def test_features_agree_with_rdkit_atom_by_atom() -> None:
    chunk = featurise(MOLECULES)
    assert not chunk.errors
    atoms = iter(chunk.atom_table[chunk.atoms].tolist())
    for smiles in MOLECULES:
        for atom in Chem.MolFromSmiles(smiles).GetAtoms():
            assert next(atoms)[:7] == [
                atom.GetAtomicNum(),
                atom.GetDegree(),
                atom.GetFormalCharge(),
                atom.GetTotalNumHs(True),
                int(atom.GetHybridization()),
                atom.GetIsAromatic(),
                atom.IsInRing(),
            ], smiles
    assert next(atoms, None) is None
    bonds = dict(
        zip(
            map(tuple, chunk.pair_index.T.tolist()),
            chunk.bond_table[chunk.bonds].tolist(),
            strict=True,
        )
    )
    start = 0
    for smiles in MOLECULES:
        mol = Chem.MolFromSmiles(smiles)
        for bond in mol.GetBonds():
            ends = sorted((bond.GetBeginAtomIdx() + start, bond.GetEndAtomIdx() + start))
            assert bonds.pop(tuple(ends)) == [
                int(bond.GetBondType()),
                bond.GetIsConjugated(),
                bond.IsInRing(),
                int(bond.GetStereo()),
            ], smiles
        start += mol.GetNumAtoms()
    assert not bonds


def _signature(smiles: str) -> tuple:
    """What a graph network can see of one layer: every atom with its bonds and neighbours."""
    chunk = featurise([smiles])
    atoms, bonds = chunk.atom_table[chunk.atoms], chunk.bond_table[chunk.bonds]
    seen: list[list] = [[tuple(row), []] for row in atoms.tolist()]
    for (u, v), bond in zip(chunk.pair_index.T.tolist(), bonds.tolist(), strict=True):
        seen[u][1].append((tuple(bond), tuple(atoms[v].tolist())))
        seen[v][1].append((tuple(bond), tuple(atoms[u].tolist())))
    return chunk.smiles[0], tuple(sorted((own, tuple(sorted(around))) for own, around in seen))


@pytest.mark.parametrize("smiles", MOLECULES)
def test_a_molecule_is_the_same_graph_however_it_is_written(smiles: str) -> None:
    mol = Chem.MolFromSmiles(smiles)
    written = {Chem.MolToSmiles(mol, doRandom=True) for _ in range(10)}
    assert {_signature(text) for text in written} == {_signature(smiles)}


def test_mirror_images_differ_in_chirality_alone() -> None:
    left, right = featurise(["C[C@H](N)C(=O)O"]), featurise(["C[C@@H](N)C(=O)O"])
    one, two = left.atom_table[left.atoms], right.atom_table[right.atoms]
    assert (one[:, :7] == two[:, :7]).all()
    assert (one[:, 7].tolist(), two[:, 7].tolist()) == ([0, 2, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0])


def test_text_block_and_molecule_give_the_same_graph() -> None:
    mols = [Chem.MolFromSmiles(text) for text in MOLECULES[:12]]
    as_text = featurise(MOLECULES[:12])
    for form in (mols, [m.ToBinary() for m in mols]):
        other = featurise(form)
        assert other.smiles == as_text.smiles
        assert (other.pair_index == as_text.pair_index).all()
        assert (other.atom_table[other.atoms] == as_text.atom_table[as_text.atoms]).all()
        assert (other.bond_table[other.bonds] == as_text.bond_table[as_text.bonds]).all()
    block = Chem.MolToMolBlock(Chem.MolFromSmiles("CCO"))
    assert featurise([block]).smiles == ("CCO",)


@pytest.mark.parametrize("hydrogens", [False, True])
def test_hydrogens_of_a_given_molecule_are_those_of_its_text(hydrogens: bool) -> None:
    mols = [Chem.AddHs(Chem.MolFromSmiles(text)) for text in MOLECULES]
    flat = [text for text in MOLECULES if "@" not in text and "/" not in text and "*" not in text]
    blocks = [Chem.MolToMolBlock(Chem.AddHs(Chem.MolFromSmiles(text))) for text in flat]
    forms = [(mols, MOLECULES), ([m.ToBinary() for m in mols], MOLECULES), (blocks, flat)]
    for form, texts in forms:
        other, as_text = (featurise(each, hydrogens=hydrogens) for each in (form, texts))
        assert not other.errors
        assert other.smiles == as_text.smiles
        assert (other.node_ptr == as_text.node_ptr).all()
        assert (other.pair_index == as_text.pair_index).all()
        assert (other.atom_table[other.atoms] == as_text.atom_table[as_text.atoms]).all()
        assert (other.bond_table[other.bonds] == as_text.bond_table[as_text.bonds]).all()


def test_a_molecule_that_is_given_is_not_changed() -> None:
    mol = Chem.MolFromSmiles("C[C@H](N)C(=O)O.[Na+]")
    before = mol.ToBinary(Chem.PropertyPickleOptions.AllProps)
    featurise([mol], hydrogens=True, standardise=True)
    assert mol.ToBinary(Chem.PropertyPickleOptions.AllProps) == before


def test_hydrogens_as_nodes() -> None:
    chunk = featurise(["CO"], hydrogens=True)
    assert chunk.node_ptr.tolist() == [0, 6]
    assert chunk.atom_table[chunk.atoms][:, 0].tolist() == [6, 8, 1, 1, 1, 1]
    assert chunk.atom_table[chunk.atoms][:, 3].tolist() == [3, 1, 0, 0, 0, 0]
    assert chunk.smiles == ("CO",)


def test_standard_form_is_the_neutral_largest_fragment() -> None:
    chunk = featurise(["CC(=O)[O-].[Na+]"], standardise=True)
    assert chunk.smiles == ("CC(=O)O",)
    assert featurise(["CC(=O)[O-].[Na+]"]).node_ptr.tolist() == [0, 5]


def _chain(atoms: int) -> str:
    """A mol block of carbons in a row."""
    head = "\n\n\n  0  0  0     0  0            999 V3000\nM  V30 BEGIN CTAB\n"
    listed = "".join(f"M  V30 {k} C 0 0 0 0\n" for k in range(1, atoms + 1))
    bonds = "".join(f"M  V30 {k} 1 {k} {k + 1}\n" for k in range(1, atoms))
    return (
        f"{head}M  V30 COUNTS {atoms} {atoms - 1} 0 0 0\n"
        f"M  V30 BEGIN ATOM\n{listed}M  V30 END ATOM\n"
        f"M  V30 BEGIN BOND\n{bonds}M  V30 END BOND\nM  V30 END CTAB\nM  END\n"
    )


def test_the_size_of_a_molecule_is_told_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_ATOMS", 6)
    monkeypatch.setattr(module, "LONGEST_SMILES", 100)
    chunk = featurise(["C" * 7, "[H]C([H])([H])C[C@@H](Cl)Br", "CC a long name", _chain(6)])
    assert chunk.errors == ((0, "expected a molecule of up to 6 atoms, got 7"),)
    assert chunk.smiles == ("CC[C@@H](Cl)Br", "CC", "CCCCCC")


@pytest.mark.parametrize(
    ("structure", "reason"),
    [
        ("C1CC", "unclosed ring for input: 'C1CC'"),
        ("not", "syntax error while parsing: not; .*around position 3"),
        ("C(C)(C)(C)(C)C", "Explicit valence for atom # 0 C, 5, is greater than permitted"),
        ("c1cccc1", "Can't kekulize mol"),
        ("", "the cell is empty"),
        ("  ", "the cell is empty"),
        (None, "the cell is empty"),
        (float("nan"), "the cell is empty"),
        (12, "expected a SMILES text, got 12"),
        ("x\ny\n", "RDKit cannot read this mol block"),
        ("\n\n\n  0  0  0  0  0  0  0  0  0  0999 V2000\nM  END\n", "the molecule has no atoms"),
        ("C" * 300 + "(", "…$"),
        ("C" * 20_000, "up to 10,000 atoms, got 20,000"),
        ("C" * 200_000, "up to 100,000 characters, got 200,000"),
        # Before RDKit looks for rings, which would take minutes here.
        ("C1CC1" * 20_000, "up to 10,000 atoms, got 60,000"),
        (_chain(12_000), "up to 10,000 atoms, got 12,000"),
    ],
)
def test_unreadable_rows_keep_their_place_and_reason(structure: object, reason: str) -> None:
    chunk = featurise(["C", structure, "N"])
    assert chunk.rows.tolist() == [0, 2]
    assert chunk.smiles == ("C", "N")
    ((row, told),) = chunk.errors
    assert row == 1
    assert len(told) <= module.LONGEST_REASON
    if not hasattr(rdBase, "CaptureErrorLog"):  # RDKit before 2026 says no more
        reason = f"{reason}|RDKit cannot read this SMILES"
    assert re.search(reason, told)


def test_rdkit_says_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    featurise(["C1CC", "c1cccc1", "[Na+].CC(=O)[O-]"], standardise=True)
    assert capfd.readouterr() == ("", "")


def test_single_atoms_and_large_molecules() -> None:
    chunk = featurise(["[Na+]", "C" * 2000, "N"])
    assert chunk.node_ptr.tolist() == [0, 1, 2001, 2002]
    assert chunk.pair_index.shape == (2, 1999)
    assert chunk.pair_index.max() == 2000
    empty = featurise([])
    assert (empty.pair_index.shape, empty.atom_table.shape) == ((2, 0), (0, 8))


def test_joined_chunks_equal_one() -> None:
    rows = [*MOLECULES[:5], "C1CC", *MOLECULES[5:], "bad"]
    whole = featurise(rows)
    parts = [rows[:3], rows[3:3], rows[3:]]
    pieces = joined([featurise(part) for part in parts], [len(part) for part in parts])
    assert pieces.errors == whole.errors
    assert pieces.smiles == whole.smiles
    for name in ("rows", "node_ptr", "pair_index"):
        assert np.array_equal(getattr(pieces, name), getattr(whole, name))
    assert np.array_equal(pieces.atom_table[pieces.atoms], whole.atom_table[whole.atoms])
    assert np.array_equal(pieces.bond_table[pieces.bonds], whole.bond_table[whole.bonds])


def test_a_worker_loads_neither_torch_nor_the_library() -> None:
    program = (
        "import runpy, sys; runpy.run_path(sys.argv[1]); import rdkit.Chem;"
        "print(sorted({m.split('.')[0] for m in sys.modules} & {'torch', 'lgan', 'numba'}))"
    )
    command = [sys.executable, "-c", program, module.__file__]
    told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert told.stdout.strip() == "[]"


def test_double_bonds_differ_in_stereo_alone() -> None:
    cis, trans, unknown = (featurise([text]) for text in ("F/C=C\\F", "F/C=C/F", "FC=CF"))
    tables = [chunk.bond_table[chunk.bonds] for chunk in (cis, trans, unknown)]
    assert (tables[0][:, :3] == tables[1][:, :3]).all()
    assert (tables[0][:, :3] == tables[2][:, :3]).all()
    assert len({tuple(table[:, 3].tolist()) for table in tables}) == 3


def test_charges_and_fragments_stay() -> None:
    salt = featurise(["CC(=O)[O-].[Na+]"])
    assert salt.node_ptr.tolist() == [0, 5]
    assert salt.pair_index.tolist() == [[0, 1, 1], [1, 2, 3]]  # sodium has no bond
    assert salt.atom_table[salt.atoms][:, 2].tolist() == [0, 0, 0, -1, 1]

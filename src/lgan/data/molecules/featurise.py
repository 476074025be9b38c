"""Molecules as arrays of atoms and bonds: what a worker process runs.

The file imports numpy and RDKit only, and nothing of this library, so that a worker that runs it
as a script starts in a fraction of a second and stays small (see `lgan.data.molecules.workers`).
"""

import os
import pickle
import re
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# A change of what is computed below changes this number, and with it caches and model files.
VERSION = 1
CHIRALITY = {"": 0, "R": 1, "S": 2}
OTHER_CHIRALITY = 3
LONGEST_REASON = 200
# Atoms of a molecule beyond which RDKit takes minutes, or breaks down with the whole process; and
# characters of a SMILES, of which ten an atom are plenty.
MOST_ATOMS = 10_000
LONGEST_SMILES = 10 * MOST_ATOMS
# An atom of a SMILES, but hydrogens, which RDKit takes into others.
ATOM = re.compile(r"\[(?!H\])[^]]*\]|Br|Cl|[BCNOPSFIbcnops*]")
READY = b"ready"


@dataclass(frozen=True, eq=False)
class Molecules:
    """Molecules as one disjoint union of graphs.

    Atoms are in the order of their SMILES. Salts and mixtures are graphs of several components.

    Attributes:
        rows: The row of every graph ``[G]``.
        errors: Row and reason of every molecule that could not be read.
        smiles: The canonical isomeric SMILES of every graph; equal for equal molecules.
        node_ptr: Where the atoms of every graph begin ``[G + 1]``.
        pair_index: Every bond once as ``u < v``, in lexicographic order ``[2, P]``.
        atoms: The row of ``atom_table`` of every atom ``[N]``.
        atom_table: The distinct atoms: atomic number, degree, charge, hydrogens, hybridisation,
            aromatic, ring, chirality ``[U, 8]``.
        bonds: The row of ``bond_table`` of every bond ``[P]``.
        bond_table: The distinct bonds: order, conjugated, ring, stereo ``[V, 4]``.
    """

    rows: NDArray[np.int64]
    errors: tuple[tuple[int, str], ...]
    smiles: tuple[str, ...]
    node_ptr: NDArray[np.int64]
    pair_index: NDArray[np.int64]
    atoms: NDArray[np.int32]
    atom_table: NDArray[np.int16]
    bonds: NDArray[np.int32]
    bond_table: NDArray[np.int16]


def featurise(
    structures: Sequence[Any], *, hydrogens: bool = False, standardise: bool = False
) -> Molecules:
    """Read molecules and list their atoms and bonds.

    Args:
        structures: SMILES, mol blocks (text of several lines), RDKit molecules, or such molecules
            as bytes.
        hydrogens: Make every hydrogen a node.
        standardise: RDKit's clean-up, the largest fragment, its neutral form.
    """
    from rdkit import Chem, rdBase

    rows: list[int] = []
    sizes: list[int] = []
    smiles: list[str] = []
    errors: list[tuple[int, str]] = []
    atoms = _Distinct()
    bonds = _Distinct()
    ends: list[tuple[int, int]] = []
    start = 0
    with rdBase.BlockLogs():
        for row, structure in enumerate(structures):
            try:
                mol = read_molecule(structure, standardise=standardise)
                canonical = Chem.MolToSmiles(mol)
                if hydrogens:
                    mol = Chem.AddHs(mol)
            except (_UnreadableError, ValueError, RuntimeError) as error:
                errors.append((row, _one_line(str(error))))
                continue
            rows.append(row)
            sizes.append(mol.GetNumAtoms())
            smiles.append(canonical)
            # Most SMILES have no stereo marks, and asking every atom for them takes a while.
            plain = isinstance(structure, str) and not _is_block(structure)
            _list_atoms(mol, atoms, marked=not plain or "@" in structure)
            _list_bonds(mol, bonds, ends, start, marked=not plain or not _UNMARKED(structure))
            start += sizes[-1]
    pair_index = np.array(ends, dtype=np.int64).reshape(-1, 2).T
    order = np.lexsort((pair_index[1], pair_index[0]))
    pair_index = np.ascontiguousarray(pair_index[:, order])
    bond_table = np.array(list(bonds.ids), dtype=np.int16).reshape(-1, 4)
    bond_ids = np.array(bonds.codes, dtype=np.int32)[order]
    atom_ids, atom_table = _with_bonds(atoms, pair_index, bond_table[bond_ids, 2] > 0)
    return Molecules(
        rows=np.array(rows, dtype=np.int64),
        errors=tuple(errors),
        smiles=tuple(smiles),
        node_ptr=np.cumsum([0, *sizes], dtype=np.int64),
        pair_index=pair_index,
        atoms=atom_ids,
        atom_table=atom_table,
        bonds=bond_ids,
        bond_table=bond_table,
    )


def read_molecule(structure: Any, *, hydrogens: bool = False, standardise: bool = False) -> Any:
    """The RDKit molecule whose atoms, in their order, `featurise` lists."""
    from rdkit import Chem

    mol = _read(structure)
    if standardise:
        from rdkit.Chem.MolStandardize import rdMolStandardize

        mol = rdMolStandardize.ChargeParent(mol)
    return Chem.AddHs(mol) if hydrogens else mol


def joined(parts: Sequence[Molecules], lengths: Sequence[int]) -> Molecules:
    """Parts of ``lengths`` rows as one; the rows of its tables are in order."""

    def shifted(name: str, by: Sequence[int]) -> NDArray[Any]:
        each = zip(parts, np.cumsum([0, *by[:-1]]).tolist(), strict=True)
        return np.concatenate([getattr(part, name) + start for part, start in each], axis=-1)

    def distinct(ids: str, table: str) -> tuple[NDArray[np.int32], NDArray[np.int16]]:
        tables = [getattr(part, table) for part in parts]
        rows, place = np.unique(np.concatenate(tables), axis=0, return_inverse=True)
        return place.reshape(-1).astype(np.int32)[shifted(ids, [len(t) for t in tables])], rows

    first = np.cumsum([0, *lengths]).tolist()
    atoms, atom_table = distinct("atoms", "atom_table")
    bonds, bond_table = distinct("bonds", "bond_table")
    sizes = np.concatenate([np.diff(part.node_ptr) for part in parts])
    return Molecules(
        rows=shifted("rows", lengths),
        errors=tuple((first[k] + row, why) for k, p in enumerate(parts) for row, why in p.errors),
        smiles=tuple(text for part in parts for text in part.smiles),
        node_ptr=np.concatenate([[0], np.cumsum(sizes)]),
        pair_index=shifted("pair_index", [len(part.atoms) for part in parts]),
        atoms=atoms,
        atom_table=atom_table,
        bonds=bonds,
        bond_table=bond_table,
    )


class _UnreadableError(Exception):
    """A structure that is no molecule, with the reason."""


class _Distinct:
    """The distinct tuples seen so far, and the number of each in order."""

    def __init__(self) -> None:
        self.ids: dict[tuple[Any, ...], int] = {}
        self.codes: list[int] = []


_UNMARKED = re.compile(r"[^/\\]*").fullmatch


def _list_atoms(mol: Any, atoms: _Distinct, *, marked: bool) -> None:
    ids, append = atoms.ids, atoms.codes.append
    atom_at = mol.GetAtomWithIdx  # twice as fast as iterating over `GetAtoms`
    for i in range(mol.GetNumAtoms()):
        atom = atom_at(i)
        key = (
            atom.GetAtomicNum(),
            atom.GetFormalCharge(),
            atom.GetTotalNumHs(True),
            atom.GetHybridization(),
            atom.GetIsAromatic(),
            _chirality(atom) if marked else 0,
        )
        append(ids.setdefault(key, len(ids)))


def _chirality(atom: Any) -> int:
    """R or S, which do not depend on the order of the atoms as RDKit's chiral tags do."""
    if not atom.GetChiralTag():
        return 0
    code = atom.GetProp("_CIPCode") if atom.HasProp("_CIPCode") else "?"
    return CHIRALITY.get(code, OTHER_CHIRALITY)


def _list_bonds(
    mol: Any, bonds: _Distinct, ends: list[tuple[int, int]], start: int, *, marked: bool
) -> None:
    ids, append, bond_at = bonds.ids, bonds.codes.append, mol.GetBondWithIdx
    for i in range(mol.GetNumBonds()):
        bond = bond_at(i)
        u, v = bond.GetBeginAtomIdx() + start, bond.GetEndAtomIdx() + start
        ends.append((u, v) if u < v else (v, u))
        key = (
            bond.GetBondType(),
            bond.GetIsConjugated(),
            bond.IsInRing(),
            bond.GetStereo() if marked else 0,
        )
        append(ids.setdefault(key, len(ids)))


def _with_bonds(
    atoms: _Distinct, pair_index: NDArray[np.int64], in_ring: NDArray[np.bool_]
) -> tuple[NDArray[np.int32], NDArray[np.int16]]:
    """Add what the bonds say of the atoms, the degree and the ring, to the listed properties."""
    num_atoms = len(atoms.codes)
    degree = np.bincount(pair_index.reshape(-1), minlength=num_atoms)
    ring = np.zeros(num_atoms, dtype=np.int64)
    ring[pair_index[:, in_ring].reshape(-1)] = 1
    codes = np.array(atoms.codes, dtype=np.int64)
    joint = (codes * (int(degree.max(initial=0)) + 1) + degree) * 2 + ring
    _, first, ids = np.unique(joint, return_index=True, return_inverse=True)
    listed = np.array(list(atoms.ids), dtype=np.int16).reshape(-1, 6)[codes[first]]
    table = np.insert(listed, 1, degree[first], axis=1)
    table = np.insert(table, 6, ring[first], axis=1)
    return ids.astype(np.int32), table.astype(np.int16)


def _read(structure: Any) -> Any:
    """The RDKit molecule of a structure."""
    from rdkit import Chem

    if structure is None or (isinstance(structure, float) and structure != structure):
        raise _UnreadableError("no structure: the cell is empty")
    if isinstance(structure, Chem.Mol | bytes):
        mol = Chem.Mol(structure)  # type: ignore[arg-type]  # a copy: what follows writes into it
        _check_size(mol.GetNumHeavyAtoms())
        Chem.SanitizeMol(mol)
        mol = Chem.RemoveHs(mol)  # as in SMILES and mol blocks; whoever asks for them adds them
        Chem.AssignStereochemistry(mol, cleanIt=True, force=True)
    elif not isinstance(structure, str):
        raise _UnreadableError(f"expected a SMILES text, got {structure!r}")
    elif not structure.strip():
        raise _UnreadableError("no structure: the cell is empty")
    else:
        block = _is_block(structure)
        if not block and len(structure) > LONGEST_SMILES:
            raise _UnreadableError(
                f"expected a SMILES of up to {LONGEST_SMILES:,} characters, got {len(structure):,}"
            )
        if len(structure) > MOST_ATOMS:  # looking for the rings of more would take minutes
            _check_size(_listed_atoms(structure))
        mol = Chem.MolFromMolBlock(structure) if block else Chem.MolFromSmiles(structure)
        if mol is None:
            raise _UnreadableError(_reason(structure))
    if not mol.GetNumAtoms():
        raise _UnreadableError("the molecule has no atoms")
    _check_size(mol.GetNumAtoms())
    return mol


def _check_size(atoms: int) -> None:
    if atoms > MOST_ATOMS:
        raise _UnreadableError(f"expected a molecule of up to {MOST_ATOMS:,} atoms, got {atoms:,}")


def _listed_atoms(structure: str) -> int:
    """How many atoms a text lists, hydrogens aside; 0 for one that cannot be read."""
    from rdkit import Chem

    if not _is_block(structure):
        return len(ATOM.findall(structure.split(maxsplit=1)[0]))  # a name may follow
    mol = Chem.MolFromMolBlock(structure, sanitize=False)
    return 0 if mol is None else mol.GetNumHeavyAtoms()


def _is_block(structure: str) -> bool:
    """Whether a text is the block of a mol file rather than a SMILES."""
    return "\n" in structure


def _reason(structure: str) -> str:
    """Why RDKit cannot read a structure, in its own words."""
    from rdkit import Chem, rdBase

    general = f"RDKit cannot read this {'mol block' if _is_block(structure) else 'SMILES'}"
    if not hasattr(rdBase, "CaptureErrorLog"):  # RDKit before 2026
        return general
    with rdBase.CaptureErrorLog() as log:
        Chem.MolFromMolBlock(structure) if _is_block(structure) else Chem.MolFromSmiles(structure)
    lines = [re.sub(r"^\[[\d:]+\] ", "", line) for line in log.messages.splitlines()]
    told = [line for line in dict.fromkeys(lines) if re.match(r"\w", line) and "Failed" not in line]
    return "; ".join(told[:2]).removesuffix(":") or general


def _one_line(reason: str) -> str:
    text = " ".join(reason.split())
    return text if len(text) <= LONGEST_REASON else text[: LONGEST_REASON - 1] + "…"


def serve() -> None:
    """Answer requests on standard input until it ends: the keywords of `featurise`, then lists."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process decides
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing else may write among the answers
    requests = sys.stdin.buffer
    keywords = pickle.load(requests)
    import rdkit.Chem  # noqa: F401

    answers.write(READY)
    answers.flush()
    while True:
        try:
            structures = pickle.load(requests)
        except EOFError:
            return
        chunk = featurise(structures, **keywords)
        pickle.dump(vars(chunk), answers, protocol=5)  # this class has another name over there
        answers.flush()


if __name__ == "__main__":
    serve()

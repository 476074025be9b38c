"""Molecules as RDKit has them, from graphs of a data set or from SMILES."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor

from lgan._optional import require
from lgan.data import RawGraphs
from lgan.data.columns import Columns
from lgan.explain.atoms import MoleculeSpec, molecule_spec
from lgan.explain.fragments import bond_ends
from lgan.graph.segments import lengths_to_ptr

Status = Literal["clean", "partial", "raw"]

# Charges of ions that stand alone in sets with explicit hydrogens (salts).
IONS = {"Na": 1, "K": 1, "Li": 1, "Ca": 2, "Ba": 2, "F": -1, "Cl": -1, "Br": -1, "I": -1}


@dataclass(frozen=True, eq=False)
class Molecule:
    """A molecule to draw, and the graph a model reads.

    Attributes:
        mol: The molecule of RDKit, atoms in the order of the nodes.
        status: ``clean`` where RDKit accepts it; ``partial`` where valences or alternating bonds
            do not work out, and only rings and aromaticity were found; ``raw`` where not even
            these were, or the set keeps no bonds.
        labels: Node label of every atom ``[n]``, or its number in the periodic table.
        pair_index: Every bond once, as ``u < v`` in lexicographic order ``[2, P]``.
        name: What to call it.
    """

    mol: Any
    status: Status
    labels: Tensor
    pair_index: Tensor
    name: str

    @staticmethod
    def of_rdkit(mol: Any, name: str) -> "Molecule":
        """A molecule of RDKit whose atoms are the nodes."""
        return Molecule(
            mol=mol,
            status="clean",
            labels=torch.tensor([atom.GetAtomicNum() for atom in mol.GetAtoms()]),
            pair_index=torch.tensor(sorted(bond_ends(mol)), dtype=torch.int64)
            .view(-1, 2)
            .t()
            .contiguous(),
            name=name,
        )

    @property
    def symbols(self) -> list[str]:
        """The symbol of every atom."""
        return [atom.GetSymbol() for atom in self.mol.GetAtoms()]

    def graph(self, dataset: str) -> RawGraphs:
        """The molecule as a set of one graph in the labels of ``dataset``, without a class."""
        return _in_labels([(self, self.bond_labels(dataset))], dataset)

    def bond_labels(self, dataset: str) -> Tensor:
        """The edge label of every bond in a set that keeps bonds, else 0 ``[P]``."""
        names = molecule_spec(dataset).bonds
        if not names:
            return torch.zeros(self.pair_index.size(1), dtype=torch.int64)
        mol = self.mol
        if "aromatic" not in names:
            mol = require("rdkit.Chem").Mol(mol)
            require("rdkit.Chem").Kekulize(mol, clearAromaticFlags=True)
        bonds = [
            str(mol.GetBondBetweenAtoms(u, v).GetBondType()).lower()
            for u, v in self.pair_index.t().tolist()
        ]
        unknown = sorted(set(bonds) - set(names))
        if unknown:
            raise ValueError(
                f"{self.name} has a bond of the kind {unknown[0]}, which no molecule of {dataset} "
                f"has: a model trained there never saw it. It knows {', '.join(names)}."
            )
        return torch.tensor([names.index(bond) for bond in bonds], dtype=torch.int64)


def graphs_from_smiles(smiles: Sequence[str | None], dataset: str) -> RawGraphs:
    """Molecules in the labels of a data set; those that cannot be are among the errors.

    Where the set has aromatic bonds, they are those that RDKit sees; PTC_MR was written by a
    program that saw fewer.

    Args:
        smiles: Each as SMILES, and after a space its name where it has one.
        dataset: A set of molecules, see :data:`lgan.explain.MOLECULES`.
    """
    read: dict[int, tuple[Molecule, Tensor]] = {}
    errors = []
    for row, text in enumerate(smiles):
        try:
            molecule = molecule_from_smiles(text or "", dataset)
            read[row] = (molecule, molecule.bond_labels(dataset))
        except ValueError as error:
            errors.append((row, str(error)))
    rows = torch.tensor(list(read), dtype=torch.int64)
    return replace(_in_labels(list(read.values()), dataset), rows=rows, errors=tuple(errors))


def _in_labels(read: Sequence[tuple[Molecule, Tensor]], dataset: str) -> RawGraphs:
    """Molecules, and the labels of their bonds, as graphs of a data set."""
    spec, molecules = molecule_spec(dataset), [molecule for molecule, _ in read]
    node_ptr = lengths_to_ptr(torch.tensor([len(m.labels) for m in molecules], dtype=torch.int64))
    offsets = node_ptr[:-1].tolist()
    nothing = torch.zeros(2, 0, dtype=torch.int64)
    pairs = [m.pair_index + first for m, first in zip(molecules, offsets, strict=True)]
    return RawGraphs(
        name=dataset,
        node_ptr=node_ptr,
        pair_index=torch.cat([nothing, *pairs], 1),
        nodes=_labels([m.labels for m in molecules], len(spec.atoms)),
        pairs=_labels([bonds for _, bonds in read], len(spec.bonds)),
        ids=tuple(m.name for m in molecules),
        structures=tuple(m.mol for m in molecules),
    )


def _labels(parts: Sequence[Tensor], count: int) -> Columns:
    """A column of labels from 0 on, as the files of a set spell them; none where there are none."""
    values = torch.cat([torch.zeros(0, dtype=torch.int64), *parts])
    return Columns.of_labels(values, count) if count else Columns.empty(len(values))


def molecule_from_graph(raw: RawGraphs, graph: int) -> Molecule:
    """The molecule that a graph of a TU set stands for.

    The files keep neither charges nor, in MUTAG and PTC_MR, hydrogens. A nitrogen with four bonds
    gets a plus and the oxygen that only it holds a minus (a nitro group), an oxygen with three
    bonds a plus; what RDKit still refuses is drawn as it is, see ``status``.
    """
    spec = molecule_spec(raw.name)
    if raw.node_labels is None:
        raise ValueError(f"Molecules need node labels, got a set ({raw.name}) without.")
    start, end = raw.node_ptr[graph : graph + 2].tolist()
    first, last = torch.searchsorted(raw.pair_index[0].contiguous(), torch.tensor([start, end]))
    pairs = raw.pair_index[:, first:last] - start
    labels = raw.node_labels[start:end]
    bonds = ["single"] * pairs.size(1)
    if spec.bonds and raw.pair_labels is not None:
        bonds = [spec.bonds[label] for label in raw.pair_labels[first:last].tolist()]
    symbols = [spec.atoms[label] for label in labels.tolist()]
    mol, status = _build(symbols, pairs.t().tolist(), bonds, spec)
    return Molecule(mol, status, labels, pairs, f"{raw.name} {graph}")


def molecule_from_smiles(smiles: str, dataset: str) -> Molecule:
    """A molecule in the labels of a data set, with hydrogens where the set has them.

    Args:
        smiles: The molecule as SMILES, and after a space its name where it has one.
        dataset: A set of molecules, see :data:`lgan.explain.MOLECULES`.

    Raises:
        ValueError: Where the text is no SMILES, or has an atom that the set does not have.
    """
    spec = molecule_spec(dataset)
    chem, base = require("rdkit.Chem"), require("rdkit.rdBase")
    with base.BlockLogs():
        mol = chem.MolFromSmiles(smiles)
    if mol is None or mol.GetNumAtoms() == 0:
        raise ValueError(
            f"Expected a molecule as SMILES, got {smiles!r}, which RDKit does not read. "
            "Check brackets, ring numbers and valences."
        )
    mol = chem.AddHs(mol) if spec.hydrogens else chem.RemoveHs(mol)
    label = {symbol: i for i, symbol in enumerate(spec.atoms) if symbol != "*"}
    unknown = sorted({atom.GetSymbol() for atom in mol.GetAtoms()} - set(label))
    if unknown:
        raise ValueError(
            f"{smiles} has the atom {unknown[0]}, which no molecule of {dataset} has: a model "
            f"trained there never saw it. It knows {', '.join(label)}."
        )
    labels = torch.tensor([label[atom.GetSymbol()] for atom in mol.GetAtoms()])
    return replace(Molecule.of_rdkit(mol, smiles.split(maxsplit=1)[-1]), labels=labels)


def _build(
    symbols: list[str], pairs: list[list[int]], bonds: Iterable[str], spec: MoleculeSpec
) -> tuple[Any, Status]:
    chem = require("rdkit.Chem")
    mol = chem.RWMol()
    for symbol in symbols:
        mol.AddAtom(chem.Atom(symbol))
    for (u, v), bond in zip(pairs, bonds, strict=True):
        mol.AddBond(u, v, chem.BondType.names[bond.upper()])
        if bond == "aromatic":
            for atom in (u, v):
                mol.GetAtomWithIdx(atom).SetIsAromatic(True)
    if not spec.bonds:  # nothing follows from valences
        return _unsanitised(mol), "raw"
    _charge(mol, hydrogens=spec.hydrogens)
    return _sanitised(mol)


def _charge(mol: Any, *, hydrogens: bool) -> None:
    """Give atoms the charges that the files left out."""
    order = {
        atom.GetIdx(): sum(bond.GetBondTypeAsDouble() for bond in atom.GetBonds())
        for atom in mol.GetAtoms()
    }
    for atom in mol.GetAtoms():
        symbol, bonds = atom.GetSymbol(), order[atom.GetIdx()]
        atom.SetNoImplicit(hydrogens)
        if symbol == "N" and bonds == 4 and not atom.GetIsAromatic():
            atom.SetFormalCharge(1)
            loose = [
                a for a in atom.GetNeighbors() if a.GetSymbol() == "O" and order[a.GetIdx()] == 1
            ]
            for oxygen in loose[:1]:
                oxygen.SetFormalCharge(-1)
        elif symbol == "O" and bonds == 3 and not atom.GetIsAromatic():
            atom.SetFormalCharge(1)
        elif hydrogens and symbol == "O" and bonds == 1:
            atom.SetFormalCharge(-1)  # hydrogens are listed, and it has none
        elif hydrogens and bonds == 0 and symbol in IONS:
            atom.SetFormalCharge(IONS[symbol])


def _sanitised(mol: Any) -> tuple[Any, Status]:
    """The molecule with as much of RDKit's perception as it bears."""
    chem, base = require("rdkit.Chem"), require("rdkit.rdBase")
    flags = chem.SanitizeFlags
    everything = flags.SANITIZE_ALL
    lenient = everything ^ flags.SANITIZE_PROPERTIES ^ flags.SANITIZE_KEKULIZE
    with base.BlockLogs():
        for trial in (mol, *_with_pyrrole_hydrogen(mol)):
            copy = chem.Mol(trial)
            if chem.SanitizeMol(copy, everything, catchErrors=True) == flags.SANITIZE_NONE:
                return copy, "clean"
        copy = chem.Mol(mol)
        copy.UpdatePropertyCache(strict=False)
        if chem.SanitizeMol(copy, lenient, catchErrors=True) == flags.SANITIZE_NONE:
            return copy, "partial"
    return _unsanitised(mol), "raw"


def _unsanitised(mol: Any) -> Any:
    """The molecule as it is, ready to be drawn."""
    copy = require("rdkit.Chem").Mol(mol)
    for atom in copy.GetAtoms():
        atom.SetNoImplicit(True)
    copy.UpdatePropertyCache(strict=False)
    require("rdkit.Chem").FastFindRings(copy)
    return copy


def _with_pyrrole_hydrogen(mol: Any) -> Iterator[Any]:
    """The molecule with a hydrogen on one of its aromatic nitrogens, which the files left out."""
    chem = require("rdkit.Chem")
    for atom in mol.GetAtoms():
        if atom.GetSymbol() == "N" and atom.GetIsAromatic() and atom.GetDegree() == 2:
            copy = chem.RWMol(mol)
            copy.GetAtomWithIdx(atom.GetIdx()).SetNumExplicitHs(1)
            yield copy

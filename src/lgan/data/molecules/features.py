"""The features of atoms and bonds: their names, their values, and which of them are used."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lgan._optional import require
from lgan.data.molecules.featurise import OTHER_CHIRALITY, VERSION

# The features in the order of the columns that `featurise` gives.
ATOM_FEATURES = {
    "element": "the chemical element",
    "degree": "bonds to other nodes",
    "charge": "formal charge",
    "hydrogens": "hydrogens bound to it, nodes or not",
    "hybridisation": "s, sp, sp2, sp3 and further",
    "aromatic": "whether it is aromatic",
    "ring": "whether it is in a ring",
    "chirality": "R or S; `other` where there is a mark but no such label",
}
BOND_FEATURES = {
    "order": "single, double, triple, aromatic and further",
    "conjugated": "whether it is conjugated",
    "ring": "whether it is in a ring",
    "stereo": "E or Z; `any` where it is known to be unknown",
}
FEATURISER = "rdkit"


@dataclass(frozen=True)
class MoleculeFeatures:
    """How molecules become graphs.

    Attributes:
        atoms: Features of atoms, among `ATOM_FEATURES`.
        bonds: Features of bonds, among `BOND_FEATURES`.
        hydrogens: Whether hydrogens are nodes.
        standardise: Whether to take RDKit's clean-up, the largest fragment and its neutral form
            instead of the molecule as it is written.

    Example:
        >>> MoleculeFeatures.parse(atoms="element,charge", bonds="none").atoms
        ('element', 'charge')
    """

    atoms: tuple[str, ...] = tuple(ATOM_FEATURES)
    bonds: tuple[str, ...] = tuple(BOND_FEATURES)
    hydrogens: bool = False
    standardise: bool = False

    def __post_init__(self) -> None:
        _check_names("atoms", self.atoms, ATOM_FEATURES)
        _check_names("bonds", self.bonds, BOND_FEATURES)
        if not self.atoms:
            raise ValueError(
                f"`atoms` must name a feature, got none. Choose among {', '.join(ATOM_FEATURES)}."
            )

    @staticmethod
    def parse(*, atoms: str = "all", bonds: str = "all", **options: bool) -> "MoleculeFeatures":
        """From names with commas between them; ``all`` and ``none`` say so."""
        return MoleculeFeatures(
            atoms=_named(atoms, ATOM_FEATURES), bonds=_named(bonds, BOND_FEATURES), **options
        )

    def to_json(self) -> dict[str, Any]:
        """The settings and the featuriser they are for, as JSON's types."""
        return {
            "featuriser": FEATURISER,
            "version": VERSION,
            "atoms": list(self.atoms),
            "bonds": list(self.bonds),
            "hydrogens": self.hydrogens,
            "standardise": self.standardise,
        }

    @staticmethod
    def from_json(plain: Mapping[str, Any]) -> "MoleculeFeatures":
        """The settings that `to_json` wrote; refuse those of another featuriser."""
        made_by = (plain.get("featuriser"), plain.get("version"))
        if made_by != (FEATURISER, VERSION):
            raise ValueError(
                f"Features of molecules must be made by the featuriser {FEATURISER!r}, version "
                f"{VERSION}, got {made_by[0]!r}, version {made_by[1]!r}. Train the model again, or "
                "use the version of lgan that made it."
            )
        missing = [name for name in ("atoms", "bonds", "hydrogens", "standardise")
                   if plain.get(name) is None]  # fmt: skip
        if missing:
            raise ValueError(
                f"Features of molecules must say {missing[0]!r}, got {', '.join(plain)}. Give the "
                "model file as `lgan train` wrote it."
            )
        return MoleculeFeatures(
            atoms=tuple(plain["atoms"]),
            bonds=tuple(plain["bonds"]),
            hydrogens=bool(plain["hydrogens"]),
            standardise=bool(plain["standardise"]),
        )


def spelled_columns(
    table: NDArray[np.int16], features: Mapping[str, str], chosen: Iterable[str]
) -> tuple[NDArray[np.int32], tuple[tuple[str, ...], ...]]:
    """The chosen columns of a table of distinct atoms or bonds ``[U, c]``, which has all features,
    as categories ``[U, chosen]``, and the names of the values of every column that occur, in order.
    """
    columns, vocabularies = [], []
    for name in chosen:
        values, ids = np.unique(table[:, list(features).index(name)], return_inverse=True)
        spelling = _spelling(name)
        columns.append(ids.astype(np.int32))
        vocabularies.append(tuple(spelling.get(value, str(value)) for value in values.tolist()))
    empty = np.zeros((len(table), 0), dtype=np.int32)
    return np.stack(columns, axis=1) if columns else empty, tuple(vocabularies)


@cache
def _spelling(feature: str) -> dict[int, str]:
    """The names of a feature's integers; what has none is a number."""
    chem = require("rdkit.Chem")
    if feature == "element":
        periodic = chem.GetPeriodicTable()
        return {number: periodic.GetElementSymbol(number) for number in range(119)}
    if feature in ("aromatic", "ring", "conjugated"):
        return {0: "no", 1: "yes"}
    if feature == "chirality":
        return {0: "none", 1: "R", 2: "S", OTHER_CHIRALITY: "other"}
    if feature == "stereo":
        names = {k: v.name.removeprefix("STEREO") for k, v in chem.BondStereo.values.items()}
        return {k: name if len(name) == 1 else name.lower() for k, name in names.items()}
    enums = {"hybridisation": chem.HybridizationType, "order": chem.BondType}
    if feature in enums:
        return {k: v.name.lower() for k, v in enums[feature].values.items()}
    return {}


def _named(text: str, features: Mapping[str, str]) -> tuple[str, ...]:
    if text in ("all", "none"):
        return tuple(features) if text == "all" else ()
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _check_names(option: str, names: tuple[str, ...], features: Mapping[str, str]) -> None:
    unknown = [name for name in names if name not in features]
    if unknown or len(set(names)) != len(names):
        raise ValueError(
            f"`{option}` must be among {', '.join(features)}, each once, got "
            f"{', '.join(map(repr, names))}. Choose some of these."
        )

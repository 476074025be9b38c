"""What the node and edge labels of molecule sets stand for."""

from dataclasses import dataclass


@dataclass(frozen=True)
class MoleculeSpec:
    """How a set of graphs writes molecules down.

    Args:
        atoms: The symbol of every node label, ``*`` for a label that no atom has.
        bonds: The bond of every edge label; empty where the set keeps no bonds.
        classes: What the classes mean.
        active: The class of molecules that have the property.

    Example:
        >>> MOLECULES["MUTAG"].atoms[1], MOLECULES["MUTAG"].hydrogens
        ('N', False)
    """

    atoms: tuple[str, ...]
    bonds: tuple[str, ...]
    classes: tuple[str, ...]
    active: int = 1

    @property
    def hydrogens(self) -> bool:
        """Whether hydrogen atoms are nodes of the graphs."""
        return "H" in self.atoms


# MUTAG and Mutagenicity: from the files' own descriptions. PTC_MR's archive has none: its table
# is the commonly used one. PTC_GIN has none either: its labels were matched
# with the molecules of PTC_MR, and it keeps no bonds. Labels count from the smallest one.
MOLECULES: dict[str, MoleculeSpec] = {
    "MUTAG": MoleculeSpec(
        atoms=("C", "N", "O", "F", "I", "Cl", "Br"),
        bonds=("aromatic", "single", "double", "triple"),
        classes=("not mutagenic", "mutagenic"),
    ),
    "Mutagenicity": MoleculeSpec(
        atoms=("C", "O", "Cl", "H", "N", "F", "Br", "S", "P", "I", "Na", "K", "Li", "Ca"),
        bonds=("single", "double", "triple"),
        classes=("mutagen", "non-mutagen"),
        active=0,
    ),
    "PTC_MR": MoleculeSpec(
        atoms=(
            "In", "P", "O", "N", "Na", "C", "Cl", "S", "Br", "F", "K", "Cu", "Zn", "I", "Ba", "Sn",
            "Pb", "Ca",
        ),
        bonds=("triple", "double", "single", "aromatic"),
        classes=("not carcinogenic", "carcinogenic"),
    ),
    "PTC_GIN": MoleculeSpec(
        atoms=(
            "Ba", "Br", "Ca", "Cl", "Cu", "In", "Na", "Pb", "Sn", "*", "Zn", "*", "S", "O", "P",
            "K", "N", "F", "H", "I", "C",
        ),
        bonds=(),
        classes=("not carcinogenic", "carcinogenic"),
    ),
}  # fmt: skip


def molecule_spec(name: str) -> MoleculeSpec:
    """The tables of a set of molecules, or an error that lists those there are."""
    if name not in MOLECULES:
        raise ValueError(
            f"Expected a set of molecules whose atoms are known, got {name!r}. "
            f"Use one of: {', '.join(MOLECULES)}."
        )
    return MOLECULES[name]

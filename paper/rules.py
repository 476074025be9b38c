"""Rules on substructures of molecules, whose truth is known to the atom and the bond."""

import csv
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lgan._optional import require
from lgan.explain.fragments import bond_ends

# Atoms of a molecule; positive molecules of a rule at most; seed of the draw.
SMALLEST, LARGEST, POSITIVES, SEED = 8, 30, 125, 0


@dataclass(frozen=True)
class Rule:
    """When a molecule is positive.

    Attributes:
        kind: ``single``, ``both``, ``without`` or ``count``.
        groups: SMARTS of the groups a positive molecule has, exactly once each (``count``: of one
            group at least two).
        without: SMARTS of a group it must not have.
    """

    kind: str
    groups: tuple[str, ...]
    without: str = ""

    def says(self, counts: Sequence[int], unwanted: int) -> bool | None:
        """Whether a molecule with so many of each group is positive; ``None`` to leave it out.

        A second copy of a group would make either one needless, and the truth unknown.
        """
        if self.kind == "count":
            return counts[0] >= 2
        if max(counts) > 1:
            return None
        return all(counts) and not unwanted


RULES: dict[str, Rule] = {
    "nitro": Rule("single", ("[#6][N+](=O)[O-]",)),
    "sulfonamide": Rule("single", ("S(=O)(=O)[NX3]",)),
    "carboxylic acid": Rule("single", ("C(=O)[OX2H1]",)),
    "nitrile": Rule("single", ("[#6]C#N",)),
    "phenol and ketone": Rule("both", ("c[OX2H1]", "[#6]C(=O)[#6]")),
    "acid and methoxy": Rule("both", ("C(=O)[OX2H1]", "[CH3]-[OX2]-c")),
    "nitro and chlorine": Rule("both", ("[#6][N+](=O)[O-]", "[#6]Cl")),
    "thioether and ketone": Rule("both", ("[#6]-[SX2]-[#6]", "[#6]C(=O)[#6]")),
    "amine without chlorine": Rule("without", ("c[NX3;H2]",), "[#6]Cl"),
    "phenol without nitro": Rule("without", ("c[OX2H1]",), "[N+](=O)[O-]"),
    "two chlorines": Rule("count", ("[#6]Cl",)),
    "two methoxy": Rule("count", ("[CH3]-[OX2]-c",)),
}


@dataclass(frozen=True)
class LabelledMolecule:
    """A molecule, its class under a rule, and what makes it so.

    Attributes:
        smiles: The molecule.
        positive: Its class.
        groups: Atoms of every group, copy after copy; none for a negative molecule.
    """

    smiles: str
    positive: bool
    groups: tuple[tuple[int, ...], ...] = ()

    def bonds(self) -> list[set[tuple[int, int]]]:
        """The bonds between the atoms of every group."""
        mol = require("rdkit.Chem").MolFromSmiles(self.smiles)
        ends = bond_ends(mol)
        return [{(u, v) for u, v in ends if u in g and v in g} for g in map(set, self.groups)]


def draw_molecules(
    rules: Iterable[str], files: Sequence[Path]
) -> dict[str, list[LabelledMolecule]]:
    """Molecules for every rule: 125 positives at most, twice as many negatives.

    Half of the negatives or more have a group of the rule, where there are so many: what looks
    alike and is not teaches a model the rule rather than a part of it.
    """
    found: dict[str, dict[str, list[LabelledMolecule]]] = {
        name: {"positive": [], "near": [], "far": []} for name in rules
    }
    wanted = {word for name in found for word in (*RULES[name].groups, RULES[name].without) if word}
    patterns = {word: require("rdkit.Chem").MolFromSmarts(word) for word in wanted}
    for smiles, mol in _molecules(files):
        hits = {w: mol.GetSubstructMatches(pattern) for w, pattern in patterns.items()}
        for name, parts in found.items():
            rule = RULES[name]
            counts = [len(hits[word]) for word in rule.groups]
            unwanted = len(hits[rule.without]) if rule.without else 0
            said = rule.says(counts, unwanted)
            if said is None:
                continue
            groups = tuple(match for word in rule.groups for match in hits[word]) if said else ()
            part = "positive" if said else "near" if any(counts) or unwanted else "far"
            if len(parts[part]) < (2 * POSITIVES if part == "far" else POSITIVES):
                parts[part].append(LabelledMolecule(smiles, said, groups))
    drawn = {}
    for name, parts in found.items():
        count = len(parts["positive"])
        negative = [*parts["near"][:count], *parts["far"]][: 2 * count]
        drawn[name] = [*parts["positive"], *negative]
        random.Random(SEED).shuffle(drawn[name])
    return drawn


def _molecules(files: Sequence[Path]) -> Iterable[tuple[str, Any]]:
    chem, base = require("rdkit.Chem"), require("rdkit.rdBase")
    texts: dict[str, None] = {}  # each molecule once, in order
    for path in files:
        with path.open() as file:
            texts |= dict.fromkeys(row["smiles"] for row in csv.DictReader(file))
    order = list(texts)
    random.Random(SEED).shuffle(order)
    with base.BlockLogs():
        for text in order:
            mol = chem.MolFromSmiles(text)
            if mol is not None and SMALLEST <= mol.GetNumAtoms() <= LARGEST:
                yield text, mol

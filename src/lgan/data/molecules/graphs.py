"""Molecules as `RawGraphs`, with the features that were chosen."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from lgan.data.columns import Columns
from lgan.data.molecules.features import (
    ATOM_FEATURES,
    BOND_FEATURES,
    MoleculeFeatures,
    spelled_columns,
)
from lgan.data.molecules.featurise import Molecules, read_molecule
from lgan.data.raw import RawGraphs


def molecule_graphs(
    molecules: Molecules,
    features: MoleculeFeatures | None = None,
    *,
    name: str = "molecules",
    targets: Mapping[str, Sequence[Any]] | None = None,
    columns: Mapping[str, Sequence[Any]] | None = None,
    structures: Sequence[Any] | None = None,
) -> RawGraphs:
    """The graphs of molecules; their names are canonical SMILES.

    Args:
        molecules: What `featurise_molecules` gave.
        features: Which features of atoms and bonds to keep; all of them unless given.
        name: The name of the set.
        targets: Columns with a value for every row, also for those that could not be read.
        columns: Further such columns, for groups or splits.
        structures: What every row holds, see `RawGraphs`.

    Example:
        >>> from lgan.data.molecules.parallel import featurise_molecules
        >>> graphs = molecule_graphs(featurise_molecules(["CCO"]))
        >>> graphs.nodes.names[0], graphs.nodes.vocabularies[0], graphs.pairs.names[0]
        ('element', ('C', 'O'), 'order')
    """
    features, rows = features or MoleculeFeatures(), molecules.rows.tolist()

    def read(cells: Mapping[str, Sequence[Any]] | None) -> dict[str, list[Any]]:
        return {name: [own[row] for row in rows] for name, own in (cells or {}).items()}

    return RawGraphs(
        name=name,
        node_ptr=torch.from_numpy(molecules.node_ptr),
        pair_index=torch.from_numpy(molecules.pair_index),
        nodes=_columns(molecules.atom_table, molecules.atoms, ATOM_FEATURES, features.atoms),
        pairs=_columns(molecules.bond_table, molecules.bonds, BOND_FEATURES, features.bonds),
        targets=read(targets),
        columns=read(columns),
        rows=torch.from_numpy(molecules.rows),
        errors=molecules.errors,
        ids=molecules.smiles,
        structures=None if structures is None else tuple(structures[row] for row in rows),
        featuriser=features.to_json(),
    )


def graph_molecule(raw: RawGraphs, graph: int) -> Any:
    """The RDKit molecule that a graph was read from; its atoms are the nodes, in their order.

    Example:
        >>> from lgan.data import load_raw
        >>> graph_molecule(load_raw(["OC", "N"]), 0).GetAtomWithIdx(0).GetSymbol()
        'O'
    """
    if raw.structures is None or raw.featuriser is None:
        raise ValueError(
            f"The graphs of {raw.name} were not read from molecules. Read SMILES, or a table of "
            "molecules."
        )
    made = MoleculeFeatures.from_json(raw.featuriser)
    return read_molecule(
        raw.structures[graph], hydrogens=made.hydrogens, standardise=made.standardise
    )


def _columns(
    table: NDArray[np.int16],
    ids: NDArray[np.int32],
    features: Mapping[str, str],
    chosen: tuple[str, ...],
) -> Columns:
    categories, vocabularies = spelled_columns(table, features, chosen)
    return Columns(torch.from_numpy(categories[ids]), chosen, vocabularies)

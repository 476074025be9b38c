"""Molecules as `RawGraphs`, with the features that were chosen."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from lgan.data.columns import Columns
from lgan.data.molecule_features import (
    ATOM_FEATURES,
    BOND_FEATURES,
    MoleculeFeatures,
    spelled_columns,
)
from lgan.data.molecules import Molecules
from lgan.data.raw import RawGraphs

__all__ = ["molecule_graphs"]


def molecule_graphs(
    molecules: Molecules,
    features: MoleculeFeatures | None = None,
    *,
    name: str = "molecules",
    targets: Mapping[str, Sequence[Any]] | None = None,
    columns: Mapping[str, Sequence[Any]] | None = None,
) -> RawGraphs:
    """The graphs of molecules; their names are canonical SMILES.

    Args:
        molecules: What `featurise_molecules` or `read_molecule_table` gave.
        features: Which features of atoms and bonds to keep; all of them unless given.
        name: The name of the set.
        targets: Columns with one value per graph.
        columns: Further such columns, for groups or splits.

    Example:
        >>> from lgan.data.molecules import featurise_molecules
        >>> graphs = molecule_graphs(featurise_molecules(["CCO"]))
        >>> graphs.nodes.names[0], graphs.nodes.vocabularies[0], graphs.pairs.names[0]
        ('element', ('C', 'O'), 'order')
    """
    features = features or MoleculeFeatures()
    return RawGraphs(
        name=name,
        node_ptr=torch.from_numpy(molecules.node_ptr),
        pair_index=torch.from_numpy(molecules.pair_index),
        nodes=_columns(molecules.atom_table, molecules.atoms, ATOM_FEATURES, features.atoms),
        pairs=_columns(molecules.bond_table, molecules.bonds, BOND_FEATURES, features.bonds),
        targets=dict(targets or {}),
        columns=dict(columns or {}),
        rows=torch.from_numpy(molecules.rows),
        errors=molecules.errors,
        ids=molecules.smiles,
        featuriser=features.to_json(),
    )


def _columns(
    table: NDArray[np.int16],
    ids: NDArray[np.int32],
    features: Mapping[str, str],
    chosen: tuple[str, ...],
) -> Columns:
    categories, vocabularies = spelled_columns(table, features, chosen)
    return Columns(torch.from_numpy(categories[ids]), chosen, vocabularies)

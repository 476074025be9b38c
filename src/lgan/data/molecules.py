"""Molecules as graphs: many molecules as one disjoint union, in parallel and from a cache."""

import hashlib
import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from lgan._optional import require
from lgan.data.cache import cache_key, load_tensors, locked, save_tensors
from lgan.data.featurise import VERSION, FeaturisedChunk, joined
from lgan.data.molecule_features import MoleculeFeatures
from lgan.data.workers import featurised

# Rows that a worker reads at a time: enough to make the hand-over cheap, few enough to be told.
CHUNK = 500
Progress = Callable[[int], None]
ARRAYS = ("rows", "node_ptr", "pair_index", "atoms", "atom_table", "bonds", "bond_table")


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
        atom_table: The distinct atoms, as integers by `ATOM_FEATURES` ``[U, 8]``.
        bonds: The row of ``bond_table`` of every bond ``[P]``.
        bond_table: The distinct bonds, as integers by `BOND_FEATURES` ``[V, 4]``.
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


def featurise_molecules(
    structures: Sequence[Any],
    features: MoleculeFeatures | None = None,
    *,
    processes: int | None = None,
    progress: Progress | None = None,
    cache: Path | None = None,
) -> Molecules:
    """Read molecules and list their atoms and bonds.

    Args:
        structures: SMILES, mol blocks or RDKit molecules, one per row; a missing or unreadable one
            becomes an error of its row.
        features: How molecules become graphs. Which features are chosen does not matter here.
        processes: Worker processes, as many as torch has threads unless given; 1 works in this one.
        progress: Called with the number of rows done so far.
        cache: A folder in which the result is kept, by the structures and by what made it.

    Example:
        >>> molecules = featurise_molecules(["CCO", "C1CC", "[Na+].[Cl-]"])
        >>> molecules.node_ptr.tolist(), molecules.pair_index.tolist(), molecules.rows.tolist()
        ([0, 3, 5], [[0, 1], [1, 2]], [0, 2])
        >>> molecules.errors
        ((1, "SMILES Parse Error: unclosed ring for input: 'C1CC'"),)
    """
    features = features or MoleculeFeatures()
    require("rdkit")
    one_block = featurise_blocks([structures], features, processes=processes, progress=progress)
    if cache is None:
        [molecules] = one_block
        return molecules
    path = Path(cache) / f"{_key(structures, features)}.safetensors"
    with locked(path):
        if not path.is_file():
            [molecules] = one_block
            _save(path, molecules)
        elif progress is not None:
            progress(len(structures))
        return _load(path)


def featurise_blocks(
    blocks: Iterable[Sequence[Any]],
    features: MoleculeFeatures | None = None,
    *,
    processes: int | None = None,
    progress: Progress | None = None,
) -> Iterator[Molecules]:
    """`featurise_molecules` of every block, in order, with a few blocks in memory at a time."""
    features = features or MoleculeFeatures()
    require("rdkit")
    lengths: deque[list[int]] = deque()

    def chunks() -> Iterator[Sequence[Any]]:
        for block in blocks:
            parts = [block[i : i + CHUNK] for i in range(0, len(block), CHUNK)] or [block]
            lengths.append([len(part) for part in parts])
            yield from parts

    done: list[FeaturisedChunk] = []
    rows = 0
    for chunk in _in_workers(chunks(), features, processes):
        rows += lengths[0][len(done)]
        done.append(chunk)
        if progress is not None:
            progress(rows)
        if len(done) == len(lengths[0]):
            yield _union(done, lengths.popleft())
            done = []


def _in_workers(
    chunks: Iterable[Sequence[Any]], features: MoleculeFeatures, processes: int | None
) -> Iterator[FeaturisedChunk]:
    if processes is not None and processes < 1:
        raise ValueError(f"`processes` must be 1 or more, got {processes}. Leave it out for all.")
    return featurised(
        chunks,
        processes=processes or torch.get_num_threads(),
        hydrogens=features.hydrogens,
        standardise=features.standardise,
    )


def _union(chunks: Sequence[FeaturisedChunk], lengths: Sequence[int]) -> Molecules:
    whole = joined(chunks, lengths)
    atom_table, atoms = _distinct(whole.atom_table, whole.atoms)
    bond_table, bonds = _distinct(whole.bond_table, whole.bonds)
    return Molecules(
        rows=whole.rows.astype(np.int64),
        errors=tuple(whole.errors),
        smiles=tuple(whole.smiles),
        node_ptr=np.concatenate([[0], np.cumsum(whole.num_atoms, dtype=np.int64)]),
        pair_index=whole.pair_index.astype(np.int64),
        atoms=atoms,
        atom_table=atom_table,
        bonds=bonds,
        bond_table=bond_table,
    )


def _distinct(
    table: NDArray[np.int16], ids: NDArray[np.int32]
) -> tuple[NDArray[np.int16], NDArray[np.int32]]:
    """The table with every row once, in order, and the ids in it."""
    rows, place = np.unique(table, axis=0, return_inverse=True)
    return rows, place.reshape(-1).astype(np.int32)[ids]


def _key(structures: Sequence[Any], features: MoleculeFeatures) -> str:
    """The name of the cache: of all structures, and of everything that shapes the result."""
    digest = hashlib.sha256()
    for structure in structures:
        raw = structure.ToBinary() if hasattr(structure, "ToBinary") else repr(structure).encode()
        digest.update(len(raw).to_bytes(8, "little"))
        digest.update(raw)
    options = {
        "structures": digest.hexdigest(),
        "hydrogens": features.hydrogens,
        "standardise": features.standardise,
        "rdkit": require("rdkit").__version__,
    }
    return cache_key("molecules", options, str(VERSION))


def _save(path: Path, molecules: Molecules) -> None:
    tensors = {name: torch.from_numpy(getattr(molecules, name)) for name in ARRAYS}
    text = np.frombuffer("\n".join(molecules.smiles).encode(), dtype=np.uint8)
    tensors["smiles"] = torch.from_numpy(text.copy())
    save_tensors(path, tensors, {"molecules": json.dumps({"errors": molecules.errors})})


def _load(path: Path) -> Molecules:
    tensors, metadata = load_tensors(path)
    errors = json.loads(metadata["molecules"])["errors"]
    smiles = tensors["smiles"].numpy().tobytes().decode()
    return Molecules(
        errors=tuple((row, reason) for row, reason in errors),
        smiles=tuple(smiles.split("\n")) if len(tensors["rows"]) else (),
        **{name: tensors[name].numpy() for name in ARRAYS},
    )

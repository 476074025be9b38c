"""Molecules as graphs: many molecules as one disjoint union, in parallel and from a cache."""

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from lgan._optional import require
from lgan.data.cache import cache_key, digest_of, load_tensors, locked, save_tensors
from lgan.data.molecules.features import MoleculeFeatures
from lgan.data.molecules.featurise import VERSION, Molecules, joined
from lgan.data.molecules.workers import featurised

# Where molecules and their descriptors are kept, below the folder of all caches.
FOLDER = "molecules"
# Rows that a worker reads at a time: enough to make the hand-over cheap, few enough to be told.
CHUNK = 500
Progress = Callable[[float], None]
ARRAYS = ("rows", "node_ptr", "pair_index", "atoms", "atom_table", "bonds", "bond_table")


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
        progress: Called with the fraction done, from 0 to 1.
        cache: A folder in which the result is kept, by the structures and by what made it.

    Example:
        >>> molecules = featurise_molecules(["CCO", "C1CC", "[Na+].[Cl-]"])
        >>> molecules.node_ptr.tolist(), molecules.pair_index.tolist(), molecules.rows.tolist()
        ([0, 3, 5], [[0, 1], [1, 2]], [0, 2])
        >>> molecules.errors
        ((1, "SMILES Parse Error: unclosed ring for input: 'C1CC'"),)
    """
    features = features or MoleculeFeatures()

    def told(rows: int) -> None:
        if progress is not None:
            progress(rows / max(1, len(structures)))

    one_block = featurise_blocks([structures], features, processes=processes, progress=told)
    if cache is None:
        [molecules] = one_block
        return molecules
    path = Path(cache) / f"{_key(structures, features)}.safetensors"
    with locked(path):
        if not path.is_file():
            [molecules] = one_block
            _save(path, molecules)
        else:
            told(len(structures))
        return _load(path)


def featurise_blocks(
    blocks: Iterable[Sequence[Any]],
    features: MoleculeFeatures | None = None,
    *,
    processes: int | None = None,
    progress: Callable[[int], None] = lambda rows: None,
) -> Iterator[Molecules]:
    """`featurise_molecules` of every block, in order, with a few blocks in memory at a time;
    ``progress`` takes the number of rows done so far.
    """
    features = features or MoleculeFeatures()
    require("rdkit")
    if processes is not None and processes < 1:
        raise ValueError(f"`processes` must be 1 or more, got {processes}. Leave it out for all.")
    lengths: deque[list[int]] = deque()

    def chunks() -> Iterator[Sequence[Any]]:
        for block in blocks:
            parts = [block[i : i + CHUNK] for i in range(0, len(block), CHUNK)] or [block]
            lengths.append([len(part) for part in parts])
            yield from parts

    done: list[Molecules] = []
    rows = 0
    for chunk in featurised(
        chunks(),
        processes=processes or torch.get_num_threads(),
        hydrogens=features.hydrogens,
        standardise=features.standardise,
    ):
        rows += lengths[0][len(done)]
        done.append(chunk)
        progress(rows)
        if len(done) == len(lengths[0]):
            yield joined(done, lengths.popleft())
            done = []


def _key(structures: Sequence[Any], features: MoleculeFeatures) -> str:
    """The name of the cache: of all structures, and of everything that shapes the result."""
    options = {
        "structures": digest_of(
            b"no hydrogens" + s.ToBinary() if hasattr(s, "ToBinary") else repr(s).encode()
            for s in structures
        ),
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

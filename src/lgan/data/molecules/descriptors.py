"""Fingerprints and descriptors of molecules, computed by RDKit."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from lgan._optional import require
from lgan.data.cache import cache_key, digest_of, load_tensors, locked, save_tensors
from lgan.data.molecules.graphs import graph_molecule
from lgan.data.raw import RawGraphs

RADIUS, BITS = 2, 1024
# Molecules at a time, molecules for every process, and descriptors that are remembered: an encoder
# is fitted to molecules, then applied to them.
CHUNK, MANY, MOST_KNOWN = 64, 500, 1 << 16
# Counts changes of what is computed; files of descriptors hold it in their names.
VERSION = 1
# Atoms up to which a molecule has descriptors: some take time by the fourth power of them,
# eight seconds for 500 and a minute and a half for 1,000.
MOST_ATOMS = 500
_KNOWN: dict[bytes, NDArray[np.float64]] = {}


def morgan(raw: RawGraphs, *, radius: int = RADIUS, bits: int = BITS) -> NDArray[np.uint8]:
    """Morgan fingerprints of molecules, one byte a bit ``[G, bits]``."""
    generator = require("rdkit.Chem.rdFingerprintGenerator")
    made = generator.GetMorganGenerator(radius=radius, fpSize=bits)
    rows = np.zeros((raw.num_graphs, bits), dtype=np.uint8)
    with require("rdkit.rdBase").BlockLogs():  # reading them has told what is wrong
        for graph in range(raw.num_graphs):
            rows[graph] = made.GetFingerprintAsNumPy(graph_molecule(raw, graph))
    return rows


def descriptor_names() -> tuple[str, ...]:
    """The descriptors of RDKit, by its own names."""
    return tuple(name for name, _ in require("rdkit.Chem.Descriptors").descList)


def descriptors(
    raw: RawGraphs,
    progress: Callable[[float], None] | None = None,
    cache: Path | None = None,
) -> NDArray[np.float64]:
    """All descriptors of molecules, NaN where one cannot be computed or a molecule has more than
    500 atoms ``[G, n]``.

    Of many molecules they are computed by as many processes as torch has threads; ``progress`` is
    called with the fraction done. They are kept in the folder ``cache``, where one is given.
    """
    with require("rdkit.rdBase").BlockLogs():
        molecules = [graph_molecule(raw, graph).ToBinary() for graph in range(raw.num_graphs)]
    known = {molecule: _KNOWN.get(molecule) for molecule in molecules}
    new = [molecule for molecule, row in known.items() if row is None]
    if new:
        table = _computed(new, progress) if cache is None else _cached(new, progress, cache)
        known.update(zip(new, table, strict=True))
        _KNOWN.update(zip(new, table, strict=True))
    for molecule in list(_KNOWN)[:-MOST_KNOWN]:
        _KNOWN.pop(molecule, None)  # another thread may have dropped it
    values = np.empty((len(molecules), len(descriptor_names())))
    for row, molecule in enumerate(molecules):
        values[row] = known[molecule]
    return values


def _cached(
    molecules: Sequence[bytes], progress: Callable[[float], None] | None, cache: Path
) -> NDArray[np.float64]:
    """The descriptors of molecules from their file, which is made where there is none."""
    made_by = {
        "molecules": digest_of(molecules),
        "rdkit": require("rdkit").__version__,
        "most_atoms": MOST_ATOMS,
    }
    path = Path(cache) / f"{cache_key('descriptors', made_by, str(VERSION))}.safetensors"
    with locked(path):
        if not path.is_file():
            table = torch.from_numpy(_computed(molecules, progress))
            save_tensors(path, {"descriptors": table}, {})
        return load_tensors(path)[0]["descriptors"].numpy()


def _computed(
    molecules: Sequence[bytes], progress: Callable[[float], None] | None
) -> NDArray[np.float64]:
    """The descriptors of molecules, by several processes where there are many."""
    from joblib import Parallel, delayed

    chunks = [molecules[first : first + CHUNK] for first in range(0, len(molecules), CHUNK)]
    processes = min(torch.get_num_threads(), len(molecules) // MANY) or 1
    pool = Parallel(processes, return_as="generator")
    tables: list[NDArray[np.float64]] = []
    for table in pool(map(delayed(_descriptors), chunks)):
        tables.append(table)
        if progress is not None:
            progress(len(tables) / len(chunks))
    return np.concatenate(tables)


def _descriptors(molecules: Sequence[bytes]) -> NDArray[np.float64]:
    """All descriptors of molecules; NaN where one cannot be computed, all of them for more atoms
    than `MOST_ATOMS`.
    """
    chem, listed = require("rdkit.Chem"), require("rdkit.Chem.Descriptors").descList
    # The indices of a molecule, from which four descriptors come, are computed once and not anew.
    functions = [
        partial(f, force=0)
        if name.endswith("EStateIndex") and "force" in signature(f).parameters
        else f
        for name, f in listed
    ]
    missing = [math.nan] * len(listed)
    with (
        require("rdkit.rdBase").BlockLogs(),
        np.errstate(all="ignore"),
        threadpool_limits(1, user_api="blas"),  # matrices so small that threads only wait
    ):
        each = [
            missing if mol.GetNumAtoms() > MOST_ATOMS else [_descriptor(f, mol) for f in functions]
            for mol in map(chem.Mol, molecules)
        ]
    return np.where(np.isfinite(each), each, np.nan)


def _descriptor(function: Any, mol: Any) -> float:
    """A descriptor; NaN where it fails for a molecule."""
    try:
        return float(function(mol))
    except (TypeError, ValueError, RuntimeError, ZeroDivisionError, OverflowError):
        return math.nan

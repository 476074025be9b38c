"""Features of whole graphs: fingerprints, descriptors of molecules, columns of the source."""

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lgan._optional import require
from lgan.data.cache import cache_key, load_tensors, locked, save_tensors
from lgan.data.molecule_graphs import graph_molecule
from lgan.data.raw import RawGraphs
from lgan.task.cells import TargetColumn, spelled

COMPUTED = {
    "morgan": "Morgan fingerprint, 1,024 bits of radius 2",
    "rdkit2d": "all descriptors that RDKit computes from the structure",
}
# What is decided by the source: all that is computed of molecules, of so many rows at most.
AUTO, MOST_ROWS = "auto", 20_000
RADIUS, BITS = 2, 1024
# Deviations from the mean beyond which a number is cut: some descriptors grow exponentially.
FARTHEST = 5.0
Scale = tuple[float, float]
# Molecules at a time, molecules for every process, and descriptors that are remembered: an encoder
# is fitted to molecules, then applied to them.
CHUNK, MANY, MOST_KNOWN = 64, 500, 1 << 16
# Counts changes of what is computed; files of descriptors hold it in their names.
VERSION = 1
# Atoms up to which a molecule has descriptors: some take time by the fourth power of them,
# eight seconds for 500 and a minute and a half for 1,000.
MOST_ATOMS = 500
_KNOWN: dict[bytes, NDArray[np.float64]] = {}


@dataclass(frozen=True, eq=False)
class GraphValues:
    """What features of whole graphs are made from, as it is, before anything is scaled.

    Attributes:
        name: The source.
        computed: The bits of ``morgan`` ``[G, 1024]``; the descriptors of ``rdkit2d``, by
            :func:`descriptor_names`, NaN where one is missing ``[G, n]``.
        columns: The cells of columns, one per graph.
    """

    name: str
    computed: Mapping[str, NDArray[Any]]
    columns: Mapping[str, Sequence[Any]]

    @staticmethod
    def of(
        raw: RawGraphs,
        asked: Sequence[str],
        progress: Callable[[float], None] | None = None,
        cache: Path | None = None,
    ) -> "GraphValues":
        """The values of graphs; columns that they do not have are left out."""
        compute: dict[str, Callable[[], NDArray[Any]]] = {
            "morgan": lambda: morgan(raw),
            "rdkit2d": lambda: descriptors(raw, progress, cache),
        }
        return GraphValues(
            raw.name,
            {name: compute[name]() for name in asked if name in COMPUTED},
            {name: raw.columns[name] for name in asked if name in raw.columns},
        )

    def column(self, name: str) -> TargetColumn:
        """A column of the source."""
        if name not in self.columns:
            there = ", ".join(map(repr, self.columns)) or "none"
            raise ValueError(
                f"The feature {name!r} of whole graphs must be one of {', '.join(COMPUTED)} or a "
                f"column of {self.name}, got the columns {there}. Give a table that has it."
            )
        return TargetColumn.read(name, self.columns[name])

    def select(self, graphs: NDArray[np.int64]) -> "GraphValues":
        """The values of some graphs."""
        return GraphValues(
            self.name,
            {name: values[graphs] for name, values in self.computed.items()},
            {name: [cells[g] for g in graphs] for name, cells in self.columns.items()},
        )


@dataclass(frozen=True)
class GraphFeatures:
    """What is told of every graph as a whole, and how it is scaled.

    Numbers have mean 0 and deviation 1 over the graphs it was fitted on, and are cut at five
    deviations; a missing one is the mean. Words are one-hot, and nothing where they are missing or
    were not there. Fingerprints stay 0 and 1.

    Attributes:
        asked: ``morgan``, ``rdkit2d`` or names of columns, in order.
        scales: For what is asked and consists of numbers: mean and deviation by their names.
        words: For columns of words their values.

    Example:
        >>> from lgan.data import load_raw
        >>> raw = load_raw(["CCO", "CCN", "c1ccccc1"])
        >>> GraphFeatures.fit(raw, ("morgan",)).encode(raw).shape
        torch.Size([3, 1024])
    """

    asked: tuple[str, ...]
    scales: Mapping[str, Mapping[str, Scale]]
    words: Mapping[str, tuple[str, ...]]

    @staticmethod
    def fit(
        raw: RawGraphs,
        asked: Sequence[str],
        progress: Callable[[float], None] | None = None,
        cache: Path | None = None,
    ) -> "GraphFeatures":
        """The features of these graphs; targets are not looked at."""
        return GraphFeatures.fit_values([GraphValues.of(raw, asked, progress, cache)], asked)

    @staticmethod
    def fit_values(parts: Sequence[GraphValues], asked: Sequence[str]) -> "GraphFeatures":
        """The features of graphs whose values come in parts; of descriptors one at a time is put
        together, so that the parts may be larger than memory.
        """
        scales: dict[str, dict[str, Scale]] = {}
        words: dict[str, tuple[str, ...]] = {}
        for name in asked:
            if name == "rdkit2d":
                tables = [part.computed[name].T for part in parts]
                scales[name] = {
                    own: _scale(np.concatenate([table[i] for table in tables]))
                    for i, own in enumerate(descriptor_names())
                }
            elif name != "morgan":
                columns = [part.column(name) for part in parts]
                column = TargetColumn(
                    name,
                    [text for own in columns for text in own.texts],
                    np.concatenate([own.numbers for own in columns]),
                )
                if column.all_numbers():
                    scales[name] = {name: _scale(column.numbers)}
                else:
                    words[name] = tuple(column.distinct())
        return GraphFeatures(tuple(asked), scales, words)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a source that are read."""
        return source_columns(self.asked)

    @property
    def width(self) -> int:
        """Numbers of a graph."""
        return sum(
            BITS if name == "morgan" else len(self.words.get(name) or self.scales[name])
            for name in self.asked
        )

    def encode(self, raw: RawGraphs) -> Tensor:
        """The features of every graph ``[G, d]``."""
        return self.encode_values(GraphValues.of(raw, self.asked))

    def encode_values(self, values: GraphValues) -> Tensor:
        """The features of every graph of which these are the values ``[G, d]``."""
        parts = []
        for name in self.asked:
            if name == "morgan":
                parts.append(values.computed[name].astype(np.float32))
            elif name in self.words:
                texts = values.column(name).texts
                parts.append(np.array([[t == word for word in self.words[name]] for t in texts],
                                      np.float32).reshape(len(texts), -1))  # fmt: skip
            else:
                mean, deviation = np.array(list(self.scales[name].values())).T
                scaled = (_numbers(values, name, tuple(self.scales[name])) - mean) / deviation
                parts.append(np.nan_to_num(np.clip(scaled, -FARTHEST, FARTHEST)).astype(np.float32))
        return torch.from_numpy(np.concatenate(parts, 1))

    def missing(self, raw: RawGraphs) -> dict[str, int]:
        """How many graphs have no value, by column; only those of the source are counted."""
        values = GraphValues.of(raw, self.columns)
        counts = {name: values.column(name).texts.count(None) for name in self.columns}
        return {name: count for name, count in counts.items() if count}

    def unseen(self, raw: RawGraphs) -> dict[str, dict[str, int]]:
        """How often words occur that it was not fitted on: by column, then by word."""
        found = {}
        for name, known in self.words.items():
            texts = map(spelled, raw.columns.get(name, ()))
            new = Counter(text for text in texts if text is not None and text not in known)
            if new:
                found[name] = dict(new)
        return found

    def to_json(self) -> dict[str, Any]:
        """The features as JSON's types."""
        return {
            "asked": list(self.asked),
            "scales": {
                name: {column: list(scale) for column, scale in own.items()}
                for name, own in self.scales.items()
            },
            "words": {name: list(own) for name, own in self.words.items()},
        }

    @staticmethod
    def from_json(plain: Any) -> "GraphFeatures":
        """The features that `to_json` wrote."""
        try:
            made = GraphFeatures(
                tuple(map(str, plain["asked"])),
                {
                    str(name): {str(c): (float(m), float(d)) for c, (m, d) in own.items()}
                    for name, own in plain["scales"].items()
                },
                {str(name): tuple(map(str, own)) for name, own in plain["words"].items()},
            )
            told = {*made.scales, *made.words, "morgan"}
            right = bool(made.asked) and set(made.asked) | {"morgan"} == told
        except (TypeError, KeyError, ValueError, AttributeError):
            right = False
        if not right:
            raise ValueError(
                "Features of graphs must be an object with what is asked, its scales and its "
                f"words, got {str(plain)[:80]}. Read it from a model file of this version."
            )
        return made


def decided_features(asked: Sequence[str], *, molecules: bool, rows: int) -> tuple[str, ...]:
    """What is asked of a source, where that may be ``auto``: fingerprints and descriptors of
    molecules, but of large tables, where they take longer than they help, and of other graphs
    nothing.

    Args:
        asked: Names of features, or ``auto`` alone.
        molecules: Whether the source holds molecules.
        rows: Its rows, readable or not.

    Example:
        >>> decided_features(("auto",), molecules=True, rows=100)
        ('morgan', 'rdkit2d')
        >>> decided_features(("auto",), molecules=False, rows=100)
        ()
    """
    if AUTO not in asked:
        return tuple(asked)
    return tuple(COMPUTED) if molecules and rows < MOST_ROWS else ()


def source_columns(asked: Sequence[str]) -> tuple[str, ...]:
    """What of the features asked for is a column of the source."""
    return tuple(name for name in asked if name not in COMPUTED and name != AUTO)


def feature_list(text: str | Sequence[str] | None) -> tuple[str, ...]:
    """Names from a text with commas between them, or a list; nothing for ``none``.

    Example:
        >>> feature_list("morgan, pH")
        ('morgan', 'pH')
    """
    if text is None or text == "none":
        return ()
    names = tuple(n.strip() for n in (text.split(",") if isinstance(text, str) else text))
    if not all(names) or len(set(names)) < len(names):
        raise ValueError(
            f"`graph_features` must name {', '.join(COMPUTED)} or columns, each once, got {text!r}."
        )
    if AUTO in names and len(names) > 1:
        raise ValueError(
            f"`graph_features` must be {AUTO!r} alone, by which the source decides, or name "
            f"{', '.join(COMPUTED)} or columns, got {text!r}."
        )
    return names


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
    digest = hashlib.sha256()
    for molecule in molecules:
        digest.update(len(molecule).to_bytes(8, "little"))
        digest.update(molecule)
    made_by = {
        "molecules": digest.hexdigest(),
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


def _numbers(values: GraphValues, asked: str, names: Sequence[str]) -> NDArray[np.float64]:
    """Numbers ``[G, n]`` as they are; NaN where one is missing or infinite."""
    if asked != "rdkit2d":
        column = values.column(asked)
        text = column.first_text()
        if text is not None:
            raise ValueError(
                f"The column {asked!r} of {values.name} must hold numbers, as where the model was "
                f"trained, got {text!r}. Correct it, or leave its cells empty."
            )
        return column.numbers[:, None]
    place = {name: i for i, name in enumerate(descriptor_names())}
    table = values.computed[asked]
    found = np.full((len(table), len(names)), np.nan)
    known = [(i, place[name]) for i, name in enumerate(names) if name in place]
    into, of = np.array(known, dtype=int).reshape(-1, 2).T
    found[:, into] = table[:, of]
    return found


def _descriptors(molecules: Sequence[bytes]) -> NDArray[np.float64]:
    """All descriptors of molecules; NaN where one cannot be computed, all of them for more atoms
    than `MOST_ATOMS`.
    """
    chem, listed = require("rdkit.Chem"), require("rdkit.Chem.Descriptors").descList
    # The indices of a molecule, from which four descriptors come, are computed once and not anew.
    functions = [partial(f, force=0) if name.endswith("EStateIndex") else f for name, f in listed]
    missing = [math.nan] * len(listed)
    with require("rdkit.rdBase").BlockLogs(), np.errstate(all="ignore"):
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


def _scale(values: NDArray[np.float64]) -> Scale:
    """Mean and deviation of what is not missing; 1 where there is no spread."""
    there = values[~np.isnan(values)]
    with np.errstate(over="ignore"):  # some descriptors grow exponentially
        mean, deviation = (float(there.mean()), float(there.std())) if there.size else (0.0, 1.0)
    fine = np.isfinite(deviation) and deviation > 1e-12 * max(1.0, abs(mean))
    return mean, deviation if fine else 1.0

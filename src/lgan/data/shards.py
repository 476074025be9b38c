"""A data set larger than memory: a folder of shards, each a union in a file of tensors."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lgan.data.cache import load_tensors, save_tensors
from lgan.data.column_encoder import ColumnEncoder
from lgan.data.encoder import Encoder
from lgan.data.graph_features import COMPUTED, GraphValues
from lgan.data.molecule_features import (
    ATOM_FEATURES,
    BOND_FEATURES,
    MoleculeFeatures,
    spelled_columns,
)
from lgan.data.molecule_graphs import molecule_graphs
from lgan.data.molecules import featurise_molecules
from lgan.data.raw import RawGraphs
from lgan.graph import GraphUnion, concatenate
from lgan.graph.edges import check_range
from lgan.task import Task
from lgan.task.cells import spelled

FORMAT = 1
MANIFEST = "manifest.json"
# What a shard holds of every graph beside its union; the text is canonical SMILES, line by line.
PER_GRAPH = ("graph_rows", "graph_keys", "graph_work", "smiles")
# What it holds of every molecule that was read, also of those without a target: values of features
# of whole graphs, cells of columns as JSON; and the place of every graph among these molecules.
PER_MOLECULE = ("value_morgan", "value_rdkit2d", "cells", "graph_places")


@dataclass(frozen=True)
class ShardFile:
    """One shard, as the file beside its tensors tells.

    Attributes:
        path: The file of tensors, which is not there for a shard without graphs.
        graphs: Graphs in it.
        rows: Rows of the table that it was made of.
        unlabelled: Graphs that were left out, since they have no target.
        errors: Row and reason of every molecule that could not be read.
        tables: The distinct atoms and bonds, as integers by ``ATOM_FEATURES``, ``BOND_FEATURES``.
        sha256: Checksum of the file.
    """

    path: Path
    graphs: int
    rows: int
    unlabelled: int
    errors: tuple[tuple[int, str], ...]
    tables: tuple[list[list[int]], list[list[int]]]
    sha256: str

    @staticmethod
    def read(path: Path) -> "ShardFile":
        """What is told of the shard whose tensors are in ``path``."""
        told = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        told["errors"] = tuple((row, reason) for row, reason in told["errors"])
        return ShardFile(path, **{**told, "tables": tuple(told["tables"])})

    def to_json(self) -> dict[str, Any]:
        """All but the path, as JSON's types."""
        return {name: value for name, value in vars(self).items() if name != "path"}


@dataclass(frozen=True, eq=False)
class Shards:
    """A folder that `lgan.data.prepare_shards` filled.

    Attributes:
        folder: The folder.
        name: What the table was called.
        encoder: What encodes the graphs of all shards, and those of later sources.
        options: What else decides how a union looks: ``compress`` and ``pair_code``.
        files: The shards that hold graphs, in the order of the table.
        counts: Rows, graphs, rows that could not be read, rows without a target.
        columns: Columns of the table that were kept.
    """

    folder: Path
    name: str
    encoder: Encoder
    options: dict[str, Any]
    files: tuple[ShardFile, ...]
    counts: dict[str, int]
    columns: tuple[str, ...] = ()

    @staticmethod
    def open(folder: Path | str) -> "Shards":
        """The shards of a folder; an error where they are not, or not all, there."""
        folder = Path(folder)
        try:
            told = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ValueError(
                f"{folder} must hold shards with their {MANIFEST}, got {error}. Finish them with "
                "`lgan data prepare`, which goes on where it stopped."
            ) from error
        if told.get("format") != FORMAT:
            raise ValueError(
                f"{folder / MANIFEST} must have the format {FORMAT}, got {told.get('format')!r}. "
                "Prepare the folder again with this version."
            )
        listed = [folder / file for file in told["files"]]
        missing = [path for path in listed if not path.is_file()]
        if missing:
            raise ValueError(
                f"{missing[0]} must be there, got no such file ({len(missing)} of {len(listed)} "
                f"are missing). Remove {MANIFEST} and prepare the folder again."
            )
        return Shards(
            folder=folder,
            name=told["name"],
            encoder=Encoder.from_json(told["encoder"]),
            options=told["options"],
            files=tuple(ShardFile.read(path) for path in listed),
            counts=told["counts"],
            columns=tuple(told.get("columns", ())),
        )

    def __len__(self) -> int:
        return len(self.files)

    @property
    def task(self) -> Task:
        """What is predicted."""
        assert self.encoder.task is not None
        return self.encoder.task

    @cached_property
    def graph_ptr(self) -> Tensor:
        """Where the graphs of every shard begin ``[S + 1]``."""
        return torch.tensor([0, *(file.graphs for file in self.files)]).cumsum(0)

    @property
    def num_graphs(self) -> int:
        """Graphs of all shards."""
        return int(self.graph_ptr[-1])

    @property
    def nbytes(self) -> int:
        """Bytes of all files of tensors."""
        return sum(file.path.stat().st_size for file in self.files)

    @property
    def graph_features(self) -> tuple[str, ...]:
        """The features of whole graphs that its unions have."""
        return () if self.encoder.graphs is None else self.encoder.graphs.asked

    def without_graph_features(self) -> "Shards":
        """The same shards, whose unions have no features of whole graphs."""
        return replace(self, encoder=replace(self.encoder, graphs=None))

    def union(self, shards: Sequence[int] | None = None) -> GraphUnion:
        """The graphs of some shards, or of all, as one union; files are read through memory maps.

        The features of every shard are moved to the columns that they have in all of them.
        """
        chosen = range(len(self)) if shards is None else shards
        return concatenate([self._read(self.files[shard]) for shard in chosen])

    def column(self, name: str) -> Tensor:
        """A tensor with a row for every graph: ``y``, ``graph_rows``, ``graph_keys`` or
        ``graph_work``; ``graph_nodes`` for the number of nodes.
        """
        parts = []
        for file in self.files:
            tensors = load_tensors(file.path)[0]
            nodes = name == "graph_nodes"
            parts.append(torch.diff(tensors["node_ptr"]) if nodes else tensors[name].clone())
        return torch.cat(parts)

    def smiles(self) -> list[str]:
        """The canonical SMILES of every graph."""
        texts = (load_tensors(file.path)[0]["smiles"].numpy().tobytes() for file in self.files)
        return [line for text in texts for line in text.decode().split("\n")]

    def errors(self) -> tuple[tuple[int, str], ...]:
        """Row and reason of every molecule that could not be read; of shards without graphs too."""
        every = sorted(self.folder.glob("shard-*.json"))
        return tuple(error for path in every for error in ShardFile.read(path).errors)

    def rows(self) -> RawGraphs:
        """What the rows say, their targets and SMILES, as graphs that have no nodes."""
        smiles, y = tuple(self.smiles()), self.column("y")
        return RawGraphs(
            name=self.name,
            node_ptr=torch.zeros(len(smiles) + 1, dtype=torch.int64),
            pair_index=torch.empty((2, 0), dtype=torch.int64),
            targets=self.task.cells(y),
            columns=self._columns(),
            task=self.task,
            rows=self.column("graph_rows"),
            errors=self.errors(),
            ids=smiles,
            structures=smiles,
            featuriser=self.encoder.featuriser,
        )

    def raw(self, graphs: Sequence[int]) -> RawGraphs:
        """Some graphs before they were encoded, read again from their canonical SMILES, which
        may have the atoms in another order.
        """
        rows = self.rows().select(graphs)
        assert rows.structures is not None
        assert self.encoder.featuriser is not None
        features = MoleculeFeatures.from_json(self.encoder.featuriser)
        read = featurise_molecules(rows.structures, features, processes=1)
        found = molecule_graphs(
            read, features, name=self.name, targets=rows.targets, columns=rows.columns,
            structures=rows.structures,
        )  # fmt: skip
        return replace(found, rows=rows.rows[found.rows], task=self.task)

    def _columns(self) -> dict[str, list[Any]]:
        """The cells of every column that was kept, one per graph."""
        cells: dict[str, list[Any]] = {name: [] for name in self.columns}
        for file in self.files if cells else ():
            values, places = shard_values(self.name, load_tensors(file.path)[0], ())
            for name, own in values.select(places).columns.items():
                cells[name] += own
        return cells

    def _read(self, file: ShardFile) -> GraphUnion:
        tensors, _ = load_tensors(file.path)
        beside = {*PER_GRAPH, *PER_MOLECULE}
        own = {name: tensor for name, tensor in tensors.items() if name not in beside}
        features = MoleculeFeatures.from_json(self.encoder.featuriser or {})
        nodes, pairs = column_encoders(features, *file.tables)
        widths = own["numbers"].clone()
        place = nodes.places_in(self.encoder.nodes)
        if nodes.only_categories:
            own["x"] = place[own["x"]]
        else:
            own["x_table"] = _moved(own["x_table"], place, self.encoder.num_features)
        widths[0] = self.encoder.num_features
        if edges := int(widths[3]):
            wide, codes = self.encoder.num_edge_features, own["pair_table"].size(1) - edges
            kept, carried = own["pair_table"].split([codes, edges], 1)
            place = pairs.places_in(self.encoder.pairs)
            own["pair_table"] = torch.cat([kept, _moved(carried, place, wide)], 1)
            widths[3] = wide
        own["numbers"] = widths
        if self.encoder.graphs is not None:
            values, places = shard_values(self.name, tensors, self.graph_features)
            own["graph_x"] = self.encoder.graphs.encode_values(values.select(places))
        return GraphUnion.from_tensors(own, self.name, self.task)


def is_shards(source: Any) -> bool:
    """Whether a source is a folder of shards, finished or not."""
    if not isinstance(source, str | Path):
        return False
    return any((Path(source) / name).is_file() for name in (MANIFEST, "plan.json"))


def column_encoders(
    features: MoleculeFeatures, atoms: list[list[int]], bonds: list[list[int]]
) -> tuple[ColumnEncoder, ColumnEncoder]:
    """The encoders of nodes and pairs of molecules with these distinct atoms and bonds, as
    integers ``[U, 8]``, ``[V, 4]``.
    """
    kinds = ((atoms, ATOM_FEATURES, features.atoms), (bonds, BOND_FEATURES, features.bonds))
    found = []
    for rows, known, chosen in kinds:
        table = np.array(rows, dtype=np.int16).reshape(-1, len(known))
        found.append(ColumnEncoder(chosen, spelled_columns(table, known, chosen)[1]))
    return found[0], found[1]


def save_shard(
    path: Path,
    union: GraphUnion,
    rows: RawGraphs,
    keys: Tensor,
    values: GraphValues,
    places: Tensor,
) -> None:
    """Write the union of some graphs, which ``rows`` were before they were encoded, and their keys;
    values are those of all molecules that were read, among which the graphs have these places.
    """
    own = {"graph_rows": rows.rows, "graph_keys": keys, "graph_work": union.work_per_graph}
    own["smiles"] = _stored("\n".join(rows.ids or ()))
    if values.computed or values.columns:
        texts = {name: [spelled(cell) for cell in own] for name, own in values.columns.items()}
        own |= {"graph_places": places, "cells": _stored(json.dumps(texts))}
    if "morgan" in values.computed:
        own["value_morgan"] = torch.from_numpy(np.packbits(values.computed["morgan"], axis=1))
    if "rdkit2d" in values.computed:  # a descriptor in a piece: they are scaled one by one
        own["value_rdkit2d"] = torch.from_numpy(values.computed["rdkit2d"].T.copy())
    save_tensors(path, {**union.tensors(), **own}, {})


def shard_values(
    name: str, tensors: Mapping[str, Tensor], asked: Sequence[str]
) -> tuple[GraphValues, NDArray[np.int64]]:
    """The columns of all molecules of a shard that were read, with the computed values that are
    asked for, and the places of its graphs among them.
    """
    computed = [each for each in asked if each in COMPUTED]
    for needed in ("graph_places", "cells", *(f"value_{each}" for each in computed)):
        if needed not in tensors:
            raise ValueError(
                f"A shard of {name} must hold `{needed}`, as its {MANIFEST} says, got none. "
                "Delete the folder and prepare it again."
            )
    found: dict[str, NDArray[Any]] = {each: tensors[f"value_{each}"].numpy() for each in computed}
    if "morgan" in found:
        found["morgan"] = np.unpackbits(found["morgan"], axis=1)
    if "rdkit2d" in found:
        found["rdkit2d"] = found["rdkit2d"].T
    cells = json.loads(tensors["cells"].numpy().tobytes().decode())
    places, remedy = tensors["graph_places"], " Delete the folder and prepare it again."
    for own in (*found.values(), *cells.values()):
        check_range("graph_places", places, len(own), of="molecules", remedy=remedy)
    return GraphValues(name, found, cells), places.numpy()


def _stored(text: str) -> Tensor:
    return torch.from_numpy(np.frombuffer(text.encode(), dtype=np.uint8).copy())


def _moved(table: Tensor, place: Tensor, width: int) -> Tensor:
    """A table of one-hot columns whose columns are elsewhere in a wider one."""
    moved = table.new_zeros((len(table), width))
    moved[:, place] = table
    return moved

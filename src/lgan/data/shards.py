"""A data set larger than memory: a folder of shards, each a union in a file of tensors."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
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
from lgan.graph.checks import check_ptr
from lgan.graph.edges import check_integers, check_range
from lgan.graph.union_checks import check_rows
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
        with as_prepared(path.with_suffix(".json")):
            told = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
            told["errors"] = tuple((row, reason) for row, reason in told["errors"])
            file = ShardFile(path, **{**told, "tables": tuple(told["tables"])})
            counts = (file.graphs, file.rows, file.unlabelled, *(row for row, _ in file.errors))
            texts = (file.sha256, *(reason for _, reason in file.errors))
            if any(type(count) is not int or count < 0 for count in counts):
                raise ValueError(f"the counts {counts}")
            if not all(isinstance(text, str) for text in texts):
                raise ValueError(f"the texts {texts}")
            return file

    def to_json(self) -> dict[str, Any]:
        """All but the path, as JSON's types."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "path"}

    @cached_property
    def found_sha256(self) -> str:
        """Checksum of the file as it is; read once."""
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()


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
        kind = told.get("format") if isinstance(told, dict) else type(told).__name__
        if kind != FORMAT:
            raise ValueError(
                f"{folder / MANIFEST} must have the format {FORMAT}, got {kind!r}. "
                "Prepare the folder again with this version."
            )
        with as_prepared(folder / MANIFEST):
            _check_manifest(told)
            encoder = Encoder.from_json(told["encoder"])
            if encoder.task is None or encoder.featuriser is None:
                raise ValueError("an encoder without task or featuriser")
        listed = [folder / file for file in told["files"]]
        missing = [path for path in listed if not path.is_file()]
        if missing:
            raise ValueError(
                f"{missing[0]} must be there, got no such file ({len(missing)} of {len(listed)} "
                f"are missing). {_remedy(missing[0])}"
            )
        files = tuple(ShardFile.read(path) for path in listed)
        for file in files:
            if file.sha256 != told["files"][file.path.name]:
                raise ValueError(
                    f"{file.path.with_suffix('.json')} must tell of the shard that {MANIFEST} "
                    f"lists, got that of another. {_remedy(file.path)}"
                )
        return Shards(
            folder=folder,
            name=told["name"],
            encoder=encoder,
            options=told["options"],
            files=files,
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
            with as_prepared(file.path):
                tensors = load_tensors(file.path)[0]
                parts.append(self._column(name, tensors, file.graphs))
        return torch.cat(parts)

    def _column(self, name: str, tensors: Mapping[str, Tensor], graphs: int) -> Tensor:
        if name == "graph_nodes":
            ptr = tensors["node_ptr"]
            check_ptr("node_ptr", ptr, int(ptr[-1]), remedy="")
            found = torch.diff(ptr)
        else:
            found = tensors[name].clone()
        if name == "y" and found.is_floating_point():
            check_rows(name, found, graphs)
            if found.dim() != 2 or found.size(1) != self.encoder.num_outputs:
                raise ValueError(f"`y` of shape {list(found.shape)}")
            return found
        check_integers(name, found, (graphs,), remedy="")
        if name == "y":  # -1 is a class that is missing
            check_range(name, found + 1, self.encoder.num_outputs + 1, of="classes")
        elif name != "graph_keys":  # which are hashes
            check_range(name, found, torch.iinfo(found.dtype).max, of="numbers")
        return found

    def smiles(self) -> list[str]:
        """The canonical SMILES of every graph."""
        lines: list[str] = []
        for file in self.files:
            with as_prepared(file.path):
                text = load_tensors(file.path)[0]["smiles"].numpy().tobytes().decode()
                own = text.split("\n")
                if len(own) != file.graphs:
                    raise ValueError(f"{len(own)} SMILES for {file.graphs} graphs")
                lines += own
        return lines

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
            with as_prepared(file.path):
                values, places = shard_values(self.name, load_tensors(file.path)[0], ())
                for name, own in values.select(places).columns.items():
                    cells[name] += own
        return cells

    def _read(self, file: ShardFile) -> GraphUnion:
        with as_prepared(file.path):
            if file.found_sha256 != file.sha256:
                raise ValueError(f"the checksum {file.found_sha256[:12]}, not {file.sha256[:12]}")
            union = self._union(file)
            if union.num_graphs != file.graphs:
                raise ValueError(f"{union.num_graphs} graphs, not {file.graphs}")
            return union

    def _union(self, file: ShardFile) -> GraphUnion:
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


@contextmanager
def as_prepared(path: Path) -> Iterator[None]:
    """Name the file of a folder of shards that turns out not to hold what was written to it."""
    try:
        yield
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RuntimeError) as e:
        why = e.__cause__ or e  # without the remedy of a cache
        raise ValueError(
            f"{path} must be as `lgan data prepare` wrote it, got {type(why).__name__}: {why}. "
            f"{_remedy(path)}"
        ) from e


def _remedy(path: Path) -> str:
    lost = [MANIFEST]
    if path.name.startswith("shard-"):
        lost += [f"{path.stem}.safetensors", f"{path.stem}.json"]
    elif path.name != MANIFEST:
        return f"Delete {path.parent}, and prepare the table again."
    return (
        f"Delete {', '.join(lost)} in {path.parent} and give the command `lgan data prepare` "
        "again, which makes these anew."
    )


def _check_manifest(told: dict[str, Any]) -> None:
    """Raise an error unless a manifest has the fields that `lgan.data.prepare` writes."""
    options, files, columns = told["options"], told["files"], told.get("columns", [])
    fits = {
        "name": isinstance(told["name"], str),
        "options": {name: type(value) for name, value in options.items()}
        == {"compress": bool, "pair_code": str},
        "counts": {*told["counts"]} == {"rows", "graphs", "unreadable", "unlabelled"}
        and all(type(count) is int and count >= 0 for count in told["counts"].values()),
        "columns": isinstance(columns, list) and all(isinstance(name, str) for name in columns),
        "files": bool(files) and all(re.fullmatch(r"shard-\d+\.safetensors", f) for f in files),
    }
    for name, good in fits.items():
        if not good:
            raise ValueError(f"{name} {str(told.get(name))[:80]}")


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
            raise ValueError(f"A shard of {name} without `{needed}`, which {MANIFEST} names")
    found: dict[str, NDArray[Any]] = {each: tensors[f"value_{each}"].numpy() for each in computed}
    if "morgan" in found:
        found["morgan"] = np.unpackbits(found["morgan"], axis=1)
    if "rdkit2d" in found:
        found["rdkit2d"] = found["rdkit2d"].T
    cells = json.loads(tensors["cells"].numpy().tobytes().decode())
    places = tensors["graph_places"]
    check_integers("graph_places", places, (None,), remedy="")
    for own in (*found.values(), *cells.values()):
        check_range("graph_places", places, len(own), of="molecules")
    return GraphValues(name, found, cells), places.numpy()


def _stored(text: str) -> Tensor:
    return torch.from_numpy(np.frombuffer(text.encode(), dtype=np.uint8).copy())


def _moved(table: Tensor, place: Tensor, width: int) -> Tensor:
    """A table of one-hot columns whose columns are elsewhere in a wider one."""
    moved = table.new_zeros((len(table), width))
    moved[:, place] = table
    return moved

"""A data set larger than memory: a folder of shards, each a union in a file of tensors."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from lgan.data.encoder import Encoder
from lgan.data.graph_features import AUTO, decided_features
from lgan.data.molecules.features import MoleculeFeatures
from lgan.data.molecules.graphs import molecule_graphs
from lgan.data.molecules.parallel import featurise_molecules
from lgan.data.raw import RawGraphs
from lgan.data.shards.files import MANIFEST, ShardFile, as_prepared, remedy
from lgan.graph import GraphUnion, concatenate
from lgan.task import Task

FORMAT = 1


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
                f"are missing). {remedy(missing[0])}"
            )
        files = tuple(ShardFile.read(path) for path in listed)
        for file in files:
            if file.sha256 != told["files"][file.path.name]:
                raise ValueError(
                    f"{file.path.with_suffix('.json')} must tell of the shard that {MANIFEST} "
                    f"lists, got that of another. {remedy(file.path)}"
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

    def decided(self, asked: Sequence[str]) -> tuple[str, ...]:
        """What is asked of them where that may be ``auto``: what is decided for so many rows,
        where they were prepared with it, and nothing otherwise.
        """
        told = decided_features(asked, molecules=True, rows=self.counts["rows"])
        if AUTO not in asked:
            return told
        return self.graph_features if {*told} == {*self.graph_features} else ()

    def without_graph_features(self) -> "Shards":
        """The same shards, whose unions have no features of whole graphs."""
        return replace(self, encoder=replace(self.encoder, graphs=None))

    def union(self, shards: Sequence[int] | None = None) -> GraphUnion:
        """The graphs of some shards, or of all, as one union; files are read through memory maps.

        The features of every shard are moved to the columns that they have in all of them.
        """
        chosen = range(len(self)) if shards is None else shards
        return concatenate([self.files[shard].union(self.name, self.encoder) for shard in chosen])

    def column(self, name: str) -> Tensor:
        """A tensor with a row for every graph: ``y``, ``graph_rows``, ``graph_keys`` or
        ``graph_work``; ``graph_nodes`` for the number of nodes.
        """
        outputs = self.encoder.num_outputs
        return torch.cat([file.column(name, outputs) for file in self.files])

    def smiles(self) -> list[str]:
        """The canonical SMILES of every graph."""
        return [line for file in self.files for line in file.smiles()]

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
            values, places = file.values(self.name, ())
            for name, own in values.select(places).columns.items():
                cells[name] += own
        return cells


def _check_manifest(told: dict[str, Any]) -> None:
    """Raise an error unless a manifest has the fields that `lgan.data.shards.prepare` writes."""
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

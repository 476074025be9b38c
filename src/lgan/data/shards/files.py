"""One shard: a union in a file of tensors, and beside it a file that says that it is whole."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
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
from lgan.data.molecules.features import (
    ATOM_FEATURES,
    BOND_FEATURES,
    MoleculeFeatures,
    spelled_columns,
)
from lgan.data.raw import RawGraphs
from lgan.graph import GraphUnion
from lgan.graph.checks import check_ptr
from lgan.graph.edges import check_integers, check_range
from lgan.graph.union_checks import check_rows
from lgan.task.cells import spelled

MANIFEST = "manifest.json"
# What a shard holds of every graph beside its union; the text is canonical SMILES, line by line.
PER_GRAPH = ("graph_rows", "graph_keys", "graph_work", "smiles")
# What it holds of every molecule that was read, also of those without a target: values of features
# of whole graphs, cells of columns as JSON; and the place of every graph among these molecules.
PER_MOLECULE = (*(f"value_{name}" for name in COMPUTED), "cells", "graph_places")


@dataclass(frozen=True)
class ShardFile:
    """One shard, as the file beside its tensors tells.

    Attributes:
        path: The file of tensors, which is not there where no molecule was read.
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

    @contextmanager
    def tensors(self) -> Iterator[dict[str, Tensor]]:
        """What the file holds; an error of the block names the file."""
        with as_prepared(self.path):
            yield load_tensors(self.path)[0]

    @cached_property
    def found_sha256(self) -> str:
        """Checksum of the file as it is; read once."""
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def column(self, name: str, outputs: int) -> Tensor:
        """A tensor with a row for every graph, see :meth:`lgan.data.Shards.column`.

        Args:
            name: Its name.
            outputs: Classes or targets that ``y`` may have.
        """
        with self.tensors() as tensors:
            if name == "graph_nodes":
                ptr = tensors["node_ptr"]
                check_ptr("node_ptr", ptr, int(ptr[-1]), remedy="")
                found = torch.diff(ptr)
            else:
                found = tensors[name].clone()
            if name == "y" and found.is_floating_point():
                check_rows(name, found, self.graphs)
                if found.dim() != 2 or found.size(1) != outputs:
                    raise ValueError(f"`y` of shape {list(found.shape)}")
                return found
            check_integers(name, found, (self.graphs,), remedy="")
            if name == "y":  # -1 is a class that is missing
                check_range(name, found + 1, outputs + 1, of="classes")
            elif name != "graph_keys":  # which are hashes
                check_range(name, found, torch.iinfo(found.dtype).max, of="numbers")
            return found

    def smiles(self) -> list[str]:
        """The canonical SMILES of every graph."""
        with self.tensors() as tensors:
            lines = tensors["smiles"].numpy().tobytes().decode().split("\n")
            if len(lines) != self.graphs:
                raise ValueError(f"{len(lines)} SMILES for {self.graphs} graphs")
            return lines

    def values(self, name: str, asked: Sequence[str]) -> tuple[GraphValues, NDArray[np.int64]]:
        """The columns of all molecules of the shard that were read, with the computed values that
        are asked for, and the places of its graphs among them; ``name`` is that of the table.
        """
        with self.tensors() as tensors:
            return _values(name, tensors, asked)

    def union(self, name: str, encoder: Encoder) -> GraphUnion:
        """The graphs, their features moved to the columns that they have in all shards."""
        with as_prepared(self.path):
            if self.found_sha256 != self.sha256:
                raise ValueError(f"the checksum {self.found_sha256[:12]}, not {self.sha256[:12]}")
        with self.tensors() as tensors:
            beside = {*PER_GRAPH, *PER_MOLECULE}
            own = {key: tensor for key, tensor in tensors.items() if key not in beside}
            features = MoleculeFeatures.from_json(encoder.featuriser or {})
            nodes, pairs = column_encoders(features, *self.tables)
            widths = own["numbers"].clone()
            place = nodes.places_in(encoder.nodes)
            if nodes.only_categories:
                own["x"] = place[own["x"]]
            else:
                own["x_table"] = _moved(own["x_table"], place, encoder.num_features)
            widths[0] = encoder.num_features
            if edges := int(widths[3]):
                wide, codes = encoder.num_edge_features, own["pair_table"].size(1) - edges
                kept, carried = own["pair_table"].split([codes, edges], 1)
                place = pairs.places_in(encoder.pairs)
                own["pair_table"] = torch.cat([kept, _moved(carried, place, wide)], 1)
                widths[3] = wide
            own["numbers"] = widths
            if encoder.graphs is not None:
                values, places = _values(name, tensors, encoder.graphs.asked)
                own["graph_x"] = encoder.graphs.encode_values(values.select(places))
            union = GraphUnion.from_tensors(own, name, encoder.task)
            if union.num_graphs != self.graphs:
                raise ValueError(f"{union.num_graphs} graphs, not {self.graphs}")
            return union


@contextmanager
def as_prepared(path: Path) -> Iterator[None]:
    """Name the file of a folder of shards that turns out not to hold what was written to it."""
    try:
        yield
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RuntimeError) as e:
        why = e.__cause__ or e  # without the remedy of a cache
        raise ValueError(
            f"{path} must be as `lgan data prepare` wrote it, got {type(why).__name__}: {why}. "
            f"{remedy(path)}"
        ) from e


def remedy(path: Path) -> str:
    """What to delete so that a file of a folder of shards is made anew."""
    lost = [MANIFEST]
    if path.name.startswith("shard-"):
        lost += [f"{path.stem}.safetensors", f"{path.stem}.json"]
    elif path.name != MANIFEST:
        return f"Delete {path.parent}, and prepare the table again."
    return (
        f"Delete {', '.join(lost)} in {path.parent} and give the command `lgan data prepare` "
        "again, which makes these anew."
    )


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
    for name in {*values.computed} - {"morgan"}:  # a column in a piece: they are scaled one by one
        own[f"value_{name}"] = torch.from_numpy(values.computed[name].T.copy())
    save_tensors(path, {**union.tensors(), **own}, {})


def _values(
    name: str, tensors: Mapping[str, Tensor], asked: Sequence[str]
) -> tuple[GraphValues, NDArray[np.int64]]:
    computed = [each for each in asked if each in COMPUTED]
    for needed in ("graph_places", "cells", *(f"value_{each}" for each in computed)):
        if needed not in tensors:
            raise ValueError(f"A shard of {name} without `{needed}`, which {MANIFEST} names")
    found: dict[str, NDArray[Any]] = {each: tensors[f"value_{each}"].numpy() for each in computed}
    for each in computed:
        found[each] = np.unpackbits(found[each], axis=1) if each == "morgan" else found[each].T
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

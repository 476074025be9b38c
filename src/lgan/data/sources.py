"""Whatever holds graphs, as `RawGraphs`: names, files, and lists of Python objects."""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from lgan.catalogue import DATASETS, archives_at_hand, known_dataset
from lgan.data.molecules.features import MoleculeFeatures
from lgan.data.molecules.parallel import FOLDER
from lgan.data.raw import RawGraphs
from lgan.data.readers.graph_files import GRAPH_SUFFIXES, is_graph_file, read_graph_file
from lgan.data.readers.mirror import fetch
from lgan.data.readers.tables import is_table
from lgan.data.readers.tu import read_tu
from lgan.data.shards.folder import Shards, is_shards
from lgan.data.synthetic import csl, motifs, random_regular, triangle_pairs

GENERATORS: dict[str, Callable[[int], RawGraphs]] = {
    "triangles": lambda seed: triangle_pairs(seed=seed),
    "motifs-ba": lambda seed: motifs("ba", seed=seed),
    "motifs-tree": lambda seed: motifs("tree", seed=seed),
    "csl": lambda seed: csl(seed=seed),
    "regular": lambda seed: random_regular(seed=seed),
}
Progress = Callable[[float], None]


def load_raw(
    source: Any,
    *,
    root: str | Path = "data",
    mirror: str | Path | None = None,
    seed: int = 0,
    targets: str | Sequence[str] | Mapping[str, Sequence[Any]] | None = None,
    columns: Sequence[str] | Mapping[str, Sequence[Any]] = (),
    smiles_column: str | None = None,
    molecules: MoleculeFeatures | None = None,
    node_features: Sequence[str] | None = None,
    edge_features: Sequence[str] | None = None,
    symmetrise: bool = False,
    directed: bool = False,
    progress: Progress | None = None,
) -> RawGraphs:
    """Read or generate graphs.

    Args:
        source: A name of the registry or of the TU collection; the path of a TU archive or folder,
            of a table of molecules, or of graphs in GraphML or JSON lines; a table in memory
            (a DataFrame, an Arrow table, or columns by name); a list of SMILES, of RDKit
            molecules, of PyG ``Data`` or of networkx graphs.
        root: The folder downloads and caches go to.
        mirror: A folder or address that holds ``NAME.zip``, see `fetch`.
        seed: Fixes a generated set; sets read from files do not use it.
        targets: Names of what is predicted: columns of a table, attributes of graphs; ``all`` for
            all columns, an empty list for none. For lists also their values by name.
        columns: Further columns to keep, for groups, splits or features of whole graphs. For lists
            their values by name.
        smiles_column: The column of a table that holds the molecules.
        molecules: How molecules become graphs.
        node_features: Attributes of nodes of networkx graphs, GraphML and JSON lines to read; of
            PyG graphs columns of the fields to read.
        edge_features: Attributes of their edges to read.
        symmetrise: Read directed graphs as undirected ones.
        directed: Keep the direction of their arcs, for `lgan.LGAN(directed=True)`. Graphs that
            are undirected have arcs both ways.
        progress: Called with the fraction done, from 0 to 1.

    Raises:
        ValueError: Where the name is unknown, or the source is not what it should be.

    Example:
        >>> load_raw("csl").num_graphs
        150
    """
    how = _Reading(
        root=root,
        mirror=mirror,
        seed=seed,
        targets=targets,
        columns=columns,
        smiles_column=smiles_column,
        molecules=molecules,
        node_features=node_features,
        edge_features=edge_features,
        symmetrise=symmetrise,
        directed=directed,
        progress=progress,
    )
    raw = _read(source, how)
    if directed and raw.direction is None:
        raise ValueError(
            f"`directed` keeps the direction of edges, and those of {raw.name} have none. Leave it "
            "out."
        )
    return raw


def _read(source: Any, how: "_Reading") -> RawGraphs:
    if isinstance(source, RawGraphs):
        return source
    if isinstance(source, str | os.PathLike):
        if not str(source):
            raise ValueError(
                "The source must be a path, a name or a list of graphs, got an empty text."
            )
        try:
            if is_path(source):
                return _from_file(Path(source), how)
            known_dataset(str(source), archives_at_hand(root=how.root, mirror=how.mirror))
        except (FileNotFoundError, ValueError):
            if os.path.exists(source) or not _is_smiles(str(source)):
                raise
            raise ValueError(
                "The source must be a path, a name or a list of graphs, got one SMILES. Give a "
                f"list: [{source!r}]."
            ) from None
        return _by_name(str(source), how)
    if isinstance(source, Mapping) or hasattr(source, "columns"):
        return _table(source, how)
    return _from_list(source, how)


@dataclass(frozen=True)
class _Reading:
    """The options of `load_raw`."""

    root: str | Path
    mirror: str | Path | None
    seed: int
    targets: str | Sequence[str] | Mapping[str, Sequence[Any]] | None
    columns: Sequence[str] | Mapping[str, Sequence[Any]]
    smiles_column: str | None
    molecules: MoleculeFeatures | None
    node_features: Sequence[str] | None
    edge_features: Sequence[str] | None
    symmetrise: bool
    directed: bool
    progress: Progress | None

    @property
    def target_names(self) -> list[str] | None:
        """The names of the targets, where names were given."""
        if self.targets is None or isinstance(self.targets, Mapping):
            return None
        return [self.targets] if isinstance(self.targets, str) else list(self.targets)


def is_path(source: str | os.PathLike[str]) -> bool:
    """Whether a text is a path rather than a name: whether something is there.

    Raises:
        FileNotFoundError: Where it looks like a path and nothing is there.
    """
    path = Path(source)
    if os.path.exists(path):  # also where a text is too long for a name
        return True
    like_a_file = is_table(path) or is_graph_file(path) or path.suffix.lower() == ".zip"
    if isinstance(source, str) and path.name == source and not like_a_file:
        return False
    raise FileNotFoundError(
        f"Expected a data set in {path}, got no such file or folder. Check the path."
    )


def _is_smiles(text: str) -> bool:
    if find_spec("rdkit") is None:
        return False
    from rdkit import Chem, rdBase

    with rdBase.BlockLogs():
        return Chem.MolFromSmiles(text) is not None


def _from_file(path: Path, how: _Reading) -> RawGraphs:
    if is_shards(path):
        shards = Shards.open(path)
        raw = shards.raw(range(shards.num_graphs))
        return replace(raw, rows=torch.arange(raw.num_graphs))  # the folder has no other rows
    if path.is_dir() or path.suffix.lower() == ".zip":
        return read_tu(
            path, progress=how.progress, symmetrise=how.symmetrise, directed=how.directed
        )
    if is_table(path):
        return _table(path, how)
    if is_graph_file(path):
        return replace(_from_list(read_graph_file(path), how), name=path.name)
    raise ValueError(
        "Expected a table of molecules (.csv, .tsv, .parquet, .smi, .sdf), a TU archive or folder, "
        f"or graphs ({', '.join(GRAPH_SUFFIXES)}), got {path}. Rename or convert it."
    )


def _by_name(name: str, how: _Reading) -> RawGraphs:
    spec = DATASETS.get(name)
    if spec is not None and spec.kind == "synthetic":
        raw = GENERATORS[name](how.seed)
        if how.progress is not None:
            how.progress(1.0)
        return raw
    archive = fetch(name, root=how.root, mirror=how.mirror)
    raw = read_tu(archive, name, how.progress, symmetrise=how.symmetrise, directed=how.directed)
    known = None if spec is None else spec.content_sha256
    if spec is not None and known is not None and raw.content_sha256() != known:
        raise ValueError(
            f"{archive} does not hold the known set {name}: expected {spec.graphs} graphs in "
            f"{spec.classes} classes with the checksum {known[:12]}, got {raw.num_graphs} in "
            f"{raw.num_classes} with {raw.content_sha256()[:12]}. Fetch the original, or read a "
            "set of your own by its path."
        )
    return raw


def _table(source: Any, how: _Reading) -> RawGraphs:
    from lgan.data.molecules.tables import read_molecule_table

    if isinstance(how.targets, Mapping) and how.targets:
        raise TypeError(
            "`targets` of a table must be names of its columns, got values. Add them as columns."
        )
    return read_molecule_table(
        source,
        how.molecules,
        smiles_column=how.smiles_column,
        targets=how.target_names,
        columns=tuple(how.columns),
        progress=how.progress,
        cache=Path(how.root) / FOLDER,
    )


def is_one_graph(source: Any) -> bool:
    """Whether something is a graph of networkx or PyG rather than a list of them."""
    from torch_geometric.data import Data

    return hasattr(source, "adj") or isinstance(source, Data)


def _from_list(source: Any, how: _Reading) -> RawGraphs:
    """The graphs of a list, with the values of targets and columns that were given beside it."""
    if is_one_graph(source):
        raise TypeError(
            f"Expected a list of graphs, got one {type(source).__name__}. Pass a list of one, "
            "[graph]."
        )
    if not hasattr(source, "__len__") or not hasattr(source, "__getitem__"):
        raise TypeError(
            "Expected a name, a path, a table, or a list of SMILES, PyG or networkx graphs, got "
            f"{type(source).__name__}. Put the graphs in a list."
        )
    if len(source) == 0:
        raise ValueError("Expected at least one graph, got an empty list.")
    entries = [None if _absent(entry) else entry for entry in source]
    for what, columns in (("targets", how.targets), ("columns", how.columns)):
        for name, values in columns.items() if isinstance(columns, Mapping) else ():
            if isinstance(values, str | bytes) or not hasattr(values, "__iter__"):
                raise TypeError(
                    f"`{what}[{name!r}]` must be a list with a value for each graph, got "
                    f"{type(values).__name__}. Put it in a list."
                )
    given = {
        what: {name: list(values) for name, values in columns.items()}  # a Series goes by labels
        for what, columns in (("targets", how.targets), ("columns", how.columns))
        if isinstance(columns, Mapping) and columns
    }
    for what, columns in given.items():
        for name, values in columns.items():
            if len(values) != len(entries):
                raise ValueError(
                    f"`{what}[{name!r}]` must have a value for each of {len(entries)} graphs, got "
                    f"{len(values)}. Put None where there is none."
                )
    nothing: dict[str, Any] = dict.fromkeys(given, ())
    raw = _graphs(entries, replace(how, **nothing))
    kept: dict[str, Any] = {
        what: {name: [values[row] for row in raw.rows.tolist()] for name, values in columns.items()}
        for what, columns in given.items()
    }
    return replace(raw, **kept) if kept else raw


def _graphs(entries: list[Any], how: _Reading) -> RawGraphs:
    """The graphs of a list, by what its first entry is."""
    first = next((entry for entry in entries if entry is not None), None)
    package = type(first).__module__.split(".")[0]
    if first is None or isinstance(first, str) or package == "rdkit":
        from lgan.data.molecules.graphs import molecule_graphs
        from lgan.data.molecules.parallel import featurise_molecules

        if how.target_names:
            raise ValueError(
                f"A list of molecules has no columns, got the targets {how.target_names}. Pass "
                "their values: `targets={name: values}`."
            )
        read = featurise_molecules(entries, how.molecules, progress=how.progress)
        return molecule_graphs(read, how.molecules, structures=entries)
    if hasattr(first, "adj"):
        from lgan.data.readers.networkx_graphs import from_networkx

        return from_networkx(
            entries,
            node_features=how.node_features,
            edge_features=how.edge_features,
            targets=how.target_names,
            columns=tuple(how.columns),
            symmetrise=how.symmetrise,
            directed=how.directed,
            progress=how.progress,
        )
    if package == "torch_geometric":
        from lgan.data.readers.pyg import from_pyg

        return from_pyg(
            entries,
            node_features=how.node_features,
            edge_features=how.edge_features,
            targets=how.target_names,
            symmetrise=how.symmetrise,
            directed=how.directed,
        )
    raise TypeError(
        "Expected a list of SMILES, RDKit molecules, PyG `Data` or networkx graphs, got one of "
        f"{type(first).__name__}. Convert its entries."
    )


def _absent(entry: Any) -> bool:
    """Whether nothing is there: None, NaN, or what pandas has for it."""
    return (
        entry is None
        or type(entry).__name__ == "NAType"
        or (isinstance(entry, float) and math.isnan(entry))
    )

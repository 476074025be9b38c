"""A data set ready for training, from its cache where there is one."""

import json
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lgan._sources import source_digest
from lgan._version import __version__
from lgan.catalogue import DATASETS
from lgan.data.cache import cache_key, load_tensors, locked, save_tensors
from lgan.data.encoder import STRUCTURAL, Encoder
from lgan.data.graph_features import AUTO, COMPUTED, feature_list, source_columns
from lgan.data.molecules.parallel import FOLDER
from lgan.data.raw import RawGraphs
from lgan.data.readers.mirror import fetch
from lgan.data.readers.tables import is_table, open_table
from lgan.data.shards.folder import Shards, is_shards
from lgan.data.sources import is_path, load_raw
from lgan.graph import GraphUnion, Lift
from lgan.task import Task

# What a prepared set is computed by; cells come from the zoo.
COMPUTED_BY = tuple(f"{package}/**/*.py" for package in ("data", "graph", "ops", "task", "zoo"))


@dataclass(frozen=True)
class UnionOptions:
    """What decides how a data set looks, and with the code that computes it its cache; see `load`
    for the meaning of each.
    """

    features: str
    edge_features: str = "none"
    compress: bool = True
    triangles: bool = True
    pair_code: str = "none"
    lift: Lift | None = None
    graph_features: tuple[str, ...] = ()
    unlabelled_code: str | None = None  # the pair code where nodes tell no more than their degree

    def cache(self, root: str | Path, name: str, file: Path | None = None, asked: str = "") -> Path:
        """Where the cache of a set with these options is."""
        lift = None if self.lift is None else self.lift.key
        known: dict[str, Any] = {**vars(self), "lift": lift, "asked": asked}
        if file is not None:  # no checksum is known of it
            known["file"] = [str(file.resolve()), file.stat().st_size, file.stat().st_mtime_ns]
        key = cache_key(name, known, source_digest(*COMPUTED_BY))
        return Path(root) / "prepared" / f"{key}.safetensors"


def load(
    source: Any,
    *,
    targets: str | Sequence[str] | Mapping[str, Sequence[Any]] | None = None,
    task: str | None = None,
    features: str | None = None,
    edge_features: str | Sequence[str] | None = None,
    graph_features: str | Sequence[str] | None = None,
    root: str | Path = "data",
    mirror: str | Path | None = None,
    compress: bool = True,
    triangles: bool = True,
    pair_code: str = "none",
    lift: Lift | None = None,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
    **reading: Any,
) -> GraphUnion:
    """Graphs ready for training: read, encoded, twins merged, triangles listed.

    Sets that are read from a file are cached below ``root``; the key holds every option, the file's
    size and time, and the code that computed it. Generated sets are made anew each time, which
    takes less than a second. Rows that cannot be read and graphs without a target are left out,
    with a warning.

    Args:
        source: A name, a path, a table or a list, see :func:`lgan.data.load_raw`; or a folder that
            :func:`lgan.data.prepare_shards` filled, all of which is then read into memory.
        targets: What is predicted, likewise.
        task: The kind of task, where the values would suggest another: ``binary``, ``multiclass``,
            ``multilabel`` or ``regression``.
        features: Node features, see :meth:`lgan.data.Encoder.fit`; by default those of the
            published tables, or all that the source has.
        edge_features: ``all``, ``labels``, ``attributes`` or ``none``; by default all, and none
            for the sets of the published tables. A model that reads them is built with
            ``edge_dim=union.num_edge_features``. A list names attributes of networkx graphs.
        graph_features: Features of whole graphs: ``morgan`` (fingerprints), ``rdkit2d``
            (descriptors), ``patterns`` and ``shape`` of any graphs, names of columns of the
            source; several with commas between them; or ``auto``, the first two of molecules and
            the others of graphs with labels, unless they are many. A model that reads them is
            built with ``graph_dim=union.num_graph_features``.
        root: Folder for downloads and caches.
        mirror: Folder or address that holds ``NAME.zip``; by default the environment variable
            ``LGAN_MIRROR``, or else the official addresses.
        compress: Merge true twins with equal features; every result stays the same.
        triangles: List triangles; without ``compress`` a model that never reads them can do
            without, which on dense sets saves most of the work.
        pair_code: Structural code of the pairs, a level of :data:`lgan.graph.pair_codes.LEVELS`.
        lift: Transform that adds the cells a model of the zoo reads.
        seed: Seed of a generated set.
        progress: Called with the fraction of the source read.
        reading: Further options of :func:`lgan.data.load_raw`.

    Example:
        >>> load("triangles").num_classes
        2
        >>> load(["CCO", "CCN", "c1ccccc1"], targets={"active": [0, 1, 1]}).num_graphs
        3
    """
    told = feature_list(graph_features)
    if is_shards(source):
        shards = Shards.open(source)
        return _of_shards(shards, told, targets, task, features, edge_features, pair_code)
    if unread := columns_not_meant(source, told):
        warnings.warn(unread, stacklevel=2)
    columns = source_columns(told)
    given = {"targets": targets, "task": task, **reading}
    if columns:
        given["columns"] = (*reading.get("columns", ()), *columns)
    edges = edge_features if isinstance(edge_features, str) else None
    if edge_features is not None and edges is None:
        given["edge_features"] = edge_features

    def build() -> GraphUnion:
        how = {name: value for name, value in given.items() if name != "task"}
        if edges == "none":  # a flaw in what is not read costs no row
            how.setdefault("edge_features", ())
        if features in STRUCTURAL:
            how.setdefault("node_features", ())
        raw = load_raw(source, root=root, mirror=mirror, seed=seed, progress=progress, **how)
        chosen = None if targets is None or isinstance(targets, Mapping) else _names(targets)
        encoder = fit_encoder(
            raw, features=features, edge_features=edges, graph_features=told, targets=chosen,
            task=task, progress=progress, root=root,
        )  # fmt: skip
        labelled = with_target(raw, encoder.task)
        raw.warn_unread("are left out", rows=f"rows of {raw.name}", stacklevel=4)
        if left_out := raw.num_graphs - labelled.num_graphs:
            warnings.warn(
                f"{left_out} of {raw.num_graphs} graphs of {raw.name} have no target and are left "
                "out.",
                stacklevel=4,
            )
        return encoded(labelled, encoder, options, progress)

    usual = _usual(source)
    options = UnionOptions(
        features or usual[0], edges or usual[1], compress, triangles, pair_code, lift, told
    )
    return cached_union(source, options, build, given=given, root=root, mirror=mirror)


def columns_not_meant(source: Any, graph_features: Sequence[str]) -> str:
    """Which columns of a table have the name of a feature of whole graphs that was asked for and is
    computed, and are therefore not read; nothing where there is none.

    Example:
        >>> columns_not_meant({"smiles": ["C"], "shape": ["round"]}, ("shape",))[:31]
        "The column 'shape' is not read:"
    """
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        names: Sequence[Any] = (
            open_table(path).names if is_table(path) and os.path.isfile(path) else ()
        )
    else:
        names = list(source if isinstance(source, Mapping) else getattr(source, "columns", ()))
    same = [name for name in graph_features if name in {*COMPUTED, AUTO} and name in names]
    means = [f"`{name}` means {COMPUTED.get(name, 'that the source decides')}" for name in same]
    if not same:
        return ""
    several = "s" * (len(same) > 1)
    return (
        f"The column{several} {', '.join(map(repr, same))} {'are' if several else 'is'} not read: "
        f"as a feature of whole graphs {' and '.join(means)}. Rename the column{several} to have "
        f"{'them' if several else 'it'} read, and name {'them' if several else 'it'} anew."
    )


def _of_shards(shards: Shards, graph_features: tuple[str, ...], *given: Any) -> GraphUnion:
    """The union of shards, of which everything was decided when they were made, but whether it has
    the features of whole graphs.
    """
    graph_features = shards.decided(graph_features)
    others = graph_features not in ((), shards.graph_features)
    if others or any(value not in (None, "none") for value in given):
        raise ValueError(
            f"{shards.folder} holds shards, which are read as they were prepared (graph features: "
            f"{', '.join(shards.graph_features) or 'none'}), got further options. Leave them out, "
            "or prepare the shards with them."
        )
    return (shards if graph_features else shards.without_graph_features()).union()


def cached_union(
    source: Any,
    options: UnionOptions,
    build: Callable[[], GraphUnion],
    *,
    given: Mapping[str, Any],
    root: str | Path = "data",
    mirror: str | Path | None = None,
) -> GraphUnion:
    """The union of a source from its cache below ``root``; built and kept where there is none.

    What else was ``given`` of the source is part of the key.
    """
    cached = _name_and_file(source, root, mirror)
    if cached is None:
        return build()
    said = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in given.items()
        if value is not None
    }
    path = options.cache(root, *cached, repr(sorted(said.items())) if said else "")
    if not path.exists():
        with locked(path):
            if not path.exists():  # another process may have made it while this one waited
                union = build()
                known = json.dumps(None if union.task is None else union.task.to_json())
                metadata = {"name": union.name, "version": __version__, "task": known}
                save_tensors(path, union.tensors(), metadata)
                return union
    tensors, metadata = load_tensors(path)
    plain = json.loads(metadata.get("task", "null"))
    return GraphUnion.from_tensors(tensors, metadata["name"], plain and Task.from_json(plain))


def encoded(
    raw: RawGraphs,
    encoder: Encoder,
    options: UnionOptions,
    progress: Callable[[float], None] | None = None,
) -> GraphUnion:
    """Graphs in the form that options ask for."""
    lift = options.lift
    if lift is not None and lift.refuse is not None:
        lift.refuse(raw.name, raw.pair_index, raw.node_ptr)
    union = encoder.encode(
        raw,
        compress=options.compress,
        triangles=options.triangles,
        pair_code=options.pair_code,
    )
    if options.unlabelled_code is not None and union.only_degrees:
        union = replace(union, lines=union.lines.coded(options.unlabelled_code))
    return union if lift is None else union.lifted(lift, progress)


def with_target(raw: RawGraphs, task: Task | None) -> RawGraphs:
    """The graphs that have a value of some target; all of them where there is no task."""
    if task is None:
        return raw
    there = task.present(task.encode(raw.targets)).any(1)
    return raw if bool(there.all()) else raw.select(there.nonzero()[:, 0])


def fit_encoder(
    raw: RawGraphs,
    *,
    features: str | None = None,
    edge_features: str | None = None,
    graph_features: Sequence[str] = (),
    targets: Sequence[str] | None = None,
    task: str | None = None,
    rows: int | None = None,
    progress: Callable[[float], None] | None = None,
    root: str | Path | None = None,
) -> Encoder:
    """The encoder of a set: that of the published tables where it is in the registry; descriptors
    are kept below ``root``, where one is given.
    """
    if raw.num_graphs == 0:
        reason = f"; row {raw.errors[0][0] + 1}: {raw.errors[0][1]}" if raw.errors else ""
        raise ValueError(
            f"{raw.name} must have a graph that can be read, got none in {len(raw.errors)} rows"
            f"{reason}. Check the column that is read."
        )
    usual = _usual(raw.name)
    return Encoder.fit(
        raw,
        features=features or usual[0],
        edge_features=edge_features or usual[1],
        graph_features=graph_features,
        targets=targets,
        task=task,
        other=raw.name not in DATASETS,
        rows=rows,
        progress=progress,
        cache=None if root is None else Path(root) / FOLDER,
    )


def prepared_path(
    name: str,
    *,
    root: str | Path = "data",
    features: str | None = None,
    edge_features: str = "none",
    compress: bool = True,
    triangles: bool = True,
    pair_code: str = "none",
    lift: Lift | None = None,
) -> Path:
    """Where the cache of a registered data set with these options is."""
    features = features or DATASETS[name].features
    options = UnionOptions(features, edge_features, compress, triangles, pair_code, lift)
    return options.cache(root, name)


def _name_and_file(
    source: Any, root: str | Path, mirror: str | Path | None
) -> tuple[str, Path | None] | None:
    """What a cache is called, and the file it depends on; ``None`` for what is not cached."""
    if not isinstance(source, str | os.PathLike):
        return None
    if is_path(source):
        return (Path(source).name, Path(source)) if Path(source).is_file() else None
    name = str(source)
    if name in DATASETS:  # of which the content is checked
        return None if DATASETS[name].kind == "synthetic" else (name, None)
    return name, fetch(name, root=root, mirror=mirror)


def _usual(source: Any) -> tuple[str, str]:
    """The features of nodes and of edges that are read of a source unless others are named."""
    published = isinstance(source, str) and source in DATASETS
    return (DATASETS[source].features, "none") if published else ("all", "all")


def _names(targets: str | Sequence[str]) -> list[str] | None:
    names = [targets] if isinstance(targets, str) else list(targets)
    return None if names == ["all"] else names

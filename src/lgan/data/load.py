"""A data set by name, ready for training, from its cache where there is one."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lgan._sources import source_digest
from lgan._version import __version__
from lgan.catalogue import dataset_spec
from lgan.data.cache import cache_key, load_tensors, locked, save_tensors
from lgan.data.sources import load_raw, node_features
from lgan.graph import GraphUnion, Lift

__all__ = ["load", "prepared_path"]

# What a prepared set is computed by; cells come from the zoo.
COMPUTED_BY = tuple(f"{package}/**/*.py" for package in ("data", "graph", "ops", "zoo"))


@dataclass(frozen=True)
class _Options:
    """What decides how a data set looks, and with the code that computes it its cache."""

    features: str
    compress: bool
    triangles: bool
    pair_code: str
    lift: Lift | None

    def key(self, name: str) -> str:
        known: dict[str, Any] = {"features": self.features, "compress": self.compress}
        known |= {"triangles": False} if not self.triangles else {}
        known |= {"pair_code": self.pair_code} if self.pair_code != "none" else {}
        known |= {"lift": self.lift.key} if self.lift is not None else {}
        return cache_key(name, known, source_digest(*COMPUTED_BY))


def load(
    name: str,
    *,
    root: str | Path = "data",
    mirror: str | Path | None = None,
    features: str | None = None,
    compress: bool = True,
    triangles: bool = True,
    pair_code: str = "none",
    lift: Lift | None = None,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> GraphUnion:
    """A data set ready for training: parsed, twins merged, triangles listed.

    The result is cached below ``root``; the key holds every option and the code that computed it.
    Generated sets are made anew each time, which takes less than a second.

    Args:
        name: A name of the registry, see ``lgan data list``.
        root: Folder for downloads and caches.
        mirror: Folder or address that holds ``NAME.zip``; by default the environment variable
            ``LGAN_MIRROR``, or else the official addresses.
        features: Node features, see :func:`lgan.data.node_features`; by default those of the
            published tables.
        compress: Merge true twins with equal features; every result stays the same.
        triangles: List triangles; without ``compress`` a model that never reads them can do
            without, which on dense sets saves most of the work.
        pair_code: Structural code of the pairs, a level of :data:`lgan.graph.pair_codes.LEVELS`.
        lift: Transform that adds the cells a model of the zoo reads.
        seed: Seed of a generated set.
        progress: Called with the fraction of the files read.

    Example:
        >>> load("triangles").num_classes
        2
    """
    spec = dataset_spec(name)
    options = _Options(features or spec.features, compress, triangles, pair_code, lift)
    progress = progress or (lambda _: None)
    if spec.kind == "synthetic":
        return _build(name, options, root, mirror, seed, progress)
    path = _path(name, options, root)
    if not path.exists():
        with locked(path):
            if not path.exists():  # another process may have made it while this one waited
                union = _build(name, options, root, mirror, seed, progress)
                save_tensors(path, union.tensors(), {"name": name, "version": __version__})
                return union
    return GraphUnion.from_tensors(load_tensors(path)[0], name)


def prepared_path(
    name: str,
    *,
    root: str | Path = "data",
    features: str | None = None,
    compress: bool = True,
    triangles: bool = True,
    pair_code: str = "none",
    lift: Lift | None = None,
) -> Path:
    """Where the cache of a data set with these options is."""
    features = features or dataset_spec(name).features
    return _path(name, _Options(features, compress, triangles, pair_code, lift), root)


def _path(name: str, options: _Options, root: str | Path) -> Path:
    return Path(root) / "prepared" / f"{options.key(name)}.safetensors"


def _build(
    name: str,
    options: _Options,
    root: str | Path,
    mirror: str | Path | None,
    seed: int,
    progress: Callable[[float], None],
) -> GraphUnion:
    raw = load_raw(name, root=root, mirror=mirror, seed=seed, progress=progress)
    if options.lift is not None and options.lift.refuse is not None:
        options.lift.refuse(name, raw.pair_index, raw.node_ptr)
    x, num_features = node_features(raw, options.features)
    union = GraphUnion.build(
        x,
        raw.pair_index,
        raw.y,
        raw.node_ptr,
        num_features=num_features,
        num_classes=raw.num_classes,
        compress=options.compress,
        triangles=options.triangles,
        pair_code=options.pair_code,
        name=name,
    )
    return union if options.lift is None else union.lifted(options.lift, progress)

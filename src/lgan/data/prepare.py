"""A data set by name, ready for training, from its cache where there is one."""

from collections.abc import Callable
from pathlib import Path

from lgan._version import __version__
from lgan.data.cache import cache_key, load_tensors, locked, save_tensors
from lgan.data.load import load_raw, node_features
from lgan.data.registry import dataset_spec
from lgan.graph import GraphUnion

__all__ = ["load", "prepared_path"]


def load(
    name: str,
    *,
    root: str | Path = "data",
    mirror: str | Path | None = None,
    features: str | None = None,
    compress: bool = True,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> GraphUnion:
    """A data set ready for training: parsed, twins merged, triangles listed.

    The result is cached below ``root``; the key holds every option and the version. Generated
    sets are made anew each time, which takes less than a second.

    Args:
        name: A name of the registry, see ``lgan data list``.
        root: Folder for downloads and caches.
        mirror: Folder or address that holds ``NAME.zip``; by default the environment variable
            ``LGAN_MIRROR``, or else the official addresses.
        features: Node features, see :func:`lgan.data.node_features`; by default those of the
            published tables.
        compress: Merge true twins with equal features; every result stays the same.
        seed: Seed of a generated set.
        progress: Called with the fraction of the files read.

    Example:
        >>> load("triangles").num_classes
        2
    """
    spec = dataset_spec(name)
    features = features or spec.features
    if spec.kind == "synthetic":
        return _build(name, root, mirror, features, compress, seed, progress)
    path = prepared_path(name, root=root, features=features, compress=compress)
    if path.exists():
        return GraphUnion.from_tensors(load_tensors(path)[0], name)
    with locked(path):
        if not path.exists():  # another process may have made it while this one waited
            union = _build(name, root, mirror, features, compress, seed, progress)
            save_tensors(path, union.tensors(), {"name": name, "version": __version__})
            return union
    return GraphUnion.from_tensors(load_tensors(path)[0], name)


def prepared_path(
    name: str, *, root: str | Path = "data", features: str | None = None, compress: bool = True
) -> Path:
    """Where the cache of a data set with these options is."""
    options = {"features": features or dataset_spec(name).features, "compress": compress}
    return Path(root) / "prepared" / f"{cache_key(name, options, __version__)}.safetensors"


def _build(
    name: str,
    root: str | Path,
    mirror: str | Path | None,
    features: str,
    compress: bool,
    seed: int,
    progress: Callable[[float], None] | None,
) -> GraphUnion:
    raw = load_raw(name, root=root, mirror=mirror, seed=seed, progress=progress)
    x, num_features = node_features(raw, features)
    return GraphUnion.build(
        x,
        raw.pair_index,
        raw.y,
        raw.node_ptr,
        num_features=num_features,
        num_classes=raw.num_classes,
        compress=compress,
        name=name,
    )

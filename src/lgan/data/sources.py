"""Data sets by name, and the features of their nodes."""

from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional as F

from lgan.catalogue import FEATURES, dataset_spec
from lgan.data.mirror import fetch
from lgan.data.raw import RawGraphs
from lgan.data.synthetic import csl, motifs, random_regular, triangle_pairs
from lgan.data.tu import read_tu

GENERATORS: dict[str, Callable[[int], RawGraphs]] = {
    "triangles": lambda seed: triangle_pairs(seed=seed),
    "motifs-ba": lambda seed: motifs("ba", seed=seed),
    "motifs-tree": lambda seed: motifs("tree", seed=seed),
    "csl": lambda seed: csl(seed=seed),
    "regular": lambda seed: random_regular(seed=seed),
}


def load_raw(
    name: str,
    *,
    root: str | Path = "data",
    mirror: str | Path | None = None,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> RawGraphs:
    """Read or generate a data set by name.

    Args:
        name: A name of the registry.
        root: The folder downloads go to.
        mirror: A folder or address that holds ``NAME.zip``, see `fetch`.
        seed: Fixes a generated set; sets read from files do not use it.
        progress: Called with the fraction done, from 0 to 1.

    Raises:
        ValueError: Where the name is unknown, or the files are not those of the known set.

    Example:
        >>> load_raw("csl").num_graphs
        150
    """
    spec = dataset_spec(name)
    if spec.kind == "synthetic":
        raw = GENERATORS[name](seed)
        if progress is not None:
            progress(1.0)
        return raw
    archive = fetch(name, root=root, mirror=mirror)
    raw = read_tu(archive, name, progress)
    if spec.content_sha256 is not None and raw.content_sha256() != spec.content_sha256:
        raise ValueError(
            f"{archive} does not hold the known set {name}: expected {spec.graphs} graphs in "
            f"{spec.classes} classes with the checksum {spec.content_sha256[:12]}, got "
            f"{raw.num_graphs} in {raw.num_classes} with {raw.content_sha256()[:12]}. Fetch the "
            "original, or read a set of your own with `lgan.data.read_tu`."
        )
    return raw


def node_features(raw: RawGraphs, features: str) -> tuple[Tensor, int]:
    """The node features of a set, and how many there are.

    Args:
        raw: The set.
        features: ``labels`` or ``degree``: one category per node, standing for its one-hot
            vector; ``constant``: the same category for all; ``attributes``: real vectors;
            ``labels+attributes``: the one-hot label, then the attributes.

    Returns:
        Category ids ``[N]`` (int64) or vectors ``[N, F]`` (float32), and the number of
        categories or columns ``F``.

    Example:
        >>> x, num_features = node_features(load_raw("csl"), "degree")
        >>> x.unique().tolist(), num_features
        ([4], 5)
    """
    match features:
        case "labels":
            return _labels(raw), len(raw.nodes.vocabularies[0])
        case "degree":
            degree = torch.bincount(raw.pair_index.reshape(-1), minlength=raw.num_nodes)
            return degree, int(degree.max()) + 1 if len(degree) else 1
        case "constant":
            return torch.zeros(raw.num_nodes, dtype=torch.int64), 1
        case "attributes":
            x = _attributes(raw)
        case "labels+attributes":
            one_hot = F.one_hot(_labels(raw), len(raw.nodes.vocabularies[0])).float()
            x = torch.cat([one_hot, _attributes(raw)], dim=1)
        case _:
            raise ValueError(
                f"`features` must be one of {', '.join(FEATURES)}, got {features!r}. Choose one."
            )
    return x, x.shape[1]


def _labels(raw: RawGraphs) -> Tensor:
    if raw.node_labels is None:
        raise ValueError(
            f"The features 'labels' need node labels, got a set ({raw.name}) without. "
            "Choose 'degree' or 'constant'."
        )
    return raw.node_labels


def _attributes(raw: RawGraphs) -> Tensor:
    if raw.node_attributes is None:
        raise ValueError(
            f"The features 'attributes' need node attributes, got a set ({raw.name}) without. "
            "Choose 'labels', 'degree' or 'constant'."
        )
    wrong = ~raw.node_attributes.isfinite().all(dim=1)
    if bool(wrong.any()):
        node = int(wrong.nonzero()[0])
        raise ValueError(
            f"The node attributes of {raw.name} must be finite, got "
            f"{raw.node_attributes[node].tolist()[:8]} at node {node} ({int(wrong.sum())} nodes in "
            "all). Repair them, or choose 'labels' or 'degree'."
        )
    return raw.node_attributes

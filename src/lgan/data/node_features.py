"""The usual features of nodes, for models that read no columns of their own."""

import torch
from torch import Tensor
from torch.nn import functional as F

from lgan.catalogue import DATASETS, FEATURES
from lgan.data.degrees import bin_names, bins_of, node_degrees
from lgan.data.raw import RawGraphs


def node_features(raw: RawGraphs, features: str) -> tuple[Tensor, int]:
    """The node features of a set, and how many there are.

    Args:
        raw: The set.
        features: ``labels``, ``degree`` or ``degree-bins``: one category per node, standing for its
            one-hot vector; ``constant``: the same category for all; ``attributes``: real
            vectors; ``labels+attributes``: the one-hot label, then the attributes.

    Returns:
        Category ids ``[N]`` (int64) or vectors ``[N, F]`` (float32), and the number of
        categories or columns ``F``.

    Example:
        >>> from lgan.data import load_raw
        >>> x, num_features = node_features(load_raw("csl"), "degree")
        >>> x.unique().tolist(), num_features
        ([4], 5)
    """
    match features:
        case "labels":
            return _labels(raw), len(raw.nodes.vocabularies[0])
        case "degree" | "degree-bins":
            degree = node_degrees(raw)
            degree = degree if features == "degree" else bins_of(degree)
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


def feature_names(raw: RawGraphs, features: str) -> tuple[str, ...]:
    """What every feature or category of the nodes stands for, see :func:`node_features`.

    Degrees mean the same in all sets; the numbers that label nodes in a registered set mean
    something in that set alone.

    Example:
        >>> from lgan.data import load_raw
        >>> feature_names(load_raw("csl"), "labels")
        ('csl label 0',)
    """
    _, size = node_features(raw, features)
    if features == "constant":
        return ("constant",)
    if features == "degree":
        return tuple(f"degree {value}" for value in range(size))
    if features == "degree-bins":
        return tuple(f"degree {name}" for name in bin_names(size))
    columns: list[str] = []
    if "labels" in features:
        columns += [f"{raw.nodes.names[0]} {word}" for word in raw.nodes.vocabularies[0]]
    if "attributes" in features:
        columns += raw.nodes.number_names
    prefix = f"{raw.name} " if raw.name in DATASETS else ""
    return tuple(prefix + column for column in columns)


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

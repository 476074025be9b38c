"""The usual features of nodes, for models that read no columns of their own."""

from dataclasses import replace

from torch import Tensor

from lgan.catalogue import DATASETS, FEATURES, known
from lgan.data.column_encoder import ColumnEncoder
from lgan.data.columns import Columns
from lgan.data.encoder import node_columns
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
    columns = _columns(raw, features)
    encoder = ColumnEncoder.fit(columns, other=False)
    return encoder.encode(columns, f"nodes of {raw.name}"), encoder.width


def feature_names(raw: RawGraphs, features: str) -> tuple[str, ...]:
    """What every feature or category of the nodes stands for, see :func:`node_features`.

    Degrees mean the same in all sets; the numbers that label nodes in a registered set mean
    something in that set alone.

    Example:
        >>> from lgan.data import load_raw
        >>> feature_names(load_raw("csl"), "labels")
        ('csl label 0',)
    """
    if features == "constant":
        return ("constant",)
    columns = _columns(raw, features)
    words = columns.vocabularies[0] if columns.names else ()
    if features in ("degree", "degree-bins"):
        return tuple(f"degree {word}" for word in words)
    prefix = f"{raw.name} " if raw.name in DATASETS else ""
    labels = (f"{columns.names[0]} {word}" for word in words)
    return tuple(prefix + column for column in (*labels, *columns.number_names))


def _columns(raw: RawGraphs, features: str) -> Columns:
    """The columns of a kind of features; of several labels the first."""
    columns = node_columns(raw, known(features, FEATURES, "kind of features"))
    return replace(
        columns,
        categories=columns.categories[:, :1],
        names=columns.names[:1],
        vocabularies=columns.vocabularies[:1],
    )

"""Features of nodes and edges by their kind: columns of a source, degrees and bins of these."""

from itertools import pairwise
from math import ceil
from typing import Literal

import torch
from torch import Tensor

from lgan.catalogue import DATASETS, FEATURES, known
from lgan.data.column_encoder import ColumnEncoder
from lgan.data.columns import Columns
from lgan.data.raw import RawGraphs

# Smallest degrees of the bins: one each below 32, then twelve from a degree to its double.
_STARTS = torch.tensor([*range(32), *(ceil(32 * 2 ** (k / 12)) for k in range(26 * 12))])


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
    return columns.part(slice(1), slice(None))


def node_columns(raw: RawGraphs, features: str, bins: int | None = None) -> Columns:
    """The columns of a kind of features; larger degrees than so many bins hold are in the last."""
    if features == "constant":
        return Columns(torch.zeros(raw.num_nodes, 1, dtype=torch.int32), ("constant",), (("1",),))
    if features in ("degree", "degree-bins"):
        values = torch.bincount(raw.pair_index.reshape(-1), minlength=raw.num_nodes)
        if features == "degree-bins":
            values = bins_of(values)
            values = values if bins is None else values.clamp(max=bins - 1)
        count = int(values.max()) + 1 if len(values) else 1
        words = tuple(map(str, range(count))) if features == "degree" else bin_names(count)
        return Columns(values.int()[:, None], (features,), (words,))
    return chosen_columns(raw, "node", features)


def chosen_columns(raw: RawGraphs, of: Literal["node", "edge"], features: str) -> Columns:
    """The columns of nodes or edges that hold categories, numbers, both, or none."""
    columns, kind, others = raw.nodes, "features", "'degree' or 'constant'"
    if of == "edge":
        columns, kind, others = raw.pairs, "edge features", "'all' or 'none'"
    wanted = ("labels", "attributes") if features == "all" else features.split("+")
    for word, there in (("labels", columns.names), ("attributes", columns.number_names)):
        if features != "all" and word in wanted and not there:
            raise ValueError(
                f"The {kind} {word!r} need {of} {word}, got a set ({raw.name}) without. Choose "
                f"{others}."
            )
    every, none = slice(None), slice(0)
    return columns.part(
        every if "labels" in wanted else none, every if "attributes" in wanted else none
    )


def bins_of(degree: Tensor) -> Tensor:
    """The bins of degrees: one each below 32, larger ones with those within 6 %.

    Example:
        >>> bins_of(torch.tensor([0, 31, 32, 33, 34, 3000])).tolist()
        [0, 31, 32, 32, 33, 110]
    """
    return torch.searchsorted(_STARTS, degree, right=True) - 1


def bin_names(count: int) -> tuple[str, ...]:
    """The degrees in each of the first bins.

    Example:
        >>> bin_names(34)[-3:]
        ('31', '32-33', '34-35')
    """
    return tuple(
        str(first) if end == first + 1 else f"{first}-{end - 1}"
        for first, end in pairwise(_STARTS[: count + 1].tolist())
    )

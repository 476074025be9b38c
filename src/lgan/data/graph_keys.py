"""What tells a graph again that a model was trained on."""

import hashlib

import torch
from torch import Tensor

from lgan.data.columns import Columns
from lgan.data.raw import RawGraphs


def graph_keys(raw: RawGraphs, *, edges: bool = True) -> Tensor:
    """A 63-bit key of every graph ``[G]``: equal for the same molecule, or for the same graph with
    its nodes in the same order.

    Args:
        raw: The graphs.
        edges: Whether features of edges make a difference, for a model that reads them.

    Example:
        >>> from lgan.data import load_raw
        >>> keys = graph_keys(load_raw("csl"))
        >>> keys.shape, torch.equal(keys[:3], graph_keys(load_raw("csl").select([0, 1, 2])))
        (torch.Size([150]), True)
    """
    if raw.featuriser is not None and raw.ids is not None:  # canonical SMILES
        return torch.tensor([_key(text.encode()) for text in raw.ids], dtype=torch.int64)
    pair_ptr = torch.searchsorted(raw.pair_index[0].contiguous(), raw.node_ptr).tolist()
    node_ptr = raw.node_ptr.tolist()
    columns = raw.pairs if edges else Columns.empty(raw.num_pairs)
    nodes, pairs = _words(raw.nodes), _words(columns)
    keys = []
    for g in range(raw.num_graphs):
        own, part = slice(node_ptr[g], node_ptr[g + 1]), slice(pair_ptr[g], pair_ptr[g + 1])
        ends = (raw.pair_index[:, part] - node_ptr[g]).numpy().tobytes()
        text = repr((own.stop - own.start, nodes[own], pairs[part]))
        numbers = raw.nodes.numbers[own].numpy().tobytes() + columns.numbers[part].numpy().tobytes()
        arrows = b"" if raw.direction is None else raw.direction[part].numpy().tobytes()
        keys.append(_key(ends + text.encode() + numbers + arrows))
    return torch.tensor(keys, dtype=torch.int64)


def _words(columns: Columns) -> list[tuple[str, ...]]:
    """The categories of every row as the source spells them."""
    by_column = [
        [words[i] for i in columns.categories[:, c].tolist()]
        for c, words in enumerate(columns.vocabularies)
    ]
    return list(zip(*by_column, strict=True)) if by_column else [()] * len(columns)


def _key(content: bytes) -> int:
    return int.from_bytes(hashlib.sha256(content).digest()[:8]) >> 1

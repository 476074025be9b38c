"""What a plain graph holds as a whole: its subtree patterns, and numbers of its shape."""

from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lgan.data.columns import Columns
from lgan.data.raw import RawGraphs
from lgan.graph.interning import Words, mixed
from lgan.graph.pair_codes import pair_codes

# Edges from the root of a pattern to its leaves, places that patterns share, and degrees, of which
# the last stands for larger ones too, that have a share of the nodes each.
RADIUS, PLACES, DEGREES = 2, 1024, 13
SHAPE = (
    "log nodes", "log edges", "density", "mean degree", "deviation of degrees", "largest degree",
    *(f"share of degree {degree}" for degree in range(DEGREES)),
    "log triangles", "mean clustering", "transitivity", "components", "cycles", "log cycles",
)  # fmt: skip


def patterns(raw: RawGraphs) -> NDArray[np.float32]:
    """How often every subtree pattern occurs in a graph ``[G, 1024]``.

    A pattern of radius ``r`` is a colour of the ``r``-th round of colour refinement: the labels of
    a node, and those of what is around it. Every colour is a word of 64 bits that its labels
    decide, so that it is the same in other graphs, and has one of 1,024 places by that word, which
    others may share.

    Example:
        >>> from lgan.data import load_raw
        >>> found = patterns(load_raw("csl"))  # all nodes are alike, in three rounds
        >>> sorted(found[0][found[0] > 0].tolist())
        [41.0, 41.0, 41.0]
    """
    u, v = raw.pair_index.numpy()
    graph = np.repeat(np.arange(raw.num_graphs), np.diff(raw.node_ptr.numpy()))
    colour, there = _words(raw.nodes), _words(raw.pairs)
    back = there
    if raw.direction is not None:
        way = raw.direction.numpy().astype(np.int64)
        there, back = (mixed(there + (2 + sign * way).astype(np.uint64)) for sign in (1, -1))
    counts = np.zeros(raw.num_graphs * PLACES, dtype=np.float32)
    for radius in range(RADIUS + 1):
        if radius:
            seen = np.zeros_like(colour)
            np.add.at(seen, u, mixed(mixed(colour[v]) + there))
            np.add.at(seen, v, mixed(mixed(colour[u]) + back))
            colour = mixed(mixed(colour) + seen)
        place = (mixed(colour + np.uint64(radius)) % np.uint64(PLACES)).astype(np.int64)
        np.add.at(counts, graph * PLACES + place, np.float32(1))
    return counts.reshape(-1, PLACES)


def shape(raw: RawGraphs) -> NDArray[np.float64]:
    """The numbers :data:`SHAPE` of every graph ``[G, n]``.

    Example:
        >>> from lgan.data import load_raw
        >>> numbers = dict(zip(SHAPE, shape(load_raw("csl"))[0].tolist(), strict=True))
        >>> numbers["mean degree"], numbers["share of degree 4"], numbers["cycles"]
        (4.0, 1.0, 42.0)
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ends, number, size = raw.pair_index.numpy(), raw.num_graphs, raw.num_nodes
    nodes = np.diff(raw.node_ptr.numpy())
    graph = np.repeat(np.arange(number), nodes)
    degree = np.bincount(ends.ravel(), minlength=size)
    closed = pair_codes(raw.pair_index, size, "triangles")[:, 0].double().numpy()
    corners = np.bincount(ends.ravel(), np.concatenate([closed, closed]), minlength=size) / 2
    wedges = degree * (degree - 1) / 2
    links = coo_array((np.ones(ends.shape[1], dtype=bool), tuple(ends)), shape=(size, size))
    _, piece = connected_components(links, directed=False)
    first = np.unique(piece, return_index=True)[1]

    def total(of_nodes: NDArray[np.float64]) -> NDArray[Any]:
        return np.bincount(graph, of_nodes, minlength=number)

    whole, edges = np.maximum(nodes, 1), total(degree.astype(np.float64)) / 2
    mean = 2 * edges / whole
    largest = np.zeros(number)
    np.maximum.at(largest, graph, degree)
    capped = graph * DEGREES + np.minimum(degree, DEGREES - 1)
    counted = np.bincount(capped, minlength=number * DEGREES)
    shares = counted.reshape(number, DEGREES) / whole[:, None]
    triangles, components = total(corners) / 3, np.bincount(graph[first], minlength=number)
    cycles = edges - nodes + components
    columns = (
        np.log1p(nodes), np.log1p(edges), mean / np.maximum(nodes - 1, 1), mean,
        np.sqrt(np.maximum(total(degree.astype(np.float64) ** 2) / whole - mean**2, 0)), largest,
        *shares.T,
        np.log1p(triangles), total(corners / np.maximum(wedges, 1)) / whole,
        3 * triangles / np.maximum(total(wedges), 1), components, cycles, np.log1p(cycles),
    )  # fmt: skip
    return np.stack(columns, 1)


def _words(columns: Columns) -> Words:
    """What the categories of every row say together; the order of columns does not matter."""
    word = np.zeros(len(columns), dtype=np.uint64)
    for column, name in enumerate(columns.names):
        known = np.array([_word(name, value) for value in columns.vocabularies[column]], np.uint64)
        word += known[columns.categories[:, column].long().numpy()]
    return word


def _word(name: str, value: str) -> int:
    told = f"{name}\0{value}".encode(errors="surrogatepass")
    return int.from_bytes(blake2b(told, digest_size=8).digest(), "little")

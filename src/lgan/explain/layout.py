"""Places of nodes in a picture."""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import networkx as nx

# Beyond these, Kamada-Kawai and springs take seconds.
SMALL = 80
MEDIUM = 500
PIVOTS = 200
GAP = 1.0


def layout(num_nodes: int, pairs: Iterable[tuple[int, int]]) -> NDArray[np.float64]:
    """Places of the nodes of a graph such that its structure is seen, ``[n, 2]``.

    Each component is laid out alone: by Kamada and Kawai up to 80 nodes; above by distances in the
    graph, followed by springs up to 500. It is turned so that it is wider than high, and given a
    length of 1 for the usual edge. The components then stand in rows, the largest first.

    Example:
        >>> path = layout(3, [(0, 1), (1, 2)])
        >>> bool(abs(path[0, 0] - path[2, 0]) > abs(path[0, 0] - path[1, 0]))
        True
    """
    import networkx as nx

    graph = nx.empty_graph(num_nodes)
    graph.add_edges_from(pairs)
    parts = sorted(map(sorted, nx.connected_components(graph)), key=lambda part: (-len(part), part))
    blocks = [_component(graph.subgraph(nodes), nodes) for nodes in parts]
    place = np.zeros((num_nodes, 2))
    for nodes, block, corner in zip(parts, blocks, _shelves(blocks), strict=True):
        place[nodes] = block + corner
    return place


def _component(graph: "nx.Graph", nodes: list[int]) -> NDArray[np.float64]:
    """Places of a connected graph, its lower left corner at the origin."""
    import networkx as nx

    if len(nodes) == 1:
        return np.zeros((1, 2))
    if len(nodes) <= SMALL:
        found = nx.kamada_kawai_layout(graph)
    else:
        found = _by_distance(graph, nodes)
        if len(nodes) < MEDIUM:
            k = len(nodes) ** -0.5
            found = nx.spring_layout(graph, pos=found, seed=0, iterations=60, k=k)
    place: NDArray[np.float64] = np.array([found[node] for node in nodes])
    place = place - place.mean(0)
    axes = np.linalg.svd(place, full_matrices=False)[2]
    # A direction has two signs; fix it, so that the picture does not depend on the library.
    axes = axes * np.where(axes.sum(1, keepdims=True) < 0, -1.0, 1.0)
    place = place @ axes.T
    ends = np.searchsorted(nodes, np.array(graph.edges()))
    length = float(np.median(np.linalg.norm(place[ends[:, 0]] - place[ends[:, 1]], axis=1)))
    place = place / max(length, 1e-9)
    return np.asarray(place - place.min(0))


def _by_distance(graph: "nx.Graph", nodes: list[int]) -> dict[int, NDArray[np.float64]]:
    """Places whose distances are close to those in the graph.

    Brandes and Pich, *Eigensolver Methods for Progressive Multidimensional Scaling*, 2006:
    classical scaling with the distances to some of the nodes.
    """
    import networkx as nx
    from scipy.sparse.csgraph import shortest_path

    pivots = np.linspace(0, len(nodes) - 1, min(PIVOTS, len(nodes))).astype(int)
    adjacency = nx.to_scipy_sparse_array(graph, nodes)
    squared = shortest_path(adjacency, unweighted=True, indices=pivots).T ** 2  # [n, pivots]
    centred = squared - squared.mean(0) - squared.mean(1)[:, None] + squared.mean()
    vectors, values, _ = np.linalg.svd(centred, full_matrices=False)
    place = vectors[:, :2] * np.sqrt(values[:2])
    # Nodes that look alike lie on one another there; a nudge parts them.
    turn = np.arange(len(nodes))
    nudge = np.stack([np.cos(turn), np.sin(turn)], 1) * 0.02 * np.abs(place).max()
    spread = (place + nudge) / max(float(np.abs(place).max()), 1e-9)
    return dict(zip(nodes, spread, strict=True))


def _shelves(blocks: list[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
    """The lower left corner of every block, in rows of about the same width."""
    sizes = [block.max(0) + GAP for block in blocks]
    area = sum(float(size[0] * size[1]) for size in sizes)
    width = max([math.sqrt(1.5 * area), *(float(size[0]) for size in sizes)], default=0.0)
    corners, x, y, height = [], 0.0, 0.0, 0.0
    for size in sizes:
        if x > 0 and x + size[0] > width + 1e-9:
            x, y, height = 0.0, y - height, 0.0
        corners.append(np.array([x, y - size[1] + GAP]))
        x, height = x + float(size[0]), max(height, float(size[1]))
    return corners

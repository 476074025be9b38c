"""Families of graphs that are generated rather than read."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from lgan.data.raw import RawGraphs

_HOUSE = ((0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 4))
_CYCLE = ((0, 1), (1, 2), (2, 3), (3, 4), (4, 0))


def triangle_pairs(
    num_graphs: int = 200, seed: int = 0, *, min_nodes: int = 12, max_nodes: int = 40
) -> RawGraphs:
    """Connected graphs that 1-WL cannot separate, with triangles in one class only.

    A 2-fold cover of a base graph has two copies of every node, and two copies of every edge,
    parallel or crossed. All covers of one base look alike to 1-WL. A triangle with an even
    number of crossed edges is covered by two triangles, one with an odd number by a hexagon.
    Graphs ``2i`` and ``2i + 1`` are two such covers of one random base whose triangles share
    no edge: every triangle crossed (class 0) and none crossed (class 1), all else equal. The
    triangles of class 1 are the ground truth.

    Args:
        num_graphs: How many graphs to make, an even number.
        seed: Fixes the graphs.
        min_nodes: The least number of nodes of a graph, at least 12.
        max_nodes: The largest number of nodes of a graph.
    """
    if num_graphs < 2 or num_graphs % 2:
        raise ValueError(
            f"`num_graphs` must be even and positive, got {num_graphs}. Graphs come in pairs."
        )
    if not 12 <= min_nodes <= max_nodes or (min_nodes + 1) // 2 > max_nodes // 2:
        raise ValueError(
            "`min_nodes` must be 12 or more and leave an even number up to `max_nodes`, got "
            f"{min_nodes} and {max_nodes}. Widen the range."
        )
    random = np.random.default_rng(seed)
    sizes, edges, planted = [], [], []
    for _ in range(num_graphs // 2):
        size = int(random.integers((min_nodes + 1) // 2, max_nodes // 2 + 1))
        base, triangle, crossed = _random_base(size, random)
        for label in (0, 1):
            # Crossing the first edge of every triangle turns it into a hexagon.
            first = (np.cumsum(triangle) % 3 == 1) & triangle
            cross = crossed | first if label == 0 else crossed
            names = random.permutation(2 * size)
            sizes.append(2 * size)
            edges.append(names[_cover(base, cross)])
            planted.append(np.tile(triangle & (label == 1), 2))
    y = np.arange(num_graphs) % 2
    return _union("triangles", sizes, edges, y, ("hexagons", "triangles"), planted)


def motifs(base: Literal["ba", "tree"] = "ba", num_graphs: int = 1000, seed: int = 0) -> RawGraphs:
    """A house (class 0) or a 5-cycle (class 1) hung by one edge on a random graph of 20 nodes.

    The set BA-2Motifs of the explanation literature; the edges of the motif are the ground
    truth.

    Args:
        base: ``ba``, a Barabási-Albert graph in which every new node brings one edge, or
            ``tree``, in which it joins any earlier node with equal chance.
        num_graphs: How many graphs to make, the classes in turn.
        seed: Fixes the graphs.
    """
    if base not in ("ba", "tree"):
        raise ValueError(f"`base` must be 'ba' or 'tree', got {base!r}. Choose one of the two.")
    _check_positive("num_graphs", num_graphs)
    size = 20
    random = np.random.default_rng(seed)
    # ends[g, 2i:2i + 2] is the edge that node i + 1 of graph g brings; a uniform draw among
    # the ends so far is a draw by degree.
    ends = np.zeros((num_graphs, 2 * (size - 1)), np.int64)
    for node in range(1, size):
        if base == "ba" and node > 1:
            chosen = random.integers(2 * (node - 1), size=num_graphs)
            parent = ends[np.arange(num_graphs), chosen]
        else:
            parent = random.integers(node, size=num_graphs)
        ends[:, 2 * node - 2], ends[:, 2 * node - 1] = parent, node
    hooks = np.stack(
        [random.integers(size, size=num_graphs), size + random.integers(5, size=num_graphs)], 1
    )
    edges, planted = [], []
    for g in range(num_graphs):
        motif = size + np.array(_HOUSE if g % 2 == 0 else _CYCLE)
        names = random.permutation(size + 5)
        edges.append(names[np.concatenate([ends[g].reshape(-1, 2), hooks[g : g + 1], motif])])
        planted.append(np.arange(len(edges[-1])) >= size)
    y = np.arange(num_graphs) % 2
    sizes = [size + 5] * num_graphs
    return _union(f"motifs-{base}", sizes, edges, y, ("house", "cycle"), planted)


def csl(
    num_nodes: int = 41,
    skips: Sequence[int] = (2, 3, 4, 5, 6, 9, 11, 12, 13, 16),
    *,
    copies: int = 15,
    seed: int = 0,
) -> RawGraphs:
    """Circular skip links: a cycle plus an edge from every node to the one ``skip`` further.

    All are 4-regular, so 1-WL cannot separate any two; the class is the skip. Murphy et al.,
    Relational Pooling for Graph Representations, 2019.

    Args:
        num_nodes: The length of the cycle.
        skips: The skips, one class each.
        copies: How many randomly renumbered copies of each graph to make.
        seed: Fixes the numbering.
    """
    _check_positive("copies", copies)
    if len(set(skips)) != len(skips) or not all(1 < s < num_nodes / 2 for s in skips):
        raise ValueError(
            f"`skips` must be distinct and lie between 2 and {(num_nodes - 1) // 2}, below half of "
            f"the {num_nodes} nodes, got {tuple(skips)}. Remove the others."
        )
    random = np.random.default_rng(seed)
    node = np.arange(num_nodes)
    edges = []
    for skip in skips:
        ring = np.stack([np.tile(node, 2), np.concatenate([node + 1, node + skip]) % num_nodes], 1)
        edges += [random.permutation(num_nodes)[ring] for _ in range(copies)]
    y = np.repeat(np.arange(len(skips)), copies)
    sizes = [num_nodes] * len(edges)
    return _union("csl", sizes, edges, y, tuple(str(skip) for skip in skips))


def random_regular(
    num_graphs: int = 300,
    seed: int = 0,
    *,
    degrees: Sequence[int] = (3, 4, 5),
    min_nodes: int = 12,
    max_nodes: int = 30,
) -> RawGraphs:
    """Random regular graphs; the class is the degree.

    The number of nodes is drawn among the even ones and says nothing of the class.

    Args:
        num_graphs: How many graphs to make, the classes in turn.
        seed: Fixes the graphs.
        degrees: The degrees, one class each.
        min_nodes: The least number of nodes of a graph.
        max_nodes: The largest number of nodes of a graph.
    """
    _check_positive("num_graphs", num_graphs)
    halves = (min_nodes + 1) // 2, max_nodes // 2
    if halves[0] > halves[1] or len(set(degrees)) != len(degrees):
        raise ValueError(
            "`degrees` must be distinct and an even number must lie from `min_nodes` to "
            f"`max_nodes`, got {tuple(degrees)}, {min_nodes} and {max_nodes}. Widen the range."
        )
    if not degrees or not 0 <= min(degrees) <= max(degrees) < 2 * halves[0]:
        raise ValueError(
            f"`degrees` must lie between 0 and {2 * halves[0] - 1}, below the number of nodes, "
            f"got {tuple(degrees)}. Choose others, or a larger `min_nodes`."
        )
    import networkx as nx

    random = np.random.default_rng(seed)
    sizes, edges = [], []
    for g in range(num_graphs):
        size = 2 * int(random.integers(halves[0], halves[1] + 1))
        graph = nx.random_regular_graph(
            degrees[g % len(degrees)], size, seed=int(random.integers(2**31))
        )
        sizes.append(size)
        edges.append(random.permutation(size)[np.array(list(graph.edges), int).reshape(-1, 2)])
    y = np.arange(num_graphs) % len(degrees)
    return _union("regular", sizes, edges, y, tuple(str(degree) for degree in degrees))


def _random_base(
    size: int, random: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_]]:
    """A connected graph with disjoint triangles and at least one other cycle.

    Returns:
        The edges ``[E, 2]``, which of them lie in a triangle (three in a row for each), and
        which are crossed in both covers. One edge outside the triangles, on another cycle, is
        always crossed: that connects the covers.
    """
    while True:
        num_triangles = int(random.integers(1, size // 3 + 1))
        corners = np.arange(3 * num_triangles).reshape(-1, 3)
        edges = [
            (int(a), int(b)) for t in corners for a, b in ((t[0], t[1]), (t[1], t[2]), (t[0], t[2]))
        ]
        parts = [t.tolist() for t in corners] + [[v] for v in range(3 * num_triangles, size)]
        random.shuffle(parts)
        joined = list(parts[0])
        for part in parts[1:]:
            edges.append((int(random.choice(joined)), int(random.choice(part))))
            joined += part
        num_tree = len(edges)
        adjacent = np.zeros((size, size), np.int64)
        for _ in range(int(random.integers(1, 4))):
            u, v = np.array(edges).T
            adjacent[u, v] = adjacent[v, u] = 1
            # Two nodes without a common neighbour: joining them makes no new triangle.
            free = np.argwhere(np.triu(adjacent + adjacent @ adjacent == 0, k=1))
            if len(free):
                a, b = random.choice(free)
                edges.append((int(a), int(b)))
        if len(edges) > num_tree:
            break
    position = np.arange(len(edges))
    crossed = (position > num_tree) & (random.random(len(edges)) < 0.5)
    crossed[num_tree] = True
    return np.array(edges), position < 3 * num_triangles, crossed


def _cover(base: NDArray[np.int64], crossed: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The edges ``[2E, 2]`` of a 2-fold cover, whose nodes ``2v`` and ``2v + 1`` lie over ``v``."""
    u, v = base.T
    first = np.stack([2 * u, 2 * v + crossed], 1)
    second = np.stack([2 * u + 1, 2 * v + ~crossed], 1)
    return np.concatenate([first, second])


def _union(
    name: str,
    sizes: Sequence[int],
    edges: Sequence[NDArray[np.int64]],
    y: NDArray[np.int64],
    classes: tuple[str, ...],
    planted: Sequence[NDArray[np.bool_]] | None = None,
) -> RawGraphs:
    """Graphs with their own node numbers as one disjoint union; every node has label 0."""
    node_ptr = np.concatenate([[0], np.cumsum(sizes)])
    offset = np.repeat(node_ptr[:-1], [len(e) for e in edges])
    ends = np.sort(np.concatenate(edges) + offset[:, None], axis=1)
    order = np.lexsort((ends[:, 1], ends[:, 0]))
    truth = None if planted is None else torch.from_numpy(np.concatenate(planted)[order])
    return RawGraphs.numbered(
        name=name,
        node_ptr=torch.from_numpy(node_ptr),
        pair_index=torch.from_numpy(np.ascontiguousarray(ends[order].T)),
        y=torch.from_numpy(y.astype(np.int64)),
        classes=classes,
        node_labels=torch.zeros(int(node_ptr[-1]), dtype=torch.int64),
        ground_truth=truth,
    )


def _check_positive(name: str, value: int) -> None:
    if value < 1:
        raise ValueError(f"`{name}` must be 1 or more, got {value}. Ask for at least one graph.")

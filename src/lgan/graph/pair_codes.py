"""Structural codes of pairs: a few integers per edge, computed once per graph.

With ``k_q`` the number of K4 on the triangle ``t, p, q``, the code of an edge ``tp`` holds

=======  ==================================================================
``T``    triangles on it
``Q``    cycles of length 4 on it
``S1``   ``Σ_q k_q`` over its triangles
``S2``   ``Σ_q k_q²`` over its triangles
``U``    ``Σ m²`` over its claws, ``m`` the common neighbours of a claw's leaves
``Rn``   chordless cycles (rings) of n nodes on it, n from 4 to 8
``C``    a colour that knows ``T`` to ``U`` and more, see :func:`pair_colours`
=======  ==================================================================

The first four are counted, nothing is listed, and the counts of a graph of twin classes are those
of the edges its pairs stand for: a class is a clique, so every count over neighbours becomes a
weighted count over closed neighbourhoods. Rings are searched for among the classes. ``U`` and ``C``
need the twins apart again.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lgan.catalogue import known
from lgan.graph.checks import check_pairs
from lgan.graph.edges import check_integers
from lgan.graph.expansion import expand_classes
from lgan.graph.pair_colours import pair_colours, refuse_dense
from lgan.graph.rings import ring_counts

LONGEST_RING = 8
LEVELS: dict[str, tuple[str, ...]] = {
    "none": (),
    "triangles": ("T",),
    "cycles": ("T", "Q"),
    "full": ("T", "Q", "S1", "S2"),
    "claws": ("T", "Q", "S1", "S2", "U"),
    "local": ("T", "Q", "S1", "S2", "U", "C"),
    "folklore": ("T", "Q", "S1", "S2", "U", "C"),
    "rings": ("T", *(f"R{nodes}" for nodes in range(4, LONGEST_RING + 1))),
}
# A colour is given to a network bit by bit.
COLOUR_BITS = 63
# Where a count is told from another when it is spread: 0, e^½ - 1, e - 1, … up to 10^13.
KNOTS, KNOT_STEP = 64, 0.5
# Claws that are looked at in some minutes.
MOST_CLAWS = 1 << 34
# How far apart the nodes may be whose pairs are coloured.
RADIUS: dict[str, int | None] = {"local": 3, "folklore": None}


def pair_codes(
    pair_index: Tensor, num_nodes: int, level: str, *, multiplicity: Tensor | None = None
) -> Tensor:
    """The structural code of every pair ``[P, c]`` int64, one column per count of the level.

    ``T`` costs O(m · arboricity), ``Q`` O(Σ d²) at most, ``S1`` and ``S2`` the sum over all
    triangles of their least degree, ``U`` O(Σ d³ · words), with words of 64 nodes two steps
    away. Rings are searched for along induced paths: at once in molecules, refused after a
    minute in large dense graphs. Memory is O(n + m), without ``C``.

    Args:
        pair_index: Pairs ``[2, P]`` as ``undirected_pairs`` returns them, of one graph or of a
            disjoint union; where twins are merged, as :class:`EgoLines` has them.
        num_nodes: Number of nodes (classes).
        level: A name of ``LEVELS``: ``"none"``, ``"triangles"``, ``"cycles"``, ``"full"``,
            ``"claws"``, or with colours of pairs ``"local"`` (distance up to 3) and
            ``"folklore"`` (any distance). A colour is a category of 63 bits, the same wherever
            the structure is the same: see :func:`pair_colours`. ``"rings"`` is for molecules.
        multiplicity: Twins each node stands for ``[num_nodes]``, if any were merged.

    Example:
        >>> k4 = torch.tensor([[0, 0, 0, 1, 1, 2], [1, 2, 3, 2, 3, 3]])
        >>> pair_codes(k4, 4, "full")[0].tolist()  # 2 triangles, 2 cycles, each in the one K4
        [2, 2, 2, 2]
    """
    known(level, LEVELS, "pair code")
    check_pairs(pair_index, num_nodes, loops=True)
    if multiplicity is not None:
        check_integers("multiplicity", multiplicity, (num_nodes,), remedy="Count every node once.")
    num_pairs = pair_index.size(1)
    if level == "none" or num_pairs == 0:
        size = (num_pairs, len(LEVELS[level]))
        return torch.zeros(size, dtype=torch.int64, device=pair_index.device)
    if "U" not in LEVELS[level]:
        return _counts(pair_index, num_nodes, level, multiplicity)
    k = torch.ones(num_nodes) if multiplicity is None else multiplicity.cpu()
    return _apart(pair_index, level, k.long())


def code_channels(level: str) -> int:
    """Numbers a network reads of every pair.

    Example:
        >>> code_channels("full")
        4
    """
    names = LEVELS[known(level, LEVELS, "pair code")]
    return sum(COLOUR_BITS if name == "C" else 1 for name in names)


def code_features(codes: Tensor, level: str) -> Tensor:
    """Codes as a network reads them, ``[U, c]`` float32: logarithms of counts, bits of a colour."""
    counts = sum(name != "C" for name in LEVELS[level])
    features = codes[:, :counts].double().log1p()
    if "C" in LEVELS[level]:
        bits = (codes[:, counts:] >> torch.arange(COLOUR_BITS, device=codes.device)) & 1
        features = torch.cat([features, bits.double()], 1)
    return features.float()


def knot_weights(features: Tensor) -> tuple[Tensor, Tensor]:
    """The knots on both sides of every count, and how near they are; the bits of a colour.

    Args:
        features: What :func:`code_features` returns ``[U, c]``.

    Returns:
        Columns of :func:`spread` and what it has there, ``[U, e]`` both; all others are zero.
    """
    counts = _num_counts(features.size(1))
    place = (features[:, :counts] / KNOT_STEP).clamp(max=KNOTS - 1)
    below = place.long().clamp(max=KNOTS - 2)
    above = place - below
    first = below + KNOTS * torch.arange(counts, device=features.device)
    rest = torch.arange(KNOTS * counts, spread_channels(features.size(1)), device=features.device)
    column = torch.cat([first, first + 1, rest.expand(features.size(0), -1)], 1)
    return column, torch.cat([1 - above, above, features[:, counts:]], 1)


def spread(features: Tensor) -> Tensor:
    """Codes as features, each count as weights of the two knots beside its logarithm.

    A linear map of them is any function of a count that is linear between knots, while one of the
    logarithms can only rise or fall.

    Args:
        features: What :func:`code_features` returns ``[U, c]``.

    Example:
        >>> spread(torch.tensor([[0.75]]))[0, :4].tolist()
        [0.0, 0.5, 0.5, 0.0]
    """
    column, weight = knot_weights(features)
    zero = weight.new_zeros((features.size(0), spread_channels(features.size(1))))
    return zero.scatter(1, column, weight)


def spread_channels(channels: int) -> int:
    """Columns of :func:`spread`, of codes with so many numbers.

    Example:
        >>> spread_channels(code_channels("full"))
        256
    """
    return channels + (KNOTS - 1) * _num_counts(channels)


def _num_counts(channels: int) -> int:
    return channels % COLOUR_BITS  # a colour has all its bits or is not there


def _counts(pair_index: Tensor, num_nodes: int, level: str, multiplicity: Tensor | None) -> Tensor:
    from lgan.graph.pair_codes_numba import (
        closed_lists,
        count_common,
        count_cycles,
        count_k4,
        two_step_cost,
    )

    u, v = pair_index.cpu().to(torch.int32).numpy()
    k = np.ones(num_nodes, np.int64)
    if multiplicity is not None:
        k = multiplicity.cpu().numpy().astype(np.int64)
    ptr, node, pair = closed_lists(u, v, num_nodes)
    degree = np.diff(ptr)
    owner, other = np.where(degree[u] > degree[v], (u, v), (v, u))
    closed = count_common(ptr, node, k, np.argsort(owner, kind="stable"), owner, other)
    columns = [closed - 2]
    if "Q" in LEVELS[level]:
        cost = two_step_cost(ptr, node)
        owner, other = np.where(cost[u] < cost[v], (u, v), (v, u))
        order = np.argsort(owner, kind="stable")
        columns.append(count_cycles(ptr, node, k, order, owner, other))
    if "S1" in LEVELS[level]:
        columns += count_k4(ptr, node, pair, k, u, v, closed)
    if "R4" in LEVELS[level]:
        columns += list(ring_counts(pair_index.cpu(), torch.from_numpy(k), LONGEST_RING).numpy().T)
    return torch.from_numpy(np.stack(columns, axis=1)).to(pair_index.device)


def _apart(pair_index: Tensor, level: str, k: Tensor) -> Tensor:
    """All columns of a level that has to be computed on the graph with its twins apart."""
    from lgan.graph.pair_codes_numba import closed_lists, count_claws

    pairs = pair_index.cpu().long()
    degree = torch.repeat_interleave(class_degree(pairs, k), k).numpy()
    _refuse_claws(degree)
    if level in RADIUS:
        refuse_dense(degree)
    edges, pair = expand_classes(pairs, k)
    u, v = edges.to(torch.int32).numpy()
    claws = torch.from_numpy(count_claws(*closed_lists(u, v, degree.size), u.size))
    counts = _counts(pairs, k.numel(), level, k)[pair]
    columns = torch.cat([counts, claws[:, None]], 1)
    if level in RADIUS:
        colour = pair_colours(edges, degree.size, radius=RADIUS[level], initial=columns)
        columns = torch.cat([columns, colour[:, None]], 1)
    codes = torch.empty((pairs.size(1), columns.size(1)), dtype=torch.int64)
    codes[pair] = columns  # edges of one pair have equal codes
    return codes.to(pair_index.device)


def class_degree(pairs: Tensor, k: Tensor) -> Tensor:
    """The degree of a node of each class, by the pairs of classes and their sizes."""
    u, v = pairs
    degree = torch.zeros_like(k).index_add_(0, u, k[v])
    degree.index_add_(0, v, torch.where(u == v, 0, k[u]))
    return degree - (k > 1).long()


def _refuse_claws(degree: NDArray[np.int64]) -> None:
    d = degree.astype(np.float64)
    claws = float((d * (d - 1) * (d - 2) / 6).sum())
    if claws > MOST_CLAWS:
        raise ValueError(
            f"The code needs a look at all claws, at most {MOST_CLAWS:,}; these graphs have "
            f"{claws:,.0f}. Choose the level 'full', or fewer or sparser graphs."
        )

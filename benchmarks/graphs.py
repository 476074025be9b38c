"""Generated graphs of the sizes and shapes the benchmarks are about."""

from dataclasses import dataclass

import torch
from torch import Tensor

from lgan.graph import undirected_pairs
from lgan.graph.segments import concat_ranges, lengths_to_ptr, segment_ids

# Where the power law flattens: without it the first node would know almost everyone.
_HUBS = 50


def power_law(
    num_edges: int, *, exponent: float = 2.1, mean_degree: int = 40, seed: int = 0
) -> tuple[Tensor, int]:
    """A random graph whose degrees follow a power law, and its number of nodes.

    The ends of every edge are drawn with odds ``(i + 50) ** (-1 / (exponent - 1))`` for node
    ``i`` (Chung and Lu), then nodes are renumbered at random. Hubs are joined to hubs, so that
    there are about as many triangles per edge as in real social networks (five).

    Args:
        num_edges: Number of edges, exactly.
        exponent: Exponent of the degrees, above 2.
        mean_degree: Fixes the number of nodes.
        seed: Fixes the graph.

    Shapes:
        Canonical pairs ``[2, num_edges]``.

    Example:
        >>> pair_index, num_nodes = power_law(1000)
        >>> pair_index.size(1), num_nodes
        (1000, 50)
    """
    if exponent <= 2:
        raise ValueError(f"`exponent` must be above 2, got {exponent}.")
    num_nodes = max(2 * num_edges // mean_degree, 2)
    if num_edges > num_nodes * (num_nodes - 1) // 2:
        raise ValueError(f"`num_edges` must fit into {num_nodes} nodes, got {num_edges}.")
    generator = torch.Generator().manual_seed(seed)
    power = (exponent - 2) / (exponent - 1)
    low_end, high_end = _HUBS**power, (num_nodes + _HUBS) ** power
    key = torch.empty(0, dtype=torch.int64)
    while key.numel() < num_edges:
        chance = torch.rand(2, num_edges, generator=generator, dtype=torch.float64)
        ends = (low_end + chance * (high_end - low_end)) ** (1 / power) - _HUBS
        low, high = torch.sort(ends.long().clamp_(0, num_nodes - 1), dim=0).values
        drawn = (low * num_nodes + high)[low != high]
        key = torch.unique(torch.cat([key, drawn]))
    key = key[torch.randperm(key.numel(), generator=generator)[:num_edges]]
    name = torch.randperm(num_nodes, generator=generator)
    pairs = torch.stack([name[key // num_nodes], name[key % num_nodes]])
    return undirected_pairs(pairs, num_nodes), num_nodes


def ring_lattice(num_edges: int, *, each_side: int = 10) -> tuple[Tensor, int]:
    """Nodes on a ring that know the next few on either side, and their number: as many edges as
    asked for, rounded down to a multiple of ``each_side``, and small neighbourhoods full of
    triangles.

    Shapes:
        Pairs ``[2, num_edges]``.

    Example:
        >>> pair_index, num_nodes = ring_lattice(1000)
        >>> pair_index.size(1), num_nodes
        (1000, 100)
    """
    num_nodes = num_edges // each_side
    first = torch.arange(num_nodes).repeat_interleave(each_side)
    second = first + torch.arange(1, each_side + 1).repeat(num_nodes)
    return torch.stack([first, second.remainder_(num_nodes)]), num_nodes


@dataclass(frozen=True)
class EgoShape:
    """The sizes of ego networks in collaboration graphs.

    Attributes:
        least: Fewest nodes.
        scale: Typical number of nodes beyond that.
        tail: Deviation of its logarithm.
        most: Most nodes.
        members: Nodes for every group (film, paper) beyond the first, on the average.
    """

    least: int
    scale: float
    tail: float
    most: int
    members: float


SHAPES: dict[str, EgoShape] = {
    "IMDB-like": EgoShape(least=12, scale=4.0, tail=1.0, most=136, members=5.0),
    "COLLAB-like": EgoShape(least=32, scale=18.0, tail=1.3, most=492, members=45.0),
}


def ego_networks(shape: str, num_graphs: int, *, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Ego networks made of overlapping cliques, as the IMDB sets and COLLAB consist of.

    The nodes of a graph lie on a ring that is cut into arcs, its groups; each arc reaches into
    the next and all its members know each other. Node 0, the ego, knows everyone.

    Returns:
        Canonical pairs of the disjoint union ``[2, P]`` and where the nodes of each graph begin
        ``[num_graphs + 1]``.

    Example:
        >>> pair_index, node_ptr = ego_networks("IMDB-like", 3)
        >>> node_ptr.numel()
        4
    """
    if shape not in SHAPES:
        raise ValueError(f"`shape` must be one of {', '.join(SHAPES)}, got {shape!r}.")
    form = SHAPES[shape]
    generator = torch.Generator().manual_seed(seed)
    extra = form.scale * torch.exp(form.tail * torch.randn(num_graphs, generator=generator))
    size = (form.least + extra.long()).clamp(max=form.most)
    groups = 1 + torch.poisson(size / form.members, generator=generator).long()
    node_ptr, arc_ptr = lengths_to_ptr(size), lengths_to_ptr(groups)

    graph = segment_ids(arc_ptr)  # of every arc
    width = size[graph]
    start = (torch.rand(graph.numel(), generator=generator) * width).long()
    start = torch.sort(graph * form.most + start).values - graph * form.most
    # The next arc of the same graph; the last one reaches round to the first.
    following = torch.roll(start, -1)
    last = arc_ptr[1:] - 1
    following[last] = start[arc_ptr[:-1]] + size
    reach = (following - start) * (1 + 0.4 * torch.rand(graph.numel(), generator=generator))
    length = torch.minimum(reach.ceil().long(), width)

    # Every member of an arc, and the members after it.
    arc = segment_ids(lengths_to_ptr(length))
    place = concat_ranges(torch.zeros_like(length), length)
    after = length[arc] - 1 - place
    first = torch.repeat_interleave(place, after)
    second = concat_ranges(place + 1, after)
    of = torch.repeat_interleave(arc, after)
    u = node_ptr[graph[of]] + (start[of] + first) % width[of]
    v = node_ptr[graph[of]] + (start[of] + second) % width[of]
    ego = torch.repeat_interleave(node_ptr[:-1], size)
    star = torch.stack([ego, torch.arange(int(node_ptr[-1]))])
    edges = torch.cat([torch.stack([u, v]), star], 1)
    return undirected_pairs(edges, int(node_ptr[-1])), node_ptr

"""A layer on a graph whose line graphs do not fit into memory, block of nodes by block."""

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from lgan.graph import EdgeFeatures, EgoLines, undirected_pairs
from lgan.graph.edges import neighbour_lists
from lgan.graph.segments import concat_ranges, lengths_to_ptr
from lgan.nn.lgan_conv import LGANConv


@torch.no_grad()
def conv_by_blocks(
    conv: LGANConv,
    x: Tensor,
    edge_index: Tensor,
    edge_attr: Tensor | None = None,
    *,
    entries: int = 1 << 22,
) -> Tensor:
    """What a layer in evaluation mode says of every node, ``[n, out_channels]``.

    A node sees its ego network, which is part of the graph that its block and all neighbours of
    it induce: the layer on that graph is exact for the nodes of the block. Memory is that of the
    edges, of the result, and of one block.

    Args:
        conv: The layer, in evaluation mode, without structural code and direction, which look
            further than the ego network.
        x: Node features, as the layer takes them.
        edge_index: Edges ``[2, E]``.
        edge_attr: Their features, where the layer reads any.
        entries: Edges at the neighbours of a block, and so the size of what it induces; a single
            node may have more.

    Example:
        >>> conv = LGANConv(4, 8).eval()
        >>> x, ring = torch.randn(6, 4), torch.stack([torch.arange(6), torch.arange(6).roll(1)])
        >>> torch.allclose(conv_by_blocks(conv, x, ring, entries=4), conv(x, ring), atol=1e-6)
        True
    """
    wrong = {
        "training mode": conv.training,
        f"the code {conv.pair_code!r}": conv.pair_code != "none",
        "a directed layer": conv.direction is not None,
    }
    if any(wrong.values()):
        got = next(what for what, is_so in wrong.items() if is_so)
        raise ValueError(
            "A layer by blocks must be in evaluation mode and look no further than the ego network "
            f"of a node, got {got}. Call `conv.eval()`, or read the whole graph."
        )
    num_nodes = x.size(0)
    pairs = undirected_pairs(edge_index, num_nodes)
    edges = EdgeFeatures.of_columns(
        edge_index, edge_attr, pairs, num_nodes, reduce=conv.edge_reduce
    )
    ptr, neighbour, pair = map(torch.from_numpy, neighbour_lists(pairs, num_nodes))
    ptr = ptr.long()
    out = x.new_empty((num_nodes, conv.out_channels), dtype=conv.pair.weight.dtype)
    for block in _blocks(ptr, neighbour, entries):
        around = neighbour[ptr[block.start] : ptr[block.stop]].long()
        nodes = torch.unique(torch.cat([torch.arange(block.start, block.stop), around]))
        lines, inside = _induced(nodes, ptr, neighbour, pair)
        if edges is not None:
            lines = lines.with_edges(replace(edges, rows=edges.rows[inside]))
        first = int(torch.searchsorted(nodes, block.start))
        out[block.start : block.stop] = conv(x[nodes], lines)[first : first + len(block)]
    return out


def _blocks(ptr: Tensor, neighbour: Tensor, entries: int) -> Iterator[range]:
    """Consecutive nodes whose neighbours have so many edge ends together; one node at least."""
    degree = torch.diff(ptr)
    reach = lengths_to_ptr(degree[neighbour.long()])[ptr]
    start = 0
    while start < len(degree):
        stop = int(torch.searchsorted(reach, int(reach[start]) + entries, right=True)) - 1
        stop = min(max(stop, start + 1), len(degree))
        yield range(start, stop)
        start = stop


def _induced(
    nodes: Tensor, ptr: Tensor, neighbour: Tensor, pair: Tensor
) -> tuple[EgoLines, Tensor]:
    """The structure of the graph that some nodes, in order, induce, and its pairs in the whole."""
    length = ptr[nodes + 1] - ptr[nodes]
    at = concat_ranges(ptr[nodes], length)
    first = torch.repeat_interleave(torch.arange(len(nodes)), length)
    second = torch.searchsorted(nodes, neighbour[at].long())
    there = nodes[second.clamp(max=len(nodes) - 1)] == neighbour[at]
    kept = there & (first < second)
    pairs = torch.stack([first[kept], second[kept]])
    return EgoLines.from_pairs(pairs, len(nodes)), pair[at][kept].long()

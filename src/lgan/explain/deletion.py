"""What a model says of graphs from which edges, nodes or fragments were taken away.

Taking away is literal: the graphs that remain are built, their structural codes and their degrees
computed anew, and all of them read in one pass.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.data import Data

from lgan.explain.maskable import MaskableGraph, at_columns, joined
from lgan.explain.masking import num_members, outputs_of, pair_code_of, pass_load, reads_lines
from lgan.explain.question import Question, as_members
from lgan.graph import EdgeFeatures, EgoLines
from lgan.graph.segments import lengths_to_ptr, segment_ids

# Nodes and pairs in one pass; bounds memory, not results. On the CPU so few that what passes
# between the layers of ten members stays close: twice as fast as with all that fits.
CHUNK = 1 << 12
CHUNK_ELSEWHERE = 1 << 16


@dataclass(frozen=True, eq=False)
class Players:
    """What can be taken away from a graph.

    Attributes:
        pairs: Edges that go with each player ``[F, P]`` bool.
        nodes: Nodes that go with it ``[F, n]`` bool.
        share: The part of a player's score that each edge gets ``[F, P]``; rows sum up to 1,
            or to 0 where no edge is touched.
    """

    pairs: Tensor
    nodes: Tensor
    share: Tensor

    @staticmethod
    def of(question: Question, graph: int) -> "Players":
        """The edges, nodes or fragments of one of the graphs."""
        maskable = question.graphs[graph]
        ends, device = maskable.lines.pair_index.long(), maskable.edge_index.device
        n, count = maskable.num_nodes, maskable.num_pairs
        if question.over == "edges":
            own = torch.eye(count, dtype=torch.bool, device=device)
            return Players(own, own.new_zeros(count, n), own.double())
        if question.over == "nodes":
            nodes = torch.eye(n, dtype=torch.bool, device=device)
            own = nodes.new_zeros(n, count)
        else:
            fragments = question.fragments[graph]
            nodes = torch.zeros(len(fragments), n, dtype=torch.bool, device=device)
            own = nodes.new_zeros(len(fragments), count)
            for i, fragment in enumerate(fragments):
                nodes[i, list(fragment.nodes)] = True
                own[i, [maskable.pair_place[edge] for edge in fragment.edges]] = True
        one, other = nodes[:, ends[0]], nodes[:, ends[1]]
        touched, inside = own | one | other, own | (one & other)
        share = torch.where(inside.any(1, keepdim=True), inside, touched).double()
        return Players(touched, nodes, share / share.sum(1, keepdim=True).clamp(min=1))

    def __len__(self) -> int:
        return len(self.pairs)

    def without(self, absent: Tensor) -> tuple[Tensor, Tensor]:
        """Edges and nodes that are left without some players: ``[S, F]`` to ``[S, P]``, ``[S, n]``.

        What belongs to several is left only where none of them is absent.
        """
        gone = absent.float()
        return gone @ self.pairs.float() == 0, gone @ self.nodes.float() == 0


@torch.no_grad()
def remaining_outputs(
    question: Question, players: Sequence[Players], absent: Sequence[Tensor]
) -> list[Tensor]:
    """What a model says of every graph without some of its players ``[K, S, C]``.

    Args:
        question: The model and the graphs.
        players: What can be taken away from each graph.
        absent: For each graph the players that are away, a row for every case ``[S, F]`` bool.
    """
    found: list[list[Tensor]] = [[] for _ in question.graphs]
    chunk: list[tuple[int, Tensor]] = []
    on_cpu = all(graph.edge_index.device.type == "cpu" for graph in question.graphs)
    room = most = CHUNK if on_cpu else CHUNK_ELSEWHERE
    for g, (graph, cases) in enumerate(zip(question.graphs, absent, strict=True)):
        load = pass_load(graph.lines) + 1
        for part in cases.split(max(1, most // load)):
            if chunk and len(part) * load > room:
                _ask(question, players, chunk, found)
                chunk, room = [], most
            chunk.append((g, part))
            room -= len(part) * load
    if chunk:
        _ask(question, players, chunk, found)
    return [torch.cat(parts, 1) for parts in found]


def _ask(
    question: Question,
    players: Sequence[Players],
    chunk: Sequence[tuple[int, Tensor]],
    found: list[list[Tensor]],
) -> None:
    """All cases of a chunk in one pass."""
    model = question.model
    kept = [(question.graphs[g], *players[g].without(absent)) for g, absent in chunk]
    sizes = torch.cat([nodes.sum(1) for _, _, nodes in kept])
    start, pair_parts, listed_pairs = 0, [], []
    for graph, pairs, nodes in kept:
        ends, own = _remaining_pairs(graph, pairs, nodes)
        pair_parts.append(ends + start)
        listed_pairs.append((graph.lines, own))
        start += int(nodes.sum())
    pair_index = torch.cat(pair_parts, 1)
    data = Data(edge_index=torch.cat([pair_index, pair_index.flip(0)], 1), num_nodes=start)
    column_pair = torch.arange(pair_index.size(1), device=pair_index.device).repeat(2)
    if not all(graph.is_plain for graph, _, _ in kept):  # which take a quarter less time
        column_pair = _set_columns(data, kept)
    data.ptr = lengths_to_ptr(sizes)
    data.batch = segment_ids(data.ptr)
    data.x = joined([None if g.x is None else g.x[n.nonzero()[:, 1]] for g, _, n in kept])
    if data.x is not None and question.degrees is not None:
        degree = torch.bincount(pair_index.flatten(), minlength=start)
        data.x = question.degrees(data.x, degree)
    counts = [len(absent) for _, absent in chunk]
    told = joined([graph.graph_x for graph, _, _ in kept])
    if told is not None:
        data.graph_x = told.repeat_interleave(torch.tensor(counts, device=told.device), 0)
    listed = reads_lines(model)
    build = EgoLines.from_pairs if listed else EgoLines.edges_only
    lines = build(pair_index, start)
    features = _edge_features(listed_pairs)
    if features is not None:
        lines = lines.with_edges(features)
        each = lines.pair_attr
        if each is not None:
            data.edge_attr = at_columns(each, column_pair)  # loops have lost their features
    if listed:
        data.lines = lines.coded(pair_code_of(model))
    outputs = as_members(outputs_of(model, data), num_members(model))
    if outputs.size(1) != len(sizes):
        raise ValueError(
            f"{type(model).__name__} gives no answer for a graph without nodes, which is what is "
            "left here. Take edges away instead: `over='edges'`."
        )
    for (g, _), part in zip(chunk, outputs.split(counts, 1), strict=True):
        found[g].append(part)


def _set_columns(data: Data, kept: Sequence[tuple[MaskableGraph, Tensor, Tensor]]) -> Tensor:
    """Give what is left the columns of its graphs: directions, loops and weights as they were.

    Returns:
        The pair each column is a direction of, -1 for a loop.
    """
    columns, column_pairs, weights, start, first = [], [], [], 0, 0
    for graph, pairs, nodes in kept:
        of, loop = graph.column_pair, graph.column_pair < 0
        left = nodes[:, graph.edge_index[0]]  # [S, E]
        left[:, ~loop] = pairs[:, of[~loop]]
        case, column = left.nonzero().unbind(1)
        number = torch.cumsum(nodes.flatten(), 0).view_as(nodes) - 1 + start
        columns.append(number[case, graph.edge_index[:, column]])
        place = torch.cumsum(pairs.flatten(), 0).view_as(pairs) - 1 + first
        pair = torch.full_like(column, -1)
        proper = ~loop[column]
        pair[proper] = place[case[proper], of[column[proper]]]
        column_pairs.append(pair)
        weights.append(graph.column_weight[column])
        start, first = start + int(nodes.sum()), first + int(pairs.sum())
    data.edge_index = torch.cat(columns, 1)
    if any(graph.edge_weight is not None for graph, _, _ in kept):
        data.edge_weight = torch.cat(weights)
    return torch.cat(column_pairs)


def _edge_features(parts: Sequence[tuple[EgoLines, Tensor]]) -> EdgeFeatures | None:
    """The features and direction of some edges of every graph, where all have them, each row of a
    graph's table once.
    """
    tables, rows, start = [], [], 0
    for lines, pairs in parts:
        table = lines.edge_part
        if table is None:
            return None
        own = lines.row_of_pair[pairs].long()
        used, places = torch.unique(own, return_inverse=True)
        tables.append(table[used])
        rows.append(places + start)
        start += len(used)
    first = parts[0][0]
    return EdgeFeatures(
        torch.cat(tables), torch.cat(rows), first.edge_categories, first.edge_directed
    )


def _remaining_pairs(graph: MaskableGraph, pairs: Tensor, nodes: Tensor) -> tuple[Tensor, Tensor]:
    """The edges that are left in every case, as one union ``[2, p]`` with nodes numbered anew, and
    which edges of the graph they are ``[p]``.
    """
    number = torch.cumsum(nodes.flatten(), 0).view_as(nodes) - 1
    case, pair = pairs.nonzero().unbind(1)
    ends = graph.lines.pair_index.long()[:, pair]
    return torch.stack([number[case, ends[0]], number[case, ends[1]]]), pair

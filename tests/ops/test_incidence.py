import networkx as nx
import pytest
import torch

import reference
from lgan import EgoLines
from lgan.ops.incidence import PIECE, Pieces


@pytest.mark.parametrize("merged", [False, True])
def test_the_matrices_by_rows_are_the_matrices(merged):
    graph = nx.lollipop_graph(5, 3)
    pairs = torch.tensor(reference.pairs(graph)).t()
    lines = EgoLines.compressed(pairs, 8)[0] if merged else EgoLines.from_pairs(pairs, 8)
    rows = lines.by_node

    def dense(ptr: torch.Tensor, pair: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        row = torch.repeat_interleave(torch.arange(lines.num_nodes), ptr.diff())
        matrix = torch.zeros(lines.num_nodes, lines.num_pairs)
        return matrix.index_put((row, pair.long()), weight, accumulate=True)

    B_t = dense(rows.target_ptr, rows.target_pair, rows.target_weight)
    B_n = dense(rows.side_ptr, rows.side_pair, rows.side_weight)
    assert torch.equal(B_t, lines.target_incidence().to_dense().float())
    assert torch.equal(B_n, lines.neighbour_incidence().to_dense().float())
    ends = dense(rows.target_ptr, rows.target_pair, rows.target_ends)
    assert torch.equal(ends.sum(0), torch.full((lines.num_pairs,), 2.0))


def test_the_matrices_by_rows_of_no_edges_are_empty():
    lines = EgoLines.from_edge_index(torch.empty(2, 0, dtype=torch.long), 3)
    rows = lines.by_node
    assert rows.target_ptr.tolist() == rows.side_ptr.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("lengths", [[0, 1, PIECE, PIECE + 1, 0, 5 * PIECE, 7, 0], [3], [0, 0]])
@pytest.mark.parametrize("spare", [0, 3, 2 * PIECE])
def test_pieces_are_the_rows_in_parts(lengths, spare):
    ptr = torch.tensor([0, *lengths]).cumsum(0)
    pieces = Pieces.of(ptr, sum(lengths) + spare)
    assert pieces.row_ptr.diff().tolist() == [-(-length // PIECE) for length in lengths]
    used = pieces.entry_ptr[: pieces.row_ptr[-1] + 1]
    assert torch.equal(used[pieces.row_ptr], ptr)
    assert int(used.diff().max() if used.numel() > 1 else 0) <= PIECE
    assert set(pieces.entry_ptr[pieces.row_ptr[-1] :].tolist()) == {sum(lengths)}


def test_rows_are_cut_where_they_are_long_on_the_whole():
    dense, sparse = nx.complete_graph(40), nx.cycle_graph(40)
    cut = [
        EgoLines.from_pairs(torch.tensor(reference.pairs(graph)).t(), 40).by_node
        for graph in (dense, sparse)
    ]
    assert cut[0].side_pieces is not None
    assert cut[1].side_pieces is None

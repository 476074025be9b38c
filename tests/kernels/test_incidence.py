import networkx as nx
import pytest
import torch

import reference
from lgan import EgoLines


@pytest.mark.parametrize("merged", [False, True])
def test_the_matrices_by_rows_are_the_matrices(merged):
    graph = nx.lollipop_graph(5, 3)
    pairs = torch.tensor(reference.pairs(graph)).t()
    lines = EgoLines.compressed(pairs, 8)[0] if merged else EgoLines.from_pairs(pairs, 8)
    rows = lines.incidence.by_node

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
    rows = lines.incidence.by_node
    assert rows.target_ptr.tolist() == rows.side_ptr.tolist() == [0, 0, 0, 0]

import networkx as nx
import pytest
import torch
from torch_geometric.data import Batch, Data

import lgan
import reference
from lgan.explain.maskable import MaskableGraph, MaskableUnion


def paw(**fields) -> Data:
    """A triangle 0 1 2 with a tail 2 3."""
    return Data(
        x=torch.tensor([0, 0, 1, 2]),
        edge_index=torch.tensor([[0, 0, 1, 2], [1, 2, 2, 3]]),
        **fields,
    )


def test_columns_know_their_pair_whatever_their_order():
    data = Data(
        x=torch.zeros(4, 1), edge_index=torch.tensor([[3, 1, 2, 2, 0, 2], [2, 0, 2, 3, 1, 1]])
    )
    maskable = MaskableGraph.of(data)
    assert maskable.lines.pair_index.tolist() == [[0, 1, 2], [1, 2, 3]]
    assert maskable.column_pair.tolist() == [2, 0, -1, 2, 0, 1]
    values = torch.tensor([10.0, 20.0, 30.0])
    assert maskable.to_columns(values).tolist() == [30, 10, 0, 30, 10, 20]
    assert maskable.to_pairs(torch.tensor([1.0, 2, 99, 3, 6, 7])).tolist() == [4, 7, 2]


def test_merged_twins_are_written_out_in_the_order_of_the_classes():
    maskable = MaskableGraph.of(lgan.EgoLineGraph(compress=True)(paw()))
    pairs = [[0, 0, 1, 2], [1, 2, 2, 3]]
    assert maskable.lines.pair_index.tolist() == pairs
    assert maskable.edge_index.tolist() == [pairs[0] + pairs[1], pairs[1] + pairs[0]]
    assert maskable.x is not None
    assert maskable.x.tolist() == [0, 0, 1, 2]


def test_entries_know_their_triangle():
    graph = nx.gnp_random_graph(12, 0.6, seed=1)
    maskable = MaskableGraph.of(Data(x=torch.zeros(12, 1), edge_index=reference.edge_index(graph)))
    found, entry_triangle = maskable.triangles()
    own, left, right = maskable.lines.entry_pairs
    ends = maskable.lines.pair_index
    for entry, triangle in enumerate(entry_triangle.tolist()):
        corners = set(found[:, triangle].tolist())
        for pair in (own, left, right):
            assert set(ends[:, pair[entry]].tolist()) < corners
    assert torch.bincount(entry_triangle).tolist() == [3] * found.size(1)


def test_a_union_is_the_batch_of_its_graphs():
    graphs = [lgan.EgoLineGraph()(paw()) for _ in range(3)]
    union = MaskableUnion.of([MaskableGraph.of(g) for g in graphs])
    expected = lgan.EgoLines.from_data(Batch.from_data_list(graphs))
    for name in ("pair_index", "opposite_index", "opposite_count", "pair_triangles"):
        assert torch.equal(getattr(union.batch.lines, name), getattr(expected, name)), name
    assert union.pair_ptr.tolist() == [0, 4, 8, 12]
    assert union.pair_graph.tolist() == [0] * 4 + [1] * 4 + [2] * 4


def test_a_batch_of_several_graphs_and_stale_line_graphs_are_refused():
    data = lgan.EgoLineGraph()(paw())
    with pytest.raises(ValueError, match="must be one graph, got a batch of 2"):
        MaskableGraph.of(Batch.from_data_list([data, data]))
    data.edge_index = data.edge_index[:, :-1]
    with pytest.raises(ValueError, match=r"`edge_index` has changed.*Rebuild"):
        MaskableGraph.of(data)
    with pytest.raises(ValueError, match="no `edge_index`"):
        MaskableGraph.of(Data(x=torch.zeros(2, 1)))

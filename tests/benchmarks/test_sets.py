import torch

from benchmarks import BenchConfig
from benchmarks.sets import load_both, sample_graphs
from lgan.data import triangle_pairs


def test_a_sample_holds_the_graphs_unchanged():
    raw = triangle_pairs(num_graphs=8)
    part, nodes = sample_graphs(raw, torch.tensor([1, 4]))
    assert part.num_graphs == 2
    assert part.y.tolist() == raw.y[[1, 4]].tolist()
    for new, old in enumerate((1, 4)):
        inside = (raw.pair_index[0] >= raw.node_ptr[old]) & (
            raw.pair_index[0] < raw.node_ptr[old + 1]
        )
        kept = (part.pair_index[0] >= part.node_ptr[new]) & (
            part.pair_index[0] < part.node_ptr[new + 1]
        )
        expected = raw.pair_index[:, inside] - raw.node_ptr[old]
        assert torch.equal(part.pair_index[:, kept] - part.node_ptr[new], expected)
    assert nodes.tolist() == [
        *range(int(raw.node_ptr[1]), int(raw.node_ptr[2])),
        *range(int(raw.node_ptr[4]), int(raw.node_ptr[5])),
    ]


def test_both_sides_hold_the_same_graphs():
    both = load_both("MUTAG", BenchConfig(quick=True), sample=10)
    assert both.union.num_graphs == len(both.graphs) == 10
    assert both.union.original_nodes == sum(graph.num_nodes for graph in both.graphs)
    assert both.union.y.tolist() == [int(graph.y) for graph in both.graphs]
    assert both.note == "a random sample of 10 graphs on both sides"

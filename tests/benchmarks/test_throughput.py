import pytest
import torch

from benchmarks.config import BenchConfig
from benchmarks.throughput import _both, idle_share


def test_time_that_no_span_covers_is_idle():
    spans = [(0.0, 2.0), (1.0, 3.0), (5.0, 9.0), (5.5, 6.0)]
    assert idle_share(spans, 1.0, 7.0) == pytest.approx(2 / 6)
    assert idle_share([], 0.0, 4.0) == 1.0
    assert idle_share([(1.0, 2.0), (2.5, 3.0)], 0.0, 4.0, shortest=0.75) == pytest.approx(2 / 4)


def test_the_peer_reads_the_same_molecules():
    union, graphs = _both(BenchConfig(quick=True))
    assert len(graphs) == union.num_graphs
    ethanol = graphs[1]  # CCO
    assert ethanol.edge_index.tolist() == [[0, 1, 1, 2], [1, 2, 0, 1]]
    assert ethanol.x.shape == (3, union.num_features)
    assert ethanol.edge_attr.shape == (4, union.num_edge_features)
    assert not torch.equal(ethanol.x[1], ethanol.x[2])

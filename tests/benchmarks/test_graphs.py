import pytest
import torch

from benchmarks.graphs import SHAPES, ego_networks, power_law, ring_lattice
from lgan.graph import undirected_pairs


def test_a_power_law_graph_has_exactly_its_edges_and_hubs():
    pair_index, num_nodes = power_law(20_000)
    degree = torch.bincount(pair_index.flatten(), minlength=num_nodes)
    assert pair_index.shape == (2, 20_000)
    assert torch.equal(pair_index, undirected_pairs(pair_index, num_nodes))
    assert degree.max() > 5 * degree.median()


def test_nodes_of_a_ring_know_as_many_on_either_side():
    pair_index, num_nodes = ring_lattice(90, each_side=3)
    distance = (pair_index[1] - pair_index[0]).remainder(num_nodes)
    assert num_nodes == 30
    assert torch.bincount(pair_index.flatten()).tolist() == [6] * 30
    assert torch.bincount(distance).tolist() == [0, 30, 30, 30]


@pytest.mark.parametrize("shape", SHAPES)
def test_the_ego_knows_everyone(shape):
    pair_index, node_ptr = ego_networks(shape, 20, seed=3)
    num_nodes = int(node_ptr[-1])
    degree = torch.bincount(pair_index.flatten(), minlength=num_nodes)
    size = node_ptr.diff()
    assert torch.equal(pair_index, undirected_pairs(pair_index, num_nodes))
    assert torch.equal(degree[node_ptr[:-1]], size - 1)
    graph = torch.bucketize(pair_index, node_ptr, right=True)
    assert torch.equal(graph[0], graph[1])
    assert SHAPES[shape].least <= size.min() <= size.max() <= SHAPES[shape].most


def test_a_seed_fixes_the_graphs():
    for make in (lambda s: power_law(3000, seed=s), lambda s: ego_networks("IMDB-like", 5, seed=s)):
        assert torch.equal(make(1)[0], make(1)[0])
        assert make(1)[0].shape != make(2)[0].shape or not torch.equal(make(1)[0], make(2)[0])


def test_impossible_graphs_are_refused():
    with pytest.raises(ValueError, match="`exponent` must be above 2"):
        power_law(100, exponent=2.0)
    with pytest.raises(ValueError, match="`num_edges` must fit into 2 nodes"):
        power_law(40)
    with pytest.raises(ValueError, match="IMDB-like, COLLAB-like, got 'x'"):
        ego_networks("x", 1)

import networkx as nx
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import reference
from laws import graphs
from lgan.graph import undirected_pairs, validate_edge_index


def test_pairs_of_any_edge_index_are_sorted_and_listed_once():
    messy = torch.tensor([[3, 0, 1, 2, 2, 1, 0], [1, 1, 0, 2, 0, 3, 2]])
    assert undirected_pairs(messy, num_nodes=5).tolist() == [[0, 0, 1], [1, 2, 3]]


@pytest.mark.parametrize("num_nodes", [0, 1, 4])
def test_no_edges_give_no_pairs(num_nodes):
    none = torch.empty(2, 0, dtype=torch.long)
    assert undirected_pairs(none, num_nodes).shape == (2, 0)


def test_a_self_loop_is_no_pair():
    assert undirected_pairs(torch.tensor([[0, 1], [0, 1]]), 2).shape == (2, 0)


@given(graphs(), st.randoms(use_true_random=False))
def test_direction_order_duplicates_and_loops_do_not_matter(graph, random):
    edges = [*graph.edges, *graph.edges, *((v, v) for v in graph)]
    edges = [random.choice([(a, b), (b, a)]) for a, b in edges]
    random.shuffle(edges)
    edge_index = torch.tensor(edges, dtype=torch.long).reshape(-1, 2).t()
    found = undirected_pairs(edge_index, len(graph))
    assert [tuple(pair) for pair in found.t().tolist()] == reference.pairs(graph)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8])
def test_any_integer_type_is_accepted_and_pairs_are_int64(dtype):
    edge_index = reference.edge_index(nx.complete_graph(120)).to(dtype)
    found = undirected_pairs(edge_index, 120)
    assert found.dtype == torch.int64
    assert found.shape == (2, 120 * 119 // 2)


@pytest.mark.parametrize(
    ("edge_index", "num_nodes", "error", "message"),
    [
        ([[0], [1]], 2, TypeError, r"must be a tensor, got list"),
        (torch.zeros(3, 2, dtype=torch.long), 3, ValueError, r"shape \[2, E\], got \[3, 2\]"),
        (torch.zeros(2, dtype=torch.long), 3, ValueError, r"shape \[2, E\], got \[2\]"),
        (torch.zeros(2, 3), 3, TypeError, r"integers \(int64\), got torch.float32.*long\(\)"),
        (torch.zeros(2, 1, dtype=torch.bool), 3, TypeError, r"integers.*got torch.bool"),
        (torch.tensor([[0], [3]]), 3, ValueError, r"ids from 0 to 2, got 0 to 3.*num_nodes"),
        (torch.tensor([[0], [-1]]), 3, ValueError, r"ids from 0 to 2, got -1 to 0"),
        (torch.tensor([[0], [0]]), 0, ValueError, r"got 0 to 0"),
        (torch.empty(2, 0, dtype=torch.long), -1, ValueError, r"`num_nodes` must be 0 or more"),
    ],
)
def test_a_bad_edge_index_is_refused(edge_index, num_nodes, error, message):
    with pytest.raises(error, match=message):
        validate_edge_index(edge_index, num_nodes)
    with pytest.raises(error, match=message):
        undirected_pairs(edge_index, num_nodes)

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from laws import graphs, twin_graphs
from lgan.graph import twin_classes


def _classes(graph: nx.Graph, x: torch.Tensor | None = None) -> list[int]:
    return twin_classes(reference.pair_index(graph), len(graph), x).tolist()


@pytest.mark.parametrize(
    ("name", "classes"),
    [
        ("no nodes", []),
        ("one node", [0]),
        ("five isolated nodes", [0, 1, 2, 3, 4]),
        ("one edge", [0, 0]),
        ("path", [0, 1, 2, 3, 4, 5]),
        ("star", [0, 1, 2, 3, 4, 5]),
        ("K5", [0, 0, 0, 0, 0]),
        ("cube", [0, 1, 2, 3, 4, 5, 6, 7]),
    ],
)
def test_named_graphs_have_their_twins(name, classes):
    assert _classes(reference.NAMED[name]) == classes


@given(graphs(max_nodes=8))
def test_classes_are_those_of_equal_closed_neighbourhoods(graph):
    assert _classes(graph) == reference.twin_classes(graph)


@given(twin_graphs())
def test_planted_twins_are_found(case):
    graph, origin = case
    classes = _classes(graph)
    assert classes == reference.twin_classes(graph)
    for a in graph:
        for b in graph:
            assert origin[a] != origin[b] or classes[a] == classes[b]


@settings(max_examples=60)
@given(twin_graphs(), st.data())
def test_nodes_with_different_features_are_not_merged(case, data):
    graph, _ = case
    n = len(graph)
    labels = data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    category = torch.tensor(labels)
    for x in (category, category[:, None].float(), torch.eye(2)[category], category * 10**12 - 5):
        assert _classes(graph, x) == reference.twin_classes(graph, x)


def test_features_without_columns_separate_nothing():
    assert _classes(nx.complete_graph(3), torch.ones(3, 0)) == [0, 0, 0]


def test_a_collision_of_hashes_is_noticed_and_drawn_again(monkeypatch):
    draw, calls = torch.randint, []

    def first_zeros(*args, **kwargs):
        calls.append(args)
        words = draw(*args, **kwargs)
        return torch.zeros_like(words) if len(calls) == 1 else words

    monkeypatch.setattr(torch, "randint", first_zeros)
    # With equal words all lists of one length collide: C6, where no two nodes are twins.
    assert _classes(nx.cycle_graph(6)) == [0, 1, 2, 3, 4, 5]
    assert len(calls) == 4  # words of nodes and of kinds of edges, twice


def test_classes_leave_the_global_generator_alone():
    before = torch.get_rng_state()
    _classes(nx.complete_graph(4))
    assert torch.equal(torch.get_rng_state(), before)

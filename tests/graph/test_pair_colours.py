import networkx as nx
import numpy as np
import pytest
import torch

from lgan.graph import pair_colours as module
from lgan.graph import undirected_pairs
from lgan.graph.pair_colours import pair_colours, refuse_dense
from reference import pair_index as pairs_of


@pytest.mark.parametrize("radius", [1, 3, None])
def test_edges_of_an_edge_transitive_graph_share_a_colour(radius: int | None) -> None:
    for graph in (nx.petersen_graph(), nx.cubical_graph(), nx.complete_graph(5), nx.star_graph(4)):
        assert pair_colours(pairs_of(graph), len(graph), radius=radius).unique().numel() == 1


def test_edges_of_a_path_are_coloured_from_the_ends() -> None:
    colours = pair_colours(pairs_of(nx.path_graph(7)), 7).tolist()
    assert colours == colours[::-1]
    assert len(set(colours)) == 3


def test_a_larger_radius_sees_more() -> None:
    graph = nx.disjoint_union(nx.cycle_graph(10), nx.cycle_graph(11))
    counts = [
        pair_colours(pairs_of(graph), 21, radius=radius).unique().numel() for radius in (2, 3, None)
    ]
    assert counts == [1, 1, 2]


def test_first_colours_are_kept_and_rounds_can_be_limited() -> None:
    pair_index = pairs_of(nx.cycle_graph(9))
    initial = torch.tensor([5, 0, 0, 0, 0, 0, 0, 0, 0])
    assert pair_colours(pair_index, 9, initial=initial, rounds=0).unique().numel() == 2
    assert pair_colours(pair_index, 9, initial=initial, rounds=None).unique().numel() == 5


def test_colours_do_not_depend_on_the_names_of_nodes() -> None:
    graph = nx.gnp_random_graph(14, 0.25, seed=2)
    order = torch.randperm(14)
    pair_index = pairs_of(graph)
    both = torch.cat([pair_index, 14 + order[pair_index]], 1)
    union = undirected_pairs(both, 28)
    colour = dict(
        zip(map(tuple, union.t().tolist()), pair_colours(union, 28).tolist(), strict=True)
    )
    for u, v in pair_index.t().tolist():
        a, b = sorted((14 + int(order[u]), 14 + int(order[v])))
        assert colour[u, v] == colour[a, b]


def test_dense_graphs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGEST", 1000)
    with pytest.raises(ValueError, match=r"at most 1,000; these graphs have .* Choose the level"):
        refuse_dense(np.full(20, 19))
    with pytest.raises(ValueError, match="Choose the level 'full'"):
        pair_colours(pairs_of(nx.path_graph(200)), 200, radius=3)

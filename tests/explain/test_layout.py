import networkx as nx
import numpy as np
import pytest

from lgan.explain.layout import layout


def spread(place, pairs):
    return [float(np.linalg.norm(place[u] - place[v])) for u, v in pairs]


@pytest.mark.parametrize("num_nodes", [0, 1, 2])
def test_tiny_graphs_have_places(num_nodes):
    place = layout(num_nodes, [(0, 1)] if num_nodes == 2 else [])
    assert place.shape == (num_nodes, 2)
    assert np.isfinite(place).all()


def test_a_path_is_a_line_from_left_to_right():
    place = layout(6, [(i, i + 1) for i in range(5)])
    steps = np.diff(place[:, 0])
    assert (steps > 0.5).all() or (steps < -0.5).all()
    assert np.ptp(place[:, 1]) < 0.3


def test_the_usual_edge_is_one_long():
    pairs = list(nx.cycle_graph(12).edges())
    assert np.median(spread(layout(12, pairs), pairs)) == pytest.approx(1.0)


def test_components_stand_apart():
    triangles = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)]
    place = layout(8, triangles)  # and two nodes alone
    parts = [place[[0, 1, 2]], place[[3, 4, 5]], place[[6]], place[[7]]]
    for i, a in enumerate(parts):
        for b in parts[:i]:
            gap = min(float(np.linalg.norm(p - q)) for p in a for q in b)
            assert gap > 0.9


@pytest.mark.parametrize("num_nodes", [40, 200, 1600])
def test_layout_repeats_itself_and_keeps_neighbours_together(num_nodes):
    pairs = list(nx.cycle_graph(num_nodes).edges())
    place = layout(num_nodes, pairs)
    assert np.array_equal(place, layout(num_nodes, pairs))
    far = [(i, (i + num_nodes // 2) % num_nodes) for i in range(num_nodes)]
    assert 4 * np.mean(spread(place, pairs)) < np.mean(spread(place, far))


def test_nodes_that_look_alike_do_not_lie_on_one_another():
    place = layout(600, [(0, i) for i in range(1, 600)])
    assert len(np.unique(place.round(6), axis=0)) == 600

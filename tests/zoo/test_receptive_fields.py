import networkx as nx
import numpy as np
import pytest
import torch

from lgan.zoo import receptive_fields as module
from lgan.zoo.receptive_fields import (
    FAMILY,
    adjacency_matrix,
    mean_size,
    node_order,
    receptive_fields,
)
from lifted import permuted, union_of, varied


def _colours(graph: nx.Graph, labels: list[int] | None = None) -> list[int]:
    union = union_of([graph])
    neighbours = adjacency_matrix(union.lines.pair_index, len(graph))
    return node_order(neighbours, None if labels is None else np.array(labels)).tolist()


def _fields(graphs: list[nx.Graph], x=None, **options: int) -> list[list[int]]:
    union = union_of(graphs, x, lift=receptive_fields(options))
    return union.cells[FAMILY]["nodes"].tolist()


def test_order_begins_with_the_highest_degree():
    assert _colours(nx.star_graph(3)) == [0, 1, 1, 1]
    assert _colours(nx.path_graph(5))[2] != _colours(nx.path_graph(5))[1]
    assert set(_colours(nx.path_graph(5))[1:4]) == {0, 1}


def test_labels_split_what_the_structure_leaves_equal():
    assert _colours(nx.cycle_graph(4)) == [0, 0, 0, 0]
    assert _colours(nx.cycle_graph(4), [0, 1, 0, 1]) == [0, 1, 0, 1]
    # Structure before labels: the centre of a star stays first.
    assert _colours(nx.star_graph(2), [9, 0, 1]) == [0, 1, 2]


@pytest.mark.parametrize("labelled", [False, True])
def test_colours_are_those_of_one_wl(labelled):
    from lgan.wl.compare import refine
    from lgan.wl.graphs import LabelledGraphs

    graph = nx.disjoint_union_all([nx.gnp_random_graph(25, 0.12, seed=4), nx.path_graph(9)])
    labels = [i % 2 for i in range(len(graph))] if labelled else None
    if labels:
        nx.set_node_attributes(graph, dict(enumerate(labels)), "label")
    stable = refine(LabelledGraphs.of([graph]), test="1-wl").node_colours
    ours = np.array(_colours(graph, labels))
    both = len(set(zip(stable.tolist(), ours.tolist(), strict=True)))
    assert both == len(set(stable.tolist())) == len(set(ours.tolist()))


def test_order_of_two_nodes_does_not_depend_on_other_graphs():
    small, large = nx.gnp_random_graph(12, 0.25, seed=5), nx.path_graph(40)
    alone = _colours(small, list(range(3)) * 4)
    union = nx.disjoint_union(small, large)  # the path needs many more rounds
    beside = _colours(union, list(range(3)) * 4 + [0] * 40)[:12]
    assert np.argsort(alone, kind="stable").tolist() == np.argsort(beside, kind="stable").tolist()


def test_fields_of_a_star_by_hand():
    # The centre, then the leaves: a leaf sees itself, the centre, and the first other leaves.
    assert _fields([nx.star_graph(3)], num_fields=5, field_size=3) == [
        [0, 1, 2],
        [1, 0, 2],
        [2, 0, 1],
        [3, 0, 1],
        [-1, -1, -1],
    ]


def test_small_components_leave_places_empty():
    graph = nx.disjoint_union(nx.path_graph(2), nx.empty_graph(1))
    assert _fields([graph], num_fields=3, field_size=3) == [[0, 1, -1], [1, 0, -1], [2, -1, -1]]


def test_farther_nodes_come_later_whatever_their_degree():
    # A path 0-1-2 that ends in a hub 2 with three more leaves.
    graph = nx.Graph([(0, 1), (1, 2), (2, 3), (2, 4), (2, 5)])
    of_end = next(row for row in _fields([graph], num_fields=6, field_size=4) if row[0] == 0)
    assert of_end[:3] == [0, 1, 2]


def _slow_field(graph: nx.Graph, root: int, rank: list[int], size: int) -> list[int]:
    distance = nx.single_source_shortest_path_length(graph, root)
    nearest = sorted(distance, key=lambda v: (distance[v], rank[v]))[:size]
    return nearest + [-1] * (size - len(nearest))


def test_fields_agree_with_sorting_by_distance_and_rank():
    graph = nx.gnp_random_graph(40, 0.08, seed=6)
    rank = np.argsort(np.argsort(_colours(graph), kind="stable"), kind="stable").tolist()
    for row in _fields([graph], num_fields=40, field_size=7):
        assert row == _slow_field(graph, row[0], rank, 7)


@pytest.mark.parametrize("size", [2, 5, 10])
def test_categories_are_seen_in_the_same_order_under_every_naming(size):
    lift = receptive_fields({"num_fields": 8, "field_size": size})
    graphs = [
        *varied(),
        nx.disjoint_union(nx.cycle_graph(6), nx.disjoint_union(*[nx.cycle_graph(3)] * 2)),
    ]
    for graph in graphs:
        x = torch.arange(len(graph)) % 2
        for _ in range(3):
            other, moved = permuted(graph, x)
            seen = []
            for shape, labels in ((graph, x), (other, moved)):
                field = (
                    union_of([shape], labels, channels=2, lift=lift).cells[FAMILY]["nodes"].long()
                )
                seen.append(torch.where(field < 0, -1, labels[field]) if len(shape) else field)
            assert torch.equal(*seen)


def test_width_is_the_average_size_and_ten_at_least():
    assert mean_size(union_of([nx.empty_graph(n) for n in (10, 20, 37)]), {}) == {"num_fields": 22}
    assert mean_size(union_of([nx.empty_graph(3)]), {}) == {"num_fields": 10}
    assert mean_size(union_of([nx.empty_graph(3)]), {"num_fields": 12}) == {}
    cells = union_of([nx.empty_graph(n) for n in (10, 20, 37)], lift=receptive_fields({})).cells
    assert cells[FAMILY]["nodes"].shape == (3 * 22, 10)


def test_the_key_names_every_option():
    keys = {receptive_fields(o).key for o in ({}, {"num_fields": 18}, {"field_size": 5})}
    assert len(keys) == 3


def test_too_many_fields_are_refused_with_their_number_before_anything_is_built(monkeypatch):
    monkeypatch.setattr(module, "LIMIT", 500)
    lift = receptive_fields({"num_fields": 20})
    message = (
        r"of small \(3 graphs, 15 nodes, 20 fields of 10 nodes for each graph\) hold 600 node ids, "
        r"more than the limit of 500\. Choose fewer"
    )
    union = union_of([nx.path_graph(5)] * 3)
    with pytest.raises(ValueError, match=message):
        lift.refuse("small", union.lines.pair_index, union.node_ptr)
    with pytest.raises(ValueError, match=message):
        union.lifted(lift)
    receptive_fields({"num_fields": 12}).refuse("small", union.lines.pair_index, union.node_ptr)


def test_progress_rises_to_one(monkeypatch):
    monkeypatch.setattr(module, "PIECE", 4)
    seen: list[float] = []
    union_of(varied()).lifted(receptive_fields({}), seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
    assert len(seen) > 5

import re
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from lgan.data import Encoder, RawGraphs, load, load_raw
from lgan.data.readers.networkx_graphs import from_networkx
from lgan.data.readers.pyg import from_pyg


@pytest.fixture
def graphs() -> list[nx.Graph]:
    """A triangle and an edge with attributes of every kind."""
    a, b = nx.cycle_graph(["x", "y", "z"]), nx.path_graph(2)
    nx.set_node_attributes(a, {"x": "C", "y": "C", "z": "O"}, "element")
    nx.set_node_attributes(b, "N", "element")
    nx.set_node_attributes(a, 0.5, "charge")
    nx.set_node_attributes(b, 1.5, "charge")
    nx.set_edge_attributes(a, {("x", "y"): 1, ("y", "z"): 2, ("z", "x"): 1}, "order")
    nx.set_edge_attributes(b, 2, "order")
    a.graph["target"], b.graph["target"] = "ring", "chain"
    return [a, b]


def test_attributes_become_features_and_targets(graphs: list[nx.Graph]) -> None:
    raw = from_networkx(graphs)
    assert raw.node_ptr.tolist() == [0, 3, 5]
    assert raw.pair_index.tolist() == [[0, 0, 1, 3], [1, 2, 2, 4]]
    assert (raw.nodes.names, raw.nodes.number_names) == (("element",), ("charge",))
    assert raw.nodes.vocabularies == (("C", "N", "O"),)
    assert raw.nodes.numbers[:, 0].tolist() == [0.5, 0.5, 0.5, 1.5, 1.5]
    assert raw.pairs.categories[:, 0].tolist() == [0, 0, 1, 1]
    assert raw.targets == {"target": ["ring", "chain"]}


@pytest.mark.parametrize("made", [float, np.float32], ids=["float", "numpy"])
def test_a_float_is_a_quantity_and_an_integer_a_category_whichever_was_trained_on(made) -> None:
    def weighted(kind: Callable[[int], Any]) -> RawGraphs:
        graph = nx.cycle_graph(5)
        for u, v in graph.edges:
            graph.edges[u, v]["weight"] = kind(u % 3 + 1)
        return from_networkx([graph])

    quantity, category = weighted(made), weighted(int)
    assert (quantity.pairs.names, quantity.pairs.number_names) == ((), ("weight",))
    assert (category.pairs.names, category.pairs.number_names) == (("weight",), ())
    for trained_on in (quantity, category):  # a new graph is read as those before
        encoder = Encoder.fit(trained_on)
        tables = [encoder.encode(raw).lines.pair_attr for raw in (quantity, category)]
        assert torch.equal(*tables)


def test_only_named_attributes_are_read(graphs: list[nx.Graph]) -> None:
    raw = from_networkx(graphs, node_features=["charge"], edge_features=[])
    assert (raw.nodes.names, raw.nodes.number_names) == ((), ("charge",))
    assert raw.pairs.num_columns == 0


def test_lists_of_numbers_are_a_column_for_each_place(graphs: list[nx.Graph]) -> None:
    for graph in graphs:
        nx.set_node_attributes(graph, [0.5, 2.5], "place")
    raw = from_networkx(graphs, node_features=["place"])
    assert raw.nodes.number_names == ("place_1", "place_2")
    assert raw.nodes.numbers[0].tolist() == [0.5, 2.5]
    named = from_networkx(graphs, node_features=raw.nodes.number_names)
    assert named.nodes.number_names == raw.nodes.number_names


def test_directed_graphs_are_refused_unless_symmetrised(graphs: list[nx.Graph]) -> None:
    graph = nx.DiGraph([(0, 1), (1, 0), (1, 2)])
    nx.set_edge_attributes(graph, {(0, 1): 0.25, (1, 0): 0.75, (1, 2): 1.5}, "length")
    with pytest.raises(ValueError, match=r"Graph 0 must be undirected and simple, got .*directed"):
        from_networkx([graph])
    raw = from_networkx([graph], symmetrise=True)
    assert raw.pair_index.tolist() == [[0, 1], [1, 2]]
    assert raw.pairs.numbers[:, 0].tolist() == [0.5, 1.5]
    with pytest.raises(ValueError, match="a multigraph"):
        from_networkx([nx.MultiGraph([(0, 1), (0, 1)])])


def test_a_directed_graph_among_others_is_lost_alone(graphs: list[nx.Graph]) -> None:
    arcs, twice = nx.DiGraph(graphs[0]), nx.MultiGraph(graphs[0])
    raw = from_networkx([graphs[0], arcs, graphs[1], graphs[1], twice])
    assert raw.rows.tolist() == [0, 2, 3]
    assert [row for row, _ in raw.errors] == [1, 4]
    assert raw.errors[0][1].startswith("must be undirected and simple, got one that is directed")
    assert raw.errors[1][1].startswith("must be undirected and simple, got one that is a multi")
    assert from_networkx([graphs[0], arcs, graphs[1]], directed=True).errors == ()


def test_loops_are_dropped() -> None:
    raw = from_networkx([nx.Graph([(0, 0), (0, 1)])])
    assert raw.pair_index.tolist() == [[0], [1]]


@pytest.mark.parametrize("directed", [False, True])
def test_loops_need_no_attributes(graphs: list[nx.Graph], directed: bool) -> None:
    expected = from_networkx(graphs, directed=directed)
    graphs[0].add_edge("y", "y")
    raw = from_networkx(graphs, directed=directed)
    assert torch.equal(raw.pair_index, expected.pair_index)
    assert torch.equal(raw.pairs.categories, expected.pairs.categories)


BAD = {
    "an attribute missing": (lambda g: g.nodes["x"].pop("element"), "'element', got 1 of 3"),
    "nothing": (lambda g: g.edges["x", "y"].update(order=None), "text, a number or a list"),
    "an infinite number": (
        lambda g: g.nodes["x"].update(charge=float("inf")),
        "finite in single precision, got inf",
    ),
    "a large number": (lambda g: g.nodes["x"].update(charge=1e300), "finite in .*, got 1e\\+300"),
    "a larger one": (lambda g: g.nodes["x"].update(charge=10**400), "finite in single precision"),
    "text among numbers": (lambda g: g.nodes["x"].update(charge="high"), "numbers or text"),
    "an object": (lambda g: g.nodes["x"].update(charge={}), "text, a number or a list"),
    "lists of two lengths": (lambda g: g.nodes["x"].update(charge=[1, 2]), "same number of values"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_attributes_cost_the_row_of_their_graph(graphs: list[nx.Graph], case: str) -> None:
    change, message = BAD[case]
    expected = from_networkx(graphs[1:])
    change(graphs[0])
    raw = from_networkx([None, *graphs])
    assert raw.rows.tolist() == [2]
    (first, why), (second, reason) = raw.errors
    assert (first, why, second) == (0, "there is no graph", 1)
    assert re.search(message, reason)
    assert torch.equal(raw.pair_index, expected.pair_index)
    assert raw.nodes.vocabularies == expected.nodes.vocabularies
    assert raw.targets == {"target": ["chain"]}
    assert load_raw([None, *graphs], targets={"mass": [1, 2, 3]}).targets == {"mass": [3]}
    with pytest.raises(
        ValueError, match=r"'mass'\]` must have a value for each of 2 graphs, got 1"
    ):
        load_raw(graphs, targets={"mass": [1]})


def test_an_attribute_named_as_a_place_of_a_list_is_refused(graphs: list[nx.Graph]) -> None:
    for graph in graphs:
        nx.set_node_attributes(graph, [0.5, 2.5], "place")
        nx.set_node_attributes(graph, 1.5, "place_2")
    with pytest.raises(ValueError, match="'place_2' beside a list 'place'"):
        load(graphs)


def test_attributes_that_no_graph_has_or_most_lack_are_refused(graphs: list[nx.Graph]) -> None:
    with pytest.raises(ValueError, match=r"'colour', got 5 of 5 without; there are 'element'"):
        from_networkx(graphs, node_features=["colour"])
    graphs[0].nodes["x"]["note"] = "odd"
    with pytest.raises(ValueError, match="attribute 'note', got 4 of 5 without"):
        from_networkx(graphs)


def test_values_of_two_kinds_of_which_none_prevails_are_refused(
    graphs: list[nx.Graph],
) -> None:
    nx.set_node_attributes(graphs[0], "high", "charge")
    with pytest.raises(ValueError, match="'charge' of the nodes must be numbers or text, got both"):
        from_networkx(graphs)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda g: nx.set_node_attributes(g, "high", "charge"),
            "nodes must be number, .* got text",
        ),
        (lambda g: nx.set_node_attributes(g, [1, 2], "charge"), r"got \[number, number\]"),
        (lambda g: nx.set_node_attributes(g, 7, "element"), "nodes must be text, .* got number"),
        (lambda g: nx.set_edge_attributes(g, "single", "order"), "edges must be number, .* text"),
    ],
)
def test_a_graph_with_another_kind_of_values_than_most_costs_its_row(
    graphs: list[nx.Graph], change: Callable[[nx.Graph], None], message: str
) -> None:
    expected = from_networkx(graphs)
    change(odd := graphs[0].copy())
    raw = from_networkx([graphs[0], odd, graphs[1]])
    [(row, reason)] = raw.errors
    assert row == 1
    assert re.search(message, reason)
    assert raw.rows.tolist() == [0, 2]
    assert torch.equal(raw.nodes.numbers, expected.nodes.numbers)
    assert torch.equal(raw.pair_index, expected.pair_index)


def test_a_target_that_no_graph_has_is_refused(graphs: list[nx.Graph]) -> None:
    with pytest.raises(ValueError, match=r"attribute 'mass', got graphs with 'target'"):
        from_networkx(graphs, targets=["mass"])


def test_lists_are_loaded_for_training(graphs: list[nx.Graph]) -> None:
    union = load(graphs * 3)
    assert (union.num_graphs, union.num_classes) == (6, 2)
    assert union.y.tolist() == [1, 0] * 3
    assert load(graphs, targets={"mass": [0.25, 1.75]}, task="regression").y.tolist() == [
        [0.25],
        [1.75],
    ]


def test_graphs_without_a_target_are_left_out_and_told(graphs: list[nx.Graph]) -> None:
    del graphs[0].graph["target"]
    more = [nx.path_graph(3, create_using=None) for _ in range(2)]
    for graph, target in zip(more, ("ring", "chain"), strict=True):
        graph.graph["target"] = target
    bare = [nx.path_graph(2), *more]
    with pytest.warns(UserWarning, match="1 of 3 graphs of graphs have no target"):
        union = load(bare)
    assert union.num_graphs == 2


@pytest.mark.parametrize(("source", "error"), [([], ValueError), ([3], TypeError), (3, TypeError)])
def test_what_holds_no_graphs_is_refused(source: object, error: type[Exception]) -> None:
    with pytest.raises(error, match="Expected"):
        load_raw(source)


def test_a_list_of_other_things_is_refused(graphs: list[nx.Graph]) -> None:
    with pytest.raises(TypeError, match=r"networkx graphs, got Tensor as graph 2"):
        from_networkx([*graphs, torch.zeros(2)])


def test_arcs_there_and_back_have_one_set_of_features_also_where_they_have_a_direction() -> None:
    graph = nx.DiGraph([(0, 1), (1, 0), (1, 2)])
    nx.set_edge_attributes(graph, {(0, 1): "a", (1, 0): "b", (1, 2): "a"}, "kind")
    one_set = r"one set of features .* `symmetrise` in place of `directed`"
    with pytest.raises(ValueError, match=f"Graph 0 must have the same labels .*{one_set}"):
        from_networkx([graph], directed=True)
    data = Data(
        edge_index=torch.tensor([[0, 1], [1, 0]]), edge_attr=torch.tensor([1, 2]), num_nodes=2
    )
    with pytest.raises(ValueError, match=f"got others in graph 0.*{one_set}"):
        from_pyg([data], directed=True)


def test_directions_are_kept_on_request() -> None:
    arcs = nx.DiGraph([(0, 1), (2, 1), (2, 3), (3, 2)])
    raw = from_networkx([arcs, nx.path_graph(2)], directed=True)
    assert raw.pair_index.T.tolist() == [[0, 1], [1, 2], [2, 3], [4, 5]]
    assert raw.direction is not None
    assert raw.direction.tolist() == [1, -1, 0, 0]
    chosen = raw.select([1, 0]).direction
    assert chosen is not None
    assert chosen.tolist() == [0, 1, -1, 0]

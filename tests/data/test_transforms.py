import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader

import lgan
import reference
from laws import data, permuted, twin_graphs, varied_graphs
from lgan import EgoLines
from lgan.graph.ego_lines import FIELDS


def _assert_same_lines(got: EgoLines, expected: EgoLines) -> None:
    assert got.num_nodes == expected.num_nodes
    for name in FIELDS:
        if name != "opposite_index":
            assert torch.equal(getattr(got, name), getattr(expected, name)), name
    # Within a pair the order of the opposite nodes is free.
    assert reference.opposite_sets(got) == reference.opposite_sets(expected)


def test_the_fields_added_are_the_ego_lines_of_the_graph():
    graph = data(nx.wheel_graph(6), torch.randn(6, 2))
    prepared = lgan.EgoLineGraph()(graph)
    expected = EgoLines.from_edge_index(graph.edge_index, 6)
    _assert_same_lines(EgoLines.from_data(prepared), expected)
    assert torch.equal(prepared.x, graph.x)
    assert torch.equal(prepared.edge_index, graph.edge_index)


@pytest.mark.parametrize("compress", [False, True])
def test_the_callers_graph_is_left_alone(compress):
    graph = data(nx.complete_graph(4), torch.ones(4, 2))
    graph.y = torch.tensor([1])
    before = graph.clone().to_dict()
    prepared = lgan.EgoLineGraph(compress=compress)(graph)
    after = graph.to_dict()
    assert after.keys() == before.keys()
    for name, value in before.items():
        assert torch.equal(torch.as_tensor(after[name]), torch.as_tensor(value)), name
    assert prepared.y.tolist() == [1]


def test_merging_twins_gives_the_graph_of_classes():
    # Nodes 1 and 2 of a triangle with a tail at 0 are twins.
    edge_index = torch.tensor([[0, 1, 0, 0], [1, 2, 2, 3]])
    x = torch.tensor([[1.0], [2.0], [2.0], [3.0]])
    prepared = lgan.EgoLineGraph(compress=True)(Data(x=x, edge_index=edge_index))
    assert prepared.num_nodes == 3
    assert prepared.x.tolist() == [[1.0], [2.0], [3.0]]
    assert prepared.multiplicity.tolist() == [1, 2, 1]
    assert prepared.pair_index.tolist() == [[0, 0, 1], [1, 2, 1]]
    assert sorted(prepared.edge_index.t().tolist()) == [[0, 1], [0, 2], [1, 0], [2, 0]]


def test_nodes_with_different_features_are_not_merged():
    graph = data(nx.complete_graph(3), torch.tensor([[0.0], [1.0], [1.0]]))
    prepared = lgan.EgoLineGraph(compress=True)(graph)
    assert prepared.multiplicity.tolist() == [1, 2]


def test_a_graph_without_twins_keeps_its_edges():
    graph = data(nx.path_graph(5), torch.ones(5, 1))
    prepared = lgan.EgoLineGraph(compress=True)(graph)
    assert torch.equal(prepared.edge_index, graph.edge_index)
    assert prepared.num_nodes == 5


def test_a_graph_without_features_is_accepted():
    graph = Data(edge_index=torch.combinations(torch.arange(3)).t(), num_nodes=4)
    assert lgan.EgoLineGraph()(graph).multiplicity.tolist() == [1, 1, 1, 1]
    assert lgan.EgoLineGraph(compress=True)(graph).multiplicity.tolist() == [3, 1]


@pytest.mark.parametrize("compress", [False, True])
def test_degenerate_graphs_are_accepted(compress):
    for nodes in (0, 1, 3):
        graph = data(nx.empty_graph(nodes), torch.ones(nodes, 2))
        prepared = lgan.EgoLineGraph(compress=compress)(graph)
        assert prepared.num_nodes == nodes
        assert prepared.pair_index.shape == (2, 0)


def test_a_batch_of_the_stock_loader_is_the_disjoint_union():
    graphs = varied_graphs(2)
    (batch,) = DataLoader([lgan.EgoLineGraph()(g) for g in graphs], batch_size=len(graphs))
    ptr = torch.tensor([0, *(g.num_nodes for g in graphs)]).cumsum(0)
    edges = [g.edge_index + start for g, start in zip(graphs, ptr[:-1], strict=True)]
    union = EgoLines.from_edge_index(torch.cat(edges, 1), int(ptr[-1]))
    _assert_same_lines(EgoLines.from_data(batch), union)
    assert torch.equal(batch.ptr, ptr)


@settings(max_examples=40)
@given(twin_graphs())
def test_a_batch_of_merged_graphs_is_the_merged_union(case):
    graph, origin = case
    parts = [data(graph, torch.tensor(origin)[:, None].float()) for _ in range(2)]
    batch = Batch.from_data_list([lgan.EgoLineGraph(compress=True)(part) for part in parts])
    together = nx.disjoint_union(graph, graph)
    pairs = torch.tensor(reference.pairs(together), dtype=torch.long).reshape(-1, 2).t()
    union, _ = EgoLines.compressed(pairs, len(together), torch.tensor(origin * 2))
    _assert_same_lines(EgoLines.from_data(batch), union)


def test_the_number_of_classes_does_not_depend_on_the_names_of_nodes():
    graph = data(nx.lollipop_graph(5, 3), torch.ones(8, 1))
    for _ in range(5):
        prepared = lgan.EgoLineGraph(compress=True)(permuted(graph))
        assert sorted(prepared.multiplicity.tolist()) == [1, 1, 1, 1, 4]


def test_its_repr_shows_every_option():
    # PyG compares it with the one a cached data set was made with.
    assert repr(lgan.EgoLineGraph()) == (
        "EgoLineGraph(compress=False, pair_code='none', edge_attr=True, reduce=None, "
        "directed=False)"
    )
    coded = lgan.EgoLineGraph(compress=True, pair_code="full")
    assert "compress=True, pair_code='full'" in repr(coded)


EDGE = torch.tensor([[0], [1]])


@pytest.mark.parametrize(
    ("graph", "error", "message"),
    [
        (Data(x=torch.ones(2, 1)), ValueError, r"no `edge_index`.*\[2, 0\]"),
        (Data(edge_index=EDGE), ValueError, "neither `x` nor `num_nodes`"),
        (
            Data(x=torch.ones(2, 1), edge_index=EDGE, num_nodes=3),
            ValueError,
            "`x` has 2 rows but `num_nodes` is 3",
        ),
        (
            Data(x=torch.tensor([[1.0], [torch.nan]]), edge_index=EDGE),
            ValueError,
            "must be finite, got NaN or infinite",
        ),
        (
            Data(x=torch.tensor([[1.0], [torch.inf]]), edge_index=EDGE),
            ValueError,
            "must be finite, got NaN or infinite",
        ),
        (Data(x=torch.ones(1, 1), edge_index=EDGE), ValueError, "ids from 0 to 0, got 0 to 1"),
        (Data(x=torch.ones(2, 1), edge_index=-EDGE), ValueError, "got -1 to 0"),
        (
            Data(x=torch.ones(2, 1), edge_index=EDGE.float()),
            TypeError,
            r"integers \(int64\), got torch.float32",
        ),
        (
            Data(x=torch.ones(2, 1), edge_index=torch.zeros(3, 2).long()),
            ValueError,
            r"shape \[2, E\], got \[3, 2\]",
        ),
    ],
)
@pytest.mark.parametrize("compress", [False, True])
def test_a_bad_graph_is_refused(graph, error, message, compress):
    with pytest.raises(error, match=message):
        lgan.EgoLineGraph(compress=compress)(graph)


@pytest.mark.parametrize("compress", [False, True])
def test_a_graph_whose_twins_are_merged_is_not_prepared_again(compress):
    merged = lgan.EgoLineGraph(compress=True)(data(nx.complete_graph(3), torch.ones(3, 1)))
    with pytest.raises(ValueError, match=r"merged already.*once, to the original graph"):
        lgan.EgoLineGraph(compress=compress)(merged)


def test_preparing_a_whole_graph_twice_changes_nothing():
    once = lgan.EgoLineGraph()(data(nx.wheel_graph(6), torch.randn(6, 2)))
    twice = lgan.EgoLineGraph()(once)
    _assert_same_lines(EgoLines.from_data(twice), EgoLines.from_data(once))


@pytest.mark.filterwarnings("ignore:`EgoLineGraph` ignores")
@pytest.mark.parametrize("name", ["pos", "edge_time", "node_mask"])
def test_merging_refuses_fields_of_nodes_and_edges_that_it_cannot_merge(name):
    graph = data(nx.complete_graph(3), torch.ones(3, 1))
    graph[name] = torch.ones(3, 2)
    with pytest.raises(ValueError, match=rf"field `{name}` belongs to the 3 nodes.*compress=False"):
        lgan.EgoLineGraph(compress=True)(graph)
    assert name in lgan.EgoLineGraph()(graph)


def test_edge_weights_are_named_in_a_warning():
    graph = Data(x=torch.ones(3, 1), edge_index=torch.tensor([[0, 1], [1, 2]]))
    graph.edge_weight = torch.ones(2)
    with pytest.warns(UserWarning, match="ignores `edge_weight`: the layers read `x` and `edge_a"):
        lgan.EgoLineGraph()(graph)


def test_self_loops_with_features_are_named_in_a_warning():
    loop = torch.tensor([[0, 1, 1], [1, 2, 1]])
    graph = Data(x=torch.ones(3, 1), edge_index=loop, edge_attr=torch.tensor([0, 1, 2]))
    with pytest.warns(UserWarning, match="ignores self-loops with their features"):
        assert lgan.EgoLineGraph()(graph).pair_attr.tolist() == [0, 1]


def test_a_graph_with_some_edges_one_way_only_is_named_in_a_warning():
    both, once = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), torch.tensor([[0, 1], [1, 2]])
    for undirected in (both, once, torch.cat([both, once, torch.tensor([[2], [2]])], 1)):
        lgan.EgoLineGraph()(Data(x=torch.ones(3, 1), edge_index=undirected))  # warnings are errors
    with pytest.warns(UserWarning, match="ignores the direction of edges"):
        lgan.EgoLineGraph()(Data(x=torch.ones(3, 1), edge_index=both[:, :3]))


def test_targets_of_nodes_are_refused_where_nodes_are_merged():
    k3 = Data(x=torch.ones(3, 1), edge_index=torch.tensor([[0, 0, 1], [1, 2, 2]]), y=torch.ones(3))
    assert lgan.EgoLineGraph()(k3).y.tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match=r"`y` has a row for each of the 3 nodes.*compress=False"):
        lgan.EgoLineGraph(compress=True)(k3)
    path = Data(x=torch.ones(3, 1), edge_index=torch.tensor([[0, 1], [1, 2]]), y=torch.ones(3))
    assert lgan.EgoLineGraph(compress=True)(path).y.tolist() == [1, 1, 1]
    k3.y = torch.ones(1, 3)
    assert lgan.EgoLineGraph(compress=True)(k3).multiplicity.tolist() == [3]

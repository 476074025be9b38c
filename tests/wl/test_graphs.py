import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from lgan.graph import EdgeFeatures, GraphUnion
from lgan.wl import LabelledGraphs, distinguishes, refine


def test_networkx_and_pyg_graphs_are_read_alike() -> None:
    paw = nx.Graph([(0, 1), (1, 2), (0, 2), (2, 3)])
    edges = torch.tensor([[0, 1, 2, 2, 1, 0], [1, 2, 0, 3, 0, 1]])
    union = LabelledGraphs.of([paw, Data(edge_index=edges, num_nodes=4)])
    assert union.node_ptr.tolist() == [0, 4, 8]
    assert union.labels.tolist() == [0] * 8
    assert np.array_equal(union.pairs[:, :4] + 4, union.pairs[:, 4:])
    assert union.pair_ptr.tolist() == [0, 4, 8]


def test_labels_are_shared_by_all_graphs() -> None:
    a, b = nx.path_graph(2), nx.path_graph(2)
    nx.set_node_attributes(a, {0: "C", 1: "N"}, "label")
    nx.set_node_attributes(b, {0: "N"}, "label")
    assert LabelledGraphs.of([a, b]).labels.tolist() == [0, 1, 1, 2]


def test_rows_of_x_are_labels() -> None:
    edges = torch.tensor([[0, 1], [1, 2]])
    x = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    union = LabelledGraphs.of([Data(x=x, edge_index=edges), Data(x=1 - x, edge_index=edges)])
    assert union.labels.tolist() == [0, 1, 0, 1, 0, 1]
    assert distinguishes(Data(x=x, edge_index=edges), Data(x=1 - x, edge_index=edges), test="1-wl")


def test_labels_of_edges_are_read_from_networkx_pyg_and_unions() -> None:
    path = nx.Graph()
    path.add_edge(0, 1, label="single")
    path.add_edge(1, 2, label="double")
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    kinds = torch.tensor([4, 4, 9, 9])
    assert LabelledGraphs.of([path]).edge_labels.tolist() == [0, 1]
    data = Data(edge_index=edges, edge_attr=kinds, num_nodes=3)
    assert LabelledGraphs.of([data]).edge_labels.tolist() == [0, 1]
    union = GraphUnion.build(
        torch.zeros(3, dtype=torch.int64), edges[:, ::2], torch.zeros(1, dtype=torch.int64),
        torch.tensor([0, 3]), num_features=1, num_classes=1, pair_code="full",
        edges=EdgeFeatures.of(kinds[::2]),
    )  # fmt: skip
    assert LabelledGraphs.of(union).edge_labels.tolist() == [0, 1]


def test_one_label_for_all_edges_is_none() -> None:
    path = nx.path_graph(3)
    assert not LabelledGraphs.of([path]).labelled_edges
    nx.set_edge_attributes(path, "single", "label")
    assert not LabelledGraphs.of([path]).labelled_edges
    assert distinguishes(path, nx.path_graph(3), test="1-wl")  # one has labels, the other none


def test_names_of_nodes_loops_and_parallel_edges_do_not_matter() -> None:
    odd = nx.MultiGraph([("x", "y"), ("y", "x"), ("y", "z"), ("z", "z")])
    assert not distinguishes(odd, nx.path_graph(3), test="2-fwl")


@pytest.mark.parametrize(
    ("graphs", "error", "message"),
    [
        ([nx.DiGraph([(0, 1)])], ValueError, "must be undirected"),
        (["C~"], TypeError, r"networkx.Graph or a PyG Data object, got str.*named_graph"),
        (7, TypeError, "list of graphs or a `GraphUnion`, got int"),
        ([Data(edge_index=torch.tensor([[0], [5]]), num_nodes=2)], ValueError, "from 0 to 1"),
        (
            [nx.MultiGraph([(0, 1, {"label": "-"}), (1, 0, {"label": "="})])],
            ValueError,
            "got '-' and '=' between the nodes 0 and 1",
        ),
        (
            [
                Data(
                    edge_index=torch.tensor([[0], [1]]),
                    edge_attr=torch.zeros(2).long(),
                    num_nodes=2,
                )
            ],
            ValueError,
            "`edge_attr` must have one row for each of 1 edges",
        ),
    ],
)
def test_other_things_are_refused(graphs: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        refine(graphs, test="1-wl")  # type: ignore[arg-type]

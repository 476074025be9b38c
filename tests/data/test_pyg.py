import re

import numpy as np
import pytest
import torch
from torch_geometric.data import Data, HeteroData

from lgan.data import load, load_raw
from lgan.data.readers.pyg import from_pyg
from lgan.task import Task

BOTH = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])


def _data(**changes: object) -> Data:
    fields = {"x": torch.tensor([6, 6, 8]), "edge_index": BOTH, "y": torch.tensor([1])}
    return Data(**{key: value for key, value in (fields | changes).items() if value is not None})


def test_integers_are_categories_and_real_values_numbers() -> None:
    raw = from_pyg(
        [
            _data(edge_attr=torch.tensor([[0.5], [0.5], [1.5], [1.5]])),
            _data(x=torch.tensor([7, 7, 7]), edge_attr=torch.ones(4, 1), y=torch.tensor([0])),
        ]
    )
    assert raw.node_ptr.tolist() == [0, 3, 6]
    assert raw.pair_index.tolist() == [[0, 1, 3, 4], [1, 2, 4, 5]]
    assert raw.nodes.vocabularies == (("6", "7", "8"),)
    assert raw.nodes.categories[:, 0].tolist() == [0, 0, 2, 1, 1, 1]
    assert raw.pairs.numbers[:, 0].tolist() == [0.5, 1.5, 1, 1]
    assert raw.targets == {"y": [1, 0]}
    real = from_pyg([_data(x=torch.eye(3))])
    assert real.nodes.number_names == ("x_1", "x_2", "x_3")


def test_several_targets_may_be_missing() -> None:
    graphs = [_data(y=torch.tensor([[1.0, torch.nan]])), _data(y=torch.tensor([[0.5, 2.0]]))]
    raw = from_pyg(graphs, targets=["mass", "length"])
    assert raw.targets["mass"] == [1.0, 0.5]
    task = Task.infer(raw.targets, "regression")
    assert task.encode(raw.targets).isnan().tolist() == [[False, True], [False, False]]
    with pytest.raises(ValueError, match=r"name the 2 columns of `y`, got \('mass',\)"):
        from_pyg(graphs, targets=["mass"])


def test_lists_are_loaded_for_training() -> None:
    graphs = [_data(y=torch.tensor([k % 2]), smiles="CCO") for k in range(4)]
    assert load_raw(graphs).ids == ("CCO",) * 4
    union = load(graphs)
    assert (union.num_graphs, union.num_features, union.num_classes) == (4, 3, 2)


def test_directions_are_never_dropped_in_silence() -> None:
    one_way = _data(edge_index=torch.tensor([[0, 1, 1], [1, 0, 2]]))
    with pytest.raises(ValueError, match="Graph 1 must be undirected"):
        from_pyg([_data(), one_way])
    assert from_pyg([one_way], symmetrise=True).num_pairs == 2
    raw = from_pyg([_data(), one_way, _data()])  # most are not: it alone is lost
    assert raw.rows.tolist() == [0, 2]
    [(row, reason)] = raw.errors
    assert row == 1
    assert reason.startswith("must be undirected")
    assert "`directed`" in reason
    unlike = _data(edge_attr=torch.tensor([1.0, 2.0, 3.0, 3.0]))
    with pytest.raises(ValueError, match="same attributes, got others in graph 0"):
        from_pyg([unlike])
    assert from_pyg([unlike], symmetrise=True).pairs.numbers[:, 0].tolist() == [1.5, 3]


def test_fields_that_are_not_read_are_named() -> None:
    with pytest.warns(UserWarning, match="not read: pos, z"):
        from_pyg([_data(pos=torch.zeros(3, 3), z=torch.zeros(3))])


def test_a_graph_without_edges_stands_beside_others() -> None:
    none = torch.zeros(2, 0, dtype=torch.long)
    for attr in (torch.ones(4, 2), torch.ones(4)):
        for empty in (attr[:0], None):
            alone = _data(
                x=torch.tensor([6]), edge_index=none, edge_attr=empty, y=torch.tensor([0])
            )
            for graphs in ([_data(edge_attr=attr), alone], [alone, _data(edge_attr=attr)]):
                raw = from_pyg(graphs)
                assert raw.pairs.numbers.tolist() == [[1.0] * (attr.numel() // 4)] * 2
                assert load(graphs).num_graphs == 2


def test_features_of_edges_that_are_no_numbers_are_told() -> None:
    attr = torch.tensor([float("nan")] * 2 + [1.0] * 2)
    graphs = [_data(edge_attr=attr, y=torch.tensor([k])) for k in range(2)]
    with pytest.raises(ValueError, match="got none in 2 rows; row 1: `edge_attr` must be finite"):
        load(graphs)


UNREADABLE = {
    "nothing": (None, "there is no graph"),
    "no edges at all": (_data(edge_index=None), "must have `edge_index`"),
    "a node that is not there": (
        _data(edge_index=torch.tensor([[0, 5], [5, 0]])),
        "nodes from 0 to 2, got 0 to 5",
    ),
    "edges of reals": (_data(edge_index=BOTH.float()), "integers of shape"),
    "edges that are no tensor": (_data(edge_index=[[0], [1]]), r"shape \[2, E\], got list"),
    "complex numbers": (_data(x=torch.ones(3, 1) * 1j), "`x` must be plain numbers, got .*complex"),
    "a sparse matrix": (_data(x=torch.eye(3).to_sparse()), "plain numbers, got .*sparse_coo"),
    "numbers of double precision": (
        _data(x=torch.full((3, 1), 1e300, dtype=torch.float64)),
        "finite",
    ),
    "x of no tensor": (_data(x=np.ones((3, 1))), "`x` must have 3 rows, a tensor .* got ndarray"),
    "x of another length": (_data(x=torch.zeros(2, 1), num_nodes=3), "`x` must have 3 rows"),
    "x missing in one": (
        _data(x=None, num_nodes=3),
        "`x` must have 3 rows, a tensor .* got NoneType",
    ),
    "x of another width": (_data(x=torch.zeros(3, 2).long()), "integers of width 1, .* width 2"),
    "x of another type": (_data(x=torch.zeros(3, 1)), "must be integers .* got reals"),
    "x without a value": (_data(x=torch.tensor([[1.0], [torch.nan], [1.0]])), "`x` .* finite"),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_a_bad_graph_costs_its_row(case: str) -> None:
    graph, message = UNREADABLE[case]
    raw = from_pyg([_data(), graph, _data(y=torch.tensor([0]))])
    [(row, reason)] = raw.errors
    assert row == 1
    assert re.search(message, reason)
    assert raw.rows.tolist() == [0, 2]
    assert raw.targets == {"y": [1, 0]}
    assert raw.pair_index.tolist() == [[0, 1, 3, 4], [1, 2, 4, 5]]


@pytest.mark.parametrize("nothing", [torch.tensor([]), torch.zeros(0, 2).long(), None], ids=repr)
def test_features_of_no_edges_are_of_any_type(nothing: torch.Tensor | None) -> None:
    alone = _data(edge_index=BOTH[:, :0], edge_attr=nothing)
    graphs = [alone, *(_data(edge_attr=torch.ones(4, 2)) for _ in range(3))]
    raw = from_pyg(graphs)
    assert (raw.num_graphs, raw.errors) == (4, ())
    assert raw.pairs.number_names == ("edge_attr_1", "edge_attr_2")
    assert torch.equal(raw.pairs.numbers, torch.ones(6, 2))


def test_a_flaw_of_features_that_are_not_read_costs_no_row() -> None:
    attr, x = torch.full((4, 1), torch.nan), torch.full((3, 1), torch.nan)
    graphs = [_data(edge_attr=torch.ones(4, 1), y=torch.tensor([k % 2])) for k in range(3)]
    graphs.append(_data(edge_attr=attr, y=torch.tensor([1])))
    assert from_pyg(graphs, edge_features=()).num_graphs == 4
    assert load(graphs, edge_features="none").num_graphs == 4
    graphs[0].x = x
    assert load(graphs, edge_features="none", features="degree").num_graphs == 4
    with pytest.warns(UserWarning, match="2 of 4 rows of graphs cannot be read"):
        assert load(graphs).num_graphs == 2
    with pytest.raises(ValueError, match=r"columns of edge_attr or edge_weight .* got 'colour'"):
        from_pyg(graphs, edge_features=["edge_attr_1", "colour"])


BAD = {
    "x of another width": ([_data(x=torch.zeros(3, 2))], "same type and number of columns"),
    "x missing in most": ([_data(x=None, num_nodes=3)] * 2, "`x` .* got 2 of 3 graphs without"),
    "a label per node": ([_data(y=torch.tensor([0, 1, 0]))], "same number of targets"),
    "text as a label": ([_data(y="a")], "`y` of graph 1 must be a number or a tensor, got 'a'"),
    "a graph of several kinds": ([HeteroData()], "class `Data`, got HeteroData as graph 1"),
}


@pytest.mark.parametrize("case", BAD)
def test_graphs_that_do_not_go_together_are_refused(case: str) -> None:
    graphs, message = BAD[case]
    with pytest.raises((ValueError, TypeError), match=message):
        from_pyg([_data(), *graphs])

import json
from dataclasses import replace

import networkx as nx
import pytest
import torch
from torch_geometric.data import Data

import lgan
from lgan import Attribution
from made_scores import made


def attribution() -> Attribution:
    """A path 0 - 1 - 2 whose first edge is given both ways, and a self-loop."""
    return replace(
        made(3, [(0, 1), (1, 2)], [3.0, -4.0], relative_gap=float("inf")),
        edge_index=torch.tensor([[1, 0, 1, 2], [0, 1, 2, 2]]),
        edge_scores=torch.tensor([3.0, 3.0, -4.0, 0.0]),
    )


def test_undirected_gives_every_edge_once():
    pairs, scores = attribution().undirected()
    assert pairs.tolist() == [[0, 1], [1, 2]]
    assert scores.tolist() == [3, -4]


def test_undirected_lists_other_values_of_edges_and_refuses_those_of_others():
    found = attribution()
    columns = torch.stack([found.edge_scores, 2 * found.edge_scores], 1)
    pairs, each = found.undirected(columns)
    assert torch.equal(pairs, found.undirected()[0])
    assert torch.equal(each, torch.stack([found.undirected()[1], 2 * found.undirected()[1]], 1))
    with pytest.raises(ValueError, match=r"a row for each of the \d+ columns"):
        found.undirected(torch.ones(columns.size(0) + 1))
    with pytest.raises(ValueError, match=r"got \(\)"):
        found.undirected(torch.tensor(1.0))


def test_top_ranks_by_score_or_by_size():
    pairs, scores = attribution().top(1)
    assert (pairs.tolist(), scores.tolist()) == ([[0], [1]], [3])
    pairs, scores = attribution().top(9, absolute=True)
    assert (pairs.tolist(), scores.tolist()) == ([[1, 0], [2, 1]], [-4, 3])


def test_json_holds_everything_and_no_infinite_number():
    plain = json.loads(json.dumps(attribution().to_json(), allow_nan=False))
    assert plain["edge_scores"] == [3, 3, -4, 0]
    assert plain["relative_gap"] is None
    assert plain["complete"] is True
    assert set(plain) == set(Attribution.__dataclass_fields__)


def test_predicted_is_the_likeliest_class():
    found = attribution()
    assert (found.predicted, found.num_nodes) == (1, 3)
    assert "complete" in repr(found)


@pytest.mark.parametrize("method", ["consensus", "leave-one-out", "integrated-gradients"])
def test_triangles_have_scores_where_the_method_tells_them(method):
    data = Data(x=torch.ones(3, 1), edge_index=torch.tensor([[0, 1, 2], [1, 2, 0]]))
    found = lgan.attribute(lgan.LGAN(1, 4, 2), data, method=method)
    told = method == "integrated-gradients"
    assert found.triangles.tolist() == [[0], [1], [2]]
    assert bool(found.triangle_scores.isfinite().all()) == told
    assert list(found.to_dataframe()["kind"]) == ["node"] * 3 + ["edge"] * 3 + ["triangle"] * told


@pytest.mark.parametrize("data", [nx.path_graph(3), [nx.path_graph(3)], "CCO"])
def test_graphs_of_another_library_are_refused_in_words(data):
    with pytest.raises(TypeError, match=r"must be PyG `Data`.*got (Graph|str)\. Convert it with"):
        lgan.attribute(lgan.LGAN(1, 4, 2), data)


@pytest.mark.parametrize("target", [True, "0", [1], 1.0, -1])
def test_what_is_no_class_is_refused_as_a_target(target):
    data = Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0], [1]]))
    with pytest.raises(ValueError, match="`target` must be a class from 0 to 1, got"):
        lgan.attribute(lgan.LGAN(1, 4, 2), data, target=target)

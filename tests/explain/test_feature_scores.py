"""Scores of features: the law of their sum, a literal integral, tables."""

import networkx as nx
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch_geometric.data import Data

import lgan
from laws import permuted
from lgan.explain import Path
from lgan.train.stack import stack
from lgan.zoo import GIN

FINE = Path(tolerance=1e-4)


def _graph(*, categories: bool = False) -> Data:
    graph = nx.Graph([(0, 1), (0, 2), (1, 2), (2, 3), (3, 4)])
    pairs = torch.tensor(list(graph.edges)).t()
    generator = torch.Generator().manual_seed(1)
    kind = torch.tensor([0, 1, 2, 0, 1])
    x = torch.randn(5, 3, generator=generator, dtype=torch.float64)
    attr = torch.randn(5, 4, generator=generator, dtype=torch.float64)
    return Data(
        x=torch.tensor([0, 2, 1, 1, 0]) if categories else x,
        edge_index=torch.cat([pairs, pairs.flip(0)], 1),
        edge_attr=kind.repeat(2) if categories else attr.repeat(2, 1),
        num_nodes=5,
    )


def _models() -> dict[str, nn.Module]:
    torch.manual_seed(0)
    return {
        "lgan": lgan.LGAN(3, 6, 2, num_layers=2, edge_dim=4),
        "coded": lgan.LGAN(3, 6, 2, num_layers=2, edge_dim=4, residual=True, pair_code="full"),
        "gine": GIN(3, 6, 2, num_layers=2, edge_dim=4),
        "members": stack([lgan.LGAN(3, 6, 2, num_layers=2, edge_dim=4) for _ in range(2)]),
    }


@pytest.mark.parametrize("categories", [False, True])
@pytest.mark.parametrize("name", _models())
def test_features_of_nodes_and_edges_are_complete_together(name, categories):
    model, data = _models()[name].double().eval(), _graph(categories=categories)
    found = lgan.attribute(model, data, 1, path=FINE, features=True)
    assert found.node_feature_scores.shape == (5, 3)
    assert found.edge_feature_scores.shape == (10, 4)
    torch.testing.assert_close(found.edge_feature_scores[:5], found.edge_feature_scores[5:])
    total = found.node_feature_scores.sum() + found.edge_feature_scores[:5].sum()
    difference = found.output - found.feature_baseline_output
    assert abs(difference) > 1e-3
    assert float(total) == pytest.approx(difference, rel=1e-3)
    assert found.feature_gap == pytest.approx(abs(float(total) - difference), abs=1e-9)
    if categories:  # a category that is not there adds nothing
        there = F.one_hot(data.x, 3).bool()
        assert not found.node_feature_scores[~there].any()


def test_scores_are_those_of_a_literal_integral():
    model, data = _models()["lgan"].double().eval(), _graph()
    found = lgan.attribute(model, data, 0, of="logit", path=FINE, features=True)
    nodes, edges = torch.zeros_like(data.x), torch.zeros_like(data.edge_attr[:5])
    points, graph = 200, lgan.EgoLineGraph()(data.clone())
    for step in range(points):
        alpha = (step + 0.5) / points
        graph.x = x = (alpha * data.x).requires_grad_()
        graph.pair_attr = attr = (alpha * data.edge_attr[:5]).requires_grad_()
        at = torch.autograd.grad(model(graph)[0, 0], [x, attr])
        nodes, edges = nodes + at[0] / points, edges + at[1] / points
    torch.testing.assert_close(found.node_feature_scores, nodes * data.x, rtol=1e-2, atol=1e-2)
    torch.testing.assert_close(
        found.edge_feature_scores[:5], edges * data.edge_attr[:5], rtol=1e-2, atol=1e-2
    )


def test_scores_of_features_go_with_their_nodes():
    model, data = _models()["lgan"].double().eval(), _graph()
    found, other = (
        lgan.attribute(model, one, 0, path=FINE, features=True)
        for one in (data, permuted(data, torch.Generator().manual_seed(3)))
    )
    for one, two in (
        (found.node_feature_scores, other.node_feature_scores),
        (found.edge_feature_scores, other.edge_feature_scores),
    ):
        torch.testing.assert_close(one.sum(0), two.sum(0), rtol=1e-4, atol=1e-6)


def test_tables_hold_them_where_they_were_asked_for():
    pytest.importorskip("pandas")
    model, data = _models()["lgan"].double().eval(), _graph(categories=True)
    found = lgan.attribute(model, data, 0, features=True)
    table = found.to_dataframe()
    nodes, edges = (table[table.kind == f"{of} feature"] for of in ("node", "edge"))
    assert nodes[["name", "nodes"]].values.tolist() == [
        [str(k), str(v)] for v, k in enumerate(data.x.tolist())
    ]
    assert sorted(edges.nodes) == ["0-1", "0-2", "1-2", "2-3", "3-4"]
    total = nodes.score.sum() + edges.score.sum()
    assert total == pytest.approx(float(found.node_feature_scores.sum())
                                  + float(found.edge_feature_scores.sum()) / 2)  # fmt: skip
    assert "node_feature_scores" in found.to_json()
    plain = lgan.attribute(model, data, 0)
    assert not set(plain.to_dataframe().kind) & {"node feature", "edge feature"}
    assert plain.to_json()["node_feature_scores"] == []

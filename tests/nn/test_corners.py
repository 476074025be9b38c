"""Few triangles: what the neighbour branch says to their corners is computed apart."""

import networkx as nx
import pytest
import torch
from torch_geometric.data import Data

import reference
from lgan import EgoLineGraph, EgoLines, GraphUnion, LGANConv, ops
from lgan.graph import EdgeFeatures, undirected_pairs
from stacks import build_stack

NODES = 60
OPTIONS = [
    {},
    {"residual": True, "norm": "layer"},
    {"squash": True, "norm": "none"},
    {"pair_code": "full", "code_map": "spline", "residual": True},
    {"pair_code": "rings"},
    {"edge_dim": 4},
    {"edge_dim": 4, "pair_code": "triangles", "residual": True},
    {"edge_dim": 5, "squash": True},
]
pytestmark = pytest.mark.usefixtures("float64")


def graph() -> nx.Graph:
    """A tree with one triangle, and a clique of four of which three nodes are twins."""
    tree = nx.random_labeled_tree(NODES - 3, seed=4)
    middle = max(tree, key=tree.degree)
    tree.add_edge(*list(tree[middle])[:2])
    tree.add_edges_from(nx.complete_graph([10, *range(NODES - 3, NODES)]).edges)
    return tree


def lines_of(options: dict, *, compress: bool) -> EgoLines:
    pairs = undirected_pairs(reference.edge_index(graph()), NODES)
    y, ptr = torch.zeros(1, dtype=torch.int64), torch.tensor([0, NODES])
    edges = None
    if (columns := options.get("edge_dim")) == 4:
        edges = EdgeFeatures.of(pairs.sum(0) % 4 * (pairs.max(0).values < NODES - 3))
    elif columns:  # as many rows as pairs
        edges = EdgeFeatures.of(torch.randn(pairs.size(1), columns, generator=torch.manual_seed(0)))
    code = options.get("pair_code", "none")
    x = torch.zeros(NODES, dtype=torch.int64)
    union = GraphUnion.build(
        x, pairs, y, ptr, num_features=1, num_classes=2, compress=compress, pair_code=code,
        edges=edges,
    )  # fmt: skip
    return union.lines


def everything(layer: LGANConv, x: torch.Tensor, lines: EgoLines) -> dict[str, torch.Tensor]:
    """The output, all gradients and the running statistics of a step."""
    given = x.clone().requires_grad_() if x.is_floating_point() else x
    out = layer(given, lines)
    (out * torch.arange(1.0, 1 + out.size(-1))).square().sum().backward()
    found = {"out": out.detach(), **{n: p.grad for n, p in layer.named_parameters()}}
    found |= {} if given is x else {"x": given.grad}
    return {**found, **dict(layer.named_buffers())}


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("models", [0, 3])
@pytest.mark.parametrize("backend", [None, "torch"])
@pytest.mark.parametrize("kind", ["own", "shared", "categories"])
def test_a_step_is_that_of_all_nodes(options, compress, models, backend, kind, monkeypatch):
    lines = lines_of(options, compress=compress)
    assert 0 < len(lines.corners[0]) <= 7
    nodes = lines.num_nodes
    if kind == "categories":
        x = torch.arange(nodes) % 3
    else:
        x = torch.randn(*((models,) if kind == "own" and models else ()), nodes, 3)

    def layer() -> LGANConv:
        if models:
            return build_stack(lambda: LGANConv(3, 4, **options), range(models)).train()
        torch.manual_seed(0)
        return LGANConv(3, 4, **options).train()

    with ops.backend(backend):
        apart = layer()
        found = everything(apart, x, lines)
        apart.eval()
        with torch.no_grad():
            tested = apart(x, lines)
        monkeypatch.setattr(EgoLines, "corners", None)
        expected = everything(layer(), x, lines_of(options, compress=compress))
        with torch.no_grad():
            torch.testing.assert_close(tested, apart(x, lines), rtol=1e-10, atol=1e-10)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, rtol=1e-10, atol=1e-10, msg=name)


@pytest.mark.parametrize("residual", [False, True])
def test_a_step_is_that_of_the_literal_line_graphs(residual):
    edges = reference.edge_index(graph())
    layer = LGANConv(3, 4, residual=residual).train()
    x = torch.randn(NODES, 3)
    data = EgoLineGraph()(Data(x=x, edge_index=edges))
    lines = EgoLines.from_data(data)
    assert lines.corners is not None
    torch.testing.assert_close(
        layer(x, lines), reference.conv(layer, x, graph()), rtol=1e-10, atol=1e-10
    )


def test_many_corners_and_none_are_no_case_of_their_own():
    dense = reference.edge_index(nx.gnp_random_graph(20, 0.4, seed=1))
    assert EgoLines.from_edge_index(dense, 20).corners is None
    path = reference.edge_index(nx.path_graph(20))
    assert EgoLines.from_edge_index(path, 20).corners is None


def test_corners_keep_their_triangles_and_what_their_pairs_carry():
    lines = EgoLines.from_edge_index(
        torch.tensor(
            [[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 5], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 7]]
        ),
        13,
    )
    lines = lines.with_edges(EdgeFeatures.of(torch.arange(13)))
    nodes, part = lines.corners
    assert nodes.tolist() == [5, 6, 7]
    assert part.pair_index.tolist() == [[0, 0, 1], [1, 2, 2]]
    assert part.opposite_index.tolist() == [2, 1, 0]
    assert part.edge_columns == 1

import networkx as nx
import pytest
import torch
from torch import Tensor

from lgan import ops
from lgan.zoo.plain_graph import PlainGraph
from lgan.zoo.square_ops import matrix_product, square_readout
from lgan.zoo.squares import Squares
from lifted import everything, union_of, varied

BACKENDS = ["numba", "torch"]


def _squares(graphs: list[nx.Graph]) -> Squares:
    return Squares.of(PlainGraph.of(everything(union_of(graphs)), torch.float64))


def _matrices(x: Tensor, squares: Squares) -> list[Tensor]:
    """The rows of every graph as ``[*, n, n, F]``."""
    parts = torch.split(x, [n * n for n in squares.sizes], -2)
    return [p.unflatten(-2, (n, n)) for p, n in zip(parts, squares.sizes, strict=True)]


def test_rows_of_two_graphs_by_hand():
    squares = _squares([nx.path_graph(3), nx.path_graph(2)])
    assert squares.sizes == [3, 2]
    assert squares.diagonal.tolist() == [0, 4, 8, 9, 12]
    assert squares.adjacency.tolist() == [0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1, 0]
    assert squares.ptr.tolist() == [0, 9, 13]
    graph, node_ptr = squares.of_node
    assert graph.tolist() == [0, 0, 0, 1, 1]
    assert node_ptr.tolist() == [0, 3, 5]


def test_adjacency_is_that_of_networkx():
    graphs = varied()
    squares = _squares(graphs)
    for graph, matrix in zip(graphs, _matrices(squares.adjacency[:, None], squares), strict=True):
        n = len(graph)
        expected = torch.from_numpy(nx.to_numpy_array(graph)).reshape(n, n)
        assert torch.equal(matrix.squeeze(-1), expected)


@pytest.mark.parametrize("rows", [1, 50, 130, 10**6])
def test_pieces_are_the_same_graphs_in_parts(rows):
    squares = _squares(varied())
    parts = squares.pieces(rows)
    assert [n for part in parts for n in part.sizes] == squares.sizes
    assert [i for part in parts for i in range(part.nodes.start, part.nodes.stop)] == list(
        range(sum(squares.sizes))
    )
    assert torch.equal(torch.cat([part.adjacency for part in parts]), squares.adjacency)
    for part in parts:
        assert len(part.sizes) == 1 or sum(n * n for n in part.sizes) <= rows
        for n, at in zip(part.sizes, torch.split(part.diagonal, part.sizes), strict=True):
            assert (at - at[:1]).tolist() == [i * (n + 1) for i in range(n)]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("models", [(), (3,)])
@pytest.mark.parametrize("large", [5, 48])
def test_products_and_their_gradients_are_those_of_each_matrix(backend, models, large, monkeypatch):
    monkeypatch.setattr(Squares, "LARGE", large)
    squares = _squares([*varied(), nx.complete_graph(9), nx.path_graph(17)])
    rows = squares.adjacency.numel()
    a, b = (torch.randn(*models, rows, 70, dtype=torch.float64, requires_grad=True) for _ in "ab")
    slow = [
        torch.einsum("...ilc,...ljc->...ijc", x, y).flatten(-3, -2)
        for x, y in zip(_matrices(a, squares), _matrices(b, squares), strict=True)
    ]
    expected = torch.cat(slow, -2)
    weight = torch.randn_like(expected)
    with ops.backend(backend):
        out = matrix_product(a, b, squares)
        got = torch.autograd.grad((out * weight).sum(), [a, b])
    torch.testing.assert_close(out, expected, rtol=1e-12, atol=1e-12)
    wanted = torch.autograd.grad((expected * weight).sum(), [a, b])
    torch.testing.assert_close(got, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("reduce", ["sum", "mean", "max"])
@pytest.mark.parametrize("models", [(), (2,)])
def test_readouts_and_their_gradients_are_those_of_each_matrix(backend, reduce, models):
    squares = _squares([*varied(), nx.empty_graph(1)])
    h = torch.randn(*models, squares.adjacency.numel(), 3, dtype=torch.float64, requires_grad=True)

    def taken(entries: Tensor) -> Tensor:
        if not entries.size(-2):
            return entries.sum(-2)
        return {"sum": entries.sum(-2), "mean": entries.mean(-2), "max": entries.amax(-2)}[reduce]

    slow = []
    for matrix in _matrices(h, squares):
        on = torch.eye(matrix.size(-2), dtype=torch.bool)
        slow.append(torch.cat([taken(matrix[..., on, :]), taken(matrix[..., ~on, :])], -1))
    expected = torch.stack(slow, -2)
    weight = torch.randn_like(expected)
    with ops.backend(backend):
        out = square_readout(h, squares, reduce)
        (got,) = torch.autograd.grad((out * weight).sum(), [h])
    torch.testing.assert_close(out, expected, rtol=1e-12, atol=1e-12)
    (wanted,) = torch.autograd.grad((expected * weight).sum(), [h])
    torch.testing.assert_close(got, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_largest_of_something_undefined_is_undefined(backend):
    squares = _squares([nx.path_graph(2)])
    h = torch.tensor([1.0, 2.0, float("nan"), 0.0])[:, None]
    with ops.backend(backend):
        top = square_readout(h, squares, "max")
    assert top[0, 0] == 1
    assert top[0, 1].isnan()


def test_a_second_derivative_is_refused():
    squares = _squares([nx.path_graph(3)])
    a = torch.randn(9, 2, dtype=torch.float64, requires_grad=True)
    out = matrix_product(a, a, squares)
    with pytest.raises(RuntimeError, match="differentiable once"):
        torch.autograd.grad(out.sum(), a, create_graph=True)

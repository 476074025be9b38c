"""Every backend against dense matrices in float64."""

from itertools import pairwise
from typing import NamedTuple

import networkx as nx
import pytest
import torch
from torch import Tensor

import reference
from lgan import EgoLines, ops

WIDTH = 5
TOLERANCE = {torch.float64: 1e-11, torch.float32: 2e-5}

per_backend = pytest.mark.parametrize("backend", ["numba", "torch"])
per_dtype = pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
per_stack = pytest.mark.parametrize("models", [(), (3,)], ids=["one model", "three models"])


class Case(NamedTuple):
    lines: EgoLines
    B_t: Tensor
    B_n: Tensor


def _blown_up() -> nx.Graph:
    """A random graph with cliques of twins and an isolated node."""
    base, size = nx.gnp_random_graph(9, 0.4, seed=4), [1, 3, 1, 2, 1, 4, 1, 1, 2]
    origin = [node for node in base for _ in range(size[node])]
    graph = nx.empty_graph(len(origin) + 1)
    graph.add_edges_from(
        (a, b)
        for b in range(len(origin))
        for a in range(b)
        if origin[a] == origin[b] or base.has_edge(origin[a], origin[b])
    )
    return graph


@pytest.fixture(scope="module", params=["whole", "merged", "no edges", "no nodes"])
def case(request) -> Case:
    graph = {"no edges": nx.empty_graph(3), "no nodes": nx.empty_graph(0)}.get(request.param)
    graph = _blown_up() if graph is None else graph
    pairs = reference.pair_index(graph)
    if request.param == "merged":
        lines, _ = EgoLines.compressed(pairs, len(graph))
        B_t, B_n = lines.target_incidence().to_dense(), lines.neighbour_incidence().to_dense()
        assert int(lines.multiplicity.max()) >= 4
    else:
        lines = EgoLines.from_pairs(pairs, len(graph))
        B_t, B_n = reference.incidence(graph)
    return Case(lines, B_t.double(), B_n.double())


def _leaf(*shape: int, dtype: torch.dtype) -> Tensor:
    # Numbers that float32 holds exactly, so that both precisions clip the same pairs.
    return torch.randn(shape, dtype=torch.float32).to(dtype).requires_grad_()


def _assert_agree(got: Tensor, expected: Tensor, leaves: list[Tensor], exact: list[Tensor]) -> None:
    """Values and gradients of a random functional agree with those computed in float64."""
    assert got.dtype == leaves[0].dtype
    tolerance = TOLERANCE[got.dtype]
    scale = 1 + float(expected.detach().abs().max()) if expected.numel() else 1.0
    torch.testing.assert_close(got.double(), expected, rtol=0, atol=tolerance * scale)
    direction = torch.randn(got.shape, dtype=torch.float32)
    grads = torch.autograd.grad(got, leaves, direction.to(got.dtype))
    exact_grads = torch.autograd.grad(expected, exact, direction.double())
    for grad, wanted in zip(grads, exact_grads, strict=True):
        scale = 1 + float(wanted.abs().max()) if wanted.numel() else 1.0
        torch.testing.assert_close(grad.double(), wanted, rtol=0, atol=tolerance * scale)


def _doubles(leaves: list[Tensor]) -> list[Tensor]:
    return [leaf.detach().double().requires_grad_() for leaf in leaves]


def _sent(a: Tensor, case: Case, table: Tensor | None, code: Tensor, relu: bool) -> Tensor:
    u, v = case.lines.pair_index
    z = a[..., u, :] + a[..., v, :]
    z = z if table is None else z + table[..., code.long(), :]
    return z.relu() if relu else z


@per_backend
@per_dtype
@per_stack
@pytest.mark.parametrize("relu", [True, False])
@pytest.mark.parametrize("coded", [True, False], ids=["coded", "plain"])
@pytest.mark.parametrize("branches", [1, 2])
def test_ego_sum_is_the_product_with_the_incidence_matrices(
    backend, dtype, models, relu, coded, branches, case
):
    columns, n = branches * WIDTH, case.lines.num_nodes
    code = torch.randint(4, (case.lines.num_pairs,), dtype=torch.int32)
    leaves = [_leaf(*models, n, columns, dtype=dtype)]
    leaves += [_leaf(*models, 4, columns, dtype=dtype)] if coded else []
    given = {"table": leaves[1], "code": code} if coded else {}
    with ops.backend(backend):
        got = ops.ego_sum(leaves[0], case.lines, WIDTH, relu=relu, **given)
    exact = _doubles(leaves)
    z = _sent(exact[0], case, exact[1] if coded else None, code, relu)
    expected = torch.cat([case.B_t @ z[..., :WIDTH], case.B_n @ z[..., WIDTH:]], -1)
    _assert_agree(got, expected, leaves, exact)


@per_backend
@per_dtype
@per_stack
@pytest.mark.parametrize("branches", [1, 2])
def test_linear_sum_is_ego_sum_without_clipping(backend, dtype, models, branches, case):
    leaf = _leaf(*models, case.lines.num_nodes, branches * WIDTH, dtype=dtype)
    with ops.backend(backend):
        got = ops.linear_sum(leaf, case.lines, WIDTH)
    (exact,) = _doubles([leaf])
    z = _sent(exact, case, None, torch.empty(0), relu=False)
    expected = torch.cat([case.B_t @ z[..., :WIDTH], case.B_n @ z[..., WIDTH:]], -1)
    _assert_agree(got, expected, [leaf], [exact])


def _norm(x: Tensor, weight: Tensor, scale: Tensor, shift: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The result and fresh running statistics after one batch."""
    mean, var = torch.zeros_like(scale).detach(), torch.ones_like(scale).detach()
    mean, var = mean.contiguous(), var.contiguous()
    y = ops.norm(x, weight, scale, shift, running=(mean, var), momentum=0.25, eps=1e-5)
    return y, mean, var


@per_backend
@per_dtype
@per_stack
def test_norm_is_batch_normalisation_of_the_rows_written_out(backend, dtype, models):
    repeats = torch.tensor([1, 4, 0, 2, 1, 3])
    leaves = [_leaf(*models, 6, WIDTH, dtype=dtype)]
    leaves += [_leaf(*models, WIDTH, dtype=dtype) for _ in range(2)]
    with ops.backend(backend):
        got, mean, var = _norm(leaves[0], repeats, *leaves[1:])
    exact = _doubles(leaves)
    x, scale, shift = exact
    written = x.repeat_interleave(repeats, -2)
    batch_mean, batch_var = written.mean(-2, keepdim=True), written.var(-2, correction=0)
    unit = (x - batch_mean) * (batch_var.unsqueeze(-2) + 1e-5).rsqrt()
    expected = unit * scale.unsqueeze(-2) + shift.unsqueeze(-2)
    _assert_agree(got, expected.relu(), leaves, exact)
    with torch.no_grad():
        moved = 0.25 * batch_mean.squeeze(-2), 0.75 + 0.25 * written.var(-2)
    torch.testing.assert_close(mean.double(), moved[0], rtol=0, atol=TOLERANCE[dtype])
    torch.testing.assert_close(var.double(), moved[1], rtol=0, atol=TOLERANCE[dtype])


@per_backend
def test_every_model_may_count_rows_its_own_way(backend):
    x, weight = torch.randn(3, 6, WIDTH).double(), torch.randint(3, (3, 6))
    scale, shift = torch.randn(2, 3, WIDTH).double()
    with ops.backend(backend):
        together = _norm(x, weight, scale, shift)
        for k in range(3):
            alone = _norm(x[k], weight[k], scale[k], shift[k])
            for got, expected in zip(together, alone, strict=True):
                torch.testing.assert_close(got[k], expected, rtol=0, atol=1e-12)


@per_backend
@pytest.mark.parametrize("rows", [0, 4])
def test_norm_of_rows_that_do_not_count_is_finite_and_moves_no_statistic(backend, rows):
    x = torch.randn(rows, WIDTH, requires_grad=True)
    with ops.backend(backend):
        y, mean, var = _norm(x, torch.zeros(rows), *torch.ones(2, WIDTH))
    y.sum().backward()
    assert y.isfinite().all()
    assert x.grad.isfinite().all()
    assert torch.equal(mean, torch.zeros(WIDTH))
    assert torch.equal(var, torch.ones(WIDTH))


@per_backend
def test_norm_reads_parameters_of_any_layout(backend):
    x, transposed = torch.randn(2, 5, 4), torch.randn(2, 4, 2).mT
    with ops.backend(backend):
        got = _norm(x, torch.ones(5), *transposed)
        expected = _norm(x, torch.ones(5), *transposed.contiguous())
    for a, b in zip(got, expected, strict=True):
        assert torch.equal(a, b)


@per_backend
@per_dtype
@per_stack
@pytest.mark.parametrize("ptr", [[0, 2, 2, 6], [0, 6], [0, 0, 6, 6]])
def test_segment_sum_is_a_loop_over_segments(backend, dtype, models, ptr):
    leaf, weight = _leaf(*models, 6, WIDTH, dtype=dtype), torch.tensor([1, 3, 2, 1, 1, 5])
    with ops.backend(backend):
        got = ops.segment_sum(leaf, weight, torch.tensor(ptr))
    (exact,) = _doubles([leaf])
    rows = weight.double()[:, None] * exact
    parts = [rows[..., a:b, :].sum(-2) for a, b in pairwise(ptr)]
    _assert_agree(got, torch.stack(parts, -2), [leaf], [exact])


@per_backend
def test_rows_beyond_the_last_segment_count_nowhere(backend):
    x = torch.ones(5, 2, requires_grad=True)
    with ops.backend(backend):
        out = ops.segment_sum(x, torch.ones(5), torch.tensor([0, 1, 3]))
    out.sum().backward()
    assert out.tolist() == [[1, 1], [2, 2]]
    assert x.grad.tolist() == [[1, 1]] * 3 + [[0, 0]] * 2


@pytest.mark.parametrize("backend", ["torch", "numba"])
def test_rows_before_the_first_segment_count_nowhere(backend):
    x, ptr = torch.arange(4.0)[:, None] - 3, torch.tensor([1, 3])
    with ops.backend(backend):
        assert ops.segment_sum(x, torch.ones(4), ptr).tolist() == [[-3]]
        assert ops.segment_max(x, ptr).tolist() == [[-1]]


@per_backend
def test_segments_of_no_rows_sum_to_zero(backend):
    with ops.backend(backend):
        none = ops.segment_sum(torch.ones(0, 2), torch.ones(0), torch.tensor([0, 0, 0]))
    assert none.tolist() == [[0, 0], [0, 0]]


@per_backend
def test_gradients_pass_finite_differences(backend):
    graph = nx.from_edgelist([(0, 1), (1, 2), (0, 2), (2, 3)])
    lines, _ = EgoLines.compressed(reference.pair_index(graph), 4)  # nodes 0 and 1 are merged
    inside, code = lines, torch.tensor([0, 1, 1], dtype=torch.int32)
    a, table = _leaf(3, 4, dtype=torch.float64), _leaf(2, 4, dtype=torch.float64)
    scale, shift = _leaf(4, dtype=torch.float64), _leaf(4, dtype=torch.float64)
    weight, ptr = lines.multiplicity, torch.tensor([0, 1, 3])
    check = torch.autograd.gradcheck
    with ops.backend(backend):
        check(lambda a, t: ops.ego_sum(a, inside, 2, table=t, code=code), (a, table))
        check(lambda a: ops.ego_sum(a, inside, 2, relu=False), (a,))
        check(lambda a: ops.linear_sum(a, inside, 2), (a,))
        check(lambda a: ops.segment_sum(a, weight, ptr), (a,))
        check(lambda *p: _norm(p[0], weight, *p[1:])[0], (a, scale, shift))


@per_backend
def test_linear_sum_is_differentiable_twice(backend):
    lines = EgoLines.from_edge_index(reference.edge_index(nx.complete_graph(3)), 3)
    leaf = _leaf(3, 4, dtype=torch.float64)
    with ops.backend(backend):
        torch.autograd.gradgradcheck(lambda a: ops.linear_sum(a, lines, 2), (leaf,))


@per_backend
def test_models_may_share_a_table_of_codes(backend, case):
    n, columns = case.lines.num_nodes, 2 * WIDTH
    code = torch.randint(4, (case.lines.num_pairs,), dtype=torch.int32)
    leaves = [_leaf(3, n, columns, dtype=torch.float64), _leaf(4, columns, dtype=torch.float64)]
    with ops.backend(backend):
        got = ops.ego_sum(leaves[0], case.lines, WIDTH, table=leaves[1], code=code)
    exact = _doubles(leaves)
    z = _sent(exact[0], case, exact[1], code, relu=True)
    expected = torch.cat([case.B_t @ z[..., :WIDTH], case.B_n @ z[..., WIDTH:]], -1)
    _assert_agree(got, expected, leaves, exact)


def test_models_side_by_side_give_the_bits_of_models_alone():
    lines = EgoLines.from_edge_index(reference.edge_index(_blown_up()), len(_blown_up()))
    a = torch.randn(3, lines.num_nodes, 2 * WIDTH)
    for op in (ops.ego_sum, ops.linear_sum):
        together = op(a, lines, WIDTH)
        for k in range(3):
            assert torch.equal(together[k], op(a[k], lines, WIDTH))


def test_operations_read_inputs_of_any_layout():
    lines = EgoLines.from_edge_index(reference.edge_index(nx.complete_graph(4)), 4)
    a = torch.randn(2 * WIDTH, 4, 3).permute(2, 1, 0)
    for op in (ops.ego_sum, ops.linear_sum):
        expected = op(a.contiguous(), lines, WIDTH)
        assert torch.equal(op(a, lines, WIDTH), expected)


@per_backend
def test_not_a_number_is_not_hidden_by_clipping(backend):
    lines = EgoLines.from_edge_index(torch.tensor([[0], [1]]), 2)
    with ops.backend(backend):
        out = ops.ego_sum(torch.full((2, WIDTH), torch.nan), lines, WIDTH)
        y, *_ = _norm(out, torch.ones(2), *torch.ones(2, WIDTH))
    assert out.isnan().all()
    assert y.isnan().all()


@per_backend
def test_a_wrong_number_of_rows_never_reaches_a_loop(backend):
    inside = EgoLines.from_edge_index(torch.tensor([[0, 5], [1, 6]]), 7)
    x, ones = torch.ones(3, WIDTH), torch.ones(WIDTH)
    message = r"one row for each of 7 nodes, got shape \[3, 5\]"
    with ops.backend(backend):
        with pytest.raises(ValueError, match=message):
            ops.ego_sum(x, inside, WIDTH)
        with pytest.raises(ValueError, match=message):
            ops.linear_sum(x, inside, WIDTH)
        with pytest.raises(ValueError, match=message):
            _norm(x, torch.ones(7), ones, ones)
        with pytest.raises(ValueError, match=message):
            ops.segment_sum(x, torch.ones(7), torch.tensor([0, 7]))
        stacked = x.expand(2, 3, WIDTH)
        for scale, shift in ((ones, ones), (ones.expand(2, WIDTH), ones)):
            with pytest.raises(ValueError, match=r"the leading axes and columns \[2, 5\] of `x`"):
                _norm(stacked, torch.ones(3), scale, shift)
        with pytest.raises(ValueError, match=r"the leading axes and columns \[2, 5\] of `x`"):
            _norm(stacked, torch.ones(4, 3), *ones.expand(2, 2, WIDTH))


def test_segments_that_end_elsewhere_never_reach_a_loop():
    with pytest.raises(ValueError, match="`ptr` must rise within the 3 rows"):
        ops.segment_sum(torch.ones(3, 2), torch.ones(3), torch.tensor([0, 9]))


def test_an_unknown_backend_is_refused():
    with (
        pytest.raises(ValueError, match=r"one of .*'numba'.*'torch'.*got 'cuda'"),
        ops.backend("cuda"),  # type: ignore[arg-type]
    ):
        pass


def test_numba_refuses_a_precision_it_does_not_have_and_the_default_falls_back():
    lines = EgoLines.from_edge_index(torch.tensor([[0], [1]]), 2)
    a = torch.ones(2, 4, dtype=torch.bfloat16)
    with ops.backend("numba"), pytest.raises(ValueError, match=r"bfloat16 on cpu.*'torch'"):
        ops.ego_sum(a, lines, 2)
    assert ops.ego_sum(a, lines, 2).tolist() == [[2, 2, 0, 0]] * 2


def test_a_chosen_backend_ends_with_its_block():
    a = torch.ones(1, 2, 4, requires_grad=True)
    lines = EgoLines.from_edge_index(torch.tensor([[0], [1]]), 2)
    with ops.backend("torch"):
        inside = ops.ego_sum(a, lines, 2)
    after = ops.ego_sum(a, lines, 2)
    assert "EgoSum" not in type(inside.grad_fn).__name__
    assert "EgoSum" in type(after.grad_fn).__name__


@pytest.mark.parametrize("operation", ["ego_sum", "norm", "segment_sum"])
def test_a_second_derivative_of_a_compiled_operation_is_refused(operation: str) -> None:
    lines = EgoLines.from_edge_index(torch.tensor([[0, 1, 2], [1, 2, 0]]), 3)
    x = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    one = torch.ones(3, dtype=torch.float64)
    with ops.backend("numba"):
        if operation == "ego_sum":
            out = ops.ego_sum(x, lines, 2)
        elif operation == "segment_sum":
            out = ops.segment_sum(x, one, torch.tensor([0, 3]))
        else:
            column = torch.ones(4, dtype=torch.float64)
            running = (torch.zeros_like(column), torch.ones_like(column))
            out = ops.norm(x, one, column, column, running=running, momentum=0.1, eps=1e-5)
    with pytest.raises(RuntimeError, match="second derivative"):
        torch.autograd.grad(out.square().sum(), x, create_graph=True)

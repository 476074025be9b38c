from dataclasses import fields, replace

import pytest
import torch
from torch import Tensor

from lgan import ops
from lgan.ops.row_sum import SparseRows, row_sum


def _pattern(rows: int, columns: int, density: float) -> tuple[Tensor, SparseRows]:
    dense = (torch.rand(rows, columns) < density).double()
    row, col = dense.nonzero().t()
    back_col, back_row = dense.t().nonzero().t()
    ptr = torch.searchsorted(row.contiguous(), torch.arange(rows + 1))
    back_ptr = torch.searchsorted(back_col.contiguous(), torch.arange(columns + 1))
    return dense, SparseRows(ptr, col.int(), back_ptr, back_row.int())


@pytest.mark.parametrize("backend", ["numba", "torch"])
@pytest.mark.parametrize("shape", [(7, 4), (3, 7, 4)])
def test_sums_and_gradients_are_those_of_the_dense_product(backend, shape):
    dense, rows = _pattern(5, 7, 0.4)
    x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    with ops.backend(backend):
        out = row_sum(x, rows)
        back = row_sum(out, rows.transposed)
    torch.testing.assert_close(out, dense @ x)
    torch.testing.assert_close(back, dense.t() @ (dense @ x))
    [grad] = torch.autograd.grad(out.square().sum(), x)
    torch.testing.assert_close(grad, 2 * dense.t() @ (dense @ x))


@pytest.mark.parametrize("backend", ["numba", "torch"])
@pytest.mark.parametrize("shape", [(6, 3), (2, 6, 3)])
def test_weighted_sums_are_those_of_the_dense_product(backend, shape):
    col = torch.stack([torch.randperm(6)[:2] for _ in range(40)])
    weight = torch.randn(40, 2, dtype=torch.float64)
    dense = torch.zeros(40, 6, dtype=torch.float64).scatter(1, col, weight)
    rows = SparseRows.regular(col, weight, 6)
    x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    with ops.backend(backend):
        out = row_sum(x, rows)
        [grad] = torch.autograd.grad(out.square().sum(), x)
        low = row_sum(x.detach().float(), rows)
    torch.testing.assert_close(out, dense @ x)
    torch.testing.assert_close(grad, 2 * dense.t() @ (dense @ x))
    torch.testing.assert_close(low, (dense @ x).detach().float())


@pytest.mark.parametrize("weighted", [False, True])
def test_second_derivative_is_right(weighted):
    _, rows = _pattern(4, 5, 0.5)
    if weighted:
        rows = SparseRows.regular(torch.tensor([[0, 4], [3, 1]]), torch.rand(2, 2), 5)
    x = torch.randn(5, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda x: row_sum(x, rows).pow(3), x)


def test_a_symmetric_pattern_is_its_own_transpose():
    path = SparseRows.symmetric(torch.tensor([0, 1, 3, 4]), torch.tensor([1, 0, 2, 1]))
    x = torch.tensor([[1.0], [10.0], [100.0]], requires_grad=True)
    out = row_sum(x, path)
    assert out.flatten().tolist() == [10, 101, 10]
    out.backward(x.detach())
    assert x.grad.flatten().tolist() == [10, 101, 10]
    assert path.row_lengths.tolist() == [1, 2, 1]


def test_rows_without_entries_are_zero():
    rows = SparseRows.symmetric(
        torch.zeros(4, dtype=torch.int64), torch.empty(0, dtype=torch.int32)
    )
    assert row_sum(torch.ones(3, 2), rows).tolist() == [[0, 0]] * 3


def test_wrong_number_of_rows_is_refused():
    _, rows = _pattern(5, 7, 0.4)
    with pytest.raises(ValueError, match=r"one row for each of 7 columns, got shape \[5, 2\]"):
        row_sum(torch.ones(5, 2), rows)


@pytest.mark.parametrize("weight", [None, torch.ones(3), torch.ones(2, 4)])
def test_weights_of_other_entries_never_reach_a_loop(weight):
    whole = SparseRows.regular(torch.tensor([[0, 4], [3, 1]]), torch.rand(2, 2), 5)
    rows = replace(whole, weight=weight)
    with pytest.raises(ValueError, match="as many weights both ways or none"):
        row_sum(torch.ones(5, 2), rows)


@pytest.mark.gpu
def test_gpu_gives_the_same_numbers_and_the_same_bits_again():
    _, rows = _pattern(300, 200, 0.1)
    x = torch.randn(3, 200, 40)
    expected = row_sum(x.double(), rows)
    given = (getattr(rows, field.name) for field in fields(rows))
    cuda = SparseRows(*(t if t is None else t.cuda() for t in given))
    y = x.cuda().requires_grad_()
    out = row_sum(y, cuda)
    torch.testing.assert_close(out.cpu().double(), expected, rtol=1e-5, atol=1e-5)
    [first] = torch.autograd.grad(out.square().sum(), y)
    [again] = torch.autograd.grad(row_sum(y, cuda).square().sum(), y)
    assert torch.equal(first, again)

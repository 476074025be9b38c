import numpy as np
import pytest

from lgan.ops.numba_products import (
    add_products,
    column_sums,
    inner_products,
    products,
    turned_products,
)

K, N, IN, OUT = 4, 7, 3, 5


@pytest.fixture(params=[np.float32, np.float64], ids=["float32", "float64"])
def draw(request):
    generator = np.random.default_rng(0)
    return lambda *shape: generator.normal(size=shape).astype(request.param)


def _close(got, expected):
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shared", [False, True], ids=["own rows", "shared rows"])
def test_products_of_some_planes_leave_the_others_alone(draw, shared):
    x, weight, bias = draw(1 if shared else K, N, IN), draw(K, IN, OUT), draw(K, OUT)
    for given, offset in ((bias, bias[:, None]), (bias[:0], 0)):
        out = draw(K, N, OUT)
        before = out.copy()
        products(x, weight, given, out, 1, 3)
        _close(out[1:3], (x @ weight + offset)[1:3])
        assert (out[[0, 3]] == before[[0, 3]]).all()
    added = before.copy()
    add_products(x, weight, added, 1, 3)
    _close(added[1:3], before[1:3] + (x @ weight)[1:3])
    assert (added[[0, 3]] == before[[0, 3]]).all()


def test_gradients_are_products_with_the_transpose(draw):
    x, weight, grad = draw(K, N, IN), draw(K, IN, OUT), draw(K, N, OUT)
    at_x, at_weight, at_bias = draw(K, N, IN), draw(K, IN, OUT), draw(K, OUT)
    before = at_x.copy()
    turned_products(grad, weight, True, at_x, 0, K)
    _close(at_x, before + grad @ weight.transpose(0, 2, 1))
    turned_products(grad, weight, False, at_x, 0, K)
    _close(at_x, grad @ weight.transpose(0, 2, 1))
    inner_products(x, grad, at_weight, 0, K)
    _close(at_weight, x.transpose(0, 2, 1) @ grad)
    column_sums(grad, at_bias, 0, K)
    _close(at_bias, grad.sum(1))

import pytest
import torch
from torch.nn import functional as F

from lgan import ops
from lgan.nn.linear import Linear
from lgan.train.stack import stack


def test_it_is_the_linear_map_of_torch_with_the_weight_transposed():
    layer, x = Linear(3, 5).double(), torch.randn(4, 3).double()
    expected = F.linear(x, layer.weight.t(), layer.bias)
    torch.testing.assert_close(layer(x), expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("models", [1, 3])
def test_categories_stand_for_their_one_hot_vectors(bias, models):
    layer = stack([Linear(4, 5, bias=bias).double() for _ in range(models)])
    category = torch.tensor([3, 0, 3, 1])
    grads = []
    for x in (category, category.int(), F.one_hot(category, 4).double()):
        layer.zero_grad()
        out = layer(x)
        out.square().sum().backward()
        grads.append([out.detach(), *(p.grad for p in layer.parameters())])
    for other in grads[:2]:
        for got, expected in zip(other, grads[2], strict=True):
            torch.testing.assert_close(got, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shared", [True, False])
def test_stacked_models_compute_what_they_compute_alone(bias, shared):
    alone = [Linear(3, 5, bias=bias).double() for _ in range(4)]
    together = stack(alone)
    x = torch.randn(6, 3).double() if shared else torch.randn(4, 6, 3).double()
    x.requires_grad_()
    out = together(x)
    direction = torch.randn_like(out)
    (grad_x,) = torch.autograd.grad((out * direction).sum(), x, retain_graph=True)
    (out * direction).sum().backward()
    parts = []
    for k, layer in enumerate(alone):
        xk = (x if shared else x[k]).detach().requires_grad_()
        torch.testing.assert_close(layer(xk), out[k], rtol=0, atol=1e-13)
        (layer(xk) * direction[k]).sum().backward()
        parts.append(xk.grad)
        for own, stacked in zip(layer.parameters(), together.parameters(), strict=True):
            torch.testing.assert_close(own.grad, stacked.grad[k], rtol=0, atol=1e-13)
    expected = torch.stack(parts).sum(0) if shared else torch.stack(parts)
    torch.testing.assert_close(grad_x, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("models", [1, 2])
def test_a_block_of_the_map_equals_the_map_on_padded_input(models):
    layer = stack([Linear(6, 5).double() for _ in range(models)])
    x = torch.randn(4, 2).double()
    padded = torch.cat([x, torch.zeros(4, 4).double()], -1)
    block = layer(x, rows=slice(2), columns=slice(3))
    torch.testing.assert_close(block, layer(padded)[..., :3], rtol=0, atol=1e-14)


def test_weights_are_drawn_within_their_bound_and_anew():
    layer = Linear(16, 50)
    before = layer.weight.detach().clone()
    assert float(before.abs().max()) <= 0.25
    layer.reset_parameters()
    assert not torch.equal(layer.weight, before)


def test_integer_features_that_are_no_categories_are_refused():
    with pytest.raises(ValueError, match=r"category ids.*shape \[n\], got \[4, 3\].*float\(\)"):
        Linear(3, 5)(torch.ones(4, 3, dtype=torch.long))


@pytest.mark.parametrize("models", [1, 2])
@pytest.mark.parametrize("ids", [[0, 3], [-1, 0]])
def test_categories_out_of_range_are_refused_and_never_read_from_another_model(models, ids):
    layer = stack([Linear(3, 5) for _ in range(models)]) if models > 1 else Linear(3, 5)
    with pytest.raises(ValueError, match=f"categories from 0 to 2, got {min(ids)} to {max(ids)}"):
        layer(torch.tensor(ids))


def test_its_repr_shows_the_sizes():
    assert repr(Linear(3, 5)) == "Linear(3, 5)"


@pytest.mark.parametrize("rows", [0, 1, 900, 2000])
@pytest.mark.parametrize("columns", [slice(None), slice(2, 30)])
@pytest.mark.parametrize("shared", [True, False])
def test_products_of_compiled_loops_are_those_of_torch(rows, columns, shared):
    layer = stack([Linear(24, 40).double() for _ in range(5)])
    x = torch.randn(*([] if shared else [5]), rows, 24).double().requires_grad_()
    results = []
    for name in ("numba", "torch"):
        with ops.backend(name), ops.model_threads(x.device):
            out = layer(x, columns=columns)
            grads = torch.autograd.grad(out.square().sum(), [x, *layer.parameters()])
        results.append((out.detach(), *grads))
    for got, expected in zip(*results, strict=True):
        torch.testing.assert_close(got, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shape", [(2, 6, 24), (7, 6, 24), (5, 6, 23), (1, 5, 6, 24)])
def test_rows_for_another_number_of_models_are_refused(shape):
    layer = stack([Linear(24, 40) for _ in range(5)])
    with pytest.raises(ValueError, match=r"must have shape \[5, n, 24\] or \[n, 24\]"):
        layer(torch.randn(shape))


def test_rows_of_another_dtype_are_refused():
    layer = stack([Linear(24, 40) for _ in range(5)])
    with pytest.raises(ValueError, match=r"dtype torch\.float32 of the weights"):
        layer(torch.randn(5, 6, 24).double())

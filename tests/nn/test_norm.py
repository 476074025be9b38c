import pytest
import torch
from torch import nn

from lgan.nn.norm import BatchNorm
from lgan.train.stack import stack


def _pair(channels: int, **options: float) -> tuple[BatchNorm, nn.BatchNorm1d]:
    """Our layer and that of torch, with equal random parameters."""
    ours = BatchNorm(channels, relu=False, **options).double()
    theirs = nn.BatchNorm1d(channels, **options).double()
    with torch.no_grad():
        theirs.weight.copy_(ours.scale.normal_())
        theirs.bias.copy_(ours.shift.normal_())
    return ours, theirs


def _assert_close(got: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(got, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("options", [{}, {"eps": 1e-3, "momentum": 0.4}])
def test_weighted_rows_equal_the_layer_of_torch_on_the_rows_written_out(options):
    ours, theirs = _pair(5, **options)
    for _ in range(3):
        weight = torch.randint(1, 5, (7,))
        x = torch.randn(7, 5).double().requires_grad_()
        written = x.detach().repeat_interleave(weight, 0).requires_grad_()
        ours.zero_grad()
        theirs.zero_grad()
        got, expected = ours(x, weight), theirs(written)
        _assert_close(got.repeat_interleave(weight, 0), expected)
        direction = torch.randn_like(got)
        (got * direction * weight[:, None]).sum().backward()
        (expected * direction.repeat_interleave(weight, 0)).sum().backward()
        owner = torch.repeat_interleave(torch.arange(7), weight)
        summed = torch.zeros_like(x).index_add(0, owner, written.grad)
        _assert_close(x.grad, summed)
        _assert_close(ours.scale.grad, theirs.weight.grad)
        _assert_close(ours.shift.grad, theirs.bias.grad)
        _assert_close(ours.running_mean, theirs.running_mean)
        _assert_close(ours.running_var, theirs.running_var)
    ours.eval()
    theirs.eval()
    x = torch.randn(4, 5).double()
    _assert_close(ours(x, torch.ones(4)), theirs(x))


@pytest.mark.parametrize("training", [True, False])
def test_clipping_is_a_relu_on_top(training):
    plain, clipped = BatchNorm(5, relu=False).train(training), BatchNorm(5).train(training)
    x, weight = torch.randn(8, 5), torch.ones(8)
    assert torch.equal(clipped(x, weight), plain(x, weight).relu())


def test_gradients_in_evaluation_mode_are_those_of_an_affine_map():
    ours, theirs = _pair(3)
    ours.eval()
    theirs.eval()
    x = torch.randn(4, 3).double().requires_grad_()
    for layer, args in ((ours, (x, torch.ones(4))), (theirs, (x,))):
        layer(*args).relu().square().sum().backward()
    _assert_close(ours.scale.grad, theirs.weight.grad)
    _assert_close(ours.shift.grad, theirs.bias.grad)


def test_a_row_of_weight_zero_is_normalised_but_not_counted():
    ours, theirs = _pair(5)
    x = torch.randn(6, 5).double()
    weight = torch.tensor([1, 1, 0, 1, 0, 1])
    got = ours(x, weight)
    _assert_close(got[weight > 0], theirs(x[weight > 0]))
    _assert_close(ours.running_var, theirs.running_var)
    mean, var = x[weight > 0].mean(0), x[weight > 0].var(0, correction=0)
    unit = (x - mean) / torch.sqrt(var + ours.eps)
    _assert_close(got, unit * ours.scale + ours.shift)


def test_models_side_by_side_count_rows_each_in_its_own_way():
    alone = [_pair(5)[0] for _ in range(3)]
    together = stack(alone)
    for training in (True, True, False):
        together.train(training)
        x, weight = torch.randn(3, 6, 5).double(), torch.randint(3, (3, 6))
        out = together(x, weight)
        for k, layer in enumerate(alone):
            layer.train(training)
            _assert_close(layer(x[k], weight[k]), out[k])
            _assert_close(layer.running_mean, together.running_mean[k])
            _assert_close(layer.running_var, together.running_var[k])


@pytest.mark.parametrize("rows", [0, 3])
def test_a_batch_that_counts_nothing_leaves_the_statistics_alone(rows):
    layer = BatchNorm(4)
    layer(torch.randn(rows, 4), torch.zeros(rows))
    assert torch.equal(layer.running_mean, torch.zeros(4))
    assert torch.equal(layer.running_var, torch.ones(4))


def test_a_single_row_gives_finite_statistics():
    layer = BatchNorm(4)
    assert torch.equal(layer(torch.randn(1, 4), torch.ones(1)), torch.zeros(1, 4))
    assert layer.running_var.isfinite().all()


def test_statistics_in_float32_are_close_to_those_of_torch():
    ours, theirs = BatchNorm(5, relu=False), nn.BatchNorm1d(5)
    for _ in range(5):
        x = torch.randn(30, 5) * 3 + 7
        torch.testing.assert_close(ours(x, torch.ones(30)), theirs(x), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(ours.running_var, theirs.running_var, rtol=1e-4, atol=1e-5)


def test_reset_forgets_everything():
    layer = BatchNorm(4)
    layer(torch.randn(9, 4), torch.ones(9))
    layer.reset_parameters()
    fresh = BatchNorm(4).state_dict()
    assert all(torch.equal(value, fresh[name]) for name, value in layer.state_dict().items())


def test_its_repr_shows_the_options():
    assert repr(BatchNorm(4, relu=False)) == "BatchNorm(4, relu=False)"

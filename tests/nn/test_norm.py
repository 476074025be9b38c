import pytest
import torch
from torch import nn

from lgan import ops
from lgan.nn.norm import BatchNorm, LayerNorm, NoNorm
from lgan.train.stack import stack


def _pair(channels: int, **options: float) -> tuple[BatchNorm, nn.BatchNorm1d]:
    """Our layer and that of torch, with equal random parameters."""
    ours = BatchNorm(channels).double()
    for name, value in options.items():
        setattr(ours, name, value)
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
        got, expected = ours(x, weight), theirs(written).relu()
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
    _assert_close(ours(x, torch.ones(4)), theirs(x).relu())


@pytest.mark.parametrize("backend", ["numba", "torch"])
@pytest.mark.parametrize("shape", [(7, 5), (2, 7, 5), (2, 3, 7, 5), (40, 2048), (0, 5)], ids=str)
def test_layer_normalisation_equals_that_of_torch(shape, backend):
    ours = LayerNorm(shape[-1]).double()
    ours.eps = 1e-3
    theirs = nn.LayerNorm(shape[-1], eps=1e-3).double()
    with torch.no_grad():
        theirs.weight.copy_(ours.scale.normal_())
        theirs.bias.copy_(ours.shift.normal_())
    x = torch.randn(shape).double().requires_grad_()
    direction = torch.randn_like(x)
    found = []
    with ops.backend(backend):
        clipped = ours(x, torch.zeros(shape[-2]))
    for layer, out in ((ours, clipped), (theirs, theirs(x).relu())):
        leaves = (x, *layer.parameters())
        found.append((out, *torch.autograd.grad((out * direction).sum(), leaves)))
    for got, expected in zip(*found, strict=True):
        _assert_close(got, expected)


def test_layers_side_by_side_normalise_each_with_its_own_parameters():
    alone = [LayerNorm(5).double() for _ in range(3)]
    for layer in alone:
        nn.init.normal_(layer.scale)
        nn.init.normal_(layer.shift)
    together, weight = stack(alone), torch.ones(6)
    for shape in ((3, 6, 5), (2, 3, 6, 5)):
        x = torch.randn(shape).double()
        out = together(x, weight)
        for k, layer in enumerate(alone):
            _assert_close(out[..., k, :, :], layer(x[..., k, :, :], weight))


def test_a_row_that_does_not_vary_becomes_the_shift():
    layer = LayerNorm(6)
    nn.init.uniform_(layer.shift)
    x = torch.full((2, 6), 0.3, requires_grad=True)
    out = layer(x, torch.ones(2))
    torch.testing.assert_close(out, layer.shift.expand(2, 6), rtol=0, atol=1e-4)
    out.square().sum().backward()
    assert x.grad.isfinite().all()


def test_layer_normalisation_of_one_channel_is_refused():
    with pytest.raises(ValueError, match=r"2 channels or more, got 1.*larger width"):
        LayerNorm(1)


def test_parameters_of_other_models_are_refused():
    x, scale = torch.ones(3, 4, 5), torch.ones(2, 5)
    with pytest.raises(ValueError, match=r"\[2, 5\].*models.*of `x` \[3, 4, 5\]"):
        ops.layer_norm(x, scale, scale, eps=1e-5)


def test_no_normalisation_is_clipping():
    layer, x = NoNorm(3), torch.tensor([[-1.0, 0.0, 2.0]])
    assert layer(x, torch.ones(1)).tolist() == [[0, 0, 2]]
    assert not layer.state_dict()


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
    _assert_close(got[weight > 0], theirs(x[weight > 0]).relu())
    _assert_close(ours.running_var, theirs.running_var)
    mean, var = x[weight > 0].mean(0), x[weight > 0].var(0, correction=0)
    unit = (x - mean) / torch.sqrt(var + ours.eps)
    _assert_close(got, (unit * ours.scale + ours.shift).relu())


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
    ours, theirs = BatchNorm(5), nn.BatchNorm1d(5)
    for _ in range(5):
        x = torch.randn(30, 5) * 3 + 7
        torch.testing.assert_close(ours(x, torch.ones(30)), theirs(x).relu(), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(ours.running_var, theirs.running_var, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("Norm", [BatchNorm, LayerNorm])
def test_reset_forgets_everything(Norm):
    layer = Norm(4)
    layer(torch.randn(9, 4), torch.ones(9))
    nn.init.normal_(layer.scale)
    layer.reset_parameters()
    fresh = Norm(4).state_dict()
    assert all(torch.equal(value, fresh[name]) for name, value in layer.state_dict().items())


@pytest.mark.parametrize("Norm", [BatchNorm, LayerNorm, NoNorm])
def test_its_repr_shows_the_channels(Norm):
    assert repr(Norm(4)) == f"{Norm.__name__}(4)"

import copy

import pytest
import torch

from lgan import ops
from lgan.nn.dropout import Dropout
from lgan.train.stack import stack


def test_the_share_dropped_is_the_rate_and_the_mean_is_kept():
    for rate in (0.1, 0.5, 0.8):
        out = Dropout(rate)(torch.ones(400, 500))
        assert float((out == 0).double().mean()) == pytest.approx(rate, abs=0.005)
        assert float(out.mean()) == pytest.approx(1, abs=0.02)
        assert torch.allclose(out[out > 0], torch.tensor(1 / (1 - rate)))


def test_masks_of_rows_columns_and_passes_are_unrelated():
    layer, ones = Dropout(0.5), torch.ones(300, 300)
    masks = torch.stack([(layer(ones) > 0).double() - 0.5 for _ in range(2)])
    neighbours = [
        (masks[0], masks[1]),
        (masks[0, 1:], masks[0, :-1]),
        (masks[0, :, 1:], masks[0, :, :-1]),
    ]
    for a, b in neighbours:
        assert abs(float((a * b).mean()) * 4) < 0.02


def test_a_mask_depends_on_seed_and_pass_alone():
    layer = Dropout(0.5)
    twin = copy.deepcopy(layer)
    x = torch.randn(20, 30)
    first, second = layer(x), layer(x)
    torch.manual_seed(99)
    assert torch.equal(twin(x), first)
    assert torch.equal(twin(x), second)
    assert not torch.equal(first, second)


def test_two_layers_draw_different_masks():
    x = torch.ones(20, 30)
    assert not torch.equal(Dropout(0.5)(x), Dropout(0.5)(x))


def test_a_checkpoint_resumes_the_stream_of_masks():
    layer, x = Dropout(0.5), torch.ones(20, 30)
    layer(x)
    resumed = Dropout(0.5)
    resumed.load_state_dict(layer.state_dict())
    assert torch.equal(resumed(x), layer(x))


def test_models_side_by_side_draw_the_masks_they_draw_alone():
    alone = [Dropout(rate) for rate in (0.2, 0.5, 0.7)]
    together, x = stack(alone), torch.randn(3, 20, 30)
    for _ in range(2):
        out = together(x)
        for k, layer in enumerate(alone):
            assert torch.equal(layer(x[k]), out[k])


def test_every_precision_draws_the_same_mask():
    layer, x = Dropout(0.5), torch.ones(50, 60)
    twin = copy.deepcopy(layer).double()
    assert torch.equal(layer(x) > 0, twin(x.double()) > 0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    ("shape", "models"), [((20, 37), ()), ((3, 20, 37), ()), ((3, 20, 37), (3,)), ((1, 4, 5), (3,)),
                          ((20, 37), (3,)), ((0, 20, 37), ()), ((2, 3, 4, 5), ())],
)  # fmt: skip
def test_the_compiled_loop_gives_the_bits_of_plain_tensors(shape, models, dtype):
    x = torch.randn(shape, dtype=dtype).requires_grad_()
    seed, passes = torch.randint(2**62, models), torch.randint(9, models)
    given = (seed, passes, torch.rand(models))
    found = []
    for name in ("torch", None):
        with ops.backend(name):
            out = ops.dropout(x, *given, first=11)
            found.append((out, *torch.autograd.grad((out * out).sum(), x)))
    (slow, slow_grad), (fast, fast_grad) = found
    assert torch.equal(slow, fast)
    torch.testing.assert_close(slow_grad, fast_grad)


def test_rows_that_models_share_are_dropped_by_each_on_its_own():
    layer, x = stack([Dropout(0.5) for _ in range(3)]), torch.randn(20, 30)
    twin = copy.deepcopy(layer)
    assert torch.equal(layer(x.expand(3, -1, -1)), twin(x.repeat(3, 1, 1)))


def test_evaluation_passes_everything_and_is_not_counted():
    layer, x = Dropout(0.5), torch.randn(20, 30)
    twin = copy.deepcopy(layer)
    layer.eval()
    assert torch.equal(layer(x), x)
    layer.train()
    assert torch.equal(layer(x), twin(x))


def test_a_rate_of_zero_passes_everything():
    x = torch.randn(20, 30)
    assert torch.equal(Dropout(0.0)(x), x)


def test_gradients_pass_where_values_pass():
    x = torch.ones(20, 30, requires_grad=True)
    out = Dropout(0.5)(x)
    out.sum().backward()
    assert torch.equal(x.grad, out.detach())


@pytest.mark.parametrize("rate", [-0.1, 1.0, 2])
def test_a_rate_outside_its_range_is_refused(rate):
    with pytest.raises(ValueError, match="at least 0 and below 1, got"):
        Dropout(rate)


def test_other_words_than_the_loop_reads_are_refused():
    x, words, rate = torch.ones(2, 3, 4), torch.zeros(2, dtype=torch.int64), torch.full((2,), 0.5)
    for given in [(words.int(), words, rate), (words, words[:1], rate), (words, words, rate[0])]:
        with pytest.raises(ValueError, match="must have one shape, the first two int64"):
            ops.dropout(x, *given)

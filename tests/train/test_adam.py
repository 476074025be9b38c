import pytest
import torch
from torch import Tensor, nn

from lgan import ops
from lgan.train.adam import StackedAdam

MODELS, STEPS = 3, 25
LR = torch.tensor([0.1, 0.01, 0.003], dtype=torch.float64)
DECAY = torch.tensor([0.0, 0.2, 0.01], dtype=torch.float64)


class Stacked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(MODELS, 4, 2, dtype=torch.float64))
        self.bias = nn.Parameter(torch.randn(MODELS, 2, dtype=torch.float64))


def _loss(weight: Tensor, bias: Tensor, step: int) -> Tensor:
    x = torch.linspace(-1, 1, 12, dtype=torch.float64).view(3, 4) + step / STEPS
    return ((x @ weight + bias[..., None, :]).tanh() - 0.5).square().sum()


@pytest.mark.parametrize("backend", ["numba", "torch"])
@pytest.mark.parametrize("decay", [DECAY, 0.0])
@pytest.mark.parametrize("own", [False, True], ids=["one schedule", "own schedules"])
@pytest.mark.parametrize("reference", [torch.optim.Adam, torch.optim.AdamW])
def test_each_model_moves_as_with_torch(reference, decay, backend, own):
    model = Stacked()
    alone = [
        [p[k].detach().clone().requires_grad_() for p in model.parameters()] for k in range(MODELS)
    ]
    mine = StackedAdam(model, LR, decay, decoupled=reference is torch.optim.AdamW)
    theirs = [
        reference(
            alone[k],
            lr=float(LR[k]),
            weight_decay=float(torch.as_tensor(decay).expand(MODELS)[k]),
        )
        for k in range(MODELS)
    ]
    for step in range(STEPS):
        scale = torch.tensor(0.5 ** (step // 10), dtype=torch.float64).expand(MODELS if own else ())
        mine.backward(_loss(model.weight, model.bias, step))
        with ops.backend(backend):
            mine.step(scale)
        for k, optimizer in enumerate(theirs):
            optimizer.param_groups[0]["lr"] = float(LR[k]) * 0.5 ** (step // 10)
            optimizer.zero_grad()
            _loss(*alone[k], step).backward()
            optimizer.step()
    for k in range(MODELS):
        for p, q in zip(model.parameters(), alone[k], strict=True):
            torch.testing.assert_close(p[k], q, rtol=1e-12, atol=1e-12)


def test_one_setting_serves_all_models():
    one, each = Stacked(), Stacked()
    each.load_state_dict(one.state_dict())
    for model, lr in ((one, 0.02), (each, torch.full_like(LR, 0.02))):
        optimizer = StackedAdam(model, lr, 0.1)
        optimizer.backward(_loss(model.weight, model.bias, 0))
        optimizer.step()
    assert torch.equal(one.weight, each.weight)


def test_parameters_are_views_of_one_vector():
    model = Stacked()
    before = model.weight.detach().clone()
    optimizer = StackedAdam(model, 0.1)
    assert torch.equal(model.weight, before)
    optimizer.value.zero_()
    assert not model.weight.any()


def test_gradients_are_those_of_the_last_loss():
    model, same = Stacked(), Stacked()
    same.load_state_dict(model.state_dict())
    optimizer = StackedAdam(model, 0.1)
    optimizer.backward(_loss(model.weight, model.bias, 1))
    optimizer.backward(_loss(model.weight, model.bias, 0))
    _loss(same.weight, same.bias, 0).backward()
    assert torch.equal(optimizer.grad, torch.cat([p.grad.flatten() for p in same.parameters()]))


def test_a_parameter_that_the_loss_does_not_reach_has_no_gradient():
    model = Stacked()
    optimizer = StackedAdam(model, 0.1)
    optimizer.backward(model.weight.square().sum())
    weight, bias = optimizer.grad.split([model.weight.numel(), model.bias.numel()])
    assert bool(weight.all())
    assert not bias.any()


def test_state_continues_bit_for_bit():
    def run(model: Stacked, optimizer: StackedAdam, steps: range) -> None:
        for step in steps:
            optimizer.backward(_loss(model.weight, model.bias, step))
            optimizer.step()

    model, other = Stacked(), Stacked()
    optimizer = StackedAdam(model, LR, DECAY)
    run(model, optimizer, range(5))
    resumed = StackedAdam(other, LR, DECAY)
    for name, tensor in resumed.state_dict().items():
        tensor.copy_(optimizer.state_dict()[name])
    run(model, optimizer, range(5, 10))
    run(other, resumed, range(5, 10))
    assert torch.equal(model.weight, other.weight)
    assert torch.equal(model.bias, other.bias)

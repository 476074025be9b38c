import pytest
import torch

from lgan import LGAN
from lgan.train.stack import stack, unstack
from stacks import build_stack


def _same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[k], b[k]) for k in a)


def test_unstacking_gives_back_each_model():
    models = [LGAN(3, 4, 2, num_layers=2, dropout=0.1 * k) for k in range(3)]
    together = stack(models)
    for k, model in enumerate(models):
        assert _same(unstack(together, k), model.state_dict())


def test_stacking_leaves_the_models_as_they_are():
    models = [LGAN(3, 4, 2, num_layers=1) for _ in range(2)]
    before = [{name: t.clone() for name, t in model.state_dict().items()} for model in models]
    together = stack(models)
    for parameter in together.parameters():
        parameter.data.zero_()
    assert all(_same(model.state_dict(), b) for model, b in zip(models, before, strict=True))


def test_parameters_stay_parameters_and_buffers_buffers():
    model = LGAN(3, 4, 2, num_layers=1)
    together = stack([model, model])
    assert [n for n, _ in together.named_parameters()] == [n for n, _ in model.named_parameters()]
    assert [n for n, _ in together.named_buffers()] == [n for n, _ in model.named_buffers()]


@pytest.mark.parametrize("other", [LGAN(3, 5, 2), LGAN(3, 4, 2, residual=True), LGAN(2, 4, 2)])
def test_models_of_different_shapes_are_refused_in_either_order(other):
    for models in ([LGAN(3, 4, 2), other], [other, LGAN(3, 4, 2)]):
        with pytest.raises(ValueError, match=r"different shapes cannot train side by side: `convs"):
            stack(models)


@pytest.mark.parametrize("rates", [(0.0, 0.5), (0.5, 0.0)])
def test_each_model_keeps_its_own_dropout(rates, union):
    models = [LGAN(union.num_features, 4, 2, num_layers=1, dropout=rate) for rate in rates]
    batch = union.batch(torch.arange(5))
    together = stack(models)(batch)
    for k, model in enumerate(models):
        torch.testing.assert_close(together[k], model(batch))


def test_weights_depend_on_the_seed_alone():
    def factory() -> LGAN:
        return LGAN(3, 4, 2, num_layers=1, dropout=0.5)

    together = build_stack(factory, [7, 8, 7])
    assert _same(unstack(together, 0), unstack(together, 2))
    assert not _same(unstack(together, 0), unstack(together, 1))
    torch.rand(100)
    assert _same(unstack(build_stack(factory, [8]), 0), unstack(together, 1))


def test_global_generator_is_left_alone():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    build_stack(lambda: LGAN(3, 4, 2), [1, 2])
    assert torch.equal(torch.rand(3), expected)

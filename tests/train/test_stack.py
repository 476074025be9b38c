import multiprocessing
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Event, Thread

import pytest
import torch
from torch import nn

from lgan import LGAN
from lgan.train.stack import drawn, drawn_together, stack, unstack
from lgan.zoo import MODELS, NetworkSpec
from stacks import build_stack

NETWORKS = {name: spec.build for name, spec in MODELS.items() if isinstance(spec, NetworkSpec)}
EVERYTHING = partial(
    LGAN, residual=True, pair_code="full", edge_dim=(2, 3), fusion="gate", norm="layer",
    directed=True, graph_dim=2, graph_dropout=0.5, head_layers=2, dropout=0.5, num_layers=2,
)  # fmt: skip
# Building these draws some weights twice.
BUILT_ANEW = ("dcnn", "patchy-san", "ppgn", "1-2-3-gnn", "cwn")
WITH_ALL = partial(
    NETWORKS["gin"], norm="layer", edge_dim=2, graph_dim=3, graph_dropout=0.5, dropout=0.5, eps=True
)


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


def test_threads_that_draw_at_once_draw_what_each_draws_alone():
    def slowly() -> float:
        time.sleep(0.001)  # others have their turn
        return torch.rand(()).item()

    seeds = range(20)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda seed: drawn(slowly, seed), seeds))
    assert found == [drawn(slowly, seed) for seed in seeds]


def _one(seed: int) -> float:
    return drawn(lambda: torch.rand(()).item(), seed)


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")
def test_a_process_forked_while_a_thread_draws_can_draw():
    begun = Event()
    thread = Thread(target=drawn, args=(lambda: (begun.set(), time.sleep(0.2)), 0))
    thread.start()
    begun.wait()
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply_async(_one, (3,)).get(timeout=20) == _one(3)
    thread.join()


def test_global_generator_is_left_alone():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    build_stack(lambda: LGAN(3, 4, 2), [1, 2])
    assert torch.equal(torch.rand(3), expected)


def _counted(build):
    """A factory of small models that notes its calls."""
    calls = []

    def factory():
        calls.append(1)
        return build(3, 4, 2)

    return factory, calls


@pytest.mark.parametrize(
    "build", [*NETWORKS.values(), EVERYTHING, WITH_ALL], ids=[*NETWORKS, "everything", "gin-all"]
)
def test_models_drawn_together_have_the_bits_of_those_drawn_one_by_one(build):
    factory, calls = _counted(build)
    seeds = [5, 2**62 + 1, 5, 0]
    together = drawn_together([factory] * 4, seeds)
    built = len(calls)
    one_by_one = build_stack(factory, seeds)
    assert _same(together.state_dict(), one_by_one.state_dict())
    assert str(together) == str(one_by_one)
    assert built == (4 if build in map(NETWORKS.get, BUILT_ANEW) else 2)


class _Odd(nn.Module):
    """Draws something else when asked again."""

    def __init__(self, *_):
        super().__init__()
        self.first, self.second = (nn.Parameter(torch.rand(3)) for _ in range(2))

    def nothing(self):
        pass

    def one_of_two(self):
        nn.init.uniform_(self.second)
        nn.init.uniform_(self.second)

    def another_order(self):
        nn.init.uniform_(self.second)
        nn.init.uniform_(self.first)

    def elsewhere(self):
        self.first, self.second = (nn.Parameter(torch.rand(3)) for _ in range(2))


@pytest.mark.parametrize("wrong", ["nothing", "one_of_two", "another_order", "elsewhere"])
def test_a_model_that_draws_otherwise_when_asked_again_is_built(wrong, monkeypatch):
    monkeypatch.setattr(_Odd, "reset_parameters", getattr(_Odd, wrong), raising=False)
    factory, calls = _counted(_Odd)
    together = drawn_together([factory] * 3, [1, 2, 3])
    assert len(calls) == 3
    assert _same(together.state_dict(), build_stack(factory, [1, 2, 3]).state_dict())


def test_models_of_several_factories_are_each_its_own():
    rates = [partial(LGAN, 3, 4, 2, num_layers=1, dropout=rate) for rate in (0.0, 0.5)]
    chosen = [rates[1], rates[0], rates[1], rates[0]]
    together = drawn_together(chosen, [1, 2, 3, 4])
    expected = stack([drawn(f, s) for f, s in zip(chosen, [1, 2, 3, 4], strict=True)])
    assert _same(together.state_dict(), expected.state_dict())
    assert together.dropout.active
    assert together.dropout.rate.tolist() == [0.5, 0.0, 0.5, 0.0]
    with pytest.raises(ValueError, match="different shapes"):
        drawn_together([rates[0], partial(LGAN, 3, 5, 2)], [1, 2])

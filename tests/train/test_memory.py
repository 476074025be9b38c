from collections.abc import Callable
from functools import partial

import pytest
import torch

from lgan import LGAN, GraphUnion, cross_validate
from lgan.train import train_ensemble
from lgan.train.memory import models_at_once, outline
from lgan.zoo import MODELS
from lgan.zoo.registry import NetworkSpec

WIDE = partial(LGAN, 5, 10_000_000, 2)


@pytest.mark.parametrize("name", [n for n, s in MODELS.items() if isinstance(s, NetworkSpec)])
def test_an_outline_has_the_shapes_of_the_model_and_no_memory(name):
    needed = {"dgcnn": {"k": 10}, "patchy-san": {"num_fields": 10}}.get(name, {})
    build = partial(MODELS[name].build, 3, 8, 2, **needed)
    found, expected = outline(build).state_dict(), build().state_dict()
    assert {n: t.shape for n, t in found.items()} == {n: t.shape for n, t in expected.items()}
    assert all(tensor.device.type == "meta" for tensor in found.values())


def test_a_factory_that_reads_its_weights_is_built_as_it_is():
    def build() -> torch.nn.Module:
        model = torch.nn.Linear(2, 2)
        assert float(model.weight.sum()) != 0
        return model

    assert outline(build).weight.device.type == "cpu"


@pytest.mark.parametrize("run", [cross_validate, train_ensemble])
def test_weights_larger_than_memory_are_refused_before_they_are_made(run, union, tmp_path):
    with pytest.raises(ValueError, match=r"weights, which take .* GiB.*smaller width \(`hidden`\)"):
        run(WIDE, union, folds=3, output=tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_smaller_model_or_batch_lets_more_models_train_at_once(union: GraphUnion, factory):
    def at_once(build: Callable[[], torch.nn.Module], graphs: int = 21) -> int:
        return models_at_once(build(), torch.diff(union.node_ptr), graphs, 1 << 20)

    base = at_once(factory(num_layers=2))
    assert 1 < base < 1000
    assert at_once(factory(num_layers=4)) < base
    assert at_once(factory(num_layers=2), 5) > base

from collections.abc import Callable
from functools import partial

import pytest
from torch import nn

from lgan import GraphUnion
from lgan.data import node_features, triangle_pairs
from lgan.zoo import model_spec

Factory = Callable[[], nn.Module]


@pytest.fixture(scope="session")
def union() -> GraphUnion:
    """46 small graphs in two classes: ten folds of them are of unequal size."""
    raw = triangle_pairs(46, seed=3, max_nodes=16)
    x, num_features = node_features(raw, "degree")
    return GraphUnion.build(
        x,
        raw.pair_index,
        raw.y,
        raw.node_ptr,
        num_features=num_features,
        num_classes=2,
        compress=False,
        name="small",
    )


@pytest.fixture(scope="session")
def factory(union: GraphUnion) -> Callable[..., Factory]:
    """Builds factories of small models by name."""

    def of(name: str = "lgan", **options: object) -> Factory:
        build = model_spec(name).build
        settings = {"num_layers": 2} | options
        return partial(build, union.num_features, 6, union.num_classes, **settings)

    return of

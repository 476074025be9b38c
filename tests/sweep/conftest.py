from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lgan.sweep import Batch, Head, Outcome, Study

FIXED = {"epochs": 2, "iterations": 1, "num_layers": 1}
SPACE = {"hidden": [4, 8], "lr": [0.01, 0.001], "dropout": [0.0, 0.5]}


@pytest.fixture
def head() -> Callable[..., Head]:
    """A search of eight points, four of each shape."""

    def make(**changed: Any) -> Head:
        values: dict[str, Any] = {
            "model": "lgan",
            "dataset": "triangles",
            "objective": "gin",
            "space": SPACE,
            "fixed": FIXED,
            "folds": "2",
            "seed": 0,
            "sampler": "random",
        }
        return Head(**{**values, **changed})

    return make


@pytest.fixture
def batch(head: Callable[..., Head]) -> Batch:
    """The data of that search."""
    return Batch(head(), "triangles", [], folds=2)


@pytest.fixture(params=["random", "grid", "tpe"])
def study(request: pytest.FixtureRequest, head: Any, tmp_path: Path) -> Callable[[], Study]:
    """Opens one and the same study, by every sampler."""
    return lambda: Study(tmp_path / "deep" / "study.json", head(sampler=request.param))


@pytest.fixture
def one_study(head: Any, tmp_path: Path) -> Callable[[], Study]:
    """Opens one and the same study by one sampler, where that makes no difference."""
    return lambda: Study(tmp_path / "study.json", head())


@pytest.fixture
def score() -> Callable[[Batch], list[Outcome]]:
    """Stands for a training: the wider and faster, the better."""

    def run(batch: Batch) -> list[Outcome]:
        assert len({params["hidden"] for params in batch.params}) == 1
        values = [params["hidden"] / 16 + params["lr"] for params in batch.params]
        return [Outcome("done", v, {"gin": {"mean": v, "std": 0.0}}, {2: v}) for v in values]

    return run

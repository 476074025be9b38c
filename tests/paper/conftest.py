from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from lgan import CVResult
from paper.records import GIN_FOLDS, fold_key

FOLDS = [fold for fold in range(5) for _ in range(4)]


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Writes a record with one epoch, from the right answers of every fold.

    Five folds of four graphs stand for the published ones.
    """
    for name in GIN_FOLDS:
        monkeypatch.setitem(GIN_FOLDS, name, fold_key(FOLDS))

    def write(
        name: str,
        right: list[int],
        *,
        model: str = "lgan",
        dataset: str = "MUTAG",
        seed: int = 0,
        folds: list[int] = FOLDS,
        inner: bool = False,
        bagged: int = 0,
        time: str = "2026-01-01T00:00:00+00:00",
        version: str = "0.2.0",
        config: dict[str, object] | None = None,
        **options: object,
    ) -> Path:
        test = torch.tensor(right, dtype=torch.float64)[:, None] / 4
        result = CVResult(
            dataset=dataset,
            model={"name": model, "hidden": 32, **options},
            config={"epochs": 1, "lr": 0.01, "seed": seed, **(config or {})},
            fold_sizes=[4] * len(right),
            test=test,
            loss=torch.zeros(len(right), 1),
            inner_sizes=[4] * len(right) if inner or bagged else [],
            inner_test=test - 0.25 if inner or bagged else test[:0],
            inner_validation=test if inner or bagged else test[:0],
            bagged_members=bagged,
            bagged_test=test - 0.25 if bagged else test[:0],
            bagged_validation=test if bagged else test[:0],
            seconds=torch.tensor([2.0]),
            info={"folds": folds, "environment": {"time": time, "lgan": version}},
        )
        path = tmp_path / "cv" / f"{name}.json"
        result.save(path)
        return path

    return write


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where `record` writes to."""
    return tmp_path / "cv"

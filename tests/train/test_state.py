"""The state of a run on disk."""

from pathlib import Path

import pytest
import torch

from lgan.train import state
from lgan.train.state import RunState


def _run(path: Path, value: float, **fingerprint: object) -> RunState:
    weights = torch.full((3,), value)
    return RunState(path, lambda: {"weights": weights}, fingerprint)


def test_goes_on_where_it_was(tmp_path: Path) -> None:
    _run(tmp_path / "s.safetensors", 2.0, lr=0.1).save(7)
    fresh = _run(tmp_path / "s.safetensors", 0.0, lr=0.1)
    assert fresh.load() == 7
    torch.testing.assert_close(fresh.tensors()["weights"], torch.full((3,), 2.0))


def test_every_epoch_where_writing_is_quick(tmp_path: Path) -> None:
    run = _run(tmp_path / "s.safetensors", 1.0)
    for epoch in range(1, 4):
        run.save(epoch)
        assert _run(tmp_path / "s.safetensors", 0.0).load() == epoch


def test_seldom_where_writing_is_slow_but_always_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "QUICK", -1.0)
    monkeypatch.setattr(state, "SHARE", 1e-9)
    run = _run(tmp_path / "s.safetensors", 1.0)
    for epoch in range(1, 4):
        run.save(epoch)
    assert _run(tmp_path / "s.safetensors", 0.0).load() == 1
    run.save(4, last=True)
    assert _run(tmp_path / "s.safetensors", 0.0).load() == 4


def test_other_settings_are_named(tmp_path: Path) -> None:
    _run(tmp_path / "s.safetensors", 1.0, lr=0.1).save(1)
    with pytest.raises(ValueError, match=r"other settings: lr 0\.1 → 0\.2"):
        _run(tmp_path / "s.safetensors", 1.0, lr=0.2).load()

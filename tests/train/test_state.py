"""The state of a run on disk."""

from pathlib import Path

import pytest
import torch

from lgan.data import load_tensors, save_tensors
from lgan.train import state
from lgan.train.state import RunState


def _run(path: Path, value: float, **fingerprint: object) -> RunState:
    weights = torch.full((3,), value)
    settings = {"epochs": 9, "models": 2, **fingerprint}
    return RunState(path, lambda: {"weights": weights}, settings)


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


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"done": "999"}, "it speaks of 999 epochs of 9"),
        ({"done": "0"}, "it speaks of 0 epochs of 9"),
        ({"done": "-3"}, "it speaks of -3 epochs of 9"),
        ({"done": "three"}, "it speaks of three epochs"),
        ({"done": None}, "it speaks of no epochs"),
        ({"settings": None}, "its header is missing"),
        ({"settings": "null"}, "expected a JSON object, got NoneType"),
        ({"settings": "[1]"}, "expected a JSON object, got list"),
        ({"settings": "{"}, "its JSON cannot be read"),
        ({"settings": "[" * 100_000}, "its JSON is nested too deeply"),
        ({"checksum": None}, "do not have the checksum they were saved with"),
        ({"checksum": "0" * 64}, "do not have the checksum they were saved with"),
    ],
)
def test_a_damaged_header_is_answered_in_words(
    metadata: dict[str, str | None], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "s.safetensors"
    _run(path, 1.0).save(3)
    tensors, before = load_tensors(path)
    after = {key: value for key, value in {**before, **metadata}.items() if value is not None}
    save_tensors(path, tensors, after)
    fresh = _run(path, 0.0)
    with pytest.raises(ValueError, match=f"not the state of a run: .*{message}.*`--overwrite`"):
        fresh.load()
    assert fresh.tensors()["weights"].tolist() == [0, 0, 0]


def test_a_flipped_bit_is_found(tmp_path: Path) -> None:
    path = tmp_path / "s.safetensors"
    _run(path, 1.0).save(3)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match="do not have the checksum they were saved with"):
        _run(path, 0.0).load()


def test_a_cut_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.safetensors"
    _run(path, 1.0).save(3)
    path.write_bytes(path.read_bytes()[:-5])
    said = r"not the state of a run: it is not a whole [^.]*\. Start anew"
    for read in (_run(path, 0.0).load, lambda: RunState.models(path)):
        with pytest.raises(ValueError, match=said):
            read()


def test_weights_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    _run(tmp_path / "s.safetensors", float("nan")).save(3)
    with pytest.raises(ValueError, match="`weights` is not finite"):
        _run(tmp_path / "s.safetensors", 0.0).load()


@pytest.mark.parametrize("models", [None, 0, "two", [2]])
def test_a_state_that_names_no_models_is_refused(models: object, tmp_path: Path) -> None:
    _run(tmp_path / "s.safetensors", 1.0, models=models).save(1)
    with pytest.raises(ValueError, match="not the state of a run: it names"):
        RunState.models(tmp_path / "s.safetensors")

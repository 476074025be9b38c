import pytest
import torch
from safetensors.torch import save_file

from benchmarks.kills import cases, same_files, same_model


@pytest.fixture
def folders(tmp_path):
    made = [tmp_path / name for name in ("first", "second")]
    for folder in made:
        folder.mkdir()
        (folder / "manifest.json").write_text("{}")
        (folder / "shard-00000.json").write_text("1")
        (folder / ".shard-00000.json.lock").touch()
        save_file({"w": torch.ones(3)}, folder / "model.safetensors")
    return made


def test_a_file_that_differs_or_is_missing_is_seen(folders, tmp_path):
    first, second = folders
    (second / ".plan.json.lock").touch()
    assert same_files(first, second)
    (second / "shard-00000.json").write_text("2")
    assert not same_files(first, second)
    (second / "shard-00000.json").unlink()
    assert not same_files(first, second)
    (tmp_path / "third").mkdir()
    assert not same_files(tmp_path / "third", tmp_path / "third")  # nothing was made at all


@pytest.mark.parametrize(("change", "same"), [(1e-6, True), (1e-3, False)])
def test_models_are_compared_to_rounding(folders, change, same):
    save_file({"w": torch.ones(3) + change}, folders[1] / "model.safetensors")
    assert same_model(*folders) is same


def test_commands_and_workers_are_killed_in_all_that_runs_long(tmp_path):
    found = cases(tmp_path)
    assert {case.name.partition(",")[0] for case in found} == {"prepare", "train", "predict"}
    assert {case.worker for case in found} == {True, False}

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from lgan import GraphUnion, predict
from lgan.data import load_tensors, save_tensors
from lgan.train import checkpoint as checkpoint_module
from lgan.train.checkpoint import Checkpoint
from lgan.zoo import model_spec


def _checkpoint(name: str, union: GraphUnion) -> tuple[Checkpoint, torch.nn.Module]:
    options = {"num_layers": 2, "dropout": 0.1, "readout": "mean"}
    model = model_spec(name).build(union.num_features, 5, 2, **options)
    model(union.batch(torch.arange(20)))  # moves the running statistics
    stored = Checkpoint(
        model=name,
        options=options,
        in_channels=union.num_features,
        hidden_channels=5,
        out_channels=2,
        dataset=union.name,
        features="degree",
        state=model.state_dict(),
        info={"accuracy": 0.5, "config": {"epochs": 3}},
    )
    return stored, model


@pytest.fixture
def saved(union: GraphUnion, tmp_path: Path) -> Path:
    _checkpoint("lgan", union)[0].save(tmp_path / "model.safetensors")
    return tmp_path / "model.safetensors"


@pytest.mark.parametrize("name", ["lgan", "lgan-res", "gin"])
def test_restored_model_gives_the_same_outputs(name, union, tmp_path):
    stored, model = _checkpoint(name, union)
    stored.save(tmp_path / "new" / "model.safetensors")
    loaded = Checkpoint.load(str(tmp_path / "new" / "model.safetensors"))
    assert loaded.describe() == stored.describe()
    restored = loaded.restore(model_spec(loaded.model).build)
    assert not restored.training
    assert torch.equal(predict(restored, union), predict(model, union))


def test_saving_leaves_one_file(saved):
    assert [path for path in saved.parent.iterdir() if path.suffix != ".lock"] == [saved]


def test_missing_checkpoint_is_answered_with_how_to_make_one(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no checkpoint .*nothing.*`lgan train DATASET`"):
        Checkpoint.load(tmp_path / "nothing")


@pytest.mark.parametrize("content", [b"", b"some text that is no checkpoint", None])
def test_file_that_is_no_checkpoint_is_refused(content, saved):
    saved.write_bytes(saved.read_bytes()[:-100] if content is None else content)
    with pytest.raises(ValueError, match=r"is not a checkpoint of lgan.*Give the file") as caught:
        Checkpoint.load(saved)
    assert "Delete" not in str(caught.value)


def test_tensors_of_something_else_are_refused(tmp_path):
    save_tensors(tmp_path / "x", {"a": torch.ones(2)}, {"name": "MUTAG"})
    with pytest.raises(ValueError, match=r"not a checkpoint of lgan \(its header is missing\)"):
        Checkpoint.load(tmp_path / "x")


def test_checkpoint_of_another_format_is_refused(union, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint_module, "FORMAT", 7)
    monkeypatch.setattr(checkpoint_module, "__version__", "9.9")
    _checkpoint("lgan", union)[0].save(tmp_path / "x")
    monkeypatch.undo()
    with pytest.raises(ValueError, match=r"lgan 9\.9 in format 7.*reads format 1.*Train again"):
        Checkpoint.load(tmp_path / "x")


@pytest.mark.parametrize(
    "change",
    [
        {"hidden_channels": 6},
        {"out_channels": 3},
        {"options": {"num_layers": 3}},
        {"options": {"num_layers": 2, "residual": True}},
    ],
)
def test_weights_of_a_different_model_are_refused(change, saved):
    other = replace(Checkpoint.load(saved), **change)
    with pytest.raises(ValueError, match=r"weights do not belong to the model 'lgan'.*differ at"):
        other.restore(model_spec("lgan").build)


def test_options_the_model_does_not_know_are_refused(saved):
    other = replace(Checkpoint.load(saved), options={"colour": "blue"})
    with pytest.raises(ValueError, match=r"'lgan' does not take the options .*colour.* version"):
        other.restore(model_spec("lgan").build)


def test_interrupted_save_keeps_the_old_checkpoint(union, saved, monkeypatch):
    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    before = saved.read_bytes()
    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(KeyboardInterrupt):
        _checkpoint("lgan-res", union)[0].save(saved)
    assert saved.read_bytes() == before
    assert load_tensors(saved)[0].keys() == Checkpoint.load(saved).state.keys()

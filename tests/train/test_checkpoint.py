import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from lgan import GraphUnion, predict
from lgan.data import load_tensors, save_tensors
from lgan.task import TargetScale
from lgan.train.checkpoint import Checkpoint
from lgan.train.out_of_fold import OutOfFold
from lgan.train.stack import stack
from lgan.train.tensor_file import checksum
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
        feature_names=tuple(f"degree {value}" for value in range(union.num_features)),
        classes=("no", "yes"),
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


def test_a_folder_with_a_checkpoint_names_its_file(tmp_path):
    (tmp_path / "model.safetensors").touch()
    with pytest.raises(FileNotFoundError, match=r"got a folder: give .*model\.safetensors"):
        Checkpoint.load(tmp_path)


@pytest.mark.parametrize("content", [b"", b"some text that is no checkpoint", None])
def test_file_that_is_no_checkpoint_is_refused(content, saved):
    saved.write_bytes(saved.read_bytes()[:-100] if content is None else content)
    with pytest.raises(ValueError, match=r"is not a checkpoint of lgan.*Give the file"):
        Checkpoint.load(saved)


def test_tensors_of_something_else_are_refused(tmp_path):
    save_tensors(tmp_path / "x", {"a": torch.ones(2)}, {"name": "MUTAG"})
    with pytest.raises(ValueError, match=r"not a checkpoint of lgan: its header is missing"):
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


def test_the_shapes_are_compared_before_anything_is_built(saved):
    """The model that the header speaks of would take terabytes."""
    for change in ({"hidden_channels": 1_000_000}, {"hidden_channels": 10**30}):
        other = replace(Checkpoint.load(saved), **change)
        with pytest.raises(ValueError, match="version of lgan that wrote it"):
            other.restore(model_spec("lgan").build)
    many = replace(Checkpoint.load(saved), options={"num_layers": 10**9})
    with pytest.raises(ValueError, match="num_layers is 1000000000, and there are"):
        many.restore(model_spec("lgan").build)


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
    weights = Checkpoint.load(saved).state.keys()
    assert load_tensors(saved)[0].keys() == weights | {"about.trained_on"}


def _rewritten(path: Path, change: Callable[[dict], object], **metadata: str | None) -> None:
    tensors, before = load_tensors(path)
    header = json.loads(before["lgan"])
    header = change(header) or header
    after = {**before, "lgan": json.dumps(header), **metadata}
    save_tensors(path, tensors, {key: text for key, text in after.items() if text is not None})


@pytest.mark.parametrize(
    "field",
    ["format", "model", "options", "in_channels", "hidden_channels", "out_channels", "dataset",
     "features", "info", "encoder", "feature_names", "classes"],
)  # fmt: skip
def test_a_header_without_a_field_is_refused(field, saved):
    _rewritten(saved, lambda header: header.pop(field) and None)
    with pytest.raises(ValueError, match=f"not a checkpoint of lgan: .*{field}.*Give the file"):
        Checkpoint.load(saved)


def test_a_header_without_a_version_is_read(saved):
    _rewritten(saved, lambda header: header.pop("version") and None)
    assert Checkpoint.load(saved).model == "lgan"


@pytest.mark.parametrize(
    "change",
    [
        {"format": "2"}, {"format": None}, {"model": 3}, {"options": []}, {"in_channels": 1.5},
        {"hidden_channels": True}, {"out_channels": 0}, {"info": None}, {"classes": "no yes"},
        {"feature_names": [1, 2]}, {"info": {"compress": "yes"}}, {"info": {"config": [1]}},
        {"info": {"held_out_graphs": {"a": 1}}}, {"unheard_of": 1},
    ],
    ids=str,
)  # fmt: skip
def test_a_header_with_values_of_other_types_is_refused(change, saved):
    _rewritten(saved, lambda header: {**header, **change})
    with pytest.raises(ValueError, match=r"not a checkpoint of lgan: .*Give the file"):
        Checkpoint.load(saved)


@pytest.mark.parametrize("text", ["null", "[]", "7", "{", "[" * 100_000])
def test_a_header_that_is_no_object_is_refused(text, saved):
    _rewritten(saved, lambda _: None, lgan=text)
    with pytest.raises(ValueError, match=r"not a checkpoint of lgan: .*JSON"):
        Checkpoint.load(saved)


def test_a_flipped_weight_is_found(saved):
    content = bytearray(saved.read_bytes())
    content[-1] ^= 1
    saved.write_bytes(content)
    with pytest.raises(ValueError, match="do not have the checksum they were saved with"):
        Checkpoint.load(saved)
    _rewritten(saved, lambda _: None, checksum=None)
    with pytest.raises(ValueError, match="do not have the checksum they were saved with"):
        Checkpoint.load(saved)


def test_weights_that_are_not_finite_are_refused(saved):
    stored = Checkpoint.load(saved)
    name = next(iter(stored.state))
    replace(stored, state={**stored.state, name: stored.state[name] * torch.nan}).save(saved)
    with pytest.raises(ValueError, match=f"its weights `{name}` are not finite"):
        Checkpoint.load(saved)


@pytest.mark.parametrize(("version", "written"), [("0.1.0", 1), ("9.9", 7)])
def test_a_checkpoint_of_another_format_is_refused(version, written, saved):
    """lgan 0.1 wrote neither checksum nor encoder."""
    _rewritten(saved, lambda header: {**header, "format": written, "version": version})
    said = rf"lgan {version} wrote it in format {written}.*reads formats 2 to 4; train again"
    with pytest.raises(ValueError, match=said):
        Checkpoint.load(saved)


def test_names_that_are_not_known_may_mean_anything(saved, union):
    stored = replace(Checkpoint.load(saved), feature_names=(), classes=())
    stored.check_meaning("anything", ("a",) * union.num_features, ("b", "c"))


def test_a_checkpoint_of_the_second_format_is_read(saved, union):
    """lgan 0.2 had one model and no out-of-fold predictions."""
    before = Checkpoint.load(saved)
    _rewritten(
        saved,
        lambda header: {**{k: v for k, v in header.items() if k != "members"}, "format": 2},
    )
    stored = Checkpoint.load(saved)
    assert (stored.members, stored.out_of_fold) == (1, None)
    build = model_spec("lgan").build
    assert torch.equal(predict(stored.restore(build), union), predict(before.restore(build), union))


def _members(union: GraphUnion, number: int = 3) -> tuple[Checkpoint, torch.nn.Module]:
    """Several models, and what they might have said of graphs that they held out."""
    first, _ = _checkpoint("lgan", union)
    models = [_checkpoint("lgan", union)[1] for _ in range(number)]
    together = stack(models).eval()
    known = OutOfFold(
        torch.tensor([0, 1, 1, 0]), torch.rand(4, 2), torch.tensor([0, 1, 2, 0]), torch.arange(3)
    )
    state, scale = together.state_dict(), TargetScale(torch.rand(number, 2), torch.ones(number, 2))
    several = replace(
        first, state=state, members=number, out_of_fold=known, target_scale=scale,
        trained_on=torch.tensor([5, 6]),
    )  # fmt: skip
    return several, together


def test_members_come_back_with_the_bits_of_their_predictions(union, tmp_path):
    stored, together = _members(union)
    stored.save(tmp_path / "x")
    loaded = Checkpoint.load(tmp_path / "x")
    assert loaded.describe() == stored.describe()
    restored = loaded.restore(model_spec("lgan").build)
    said = predict(restored, union)
    assert said.shape == (3, union.num_graphs, 2)
    assert torch.equal(said, predict(together, union))
    assert not torch.equal(said[0], said[1])
    assert torch.equal(loaded.target_scale.mean, stored.target_scale.mean)
    assert torch.equal(loaded.trained_on, stored.trained_on)
    for name, tensor in stored.out_of_fold.tensors().items():
        assert torch.equal(loaded.out_of_fold.tensors()[name], tensor), name


@pytest.mark.parametrize("members", [1, 2, 4])
def test_another_number_of_members_is_refused(members, union, tmp_path):
    _members(union)[0].save(tmp_path / "x")
    _rewritten(tmp_path / "x", lambda header: {**header, "members": members})
    with pytest.raises(ValueError, match=r"weights do not belong to the model 'lgan'.*differ at"):
        Checkpoint.load(tmp_path / "x").restore(model_spec("lgan").build)


@pytest.mark.parametrize("members", [0, -1, 1.5, True, "3", None])
def test_members_that_are_no_count_are_refused(members, saved):
    _rewritten(saved, lambda header: {**header, "members": members})
    with pytest.raises(ValueError, match="`members` in its header is missing or not what it"):
        Checkpoint.load(saved)


def _changed(path: Path, name: str, tensor: torch.Tensor | None) -> None:
    """A file with another tensor under a name, and the checksum that goes with it."""
    tensors, metadata = load_tensors(path)
    tensors.pop(name)
    tensors |= {} if tensor is None else {name: tensor}
    save_tensors(path, tensors, {**metadata, "checksum": checksum(tensors)})


@pytest.mark.parametrize(
    ("name", "tensor", "message"),
    [
        ("about.oof_y", None, "out-of-fold predictions are not complete"),
        ("about.held_out", None, "out-of-fold predictions are not complete"),
        ("about.oof_y", torch.tensor([0, 1, 1]), "do not fit together"),
        ("about.oof_y", torch.tensor([0, 1, 2, 0]), "do not fit together"),
        ("about.oof_y", torch.tensor([0, 1, -1, 0]), "do not fit together"),
        ("about.oof_y", torch.tensor(1), "do not fit together"),
        ("about.oof_y", torch.rand(4), "do not fit together"),
        ("about.oof_y", torch.full((4, 2), torch.inf), "do not fit together"),
        ("about.oof_predictions", torch.rand(4), "do not fit together"),
        ("about.oof_predictions", torch.rand(5, 2), "do not fit together"),
        ("about.oof_predictions", torch.full((4, 2), torch.nan), "do not fit together"),
        ("about.oof_predictions", torch.zeros(4, 2, dtype=torch.int64), "do not fit together"),
        ("about.oof_fold", torch.tensor([0, 1, 7, 0]), "do not fit together"),
        ("about.oof_fold", torch.rand(4), "do not fit together"),
        ("about.held_out", torch.zeros(3, 1, dtype=torch.int64), "do not fit together"),
        ("about.scale_mean", torch.rand(2, 2), "two lists of numbers of one length"),
        ("about.scale_std", torch.zeros(3, 2), "two lists of numbers of one length"),
        ("about.scale_mean", torch.full((3, 2), torch.nan), "scale of its targets is not finite"),
        ("about.trained_on", torch.rand(2), "`about.trained_on` must be a list of whole numbers"),
    ],
)
def test_what_lies_beside_the_weights_must_fit(name, tensor, message, union, tmp_path):
    _members(union)[0].save(tmp_path / "x")
    _changed(tmp_path / "x", name, tensor)
    with pytest.raises(ValueError, match=f"not a checkpoint of lgan: .*{message}.*Give the file"):
        Checkpoint.load(tmp_path / "x")


@pytest.mark.parametrize(
    ("features", "classes", "message"),
    [
        (("degree 0",), ("no", "yes"), r"but other has 1 features, not \d+\. Train a model"),
        (None, ("no", "yes", "perhaps"), "but other has 3 classes, not 2"),
        (None, ("no", "maybe"), "has other classes: 'maybe' in place of 'yes'"),
        ("label", ("no", "yes"), "has other features: 'label 0' in place of 'degree 0'"),
    ],
)
def test_features_or_classes_that_mean_something_else_are_refused(
    features, classes, message, saved, union
):
    stored = Checkpoint.load(saved)
    stored.check_meaning("same", stored.feature_names, stored.classes)
    if not isinstance(features, tuple):
        features = tuple(f"{features or 'degree'} {v}" for v in range(union.num_features))
    with pytest.raises(ValueError, match=message):
        stored.check_meaning("other", features, classes)


def test_it_knows_which_graphs_it_was_not_trained_on(saved):
    info = {"held_out_graphs": [3, 5], "config": {"seed": 4}}
    stored = replace(Checkpoint.load(saved), dataset="triangles", info=info)
    assert stored.held_out("triangles", seed=4) == {3, 5}
    assert stored.held_out("triangles", seed=5) is None  # other graphs of the same name
    assert stored.held_out("MUTAG", seed=4) is None

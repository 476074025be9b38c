import json

import pytest

from lgan.experiment import RECIPES, settings_for
from lgan.experiment.settings import accepted
from lgan.sweep.space import (
    KEEP_SHAPE,
    SPACES,
    all_fixed,
    check_space,
    points,
    read_space,
    shape_of,
)
from lgan.zoo import MODELS, NetworkSpec

SPACE = {"lr": (0.1, 0.2), "hidden": (4, 8), "dropout": (0.0,)}


@pytest.mark.parametrize("model", sorted(set(SPACES) & set(MODELS)))
def test_every_space_fits_its_model(model):
    check_space(SPACES[model], model, "MUTAG", {})


def test_every_network_has_a_space():
    networks = {name for name, spec in MODELS.items() if isinstance(spec, NetworkSpec)}
    assert networks <= set(SPACES)


def test_points_are_all_of_one_shape_after_another():
    found = list(points(SPACE))
    assert len(found) == 4
    assert [p["hidden"] for p in found] == [4, 4, 8, 8]
    assert {(p["lr"], p["hidden"]) for p in found} == {(0.1, 4), (0.2, 4), (0.1, 8), (0.2, 8)}


def test_shape_is_what_cannot_train_side_by_side():
    params = dict.fromkeys(KEEP_SHAPE, 0) | {"hidden": 4, "readout": "sum"}
    assert shape_of(params) == {"hidden": 4, "readout": "sum"}


def test_a_space_is_read_from_json(tmp_path):
    (tmp_path / "space.json").write_text(json.dumps({"lr": [0.1], "readout": ["sum", "max"]}))
    assert read_space(tmp_path / "space.json") == {"lr": (0.1,), "readout": ("sum", "max")}


@pytest.mark.parametrize("text", ["[1]", "{", '{"lr": 3}'])
def test_a_file_that_is_no_space_is_refused(tmp_path, text):
    (tmp_path / "space.json").write_text(text)
    with pytest.raises(ValueError, match=r"Give a list of choices"):
        read_space(tmp_path / "space.json")


@pytest.mark.parametrize(
    ("space", "fixed", "message"),
    [
        ({}, {}, "needs a choice"),
        ({"lr": ()}, {}, "needs a choice"),
        ({"lr": (0.1,)}, {"lr": 0.2}, "fixed and searched"),
        ({"seed": (1, 2)}, {}, "no setting to search"),
        ({"wings": (1, 2)}, {}, "no option 'wings'"),
        ({"lr": (0.1, -1.0)}, {}, "must be positive"),
    ],
)
def test_a_wrong_space_is_refused_before_anything_runs(space, fixed, message):
    with pytest.raises(ValueError, match=message):
        check_space(space, "lgan", "MUTAG", fixed)


def test_dropout_of_features_that_are_searched_is_what_goes_with_them():
    space = {"graph_features": ("none", "morgan")}
    fixed = all_fixed(space, "lgan", "", {})
    found = [settings_for("lgan", "", **fixed, **point) for point in points(space)]
    assert [settings.options["graph_dropout"] for settings in found] == [0, 0.5]
    assert all_fixed(space, "lgan", "", {"graph_dropout": 0.2})["graph_dropout"] == 0.2


@pytest.mark.parametrize("model", sorted(SPACES))
def test_what_is_fixed_and_a_point_say_everything(model, monkeypatch):
    fixed = all_fixed(SPACES[model], model, "MUTAG", {"epochs": 7})
    point = next(points(SPACES[model]))
    wanted = settings_for(model, "MUTAG", epochs=7, **point)
    assert accepted(MODELS[model]).difference(MODELS[model].data_option_names) <= set(fixed) | set(
        point
    )
    monkeypatch.setattr("lgan.experiment.settings.TUNED", {})
    changed = {**RECIPES["paper"], "hidden": 3, "dropout": 0.9}
    monkeypatch.setitem(RECIPES, "paper", changed)
    assert settings_for(model, "MUTAG", **fixed, **point) == wanted
    assert not set(fixed) & set(point)

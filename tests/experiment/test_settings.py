import pytest

from lgan.experiment import RECIPES, settings_for
from lgan.experiment.recipes import TUNED
from lgan.experiment.settings import accepted
from lgan.zoo import MODELS, NetworkSpec


@pytest.mark.parametrize("model", ["lgan", "gin"])
def test_the_source_decides_on_features_of_whole_graphs_unless_they_are_given(model):
    settings = settings_for(model, "")
    assert settings.graph_features == ("auto",)
    again = settings_for(model, "", **settings.flat())
    assert (again.graph_features, again.described) == (("auto",), {"graph_dropout": 0.5})
    assert again.described == settings.described
    assert settings_for(model, "", graph_dropout=0.2).described == {}
    none = settings_for(model, "", graph_features="none")
    assert (none.graph_features, none.described) == ((), {})
    assert settings_for(model, "", **none.flat()).graph_features == ()
    assert settings_for(model, "", recipe="paper").graph_features == ()
    assert settings_for(model, "MUTAG").graph_features == ()
    assert settings_for(model, "MUTAG", recipe="default").graph_features == ("auto",)


def test_models_that_read_no_features_of_whole_graphs_are_asked_for_none():
    assert settings_for("cwn", "").graph_features == ()
    assert settings_for("wl", "").graph_features == ()


def test_what_is_given_wins_over_what_was_tuned_and_that_over_the_usual(monkeypatch):
    monkeypatch.setitem(TUNED, "lgan", {"MUTAG": {"dropout": 0.3, "lr": 0.5, "hidden": 7}})
    settings = settings_for("lgan", "MUTAG", lr=0.25)
    assert settings.training.lr == 0.25
    assert settings.options["dropout"] == 0.3
    assert settings.hidden == 7
    assert settings.options["num_layers"] == RECIPES["paper"]["num_layers"]


def test_settings_of_the_model_s_paper_win_over_the_usual():
    assert settings_for("lgan-code", "triangles").options["residual"] is True
    assert settings_for("lgan-code", "triangles").pair_code == "full"
    assert settings_for("lgan", "triangles").pair_code == "none"


def test_none_stands_for_not_given():
    assert settings_for("gin", "MUTAG", lr=None) == settings_for("gin", "MUTAG")


def test_twins_are_merged_only_for_models_that_read_classes():
    assert settings_for("lgan", "MUTAG").compress
    assert not settings_for("lgan", "MUTAG", compress=False).compress
    assert not settings_for("gin", "MUTAG").compress


@pytest.mark.parametrize("name", MODELS)
def test_every_model_has_settings_that_it_takes(name):
    settings = settings_for(name, "MUTAG")
    assert set(settings.options) <= accepted(MODELS[name])
    again = settings_for(name, "MUTAG", **settings.flat())
    assert again == settings


@pytest.mark.parametrize("name", TUNED)
def test_tuned_settings_are_ones_the_model_takes(name):
    spec = MODELS[name]
    assert isinstance(spec, NetworkSpec)
    for dataset, tuned in TUNED[name].items():
        flat = settings_for(name, dataset).flat()
        assert {key: flat[key] for key in tuned} == tuned


def test_an_option_that_a_model_does_not_have_is_refused_with_those_it_has():
    with pytest.raises(ValueError, match=r"'gin' has no option 'max_ring'\. Choose from: .*eps"):
        settings_for("gin", "MUTAG", max_ring=6)


def test_a_record_names_model_options_and_data():
    about = settings_for("lgan", "triangles", dropout=0.25).about()
    assert about["name"] == "lgan"
    assert about["dropout"] == 0.25
    assert {"features", "compress", "hidden"} <= set(about)


def test_another_seed_changes_nothing_else():
    settings = settings_for("lgan", "MUTAG")
    other = settings.with_seed(9)
    assert other.training.seed == 9
    assert other.with_seed(settings.training.seed) == settings


@pytest.mark.parametrize(
    ("model", "given", "message"),
    [
        ("lgan", {"residual": "no"}, "`residual` must be true or false, got 'no'"),
        ("lgan", {"compress": "no"}, "`compress` must be true or false, got 'no'"),
        ("gin", {"hidden": 16.7}, r"`hidden` must be a whole number, got 16\.7"),
        ("gin", {"hidden": 0}, "`hidden` must be 1 or more, got 0"),
        ("gin", {"num_layers": "3"}, "`num_layers` must be a whole number, got '3'"),
        (
            "lgan",
            {"head_layers": 99_999_999},
            "`head_layers` must be 1,000 or less, got 99,999,999",
        ),
        ("gin", {"batch_size": 32.5}, "`batch_size` must be a whole number"),
        ("gin", {"lr": True}, "`lr` must be a number, got True"),
        ("pk", {"rounds": "many"}, "`rounds` must be a whole number"),
    ],
)
def test_values_of_another_type_are_refused(model, given, message):
    with pytest.raises(ValueError, match=message):
        settings_for(model, "MUTAG", **given)


def test_a_whole_number_is_a_number():
    assert settings_for("gin", "MUTAG", lr=1).training.lr == 1


def test_an_option_of_other_models_is_not_ignored():
    with pytest.raises(ValueError, match="'dcnn' has no option 'num_layers'"):
        settings_for("dcnn", "MUTAG", num_layers=3)


@pytest.mark.parametrize("model", ["cwn", "1-2-3-gnn", "rw", "pk", "2-wl", "delta-2-lwl"])
def test_a_model_without_edge_features_names_those_that_have_them(model):
    message = rf"'{model}' reads no features of edges.*or a model that does: lgan, .*gin, sp, wl\."
    with pytest.raises(ValueError, match=message):
        settings_for(model, "MUTAG", edge_features="labels")


@pytest.mark.parametrize("model", ["lgan", "gin"])
def test_what_is_computed_of_molecules_is_dropped_in_part_and_nothing_beside_columns(model):
    def share(**given):
        return settings_for(model, "", **given).options["graph_dropout"]

    assert share(graph_features="morgan,rdkit2d") == share(graph_features="morgan") == 0.5
    assert share() == share(graph_features="pH") == share(graph_features="morgan,pH") == 0
    assert share(graph_features="morgan,pH", graph_dropout=0.25) == 0.25
    assert settings_for(model, "MUTAG").options["graph_dropout"] == 0

import logging
from dataclasses import replace

import pytest
import torch

import lgan
from lgan.data import Columns, feature_names, load_raw, stratified_folds
from lgan.experiment import (
    factory,
    network_spec,
    prepare,
    run_kernel,
    run_network,
    settings_for,
)
from lgan.experiment.run import _placed, variant


def _fold(y):
    return stratified_folds(y, 3, seed=0)


@pytest.mark.parametrize("name", ["lgan-code", "gin", "dgcnn", "cwn"])
def test_a_network_runs_from_its_name_to_a_result(name):
    settings = settings_for(name, "triangles", hidden=4, epochs=1, iterations=1, batch_size=8)
    union = prepare(settings)
    [result] = run_network(settings, union, _fold(union.y))
    assert result.dataset == "triangles"
    assert result.model["name"] == name
    assert result.test.shape == (3, 1)


def test_every_seed_has_a_result_and_a_record_of_its_own(tmp_path):
    settings = settings_for("lgan", "triangles", hidden=4, epochs=1, iterations=1, seed=3)
    union = prepare(settings)
    results = run_network(settings, union, _fold(union.y), seeds=2, output=tmp_path)
    assert {path.name for path in tmp_path.glob("*.json")} == {"seed-3.json", "seed-4.json"}
    for seed, result in zip((3, 4), results, strict=True):
        assert result.config["seed"] == seed
        record = lgan.CVResult.load(tmp_path / f"seed-{seed}.json")
        assert torch.equal(record.test, result.test)
    assert not torch.equal(results[0].loss, results[1].loss)


def test_a_kernel_runs_from_its_name_to_a_result(tmp_path):
    settings = settings_for("wl", "triangles")
    raw = load_raw("triangles")
    told = []
    result = run_kernel(settings, raw, _fold(raw.y), output=tmp_path, progress=told.append)
    assert result.rules == ("gin", "fold-max", "fair")
    assert (tmp_path / "result.json").is_file()
    assert told[-1] == 1


def test_a_kernel_refuses_features_that_are_no_categories():
    settings = settings_for("wl", "triangles", features="attributes")
    raw = load_raw("triangles")
    numbers = torch.rand(raw.num_nodes, 2)
    raw = replace(raw, nodes=raw.nodes.with_numbers(numbers, ("attribute_1", "attribute_2")))
    with pytest.raises(ValueError, match=r"'wl' compares categories of nodes, got .*'attributes'"):
        run_kernel(settings, raw, _fold(raw.y))


def test_a_kernel_reads_all_categories_of_nodes_as_one():
    raw = load_raw("triangles")
    halves = {
        "a": [i // 2 % 2 for i in range(raw.num_nodes)],
        "b": [i % 2 for i in range(raw.num_nodes)],
    }
    whole = {"label": [2 * a + b for a, b in zip(*halves.values(), strict=True)]}
    two, one = (replace(raw, nodes=Columns.of_categories(words)) for words in (halves, whole))
    both = [
        run_kernel(settings_for("wl", "own", features=word), read, _fold(raw.y))
        for word, read in (("all", two), ("labels", one))
    ]
    assert both[0].selected().folds == both[1].selected().folds
    bare = replace(raw, nodes=Columns.empty(raw.num_nodes))
    both = [
        run_kernel(settings_for("wl", "own", features=word), bare, _fold(raw.y))
        for word in ("all", "degree")
    ]
    assert both[0].selected().folds == both[1].selected().folds


@pytest.mark.parametrize("model", ["wl", "sp"])
def test_a_kernel_reads_labels_of_edges_where_asked(model):
    pytest.importorskip("grakel")
    raw = _with_bonds(load_raw("triangles"))
    both = [
        run_kernel(settings_for(model, "own", features="labels", edge_features=word), raw, fold)
        for fold in [_fold(raw.y)]
        for word in ("labels", "none")
    ]
    assert both[0].model["edge_features"] == "labels"
    assert "edge_features" not in both[1].model
    # The class is in the edges: only who reads them can be always right.
    assert both[0].selected().mean == 1 > both[1].selected().mean


def test_a_kernel_refuses_edge_features_that_are_no_categories_or_not_there():
    raw = load_raw("triangles")
    for word, message in {
        "attributes": "compares categories of edges, got the edge features 'attributes'",
        "labels": "has no labels of edges. Choose the edge features 'none'",
    }.items():
        settings = settings_for("wl", "own", features="labels", edge_features=word)
        with pytest.raises(ValueError, match=message):
            run_kernel(settings, raw, _fold(raw.y))


def _with_bonds(raw):
    """The graphs with their class as the label of every edge."""
    graph = torch.searchsorted(raw.node_ptr, raw.pair_index[0].contiguous(), right=True) - 1
    words = ["single" if raw.y[g] else "double" for g in graph.tolist()]
    return replace(raw, pairs=Columns.of_categories({"bond": words}))


def test_a_kernel_is_no_network():
    with pytest.raises(ValueError, match=r"'wl' is a graph kernel.*lgan cv"):
        network_spec("wl")


def test_the_factory_builds_the_model_with_all_options():
    settings = settings_for("lgan", "triangles", comb="linear", hidden=6)
    model = factory(settings, prepare(settings))()
    assert isinstance(model, lgan.LGAN)
    assert model.hidden_channels == 6
    assert model.convs[0].comb == "linear"


def test_a_data_set_larger_than_the_budget_stays_in_main_memory(caplog):
    union = lgan.load("triangles")
    with caplog.at_level(logging.WARNING):
        assert _placed(union, torch.device("cuda"), budget=union.nbytes - 1) is union
    assert "batches are moved to the GPU one by one" in caplog.text
    assert _placed(union, torch.device("cpu"), budget=1) is union


@pytest.mark.parametrize(("model", "option"), [("dgcnn", "k"), ("patchy-san", "num_fields")])
def test_the_record_holds_the_options_that_the_data_decide(model, option):
    settings = settings_for(model, "triangles", epochs=1, iterations=1, hidden=4)
    assert option not in settings.options
    union = prepare(settings)
    [result] = run_network(settings, union, _fold(union.y))
    assert result.model[option] == variant(settings, union).factory.keywords[option] > 0


@pytest.mark.parametrize(
    ("name", "features", "expected"),
    [
        ("csl", "labels", ("csl label 0",)),
        ("csl", "constant", ("constant",)),
        ("csl", "degree", ("degree 0", "degree 1", "degree 2", "degree 3", "degree 4")),
    ],
)
def test_features_have_names_that_say_what_they_mean(name, features, expected):
    assert feature_names(load_raw(name), features) == expected


def test_attributes_have_names_behind_the_labels():
    raw = load_raw("csl")
    nodes = raw.nodes.with_numbers(torch.rand(raw.num_nodes, 2), ("a", "b"))
    raw = replace(raw, nodes=nodes)
    attributes = ("csl a", "csl b")
    assert feature_names(raw, "attributes") == attributes
    assert feature_names(raw, "labels+attributes") == ("csl label 0", *attributes)
    assert feature_names(raw, "labels") == ("csl label 0",)
    own = replace(raw, name="own", nodes=replace(nodes, vocabularies=(("C",),)))
    assert feature_names(own, "labels+attributes") == ("label C", "a", "b")

"""Explanations of whatever a trained model reads, in its own units."""

import pytest
import torch

import lgan
from lgan.explain.fragment_table import fragment_table
from lgan.predictor.explaining import (
    check_explainable,
    coloured_output,
    explain_graphs,
    explained_items,
    explained_output_of,
    known_classes,
    output_names,
    score_rows,
)
from lgan.zoo import MODELS
from molecule_models import SMILES, predictor


def test_scores_are_of_the_atoms_and_bonds_as_they_were_written():
    model = predictor(["no", "yes", "no", "yes", "yes"])
    raw = model.read(SMILES)
    found = explain_graphs(model, raw, target="yes")
    assert [each.num_nodes for each in found] == [3, 9, 10, 5]
    assert all(each.target == 1 and each.of == "log-odds" for each in found)
    assert [part.name for part in found[1].fragments] == ["O=CO", "c1ccccc1"]
    rows = list(score_rows(raw, found, output_names(model)))
    assert {row["row"] for row in rows} == {0, 1, 2, 4}  # the unreadable one has none
    assert sum(row["kind"] == "edge" for row in rows) == raw.num_pairs
    assert rows[0]["explained"] == "yes"


def test_features_are_scored_by_the_names_of_their_columns():
    model = predictor(["no", "yes", "no", "yes", "yes"])
    raw = model.read(SMILES)
    found = explain_graphs(model, raw, target="yes", method="gradient", features=True)
    first = found[0]
    assert first.node_feature_names == model.encoder.nodes.column_names
    assert first.node_feature_scores.shape == (3, len(first.node_feature_names))
    rows = [
        row for row in score_rows(raw, found, output_names(model)) if row["kind"] == "node feature"
    ]
    assert {"element=C", "element=O"} <= {row["name"] for row in rows}


def test_a_regression_explains_its_number_in_the_units_of_the_target():
    model = predictor([1.5, 2.0, 3.25, 4.0, 5.5])
    raw = model.read(SMILES[:2])
    asked = {"method": "leave-one-out"}
    found = explain_graphs(model, raw, **asked)[0]
    assert found.of == "number"
    assert found.output == pytest.approx(model.predict(SMILES[:1])[0], rel=1e-5)
    assert float(found.prediction[0]) == pytest.approx(found.output)
    union = model.union(raw, compress=False)
    plain = lgan.attribute(model.network, union, 0, task=model.task, **asked)[0]
    torch.testing.assert_close(found.edge_scores, 4 * plain.edge_scores)


@pytest.mark.parametrize("name", [name for name, spec in MODELS.items() if hasattr(spec, "lift")])
def test_a_network_that_reads_more_than_edges_is_refused_by_its_name(name):
    if MODELS[name].lift is None:
        check_explainable(name)
        return
    with pytest.raises(ValueError, match=f"one of lgan, .*, got '{name}', which reads more than"):
        check_explainable(name)


def test_a_predictor_explains_rows_where_they_are():
    model = predictor(["no", "yes", "no", "yes", "yes"])
    with pytest.warns(UserWarning, match="1 of 5 rows cannot be read"):
        found = model.explain(SMILES, target="yes", method="gradient")
    assert [None if each is None else each.num_nodes for each in found] == [3, 9, 10, None, 5]


def test_the_output_is_named_or_numbered():
    several = predictor({"a": [0, 1, 0, 1, 1], "b": [1, 0, 1, 0, 0]})
    assert explained_output_of(several, "b") == explained_output_of(several, "1") == 1
    assert coloured_output(several) is None
    with pytest.raises(ValueError, match="The target to explain must be one of a, b, or a number"):
        explained_output_of(several, "yes")


def test_pictures_of_two_classes_speak_for_one_whatever_is_predicted():
    model = predictor(["no", "yes", "no", "yes", "yes"])
    assert coloured_output(model) == 1
    assert coloured_output(predictor(["a", "b", "c", "b", "a"])) is None
    raw = model.read(SMILES).with_targets({"y": ["no", "yes", "no", "yes"]})
    assert known_classes(model, raw).tolist() == [0, 1, 0, 1]
    assert known_classes(model, raw.with_targets({"y": ["no", "yes", "no", "perhaps"]})) is None
    found = explain_graphs(model, raw, target=1, method="gradient")
    items = explained_items(model, raw, found, held_out={4})
    assert [item.truth for item in items] == [0, 1, 0, 1]
    assert [item.held_out for item in items] == [False, False, False, True]
    assert {item.picture.red for item in items} == {"for yes"}


def test_fragments_are_counted_over_graphs():
    model = predictor(["no", "yes", "no", "yes", "yes"])
    found = explain_graphs(model, model.read(SMILES), target="yes")
    rows = fragment_table(found)
    assert {row.fragment for row in rows} == {"O=CO", "c1ccccc1", "C"}
    acid = next(row for row in rows if row.fragment == "O=CO")
    own = [
        score
        for each in found
        for part, score in zip(each.fragments, each.fragment_scores.tolist(), strict=True)
        if part.name == "O=CO"
    ]
    assert (acid.graphs, acid.occurrences) == (2, 2)
    assert acid.mean == pytest.approx(sum(own) / 2)
    assert acid.error == pytest.approx(abs(own[0] - own[1]) / 2)

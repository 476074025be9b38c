"""Explanations of whatever a trained model reads, in its own units."""

import pytest
import torch

import lgan
from lgan.explain.fragment_table import fragment_table
from lgan.predictor.explaining import explain_graphs, explained_output_of, score_rows
from lgan.task import Task
from molecule_models import SMILES, predictor


def test_scores_are_of_the_atoms_and_bonds_as_they_were_written():
    model = predictor(["no", "yes", "no", "yes", "yes"])
    raw = model.read(SMILES)
    found = explain_graphs(model, raw, target="yes")
    assert [each.num_nodes for each in found] == [3, 9, 10, 5]
    assert all(each.target == 1 and each.of == "log-odds" for each in found)
    assert [part.name for part in found[1].fragments] == ["O=CO", "c1ccccc1"]
    rows = list(score_rows(raw, found, model.task))
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
    rows = [row for row in score_rows(raw, found, model.task) if row["kind"] == "node feature"]
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


def test_a_predictor_explains_rows_where_they_are():
    model = predictor(["no", "yes", "no", "yes", "yes"])
    with pytest.warns(UserWarning, match="1 of 5 rows cannot be read"):
        found = model.explain(SMILES, target="yes", method="gradient")
    assert [None if each is None else each.num_nodes for each in found] == [3, 9, 10, None, 5]


def test_the_output_is_named_or_numbered():
    several = Task("multilabel", ("a", "b"), ("no", "yes"))
    assert explained_output_of(several, "b") == explained_output_of(several, "1") == 1
    with pytest.raises(ValueError, match="The target to explain must be one of a, b, or a number"):
        explained_output_of(several, "yes")


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

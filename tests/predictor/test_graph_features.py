"""Features of whole graphs from training to file, prediction and explanation."""

import csv

import numpy as np
import pandas as pd
import pytest
import torch
from typer.testing import CliRunner

import lgan
from lgan.cli.app import app
from lgan.experiment import settings_for
from small_estimators import SMILES, regressor

pytest.importorskip("rdkit", reason="molecules need rdkit")
TABLE = pd.DataFrame({"smiles": SMILES, "pH": [7.0, None, 3.0, 1.0] * 4})
Y = TABLE["pH"].fillna(4.0).to_numpy() * 2 - 3


@pytest.fixture(scope="module")
def fitted():
    return regressor(graph_features="morgan,pH", epochs=2).fit(TABLE, Y)


def test_an_estimator_reads_columns_of_its_table(fitted):
    before = fitted.predict(TABLE)
    after = fitted.predict(TABLE.assign(pH=[1.0] * 16))
    assert (before != after).sum() >= 8  # the column counts
    assert np.isfinite(fitted.predict(TABLE.assign(pH=[None] * 16))).all()
    assert lgan.LGANRegressor(graph_features="morgan").get_params()["graph_features"] == "morgan"


def test_a_table_without_the_column_is_refused(fitted):
    with pytest.raises(ValueError, match=r"a table with the column 'pH'.*got a list"):
        fitted.predict(SMILES)
    with pytest.raises(ValueError, match="lacks the column 'pH', which the model reads"):
        fitted.predictor_.predict(SMILES)


def test_one_warning_names_the_cells_that_are_no_numbers(fitted):
    new = TABLE.assign(pH=["n/d", "n/d", "inf", *TABLE["pH"][3:]])
    with pytest.warns(UserWarning, match="not trained on") as told:
        said = fitted.predict(new)
    [warning] = told
    assert "pH (read as missing: no number) n/d (2), inf (1)" in str(warning.message)
    np.testing.assert_array_equal(
        said, fitted.predict(TABLE.assign(pH=[None] * 3 + [*TABLE["pH"][3:]]))
    )


def test_a_file_of_the_model_predicts_a_csv_row_by_row(fitted, tmp_path):
    fitted.save(tmp_path / "m.safetensors")
    TABLE.to_csv(tmp_path / "t.csv", index=False)
    command = ["predict", str(tmp_path / "m.safetensors"), str(tmp_path / "t.csv"),
               "-o", str(tmp_path / "p.csv")]  # fmt: skip
    assert CliRunner().invoke(app, command).exit_code == 0
    with (tmp_path / "p.csv").open() as file:
        said = [float(row["y_predicted"]) for row in csv.DictReader(file)]
    np.testing.assert_allclose(said, fitted.predict(TABLE), rtol=1e-5)


@pytest.mark.parametrize("method", ["integrated-gradients", "leave-one-out", "shapley"])
def test_what_is_told_of_the_whole_stays_while_edges_are_masked(fitted, method):
    """A network that reads nothing else gives every edge 0; the structure alone has scores."""
    predictor = fitted.predictor_
    head = predictor.network.head
    kept = head.weight.detach().clone()
    structure = head.weight.size(-2) - 4
    with torch.no_grad():
        head.weight[..., :structure, :] = 0
    found = predictor.explain(["CC(=O)O"], method=method, reading={"columns": {"pH": [2.0]}})[0]
    with torch.no_grad():
        head.weight.copy_(kept)
    assert found is not None
    assert float(found.edge_scores.abs().max()) < 1e-6


@pytest.fixture(scope="module")
def usual():
    return lgan.LGANClassifier(
        members=2, epochs=3, random_state=0, options={"hidden": 4, "batch_size": 4}
    ).fit(SMILES * 2, ["a", "b", "c", "b"] * 8)


def test_the_usual_model_of_molecules_reads_fingerprints_and_descriptors(usual, tmp_path):
    assert usual.predictor_.encoder.graphs.asked == ("morgan", "rdkit2d")
    assert usual.predictor_.checkpoint.options["graph_dropout"] == 0.5
    usual.save(tmp_path / "m.safetensors")
    again = lgan.load_model(tmp_path / "m.safetensors")
    np.testing.assert_allclose(again.predict_proba(SMILES), usual.predict_proba(SMILES))


def test_it_is_explained_by_its_structure_alone(usual):
    predictor = usual.predictor_
    block = predictor.network.graph_block
    found = usual.explain(SMILES)
    assert all(each.withheld for each in found)
    told = usual.predict_proba(SMILES)
    for each, said in zip(found, told, strict=True):
        np.testing.assert_allclose(each.prediction, said, atol=1e-6)
        assert each.target == said.argmax()  # of the whole model
    kept = {name: value.clone() for name, value in block.lin.named_parameters()}
    with torch.no_grad():
        for value in block.lin.parameters():
            value.normal_()  # another use of what is told
    again = usual.explain(SMILES, target=found[0].target)
    assert (usual.predict_proba(SMILES) != told).any()
    with torch.no_grad():
        for name, value in block.lin.named_parameters():
            value.copy_(kept[name])
    torch.testing.assert_close(again[0].edge_scores, found[0].edge_scores)
    torch.testing.assert_close(torch.tensor(again[0].output), torch.tensor(found[0].output))


def test_a_model_without_them_is_explained_as_it_is():
    plain = regressor(graph_features="none").fit(SMILES, Y)
    assert plain.predictor_.encoder.graphs is None
    assert not plain.explain(SMILES[0]).withheld


def test_lgan_train_takes_them_and_tells_of_missing_ones(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    TABLE.assign(y=Y).to_csv("t.csv", index=False)
    words = "train t.csv --target y --task regression --graph-features rdkit2d,pH --members 2"
    words += " --epochs 1 --hidden 4 --no-report --output run"
    ran = CliRunner().invoke(app, words.split())
    assert ran.exit_code == 0, ran.output
    assert "pH is missing in 4 rows" in ran.output + ran.stderr
    model = lgan.load_model("run/model.safetensors")
    assert model.encoder.graphs.asked == ("rdkit2d", "pH")
    assert np.isfinite(model.predict("t.csv")).all()


def test_a_network_that_reads_none_is_refused():
    with pytest.raises(ValueError, match=r"'cwn' reads no features of whole graphs.*lgan, lgan-re"):
        settings_for("cwn", "", graph_features="morgan")

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
    with pytest.raises(ValueError, match="The feature 'pH' of whole graphs must be"):
        fitted.predictor_.predict(SMILES)


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

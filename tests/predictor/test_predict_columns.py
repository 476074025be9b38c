"""What `lgan predict` tells beside its predictions: molecules that are alike, and embeddings."""

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from lgan.cli.app import app
from small_estimators import NUMBERS, SMILES, regressor

pytest.importorskip("rdkit", reason="molecules need rdkit")
pytestmark = pytest.mark.filterwarnings("ignore:values the model was not trained on")
ASKED = ["CCO", "C1CC", "FC(F)(F)S(=O)(=O)I"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    fitted = regressor().fit(SMILES, NUMBERS)
    path = tmp_path_factory.mktemp("model") / "m.safetensors"
    fitted.save(path)
    return path, fitted.predictor_


def predicted(path, tmp_path, *words):
    (tmp_path / "t.csv").write_text("\n".join(["smiles", *ASKED]))
    ran = CliRunner().invoke(app, ["predict", str(path), str(tmp_path / "t.csv"), *words])
    assert ran.exit_code == 0, ran.output
    return ran


def test_nearest_molecules_are_those_of_the_predictor(model, tmp_path):
    path, predictor = model
    output = tmp_path / "p.csv"
    predicted(path, tmp_path, "--nearest", "2", "-o", str(output))
    with output.open() as file:
        rows = list(csv.DictReader(file))
    with pytest.warns(UserWarning, match="cannot be read"):
        near = predictor.nearest(ASKED, 2)
    for row, own in zip(rows, near, strict=True):
        for k in range(2):
            one = own[k] if own else None
            assert row[f"nearest_{k + 1}"] == (one.smiles if one else "")
            told = row[f"nearest_{k + 1}_similarity"]
            assert (
                told == ""
                if one is None
                else float(told) == pytest.approx(one.similarity, abs=1e-4)
            )
    assert [row["unlike"] for row in rows] == ["", "", "yes"]
    assert list(rows[0])[-5:] == ["nearest_1", "nearest_1_similarity", "nearest_2",
                                  "nearest_2_similarity", "unlike"]  # fmt: skip


def test_the_same_columns_for_molecules_on_the_command_line(model):
    ran = CliRunner().invoke(
        app, ["predict", str(model[0]), "--smiles", "CCO", "--nearest", "1", "--json"]
    )
    [row] = json.loads(ran.stdout)["rows"]
    assert (row["nearest_1"], row["nearest_1_similarity"], row["unlike"]) == ("CCO", 1.0, "")


@pytest.mark.parametrize("name", ["e.csv", "e.npy"])
def test_embeddings_have_a_row_for_every_row(model, tmp_path, name):
    path, predictor = model
    predicted(path, tmp_path, "--embed", str(tmp_path / name))
    with pytest.warns(UserWarning, match="1 of 3 rows cannot be read"):
        expected = predictor.embed(ASKED)
    if name.endswith("npy"):
        found = np.load(tmp_path / name)
    else:
        found = np.genfromtxt(tmp_path / name, delimiter=",", skip_header=1)
        assert found[:, 0].tolist() == [0, 1, 2]
        found = found[:, 1:]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
    assert np.isnan(found[1]).all()


@pytest.mark.parametrize("option", ["--output", "--embed"])
@pytest.mark.parametrize("link", [None, "symlink_to", "hardlink_to"])
def test_a_source_is_not_overwritten(model, tmp_path, option, link):
    source, output = tmp_path / "t.csv", tmp_path / "t.csv"
    source.write_text("smiles\nCCO\n")
    if link:
        output = tmp_path / "other.csv"
        getattr(output, link)(source)
    ran = CliRunner().invoke(app, ["predict", str(model[0]), str(source), option, str(output)])
    assert ran.exit_code == 2
    assert "another file than the source" in " ".join(ran.output.replace("│", "").split())
    assert source.read_text() == "smiles\nCCO\n"

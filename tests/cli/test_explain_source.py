import csv

from molecule_models import SMILES, predictor


def test_explain_writes_the_scores_of_a_file(lgan, tmp_path):
    model = predictor(["no", "yes", "no", "yes", "yes"])
    model.checkpoint.save(tmp_path / "model.safetensors")
    table = tmp_path / "own.csv"
    table.write_text("smiles\n" + "\n".join(SMILES) + "\n")
    ran = lgan("explain", tmp_path / "model.safetensors", table, "-o", "scores.csv")
    assert ran.code == 0, ran.err
    with (tmp_path / "scores.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["kind"] for row in rows} >= {"node", "edge", "fragment"}
    assert {row["row"] for row in rows} == {"0", "1", "2", "4"}
    assert "Fragments for and against yes" in ran.out
    assert not [row for row in rows if "feature" in row["kind"]]
    asked = ("--features", "--method", "gradient", "-o", "scores.csv", "--index", "0")
    assert lgan("explain", tmp_path / "model.safetensors", table, *asked).code == 0
    with (tmp_path / "scores.csv").open() as file:
        assert "node feature" in {row["kind"] for row in csv.DictReader(file)}
    ran = lgan("explain", tmp_path / "model.safetensors", "--smiles", "OC", "--json")
    assert ran.json["graphs"][0]["edge_index"] == [[0, 1], [1, 0]]

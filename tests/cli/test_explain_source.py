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


def test_a_page_of_a_file_holds_pictures_and_the_fragments_of_all(lgan, tmp_path):
    model = predictor(["a", "b", "c", "b", "a"])
    model.checkpoint.save(tmp_path / "model.safetensors")
    table = tmp_path / "own.csv"
    table.write_text("smiles\n" + "\n".join([*SMILES, "OC(=O)C"]) + "\n")
    asked = ("--report", "page.html", "--gallery", 2, "--class", "b", "--against", "a")
    ran = lgan("explain", tmp_path / "model.safetensors", table, *asked)
    assert ran.code == 0, ran.err
    page = (tmp_path / "page.html").read_text()
    assert page.count('<article class="card"') == 2
    assert "The first 2 are shown" in page
    assert "Red edges speak for b, blue ones for a" in page
    assert '<th scope="row">O=CO</th><td>3</td>' in page  # in three of the molecules
    named = ("--smiles", "OC(=O)C acetic acid", "--json")
    ran = lgan("explain", tmp_path / "model.safetensors", *named)
    assert ran.json["graphs"][0]["name"] == "acetic acid"


def test_the_atoms_of_scores_are_those_of_the_smiles_beside_them(lgan, tmp_path):
    predictor(["no", "yes", "no", "yes", "yes"]).checkpoint.save(tmp_path / "model.safetensors")
    (tmp_path / "own.csv").write_text("smiles\n[Na+].[Cl-]\nOCC\n")
    ran = lgan("explain", tmp_path / "model.safetensors", "own.csv", "-o", "scores.csv")
    assert ran.code == 0, ran.err
    with (tmp_path / "scores.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["id"] for row in rows} == {"[Na+].[Cl-]", "OCC"}
    [sodium] = [row for row in rows if row["name"] == "[Na+]"]
    assert sodium["nodes"] == "0"

from functools import partial

import pytest

from lgan.experiment import settings_for
from paper import recipe_study as study

pytest.importorskip("rdkit")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(study, "SUITE", {"small": ("small.csv", "random")})
    monkeypatch.setattr(study, "CODES", ("none",))
    monkeypatch.setattr(study, "TRAINING", {**study.TRAINING, "epochs": 1})
    rows = [f"{'C' * (1 + i % 9)}{'O' if i % 2 else 'N'},{i % 9 + 0.5}\n" for i in range(40)]
    (tmp_path / "small.csv").write_text("smiles,y\n" + "".join(rows))
    study.prepare(tmp_path, tmp_path / "sets", ["small"])
    return tmp_path


def test_choices_are_measured_once_each(folder):
    told = [name for name in study.CHOICES if "dropped" in name or "fingerprints" in name]
    choices = ["base", "recipe, gin", *told]
    output = folder / "records" / "study.jsonl"
    for _ in range(2):
        study.run(folder / "sets", output, ["small"], choices, 2, 0)
    rows = list(study.records(output.parent))
    assert [row["choice"] for row in rows] == choices
    assert all(row["bagged"] > 0 for row in rows)
    read = [row["settings"].get("told") for row in rows]
    assert read == [None, None, ["morgan"], ["morgan"], ["rdkit2d"], ["morgan", "rdkit2d"]]
    assert [row["settings"].get("graph_dropout", 0) for row in rows] == [0, 0, 0, 0.5, 0.5, 0.5]


def test_a_set_that_the_base_solves_is_no_column(monkeypatch):
    monkeypatch.setattr(study, "SUITE", {"solved": ("", ""), "open": ("", "")})
    monkeypatch.setattr(study, "ROUNDS", (study.ROUNDS[0]._replace(sets=study.SUITE),))
    reached = {"solved": (1.0, 0.5), "open": (0.9, 0.8)}
    rows = [
        {"set": name, "choice": choice, "bagged": value, "members": 2, "metric": "roc-auc",
         "seed": 0}
        for name, values in reached.items()
        for choice, value in zip(("base", "gin"), values, strict=True)
    ]  # fmt: skip
    [worth] = study.recipe_grids(rows)
    assert worth.columns == ["choice", "open", "mean"]
    assert worth.rows == [["base", "+0.0", "+0.0"], ["gin", "-100.0", "-100.0"]]


def test_the_default_is_measured_with_and_without_what_is_told_of_whole_graphs(
    monkeypatch, tmp_path
):
    monkeypatch.setattr(study, "settings_for", partial(settings_for, epochs=2))
    monkeypatch.setattr(study, "SUITE", {"IMDB-MULTI": ("csl", "stratified")})
    monkeypatch.setattr(study, "FOLDS", 3)
    study.prepare(tmp_path, tmp_path / "sets", ["IMDB-MULTI"])
    output = tmp_path / "records" / "study.jsonl"
    choices = ["graphs alone", "patterns and shape", "patterns of 2 or more graphs, shape"]
    for seed in (0, 1):
        study.run(tmp_path / "sets", output, ["IMDB-MULTI"], choices, 2, seed)
    rows = list(study.records(output.parent))
    told = [row["settings"].get("graph_features") for row in rows]
    assert told == [None, "patterns,shape", "patterns,shape"] * 2
    assert [row["settings"].get("graph_dim") for row in rows] == [None, 1049, 28] * 2

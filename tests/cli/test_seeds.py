import json
from pathlib import Path
from statistics import mean

import pytest
import torch

from lgan import CVResult

QUICK = ["--hidden", 8, "--layers", 2, "--device", "cpu", "--folds", 3, "--iterations", 2]
CV = ["cv", "triangles", *QUICK, "--epochs", 2, "--dropout", 0.3]


def _records(folder: Path) -> dict[str, CVResult]:
    return {path.name: CVResult.load(path) for path in sorted(folder.glob("*.json"))}


def test_the_same_command_gives_the_same_records(lgan, tmp_path):
    for output in ("a", "b"):
        ran = lgan(*CV, "--seed", 7, "--seeds", 2, "--output", output)
        assert ran.code == 0, ran.err
    first, again = _records(tmp_path / "a"), _records(tmp_path / "b")
    assert list(first) == list(again) == ["seed-7.json", "seed-8.json"]
    for name, result in first.items():
        assert f"seed-{result.config['seed']}.json" == name
        assert torch.equal(result.test, again[name].test)
        assert torch.equal(result.loss, again[name].loss)
    assert not torch.equal(first["seed-7.json"].loss, first["seed-8.json"].loss)
    assert first["seed-7.json"].info["folds"] == first["seed-8.json"].info["folds"]


def test_json_holds_every_seed_and_their_mean(lgan, tmp_path):
    ran = lgan(*CV, "--seeds", 2, "--fair", "--json")
    assert ran.code == 0, ran.err
    records = [CVResult.load(tmp_path / one["record"]) for one in ran.json["seeds"]]
    assert [record.config["seed"] for record in records] == [0, 1]
    assert list(ran.json["results"]) == ["gin", "fold-max", "fair"]
    for rule, found in ran.json["results"].items():
        each = [record.selected(rule) for record in records]
        assert found["mean"] == pytest.approx(mean(one.mean for one in each))
        assert found["std"] == pytest.approx(mean(one.std for one in each))


def test_the_table_shows_the_mean_and_every_seed(lgan, tmp_path):
    ran = lgan(*CV, "--seeds", 3, "--output", "out")
    means = [record.selected("gin").mean for record in _records(tmp_path / "out").values()]
    assert "2 epochs, mean of 3 seeds" in " ".join(ran.out.split())
    assert f"│ {mean(means):.1%} ± " in ran.out
    assert "seeds: " + ", ".join(f"{value:.1%}" for value in means) in ran.out


def test_a_used_folder_is_kept_unless_told_otherwise(lgan, tmp_path):
    run, out = [*CV, "--output", "out"], tmp_path / "out"
    assert lgan(*run, "--seeds", 3).code == 0
    (out / "state-0.safetensors").unlink()
    held = {path: path.read_bytes() for path in out.iterdir()}
    refused = lgan(*run, "--seeds", 2)
    assert refused.code == 2
    assert "out already holds a run (seed-" in refused.err
    assert {path: path.read_bytes() for path in out.iterdir()} == held
    assert lgan(*run, "--seeds", 2, "--overwrite").code == 0
    assert list(_records(out)) == ["seed-0.json", "seed-1.json"]
    assert lgan(*run, "--overwrite").code == 0
    assert list(_records(out)) == ["result.json"]


def test_a_search_over_seeds_finds_what_cross_validation_finds(lgan, tmp_path):
    (tmp_path / "space.json").write_text(json.dumps({"lr": [0.003]}))
    search = [
        "sweep", "triangles", "--space", "space.json", "--sampler", "grid", "--trials", 1,
        "--folds", 3, "--epochs", 2, "--device", "cpu", "--seed", 7,
        *("--set", "hidden=8", "--set", "num_layers=2", "--set", "iterations=2"),
        *("--set", "dropout=0.3"),
    ]  # fmt: skip
    ran = lgan(*search, "--seeds", 2, "--json")
    assert ran.code == 0, ran.err
    cv = lgan(*CV, "--lr", 0.003, "--seed", 7, "--seeds", 2, "--json")
    assert ran.json["seeds"] == 2
    found = ran.json["winner"]["outcome"]["value"]
    assert found == pytest.approx(cv.json["results"]["gin"]["mean"])
    other = lgan(*search, "--seeds", 3, "--resume")
    assert other.code == 1
    assert "begun with other settings: seeds: 2 → 3" in other.err

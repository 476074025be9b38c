from pathlib import Path

import pytest

from lgan import CVResult, load_model


def test_demo_prints_a_table_and_keeps_the_records(lgan, tmp_path):
    ran = lgan("demo", "--epochs", 3, "--folds", 2, "--output", "out")
    assert ran.code == 0, ran.err
    assert "Accuracy on held-out pairs after epoch 3, 2 folds" in ran.out
    for name in ("gin", "lgan", "lgan-res"):
        assert f"│ {name} " in ran.out
        result = CVResult.load(tmp_path / "out" / name / "result.json")
        assert result.model["name"] == name
        assert result.test.shape == (2, 3)
        fold = result.info["folds"]
        assert fold[::2] == fold[1::2], "partners lie in one fold"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert f"which edges decided, in pictures: {Path('out') / 'report.html'}" in ran.out
    assert ran.out.rstrip().endswith(f"lgan app {Path('out') / 'model.safetensors'}")
    assert load_model(tmp_path / "out" / "model.safetensors").task.classes
    report = (tmp_path / "out" / "report.html").read_text()
    assert report.count("<article") == 12
    assert report.count("held out") == 12
    shown = lgan("explain", "out/model.safetensors", "--index", 0, "--json")
    assert shown.json["graphs"][0]["held_out"] is True


def test_gin_stays_at_chance_and_lgan_does_not(lgan):
    ran = lgan("demo", "--epochs", 10, "--folds", 2, "--json")
    results = ran.json
    assert list(results) == ["gin", "lgan", "lgan-res"]
    assert results["gin"]["last_epoch"] == pytest.approx(0.5, abs=0.01)
    assert results["lgan"]["last_epoch"] > 0.9
    assert results["lgan-res"]["last_epoch"] > 0.9


@pytest.mark.parametrize(
    "arguments", [["--folds", 1], ["--folds", 101], ["--epochs", 0], ["--seed", -1]]
)
def test_numbers_out_of_range_are_bad_usage(arguments, lgan, empty):
    ran = lgan("demo", *arguments)
    assert ran.code == 2
    assert arguments[0] in ran.err
    assert empty()


def test_output_that_is_a_file_is_bad_usage(lgan, tmp_path):
    (tmp_path / "out").write_text("mine")
    ran = lgan("demo", "--output", "out")
    assert ran.code == 2
    assert "`--output` must be a folder that may be written to, but out is a file" in ran.err
    assert ran.out == ""
    assert (tmp_path / "out").read_text() == "mine"


@pytest.mark.parametrize("compiled", [False, True])
def test_demo_compiles_before_its_clock_and_says_so(compiled, lgan, monkeypatch):
    done = []
    monkeypatch.setattr("lgan.ops.ahead.layer_is_compiled", lambda: compiled)
    monkeypatch.setattr("lgan.ops.ahead.compile_layer", lambda: done.append("layer"))
    ran = lgan("demo", "--epochs", 1, "--folds", 2)
    assert ran.code == 0, ran.err
    assert done == ([] if compiled else ["layer"])
    assert ("compiling loops" in ran.err) is not compiled

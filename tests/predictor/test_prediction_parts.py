"""Parts of a prediction together are the prediction, and none of them is made twice."""

import csv
from dataclasses import replace

import pytest
import torch

import molecule_models
from lgan.predictor import prediction_parts as module
from lgan.predictor.prediction_parts import predict_in_parts
from lgan.predictor.prediction_rows import PredictionRows
from lgan.predictor.predictor import load_model
from lgan.task import TargetScale
from lgan.train.companion import Companion, Landmarks


@pytest.fixture
def table(tmp_path):
    smiles = [*molecule_models.SMILES, "CCN", "C1CCCC1"]
    path = tmp_path / "t.csv"
    path.write_text("smiles,id\n" + "\n".join(f"{smiles[i % 7]},{i}" for i in range(23)))
    return path


@pytest.fixture(scope="module")
def predictor():
    return molecule_models.predictor([0, 1, 0, 1, 0])


def rows(paths):
    return [row for path in paths for row in csv.DictReader(path.read_text().splitlines())]


@pytest.mark.parametrize(("parts", "files"), [(1, 1), (4, 4), (9, 8)])
def test_parts_together_are_the_prediction(table, tmp_path, predictor, parts, files):
    done = predict_in_parts(predictor, table, tmp_path / "out", parts=parts)
    assert (len(done.paths), done.rows) == (files, 23)
    whole = PredictionRows.of(predictor, table)
    expected = [{name: str(value) for name, value in row.items()} for row in whole.rows]
    assert rows(done.paths) == expected
    assert "unclosed ring" in expected[3]["error"]


def test_finished_parts_are_not_made_again_and_others_are_refused(table, tmp_path, predictor):
    folder, told = tmp_path / "out", []
    first = predict_in_parts(predictor, table, folder, parts=4)
    before = [path.stat().st_mtime_ns for path in first.paths]
    first.paths[2].unlink()
    predict_in_parts(predictor, table, folder, parts=4, progress=lambda *n: told.append(n))
    after = [path.stat().st_mtime_ns for path in first.paths]
    assert [a == b for a, b in zip(before, after, strict=True)] == [True, True, False, True]
    assert told[-1] == (23, 23)
    with pytest.raises(ValueError, match="rows per part 6 → 8"):
        predict_in_parts(predictor, table, folder, parts=3)
    other = molecule_models.predictor([0, 1, 1, 1, 0], num_layers=1)
    with pytest.raises(ValueError, match="predictions of something else: model"):
        predict_in_parts(other, table, folder, parts=4)


@pytest.mark.parametrize(
    "change",
    [{"target_scale": TargetScale(torch.zeros(1), torch.ones(1))}, {"encoder": {}},
     {"companion": Companion(Landmarks(torch.ones(2, 3)), torch.ones(1, 2, 1),
                             torch.ones(1, 1), 0.5)},
     {"trained_on": torch.tensor([7])}, {"info": {"compress": False}}],
    ids=lambda change: next(iter(change)),
)  # fmt: skip
def test_a_model_with_the_same_weights_is_another_one(table, tmp_path, predictor, change):
    predict_in_parts(predictor, table, tmp_path, parts=1)
    other = replace(predictor, checkpoint=replace(predictor.checkpoint, **change))
    with pytest.raises(ValueError, match="predictions of something else: model"):
        predict_in_parts(other, table, tmp_path, parts=1)


def test_a_model_that_was_stored_goes_on_with_the_same_column_alone(table, tmp_path, predictor):
    folder, path = tmp_path / "out", tmp_path / "model.safetensors"
    predict_in_parts(predictor, table, folder, parts=4)
    predictor.checkpoint.save(path)
    predict_in_parts(load_model(path), table, folder, parts=4, smiles_column="smiles")
    with pytest.raises(ValueError, match="something else: smiles column smiles → id"):
        predict_in_parts(predictor, table, folder, parts=4, smiles_column="id")


@pytest.mark.parametrize("name", ["binary", "several", "number"])
def test_score_of_the_parts_is_that_of_the_rows(tmp_path, request, name):
    model = request.getfixturevalue(name)
    given = {"binary": "yes no", "several": "1 0", "number": "1.5 -2"}[name].split()
    targets = model.task.targets
    path = tmp_path / "t.csv"
    smiles = ["CCN", "CCCCN", "C1CC", "c1ccccc1F", "CCS"]
    lines = [",".join(("smiles", *targets)), *(
        ",".join((text, *(given[(i + t) % 2] for t in range(len(targets)))))
        for i, text in enumerate(smiles)
    )]  # fmt: skip
    path.write_text("\n".join(lines))
    whole = PredictionRows.of(model, path)
    assert len(list(whole.rows)) == 5
    done = predict_in_parts(model, path, tmp_path / "out", parts=2)
    found = PredictionRows.of_written(model, done.given, done.paths)
    assert found.metrics() == pytest.approx(whole.metrics(), rel=1e-5)
    assert "rmse" in found.metrics() or found.metrics()["roc-auc"] >= 0
    assert (found.count, found.failed, found.known) == (5, 1, whole.known) == (5, 1, 1)


def test_parts_without_a_score_say_why(table, tmp_path, binary, monkeypatch):
    done = predict_in_parts(binary, table, tmp_path / "out", parts=2)
    assert PredictionRows.of_written(binary, ["smiles", "id"], done.paths).metrics() == {}
    path = tmp_path / "active.csv"
    path.write_text("smiles,active\nCCS,yes\nCCF,no\nCCCCN,maybe\n")
    done = predict_in_parts(binary, path, tmp_path / "other", parts=2)
    found = PredictionRows.of_written(binary, ["smiles", "active"], done.paths)
    assert found.metrics() == {}
    assert "'maybe'" in found.no_score
    monkeypatch.setattr("lgan.predictor.prediction_rows.MOST_COMPARED", 2)
    found = PredictionRows.of_written(binary, ["smiles", "active"], done.paths)
    assert (found.metrics(), found.no_score) == ({}, "they are more than 2")


def test_a_table_without_rows_has_no_parts(tmp_path, predictor):
    path = tmp_path / "t.csv"
    path.write_text("smiles,id\n")
    done = predict_in_parts(predictor, path, tmp_path / "out", parts=4)
    assert (done.paths, done.rows) == ((), 0)


def test_rows_are_those_that_were_written(tmp_path, predictor):
    path = tmp_path / "t.csv"
    path.write_text('smiles,id\nCCO,"two ""\n""lines"\nCCN,1\n')
    done = predict_in_parts(predictor, path, tmp_path / "out", parts=1)
    assert done.rows == len(rows(done.paths)) == 2


def test_a_part_that_fails_is_absent(table, tmp_path, predictor):
    with pytest.raises(ValueError, match="Row 4 cannot be read"):
        predict_in_parts(predictor, table, tmp_path / "out", parts=8, on_error="raise")
    assert [path.name for path in (tmp_path / "out").glob("part*")] == ["part-00000.csv"]
    with pytest.raises(ValueError, match="`parts` must be 1 or more"):
        module.predict_in_parts(predictor, table, tmp_path / "out", parts=0)


@pytest.mark.slow
@pytest.mark.usefixtures("local_ray")
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::FutureWarning")
def test_parts_made_on_ray_are_those_made_here(table, tmp_path, predictor):
    here = predict_in_parts(predictor, table, tmp_path / "here", parts=4)
    there, told = tmp_path / "there", []
    predict_in_parts(predictor, table, there, parts=4)
    (there / "part-00001.csv").unlink()
    (there / "part-00003.csv").unlink()
    kept = (there / "part-00002.csv").stat().st_mtime_ns
    done = predict_in_parts(
        predictor, table, there, parts=4, ray="auto", progress=lambda *n: told.append(n)
    )
    assert [path.read_text() for path in done.paths] == [path.read_text() for path in here.paths]
    assert (there / "part-00002.csv").stat().st_mtime_ns == kept
    # After each part that Ray made and in the end: none was left to this process.
    assert (len(told), told[-1]) == (3, (23, 23))

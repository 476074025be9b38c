import csv
import errno
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import networkx as nx
import pytest
import torch

from lgan import CVResult
from lgan.cli import training
from lgan.data import load_raw, load_tensors
from lgan.train.checkpoint import Checkpoint

SMALL = ["--hidden", 8, "--layers", 2, "--device", "cpu", "--folds", 3]
QUICK = [*SMALL, "--epochs", 2, "--iterations", 2]


@pytest.mark.parametrize("model", ["lgan", "lgan-res", "gin"])
def test_cv_prints_every_rule_and_keeps_the_record(model, lgan, tmp_path):
    ran = lgan("cv", "triangles", "--model", model, *QUICK, "--output", "out")
    assert ran.code == 0, ran.err
    assert f"triangles, model {model}, 3 folds, 2 epochs" in " ".join(ran.out.split())
    for rule in ("gin", "fold-max", "fair"):
        assert f"│ {rule} " in ran.out
    assert "not measured" in ran.out  # the rule fair
    result = CVResult.load(tmp_path / "out" / "result.json")
    assert (result.model["name"], result.test.shape) == (model, (3, 2))


def test_cv_as_json_is_one_document(lgan, tmp_path):
    ran = lgan("cv", "triangles", *QUICK, "--fair", "--json")
    assert ran.code == 0, ran.err
    assert list(ran.json["results"]) == ["gin", "fold-max", "fair"]
    assert ran.json["config"]["epochs"] == 2
    record = CVResult.load(tmp_path / ran.json["record"])
    assert record.selected("fair").mean == ran.json["results"]["fair"]["mean"]
    assert (tmp_path / "runs" / "triangles-lgan" / "result.json").is_file()


def test_cv_averages_members(lgan, tmp_path):
    options = ["cv", "triangles", *QUICK, "--model", "gin", "--bagged"]
    ran = lgan(*options, "--output", "all")
    assert ran.code == 0, ran.err
    assert "│ bagged " in ran.out
    assert "2 models a fold" in " ".join(ran.out.split())
    assert "not measured" not in ran.out  # the models of the rule fair are among them
    ran = lgan(*options, "--bagged-members", 1, "--json")
    assert list(ran.json["results"]) == ["gin", "fold-max", "fair", "bagged"]
    record = CVResult.load(tmp_path / ran.json["record"])
    assert record.bagged_members == 1
    assert record.selected("bagged").folds == record.selected("fair").folds


def test_options_reach_model_and_training(lgan, tmp_path):
    ran = lgan(
        "cv", "triangles", *QUICK, "--dropout", 0.25, "--readout", "max", "--lr", 0.5, "--seed", 7,
        "--batch-size", 9, "--features", "degree", "--no-compress", "--output", "out", "--json",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert ran.json["model"] == {
        "name": "lgan", "hidden": 8, "num_layers": 2, "dropout": 0.25, "readout": "max",
        "features": "degree", "compress": False,
        # and those that nobody gave, so that the record holds them all
        "branches": "both", "code_map": "linear", "comb": "deepsets", "fusion": "concat",
        "graph_dropout": 0.0, "head_layers": 1, "include_input": False, "pair_code": "none",
        "residual": False, "norm": "batch", "squash": False,
    }  # fmt: skip
    config = ran.json["config"]
    assert (config["lr"], config["seed"], config["batch_size"]) == (0.5, 7, 9)


@pytest.mark.parametrize("command", ["cv", "train"])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nosuchset"], "no such name. Choose one of: MUTAG, PTC_MR"),
        (["mutag"], "no such name. Did you mean MUTAG?"),
        (["nowhere.csv"], "There is no file or folder nowhere.csv"),
        (["triangles", "--split", "thirds"], "A split must be one of stratified, random"),
        (["triangles", "--metric", "rmse"], "accuracy, balanced-accuracy, roc-auc"),
        (["triangles", "--model", "ginn"], "Unknown model 'ginn'. Did you mean gin?"),
        (["triangles", "--epochs", 0], "'--epochs'"),
        (["triangles", "--epochs", "many"], "--epochs'"),
        (["triangles", "--iterations", -1], "'--iterations'"),
        (["triangles", "--folds", 1], "'--folds'"),
        (["triangles", "--batch-size", 0], "'--batch-size'"),
        (["triangles", "--hidden", 0], "'--hidden'"),
        (["triangles", "--layers", 0], "'--layers'"),
        (["triangles", "--dropout", 1], "must be at least 0 and below 1, got 1.0"),
        (["triangles", "--dropout", "nan"], "must be at least 0 and below 1, got nan"),
        (["triangles", "--lr", 0], "`lr` must be positive and finite, got 0.0"),
        (["triangles", "--lr", "inf"], "`lr` must be positive and finite, got inf"),
        (["triangles", "--seed", -1], "'--seed'"),
        (["triangles", "--seed", 2**32], "'--seed'"),
        (
            ["triangles", "--readout", "median"],
            "Unknown read-out 'median'. Did you mean mean? Choose one of: sum, mean, max",
        ),
        (["triangles", "--features", "colour"], "Choose one of: labels, attributes"),
        (["triangles", "--device", "tpu"], "must be cpu, cuda or auto, got 'tpu'"),
        (["triangles", "--device", "meta"], "must be cpu, cuda or auto, got 'meta'"),
        (["triangles", "--device", "cpu:3"], "must be cpu, cuda or auto, got 'cpu:3'"),
        (["triangles", "--resume", "--overwrite"], "exclude each other"),
    ],
)
def test_bad_usage_is_told_and_writes_nothing(command, arguments, message, lgan, empty):
    ran = lgan(command, *arguments)
    assert ran.code == 2, ran
    assert message in ran.err
    assert ran.out == ""
    assert empty()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--bagged", "--folds", 2], "`--bagged` needs `--folds` of 3 or more, got 2"),
        (["--bagged-members", 2], "`--bagged-members` says how many `--bagged` averages"),
        (["--bagged", "--model", "wl"], "`--bagged` is for networks: wl chooses inside"),
        (["--fair", "--folds", 2], "`--fair` needs `--folds` of 3 or more, got 2"),
        (["--splits", "nowhere"], "'--splits'"),
        (["--folds", 5, "--splits", "."], "`--folds` draws folds and"),
        (["--seeds", 2, "--model", "wl"], "`--seeds` is for networks: wl has no initial weights"),
        (["--seeds", 0], "'--seeds'"),
        pytest.param(
            ["--device", "cuda"],
            "needs a GPU and a CUDA build of torch, and none is here. Use `--device cpu`",
            marks=pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU"),
        ),
    ],
)
def test_bad_usage_of_cross_validation_is_told_and_writes_nothing(arguments, message, lgan, empty):
    ran = lgan("cv", "triangles", *arguments)
    assert ran.code == 2
    assert message in ran.err
    assert ran.out == ""
    assert empty()


def test_splits_without_files_fail_and_leave_no_folder(lgan, tmp_path):
    (tmp_path / "splits").mkdir()
    ran = lgan("cv", "triangles", "--splits", "splits", "--output", "out")
    assert ran.code == 1
    assert "Expected the fold file splits/test_idx-1.txt" in ran.err
    assert not (tmp_path / "out").exists()


def test_fold_with_a_single_class_fails_and_leaves_no_folder(lgan, tmp_path):
    splits = tmp_path / "splits"
    splits.mkdir()
    ids = [" ".join(map(str, range(start, 200, 2))) for start in (0, 1)]  # one class each
    for k in (1, 2):
        (splits / f"test_idx-{k}.txt").write_text(ids[k - 1])
        (splits / f"train_idx-{k}.txt").write_text(ids[2 - k])
    ran = lgan("cv", "triangles", "--splits", "splits", "--output", "out")
    assert ran.code == 1
    assert "must hold at least two classes, got only [1] in fold 1 of 2" in ran.err
    assert not (tmp_path / "out").exists()


def test_corrupt_archive_fails_and_leaves_no_folder(lgan, tmp_path):
    (tmp_path / "MUTAG.zip").write_bytes(b"PK no archive")
    ran = lgan("cv", "MUTAG", "--mirror", tmp_path, "--output", "out", "--json")
    assert ran.code == 1
    assert "MUTAG.zip is damaged" in ran.json["error"]
    assert "MUTAG.zip" in ran.err
    assert "Traceback" not in ran.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("command", ["cv", "train"])
def test_output_that_cannot_be_a_folder_is_bad_usage(command, lgan, tmp_path):
    (tmp_path / "file").write_text("mine")
    for output in ("file", "file/below", "file/far/below"):
        ran = lgan(command, "triangles", *QUICK, "--output", output)
        assert ran.code == 2
        assert "`--output` must be a folder that may be written to" in ran.err
    assert (tmp_path / "file").read_text() == "mine"
    assert len(list(tmp_path.iterdir())) == 1


def test_read_only_output_is_bad_usage_for_everyone(lgan, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)  # what a user who is not root meets
    ran = lgan("cv", "triangles", *QUICK, "--output", "out")
    assert ran.code == 2
    assert f"but {tmp_path} may not be written to" in ran.err


@pytest.mark.parametrize("command", ["cv", "train"])
def test_folder_with_a_run_is_kept_unless_told_otherwise(command, lgan, tmp_path):
    first = lgan(command, "triangles", *QUICK, "--output", "out", "--json")
    assert first.code == 0, first.err
    held = {path: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    refused = lgan(command, "triangles", *QUICK, "--output", "out", "--seed", 1)
    assert refused.code == 2
    assert "out already holds a run (state-0.safetensors). Add `--resume`" in refused.err
    failed = lgan(
        command, "triangles", *QUICK, "--output", "out", "--overwrite", "--features", "attributes"
    )
    assert failed.code == 1
    assert {path: path.read_bytes() for path in (tmp_path / "out").iterdir()} == held
    other = lgan(command, "triangles", *QUICK, "--output", "out", "--resume", "--seed", 1)
    assert other.code == 1
    assert "other settings: seed 0 → 1" in other.err
    replaced = lgan(
        command, "triangles", *QUICK, "--output", "out", "--overwrite", "--seed", 1, "--json"
    )
    assert replaced.code == 0, replaced.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--hidden", 9], "model hidden 8 → 9"),
        (["--model", "gin"], "model name lgan → gin"),
        (["--readout", "mean"], "model readout sum → mean"),
        (["--features", "degree"], "node features 1 →"),
        (["--folds", 4], "other settings: folds, or what is held out inside them"),
        (["--fair"], "held out inside them (`--fair`, `--bagged`, `--seeds`). Resume with"),
        (["--set", "norm=layer"], "model norm batch → layer"),
        (["--seeds", 2], "with other settings: seed 0 → [0, 1]"),
    ],
)
def test_resuming_with_other_options_names_them(arguments, message, lgan):
    assert lgan("cv", "triangles", *QUICK, "--output", "out").code == 0
    ran = lgan("cv", "triangles", *QUICK, "--output", "out", "--resume", *arguments)
    assert ran.code == 1
    assert message in ran.err


def test_resuming_nothing_says_that_a_new_run_begins(lgan):
    ran = lgan("cv", "triangles", *QUICK, "--output", "out", "--resume")
    assert ran.code == 0
    assert "There is no run in out to resume: a new one begins." in ran.err


def test_resuming_a_kernel_s_folder_says_that_a_new_run_begins(lgan):
    assert lgan("cv", "triangles", "--model", "wl", "--folds", 3, "--output", "out").code == 0
    ran = lgan("cv", "triangles", *QUICK, "--output", "out", "--resume")
    assert "There is no run in out to resume" in ran.err


@pytest.mark.parametrize(("quiet", "lines"), [(0.0, 2), (3600.0, 0)])
def test_without_a_terminal_a_line_now_and_then_tells_the_progress(quiet, lines, lgan, monkeypatch):
    monkeypatch.setattr("lgan.cli.screen.QUIET", quiet)
    ran = lgan("cv", "triangles", *QUICK, "--output", "out")
    assert ran.err.count("triangles lgan: epoch") == ran.err.count("held-out") == lines


def test_without_a_terminal_lines_tell_what_a_kernel_does(lgan, monkeypatch):
    monkeypatch.setattr("lgan.cli.screen.QUIET", 0.0)
    ran = lgan("cv", "triangles", "--model", "wl", "--folds", 3, "--output", "out")
    assert "fitting wl: 100%" in ran.err.splitlines()


def test_steps_of_a_kernel_are_said_to_change_nothing(lgan):
    ran = lgan("cv", "triangles", "--model", "wl", "--folds", 3, "--batch-size", 8, "-o", "out")
    assert ran.code == 0
    assert "wl takes no steps: `--batch-size` changes nothing" in ran.err


def test_without_a_terminal_a_long_step_is_named_when_it_begins(lgan):
    ran = lgan("wl", "hierarchy", "--max-nodes", 4)
    assert ran.err.splitlines() == ["refining all connected graphs of 3 nodes"]


def _interrupt_after(epochs: int) -> Callable[..., object]:
    """A progress bar during which the user presses Ctrl-C."""

    @contextmanager
    def progress(*_: object) -> Iterator[Callable[[int, object], None]]:
        def on_epoch(epoch: int, curves: object) -> None:
            if epoch == epochs:
                raise KeyboardInterrupt

        yield on_epoch

    return progress


@pytest.mark.parametrize("command", [["cv"], ["cv", "--seeds", 2], ["train"]], ids=str)
def test_ctrl_c_ends_with_130_and_can_be_resumed(command, lgan, tmp_path, monkeypatch):
    run = [*command, "triangles", *SMALL, "--epochs", 4, "--iterations", 2, "--dropout", 0.3]
    with monkeypatch.context() as patched:
        patched.setattr(training, "epoch_progress", _interrupt_after(2))
        stopped = lgan(*run, "--output", "out")
    assert stopped.code == 130
    assert "Stopped. The state of the run is in out: add `--resume`" in stopped.err
    assert "Traceback" not in stopped.err
    assert lgan(*run, "--output", "out", "--resume").code == 0
    assert lgan(*run, "--output", "whole").code == 0
    _assert_same_state(tmp_path / "out", tmp_path / "whole")


def _assert_same_state(a: Path, b: Path) -> None:
    states = [load_tensors(folder / "state-0.safetensors")[0] for folder in (a, b)]
    assert states[0].keys() == states[1].keys()
    for name, tensor in states[0].items():
        if name != "curves.seconds":
            assert torch.equal(tensor, states[1][name]), name


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_killed_process_is_resumed_with_the_same_bits(lgan, tmp_path):
    run = ["cv", "triangles", *SMALL, "--epochs", 6, "--iterations", 8, "--dropout", 0.3]
    code = "import sys; from lgan.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, run), "--output", "out"], stderr=subprocess.PIPE
    )
    state = tmp_path / "out" / "state-0.safetensors"
    while not state.exists():
        assert process.poll() is None, process.communicate()[1].decode()
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert 1 <= int(load_tensors(state)[1]["done"]) < 6
    assert not (tmp_path / "out" / "result.json").exists()
    resumed = lgan(*run, "--output", "out", "--resume", "--json")
    assert resumed.code == 0, resumed.err
    whole = lgan(*run, "--output", "whole", "--json")
    _assert_same_state(tmp_path / "out", tmp_path / "whole")
    for key in ("results", "config", "fold_sizes"):
        assert resumed.json[key] == whole.json[key], key


@pytest.fixture
def trained(lgan, tmp_path) -> Path:
    ran = lgan("train", "triangles", *QUICK, "--members", 1, "--output", "out", "--json")
    assert ran.code == 0, ran.err
    return tmp_path / ran.json["checkpoint"]


def test_train_says_where_the_model_is(lgan):
    ran = lgan("train", "triangles", *QUICK, "--output", "out")
    assert re.search(r"out-of-fold accuracy: .* over 3 folds", ran.out)
    assert f"model: {Path('out') / 'model.safetensors'}" in ran.out


def test_train_writes_a_report_beside_the_model_unless_told_not_to(lgan, tmp_path):
    arguments = ["train", "triangles", *QUICK, "--members", 1, "--output", "out", "--overwrite"]
    told = lgan(*arguments, "--no-report")
    assert "report" not in told.out
    assert lgan(*arguments, "--no-report", "--json").json["report"] is None
    assert not (tmp_path / "out" / "report.html").exists()
    pytest.importorskip("matplotlib")
    told = lgan(*arguments)
    assert f"report: {Path('out') / 'report.html'}" in told.out
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "lgan train triangles" in page
    lgan(*arguments, "--no-report")
    assert not (tmp_path / "out" / "report.html").exists(), "it is of the model that was replaced"


@pytest.mark.parametrize("keep", [True, False])
def test_train_says_what_it_keeps_of_molecules(keep, lgan, tmp_path):
    pytest.importorskip("rdkit", reason="molecules need rdkit")
    rows = [f"{'C' * (i % 7 + 1)}{'O' if i % 2 else 'N'},{i % 2}" for i in range(30)]
    (tmp_path / "m.csv").write_text("\n".join(["smiles,active", *rows]) + "\n")
    option = "--training-data" if keep else "--no-training-data"
    ran = lgan(
        "train", "m.csv", *QUICK, "--members", 1, "--no-report", option, "--output", "out"
    )  # fmt: skip
    assert ran.code == 0, ran.err
    kept = "SMILES, fingerprints" if keep else "fingerprints"
    assert f"the model keeps {kept} and targets of the training molecules" in ran.err
    path = tmp_path / "out" / "model.safetensors"
    molecules = Checkpoint.load(path).molecules
    assert molecules is not None
    assert len(molecules.bits) == 20  # a fold of three is held out
    assert bool(molecules.smiles) == (b"CCCCCCN" in path.read_bytes()) == keep


def test_train_without_matplotlib_says_what_a_report_needs(lgan, tmp_path, monkeypatch):
    monkeypatch.setattr(training, "find_spec", lambda name: None)
    told = lgan("train", "triangles", *QUICK, "--members", 1, "--output", "out")
    assert (told.code, "for a report of this training: pip install 'lgan[plot]'" in told.err) == (
        0,
        True,
    )
    assert not (tmp_path / "out" / "report.html").exists()


@pytest.mark.parametrize("model", ["lgan-res", "gin"])
def test_predict_agrees_with_training(model, lgan, tmp_path):
    trained = lgan("train", "triangles", "--model", model, *QUICK, "--members", 1, "--output",
                   "out", "--json")  # fmt: skip
    ran = lgan("predict", "out/model.safetensors", "triangles", "--output", "p/x.csv", "--json")
    assert ran.code == 0, ran.err
    assert len(ran.json["rows"]) == 200
    with (tmp_path / "p" / "x.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert rows == [{key: str(value) for key, value in row.items()} for row in ran.json["rows"]]
    stored = Checkpoint.load(tmp_path / "out" / "model.safetensors")
    assert (stored.model, stored.dataset, stored.features) == (model, "triangles", "labels")
    held_out = [row for row in rows if not row["seen"]]
    right = sum(row["class"] == row["class_predicted"] for row in held_out)
    assert trained.json["accuracy"] == pytest.approx(right / len(held_out))
    assert ran.json["metrics"]["accuracy"] == pytest.approx(right / len(held_out))


def test_predictions_have_names_probabilities_and_what_was_seen(trained, lgan):
    ran = lgan("predict", trained, "triangles", "--json")
    raw = load_raw("triangles")
    columns = [f"class_probability_{name}" for name in raw.classes]
    rows, stored = ran.json["rows"], Checkpoint.load(trained)
    assert list(rows[0]) == ["graph", "class", "class_predicted", *columns, "seen", "error"]
    for graph, row in enumerate(rows):
        assert (row["graph"], row["class"]) == (graph, raw.classes[int(raw.y[graph])])
        assert sum(row[column] for column in columns) == pytest.approx(1, abs=1e-5)
        assert row[f"class_probability_{row['class_predicted']}"] >= 0.5
        assert row["seen"] == ("" if graph in stored.info["held_out_graphs"] else "yes")
    other = lgan("predict", trained, "triangles", "--seed", 1, "--json")  # other graphs
    assert {row["seen"] for row in other.json["rows"]} == {""}


def test_predict_shows_a_table(trained, lgan):
    ran = lgan("predict", trained, "triangles")
    assert ran.code == 0
    told = " ".join(ran.out.split())
    assert "180 more rows: --output" in told
    assert "on the rows it was not trained on: accuracy" in told


def test_predict_on_a_set_that_means_something_else_fails(trained, lgan):
    ran = lgan("predict", trained, "motifs-ba", "--json")  # as many features and classes
    assert ran.code == 1
    difference = "has other features: 'motifs-ba label 0' in place of 'triangles label 0'"
    said = f"The model was trained on triangles, but motifs-ba {difference}"
    assert ran.json["error"].startswith(said)
    assert said in ran.err


@pytest.mark.data
def test_predict_on_a_set_with_other_features_fails(trained, lgan, mirror):
    ran = lgan("predict", trained, "MUTAG", "--mirror", mirror)
    assert ran.code == 1
    assert "but MUTAG has 7 features, not 1. Train a model on MUTAG" in ran.err
    without = lgan("predict", trained, "IMDB-BINARY", "--mirror", mirror)
    assert without.code == 1
    assert "need node labels, got a set (IMDB-BINARY) without" in without.err


@pytest.mark.parametrize("content", [None, b"no checkpoint"])
def test_predict_without_a_checkpoint_fails(content, lgan, tmp_path):
    if content is not None:
        (tmp_path / "model").write_bytes(content)
    ran = lgan("predict", "model", "triangles")
    assert ran.code == 1
    assert ("is not a checkpoint of lgan" if content else "There is no checkpoint") in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(("option", "what"), [("--output", "CSV file"), ("--embed", "file")])
def test_predict_refuses_a_folder_for_its_files_before_any_work(option, what, lgan, tmp_path):
    ran = lgan("predict", "nowhere", "triangles", option, tmp_path)
    assert ran.code == 2
    assert f"`{option}` must be a {what}, but {tmp_path} is a folder" in ran.err


@pytest.mark.parametrize(("option", "what"), [("--output", "CSV"), ("--embed", "CSV or .npy")])
def test_predict_refuses_the_ending_of_another_format_before_any_work(option, what, lgan):
    ran = lgan("predict", "nowhere", "triangles", option, "said.XLSX")
    assert ran.code == 2
    assert f"`{option}` writes {what}, got said.XLSX" in ran.err


@pytest.mark.data
def test_mutag_with_the_published_folds_end_to_end(lgan, mirror, splits_folder, tmp_path):
    ran = lgan(
        "cv", "MUTAG", "--epochs", 2, "--iterations", 4,
        "--splits", splits_folder / "MUTAG", "--mirror", mirror, "--output", "out", "--json",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert ran.json["fold_sizes"] == [18] * 10  # eight graphs of 188 are in no published fold
    assert 0.4 < ran.json["results"]["gin"]["mean"] <= 1
    record = json.loads((tmp_path / "out" / "result.json").read_text())
    held_out = (splits_folder / "MUTAG" / "test_idx-3.txt").read_text().split()
    assert [graph for graph, fold in enumerate(record["info"]["folds"]) if fold == 2] == sorted(
        map(int, held_out)
    )


def test_a_kernel_has_no_state_to_go_on_from(lgan, tmp_path):
    assert lgan("cv", "triangles", *QUICK, "--output", "out").code == 0
    ran = lgan("cv", "triangles", "--model", "wl", "--folds", 3, "--output", "out", "--resume")
    assert ran.code == 2
    assert "wl keeps no state" in ran.err
    assert (tmp_path / "out" / "result.json").exists()


@pytest.mark.parametrize(
    ("command", "how"), [("cv", ["--resume"]), ("train", []), ("train", ["--overwrite"])], ids=str
)
def test_a_folder_that_a_live_run_writes_to_is_refused(command, how, lgan, tmp_path):
    hold = "import sys\nfrom lgan.train.run_lock import run_lock\n"
    hold += "with run_lock('out'): print('held', flush=True); sys.stdin.read()"
    process = subprocess.Popen(
        [sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "held\n"
    (tmp_path / "out" / "result.json").write_text("the run's" if how else "")
    if not how:
        (tmp_path / "out" / "result.json").unlink()
    held = {path: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    ran = lgan(command, "triangles", *QUICK, "--output", "out", *how)
    assert ran.code == 1
    assert "Another run is writing to out. Wait for its end, or choose another" in ran.err
    assert {path: path.read_bytes() for path in (tmp_path / "out").iterdir()} == held
    process.kill()
    process.communicate()


def test_of_two_runs_that_begin_together_the_second_does_not_replace_the_first(
    lgan, tmp_path, monkeypatch
):
    """Both find the folder empty; the other one ends while this one reads its data."""
    read_source = training.read_source

    def slowly(*arguments: object, **options: object) -> object:
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "result.json").write_text("of the other")
        return read_source(*arguments, **options)

    monkeypatch.setattr(training, "read_source", slowly)
    ran = lgan("cv", "triangles", *QUICK, "--output", "out")
    assert ran.code == 2
    assert "out already holds a run (result.json)" in ran.err
    assert (tmp_path / "out" / "result.json").read_text() == "of the other"


@pytest.mark.parametrize("command", ["cv", "train"])
def test_an_old_run_stays_where_the_new_one_cannot_be_written(command, lgan, tmp_path, monkeypatch):
    assert lgan(command, "triangles", *QUICK, "--output", "out").code == 0
    held = {path: path.read_bytes() for path in (tmp_path / "out").iterdir()}

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("lgan.train.state.save_tensors", full)
        ran = lgan(command, "triangles", *QUICK, "--output", "out", "--overwrite", "--seed", 1)
    assert ran.code == 1
    assert "No space left on device" in ran.err
    assert {path: path.read_bytes() for path in (tmp_path / "out").iterdir()} == held
    assert lgan(command, "triangles", *QUICK, "--output", "out", "--overwrite").code == 0
    assert not (tmp_path / "out" / ".replaced").exists()


@pytest.mark.parametrize("command", ["cv", "train"])
def test_a_learning_rate_that_is_too_large_ends_in_words(command, lgan, tmp_path):
    run = [command, "triangles", *SMALL, "--epochs", 30, "--iterations", 2, "--lr", 1e30]
    ran = lgan(*run, "--output", "out")
    assert ran.code == 1
    assert "Training is no longer finite: in epoch" in ran.err
    assert "Choose a smaller learning rate (`lr`, now 1e+30)" in ran.err
    assert not (tmp_path / "out" / "result.json").exists()
    assert not (tmp_path / "out" / "model.safetensors").exists()


@pytest.mark.parametrize("command", ["cv", "train"])
def test_a_width_beyond_the_memory_ends_in_words(command, lgan, tmp_path):
    ran = lgan(command, "triangles", "--hidden", 10_000_000, "--device", "cpu", "--output", "out")
    assert ran.code == 1
    assert "Choose a smaller width (`hidden`)" in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(("weight", "expected"), [("none", 0.25), ("balanced", 0.5)])
def test_balanced_classes_have_the_same_share_of_the_loss(lgan, tmp_path, weight, expected):
    pytest.importorskip("rdkit", reason="molecules need rdkit")
    # Molecules that cannot be told apart: all that can be learned is how often a class occurs.
    rows = [f"CCO,{int(i % 4 == 0)}" for i in range(64)]
    (tmp_path / "a.csv").write_text("\n".join(["smiles,active", *rows]))
    ran = lgan("train", "a.csv", "--class-weight", weight, "--epochs", 99, "--hidden", 4,
               "--layers", 1, "--dropout", 0, "--batch-size", 8, "--device", "cpu", "--folds", 4,
               "--output", "m", "--json")  # fmt: skip
    assert ran.json["config"]["class_weight"] == weight
    found = lgan("predict", "m/model.safetensors", "--smiles", "CCO", "--json").json
    assert found["rows"][0]["active_probability_1"] == pytest.approx(expected, abs=0.03)


def test_another_number_of_folds_than_a_column_has_is_refused(lgan, tmp_path):
    pytest.importorskip("rdkit", reason="molecules need rdkit")
    rows = [f"{'C' * (1 + i)},{i // 4 % 2},{i % 4}" for i in range(16)]
    (tmp_path / "a.csv").write_text("\n".join(["smiles,y,fold", *rows]))
    how = ["a.csv", "--target", "y", "--split", "column:fold", "--epochs", "1", "--hidden", "4"]
    ran = lgan("cv", *how, "--folds", "3", "--output", "m")
    assert ran.code == 1
    assert "`column:fold` has 4 folds of its own, got `--folds 3`" in ran.err
    assert lgan("cv", *how, "--folds", "4", "--output", "m").code == 0


@pytest.mark.parametrize("words", [("train", "train", "val", "test"), ("train", "train", "test")])
def test_what_a_column_calls_test_is_not_trained_on(words, lgan, tmp_path):
    pytest.importorskip("rdkit", reason="molecules need rdkit")
    table, output = tmp_path / "parts.csv", tmp_path / "run"
    parts = [words[i % len(words)] for i in range(24)]
    rows = [f"{'C' * (1 + i % 12)}{'O' if i < 12 else 'N'},{i},{parts[i]}" for i in range(24)]
    table.write_text("\n".join(["smiles,y,part", *rows]))
    how = ["--target", "y", "--split", "column:part"]
    refused = lgan("cv", table, *how)
    assert refused.code == 1
    assert "graphs `test`. `lgan train --split column:part` trains without them" in refused.err
    small = ["--members", "2", "--epochs", "1", "--hidden", "4", "--no-report"]
    said = lgan("train", table, *how, *small, "--output", output).err
    assert f"{parts.count('test')} graphs called `test` are left out" in said
    lgan("predict", output / "model.safetensors", table, "--output", "said.csv")
    with Path("said.csv").open(newline="") as file:
        seen = [row["seen"] == "yes" for row in csv.DictReader(file)]
    assert seen == [part == "train" for part in parts]


def test_graphs_are_known_again_by_a_model_that_reads_no_features_of_edges(lgan, tmp_path):
    lines = []
    for n in range(4, 16):
        graph = nx.cycle_graph(n)
        nx.set_edge_attributes(graph, {edge: n + edge[0] / 2 for edge in graph.edges}, "w")
        graph.graph["target"] = n % 2
        lines.append(json.dumps(nx.node_link_data(graph, edges="edges")))
    source = tmp_path / "cycles.jsonl"
    source.write_text("\n".join(lines))
    how = ["--members", "1", "--epochs", "1", "--folds", "3", "--no-report"]
    for model in ("gin", "dgcnn"):  # of which the first reads them
        assert lgan("train", source, "--model", model, *how, "--output", model).code == 0
        said = lgan("predict", f"{model}/model.safetensors", source, "--json")
        assert json.loads(said.out)["seen"] == 8


def test_training_ends_where_epochs_bring_nothing_better(lgan, tmp_path):
    pytest.importorskip("rdkit", reason="molecules need rdkit")
    table = tmp_path / "lengths.csv"
    table.write_text("\n".join(["smiles,y", *(f"{'C' * n},{n}" for n in range(1, 21))]))
    small = ["--members", "2", "--epochs", "40", "--hidden", "4", "--set", "patience=2"]
    ran = lgan("train", table, *small, "--no-report", "--output", tmp_path / "run")
    assert "up to 40 epochs, until 2 bring nothing better" in ran.err
    chosen, of = map(int, re.search(r"chose the epoch \((\d+) of (\d+) trained", ran.err).groups())
    assert chosen < of < 40
    assert "after which 2 had brought nothing better" in ran.err
    whole = lgan("train", table, *small[:-1], "patience=0", "--no-report", "--output", "whole")
    assert re.search(r"chose the epoch \(\d+ of 40\)", whole.err)


@pytest.mark.parametrize("command", ["cv", "sweep"])
def test_folds_that_do_not_define_the_metric_are_told(command, lgan, tmp_path):
    pytest.importorskip("rdkit", reason="molecules need rdkit")
    table = tmp_path / "a.csv"
    how = [command, table, "--target", "y", "--split", "column:fold", "--output", tmp_path / "run"]
    small = ["--epochs", 1, "--set", "hidden=4", "--set", "num_layers=1", "--device", "cpu"]
    small += ["--trials", 1] if command == "sweep" else []
    classes = [[0, 0, 0, 0], [1, 1, 1, 1], [0, 1, 0, 1]]  # by fold
    rows = [f"{'C' * (1 + 4 * k + i)},{y},{k}" for k, ys in enumerate(classes)
            for i, y in enumerate(ys)]  # fmt: skip
    table.write_text("\n".join(["smiles,y,fold", *rows[:8]]))
    ran = lgan(*how, *small)
    assert ran.code == 1
    assert "got only [1] in fold 1 of 2" in ran.err  # of training parts, which are looked at first
    table.write_text("\n".join(["smiles,y,fold", *rows[:8], "N,0,2", "NN,1,3"]))
    ran = lgan(*how, *small)
    assert ran.code == 1
    assert "roc-auc needs graphs of two classes in a fold, got none such among 4 folds" in ran.err
    assert not (tmp_path / "run").exists()
    table.write_text("\n".join(["smiles,y,fold", *rows]))
    ran = lgan(*how, *small)
    assert ran.code == 0, ran.err
    assert "2 of 3 folds have none and are left out of its mean" in ran.err
    ran = lgan(*how, *small, "--metric", "accuracy", "--overwrite")
    assert "left out of its mean" not in ran.err


def test_a_kernel_has_one_figure_and_no_epochs(lgan):
    ran = lgan("cv", "triangles", "--model", "wl", "--folds", 3, "--output", "out")
    assert ran.code == 0, ran.err
    assert "triangles, kernel wl, 3 folds" in ran.out
    assert "│ fair │" in ran.out
    for word in ("gin", "fold-max", "--bagged", "epoch", "searched"):  # `--bagged` is refused
        assert word not in ran.out

import json
import os
import shlex
import signal
import subprocess
import sys
import time

import pytest
from filelock import FileLock

from lgan.sweep import SweepRecord

SMALL = [
    "triangles", "--epochs", 2, "--folds", 3, "--set", "iterations=1", "--set", "num_layers=1",
    "--device", "cpu", "--batch", 2,
]  # fmt: skip


@pytest.fixture
def space(tmp_path):
    path = tmp_path.parent / f"{tmp_path.name}-space.json"
    path.write_text(json.dumps({"hidden": [4, 8], "lr": [0.01, 0.001]}))
    return path


@pytest.mark.parametrize("sampler", ["random", "tpe"])
def test_a_search_ends_with_a_record_and_goes_on_when_told(lgan, tmp_path, space, sampler):
    common = ["sweep", *SMALL, "--space", space, "--sampler", sampler]
    ran = lgan(*common, "--trials", 2)
    assert ran.code == 0, ran.err
    assert "best of 2 trials" in ran.out
    assert "Optimistic" in ran.out
    path = tmp_path / "runs" / "sweep" / "triangles-lgan.json"
    found = SweepRecord.load(path)
    assert len(found.trials) == 2
    command = ran.out.split("the winner: lgan ")[1].split()
    assert command[:4] == ["cv", "triangles", "--model", "lgan"]
    assert "iterations=1" in command
    assert not any(word.startswith("lr_halving=") for word in command)  # as by default
    again = lgan(*command, "--device", "cpu", "--output", "again", "--json")
    won = {**found.head.fixed, **found.winner.params}
    assert won.pop("edge_features") == "none"  # of which a record says nothing
    assert {**again.json["model"], **again.json["config"]}.items() >= won.items()
    assert again.json["results"]["gin"]["mean"] == pytest.approx(found.winner.value)

    refused = lgan(*common, "--trials", 3)
    assert refused.code == 2
    assert "already holds a study" in refused.err
    ran = lgan(*common, "--trials", 3, "--resume", "--json")
    assert ran.json["num_trials"] == 3
    assert ran.json["states"] == {"done": 3}
    other = lgan(*common, "--trials", 3, "--resume", "--seed", 9)
    assert other.code == 1
    assert "begun with other settings: seed: 0 → 9" in other.err


def test_resuming_nothing_says_so_and_begins(lgan, space):
    common = ["sweep", *SMALL, "--space", space, "--sampler", "grid", "--trials", 1, "--resume"]
    ran = lgan(*common)
    assert ran.code == 0
    assert "no study triangles-lgan in runs/sweep to resume: a new one begins." in ran.err
    assert "to resume" not in lgan(*common).err


def test_overwrite_starts_anew_and_plot_draws(lgan, tmp_path, space):
    common = ["sweep", *SMALL, "--space", space, "--sampler", "grid", "--trials", 2]
    assert lgan(*common).code == 0
    ran = lgan(*common, "--overwrite", "--objective", "fair", "--plot")
    assert ran.code == 0, ran.err
    assert "The test folds take no part in the choice" in " ".join(ran.out.split())
    assert (tmp_path / "runs" / "sweep" / "triangles-lgan-history.png").exists()


def test_a_search_does_not_go_on_with_another_sampler(lgan, tmp_path, space):
    common = ["sweep", *SMALL, "--space", space, "--trials", 2]
    assert lgan(*common, "--sampler", "random").code == 0
    path = tmp_path / "runs" / "sweep" / "triangles-lgan.json"
    before = path.read_text()
    ran = lgan(*common, "--resume")
    assert ran.code == 1
    assert "sampler: random → tpe" in ran.err
    assert path.read_text() == before


def test_a_running_search_is_not_overwritten(lgan, tmp_path, space):
    common = ["sweep", *SMALL, "--space", space, "--trials", 1, "--sampler", "random"]
    assert lgan(*common).code == 0
    path = tmp_path / "runs" / "sweep" / "triangles-lgan.json"
    with FileLock(path.with_name(f".{path.name}.lock")):
        ran = lgan(*common, "--overwrite")
    assert ran.code == 1
    assert path.exists()


def test_settings_that_never_work_end_with_their_reason(lgan, space):
    ran = lgan("sweep", *SMALL, "--space", space, "--sampler", "grid", "--trials", 2,
               "--set", "lr=1e30", "--epochs", 30)  # fmt: skip
    assert ran.code == 1
    assert "No trial finished: Training is no longer finite" in ran.err


def test_folds_that_cannot_be_made_are_refused_before_any_work(lgan, empty, space):
    ran = lgan("sweep", *SMALL, "--space", space, "--folds", 999)
    assert ran.code == 1
    assert "at least as many graphs as folds (999)" in ran.err
    assert empty()


TABLE = "smiles,logS,batch\n" + "".join(
    f"{'C' * (i % 9 + 1)}{'O' * (i % 2)},{i % 9 - i / 7},{'ab'[i % 4 // 2]}\n" for i in range(36)
)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_table_is_searched_by_its_metric_and_split(lgan, tmp_path, workers):
    (tmp_path / "a.csv").write_text(TABLE)
    space = tmp_path / "space.json"
    space.write_text('{"lr": [0.01, 1e-6]}')
    small = ["--epochs", 6, "--set", "hidden=8", "--set", "num_layers=1", "--device", "cpu"]
    ran = lgan("sweep", "a.csv", "--target", "logS", "--bonds", "order", "--split", "group:batch",
               "--folds", 2, "--space", space, "--sampler", "grid", "--trials", 2, *small,
               "--workers", workers, "--batch", 2)  # fmt: skip
    assert ran.code == 0, ran.err
    found = SweepRecord.load(tmp_path / "runs" / "sweep" / "a.csv-lgan.json")
    assert (found.head.metric, found.head.split) == ("rmse", "group:batch")
    assert found.head.asked == {"target": ["logS"], "bonds": "order"}
    assert found.head.fixed["graph_features"] == "morgan,rdkit2d"  # what `auto` became
    assert found.head.fixed["graph_dropout"] == 0.5
    means = {t.number: t.outcome.results["gin"]["mean"] for t in found.trials}
    assert found.winner.number == min(means, key=means.get)
    assert found.winner.value == -means[found.winner.number]
    assert "gin by rmse" in ran.out
    command = shlex.split(ran.out.split("the winner: lgan ")[1].strip())
    assert command[command.index("--target") :][:2] == ["--target", "logS"]
    assert "head_layers=1" in command  # or the number of graphs would decide
    again = lgan(*command, "--device", "cpu", "--output", "again", "--json")
    assert again.json["results"]["gin"]["mean"] == pytest.approx(-found.winner.value, rel=1e-4)
    other = lgan("sweep", "a.csv", "--target", "logS", "--split", "group:batch", "--folds", 2,
                 "--space", space, "--sampler", "grid", "--resume", *small)  # fmt: skip
    assert "begun with other settings: asked: {'target': ['logS'], 'bonds'" in other.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sampler", "magic"], "Choose one of: random, grid, tpe"),
        (["--objective", "fold-max"], "Choose one of: gin, fair"),
        (["--objective", "fair", "--folds", 2], "needs `--folds` of 3 or more"),
        (["--resume", "--overwrite"], "exclude each other"),
        (["--set", "hidden"], "expects NAME=VALUE"),
        (["--seeds", 0], "'--seeds'"),
        (["--folds", 5, "--splits", "."], "`--folds` draws folds and"),
        (["--storage", "nonsense"], "URL of a database, such as sqlite:///study.db"),
        (["--storage", "sqlite:////no/where/a.db"], "URL of a database"),
    ],
)
def test_bad_usage_ends_with_code_2(lgan, empty, arguments, message):
    ran = lgan("sweep", "triangles", *arguments)
    assert ran.code == 2
    assert message in ran.err
    assert ran.out == ""
    assert empty()


def test_a_search_does_not_go_on_with_a_table_that_was_edited(lgan, tmp_path, space):
    pytest.importorskip("rdkit", reason="molecules need rdkit")
    rows = [f"{'C' * (1 + i)},{i % 2}" for i in range(12)]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["smiles,y", *rows]))
    how = ["sweep", "a.csv", *SMALL[1:], "--space", space, "--trials", 1]
    assert lgan(*how).code == 0
    assert "1 of 1 trials" in lgan(*how, "--resume").err
    rows[0], rows[1] = "C,1", "CC,0"
    path.write_text("\n".join(["smiles,y", *rows]))
    ran = lgan(*how, "--resume")
    assert ran.code == 1
    assert "begun with other settings: data: " in ran.err
    record = tmp_path / "runs" / "sweep" / "a.csv-lgan.json"
    early = {key: value for key, value in json.loads(record.read_text()).items() if key != "data"}
    record.write_text(json.dumps(early))
    assert lgan(*how, "--resume").code == 0


@pytest.mark.parametrize("package", ["optuna", "matplotlib", "ray"])
def test_a_missing_package_is_asked_for_before_any_work(lgan, empty, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    ran = lgan("sweep", *SMALL, "--plot", "--ray", "auto")
    assert ran.code == 1
    assert f"This needs the package {package}" in ran.err
    assert empty()


def test_a_search_is_handed_to_a_database_where_one_is_named(lgan, tmp_path, space):
    ran = lgan("sweep", *SMALL, "--space", space, "--sampler", "grid", "--trials", 1,
               "--storage", "sqlite:///a.db")  # fmt: skip
    assert ran.code == 0, ran.err
    assert (tmp_path / "a.db").exists()


def test_a_kernel_has_nothing_to_search_for(lgan, empty):
    ran = lgan("sweep", "triangles", "--model", "wl")
    assert ran.code == 1
    assert "is a graph kernel" in ran.err
    assert empty()


@pytest.mark.slow
def test_a_killed_search_loses_no_trial(tmp_path, space):
    code = "import sys; from lgan.cli import main; sys.argv[0] = 'lgan'; main()"
    options = [*map(str, SMALL), "--space", str(space), "--trials", "4"]
    command = [sys.executable, "-c", code, "sweep", *options]
    record = tmp_path / "runs" / "sweep" / "triangles-lgan.json"
    env = os.environ | {"OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, cwd=tmp_path, env=env) as first:
        end = time.monotonic() + 120
        # As soon as trials are recorded, the first batch is at work.
        while not (record.exists() and SweepRecord.load(record).trials):
            assert time.monotonic() < end
            assert first.poll() is None
            time.sleep(0.02)
        first.send_signal(signal.SIGKILL)
    left = SweepRecord.load(record)
    assert len(left.trials) < 4 or any(trial.outcome is None for trial in left.trials)
    subprocess.run([*command, "--resume"], cwd=tmp_path, env=env, check=True)
    now = SweepRecord.load(record)
    assert [trial.outcome.state for trial in now.trials] == ["done"] * 4
    assert [t.params for t in now.trials[: len(left.trials)]] == [t.params for t in left.trials]

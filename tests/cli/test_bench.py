import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from benchmarks import BENCHMARKS, Bar, Record, Row
from benchmarks import command as bench
from lgan.cli.app import app

ROWS = [
    Row("small", "10 edges", 0.002, "igraph", 0.03, bar=Bar("speedup", 10), note="ran once"),
    Row("layer", "a layer", 2.0, memory=3 << 30, bar=Bar("memory", 2 << 30)),
]


@pytest.fixture
def fake(monkeypatch):
    """Benchmarks that return at once; the CPU's `large` fails."""

    def fail(config):
        raise ValueError("no graph")

    for name, spec in BENCHMARKS.items():
        run = fail if name == "large" else lambda config: ROWS
        monkeypatch.setitem(BENCHMARKS, name, replace(spec, run=run))


def _run(*arguments):
    return CliRunner().invoke(app, ["bench", "--device", "cpu", *map(str, arguments)])


def test_a_benchmark_writes_record_and_plot_and_shows_whether_bars_hold(fake, tmp_path):
    result = _run("triangles", "--output", tmp_path)
    assert result.exit_code == 0, result.output
    record = Record.load(tmp_path / "triangles.json")
    assert record.rows == ROWS
    assert record.environment["threads"] == 2
    assert (tmp_path / "triangles.png").exists()
    for part in ("small", "15×", "≥ 10×", "yes", "NO", "[1] ran once", "3.00 GiB"):
        assert part in result.output


def test_json_goes_to_standard_output_alone(fake, tmp_path):
    result = _run("import", "product", "--output", tmp_path, "--json")
    plain = json.loads(result.stdout)
    assert list(plain) == ["import", "product"]
    assert plain["product"]["rows"][0]["holds"] is True


def test_the_others_run_when_one_fails(fake, tmp_path):
    result = _run("large", "cv", "--output", tmp_path)
    assert result.exit_code == 1
    assert "no graph" in result.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cv.json", "cv.png"]


def test_without_names_all_that_fit_the_device_run(fake, tmp_path):
    _run("--output", tmp_path)
    written = {path.stem for path in tmp_path.glob("*.json")}
    assert written == set(BENCHMARKS) - {"paper", "large"}


def test_a_quick_run_keeps_away_from_the_committed_records(fake, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert _run("triangles", "--quick").exit_code == 0
    assert (tmp_path / "runs" / "bench" / "triangles.json").exists()
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "unknown benchmark"),
        (["paper"], "measured on cuda"),
        (["triangles", "--quick", "--full"], "exclude each other"),
    ],
)
def test_bad_usage_ends_with_code_2(arguments, message, tmp_path):
    result = _run(*arguments, "--output", tmp_path / "new")
    assert result.exit_code == 2
    assert message in result.output
    assert not (tmp_path / "new").exists()


def test_rows_of_one_name_are_told_apart_by_size(capsys):
    rows = [Row("as given", "", 1.0, size=size) for size in (10**4, 10**5)]
    bench.show(Record("scaling", rows, {"device": "cpu", "threads": 2}))
    shown = capsys.readouterr().out
    assert "as given, 1.0e+04" in shown
    assert "peer" not in shown.splitlines()[2]


def test_the_real_thing_runs(tmp_path):
    result = _run("triangles", "--quick", "--output", tmp_path)
    assert result.exit_code == 0, result.output
    assert len(Record.load(tmp_path / "triangles.json").rows) == 6


def test_an_output_that_cannot_be_a_folder_is_refused_before_anything_is_measured(fake, tmp_path):
    (tmp_path / "file").write_text("")
    result = _run("triangles", "--output", tmp_path / "file")
    assert result.exit_code == 2
    assert "starting" not in result.output

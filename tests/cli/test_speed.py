from pathlib import Path

from typer.testing import CliRunner

from benchmarks import Bar, Record, Row
from lgan.cli.app import app

runner = CliRunner()


def _record(folder: Path, name: str, device: str, rows: list[Row]) -> None:
    folder.mkdir(exist_ok=True)
    environment = {"device": device, "threads": 2}
    Record(name, rows, environment).save(folder / f"{name}-{device}.json")


def _shown(folder: Path, *more: str) -> str:
    command = ["table", "speed", "--records", str(folder), "--format", "md", *more]
    done = runner.invoke(app, command)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_rows_with_a_bar_are_shown_machine_by_machine(tmp_path):
    fast = Row("power-law", "9 edges", 0.5, "igraph", 6.0, bar=Bar("speedup", 10), note="ran once")
    slow = Row("power-law", "9 edges", 0.5, "networkx", 6.0, bar=Bar("ratio", 0.05))
    _record(tmp_path, "triangles", "two cores", [fast, slow, Row("free", "no bar", 1.0)])
    _record(tmp_path, "paper", "a GPU", [Row("all", "six sets", 1100.0, bar=Bar("seconds", 1200))])
    first, second = _shown(tmp_path).split("\n\n**Speed on a GPU**")
    row = "| triangles | power-law [1] | 9 edges | 500 ms | igraph | 6 s | 12× | ≥ 10× | yes |"
    assert row in first
    assert "| networkx | 6 s | 0.0833 | ≤ 0.05 | NO |" in first
    assert "- [1] ran once" in first
    assert "no bar" not in first
    assert "| 1,100 s | ≤ 1,200 s | yes |" in second


def test_in_brief_a_benchmark_is_one_row(tmp_path):
    rows = [
        Row(name, "", 1.0, "igraph", seconds, bar=Bar("speedup", 10))
        for name, seconds in (("a", 12.0), ("b", 8.0), ("c", 30.0))
    ]
    _record(tmp_path, "triangles", "two cores", [*rows, Row("free", "no bar", 1.0)])
    assert "| triangles | igraph | 8× to 30× | 2 of 3 |" in _shown(tmp_path, "--brief")


def test_a_folder_without_records_is_an_error(tmp_path):
    done = runner.invoke(app, ["table", "speed", "--records", str(tmp_path)])
    assert done.exit_code != 0
    assert "Measure with `lgan bench`" in str(done.exception) + done.output

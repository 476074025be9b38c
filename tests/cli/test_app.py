import re
import subprocess
import sys
from datetime import date

import pytest
from typer.testing import CliRunner

from lgan import __version__
from lgan.cli.app import COMMANDS, app
from lgan.cli.screen import print_json, table

SHARED = ["--root", "--mirror", "--json"]
TRAINING = [
    *SHARED, "--model", "--epochs", "--iterations", "--folds", "--batch-size", "--hidden",
    "--layers", "--dropout", "--lr", "--readout", "--features", "--no-compress", "--seed",
    "--device", "--output", "--resume", "--overwrite",
]  # fmt: skip
OPTIONS = {
    "demo": ["--epochs", "--folds", "--seed", "--output", "--json"],
    "train": TRAINING,
    "cv": [*TRAINING, "--target", "--split", "--metric", "--fair", "--bagged", "--seeds"],
    "app": ["--port", "--host", "--no-browser", "--token"],
    "predict": [*SHARED, "--smiles", "--on-error", "--device", "--seed", "--output"],
    "explain": [
        *SHARED, "--dataset", "--index", "--smiles", "--class", "--method", "--steps", "--output",
        "--report", "--gallery", "--device", "--seed",
    ],
    "data list": ["--json"],
    "data prepare": [*SHARED, "--no-compress", "--shards", "--processes", "--ray", "--output"],
    "data info": [*SHARED, "--features", "--no-compress"],
}  # fmt: skip


@pytest.mark.parametrize("command", OPTIONS)
def test_help_of_every_command_names_its_options(command, lgan):
    ran = lgan(*command.split(), "--help")
    assert ran.code == 0
    for option in OPTIONS[command]:
        assert re.search(rf"{option}\b", ran.out), option


def test_help_names_every_command(lgan):
    told = lgan("--help").out + lgan("data", "--help").out
    for command in OPTIONS:
        assert re.search(rf"\b{command.split()[-1]}\b", told), command


@pytest.mark.parametrize("command", ["train", "cv", "predict"])
def test_help_of_long_commands_shows_an_example(command, lgan):
    assert re.search(rf"Examples?:\s+lgan {command}\b", lgan(command, "--help").out)


def test_app_runs_under_the_runner_of_typer():
    ran = CliRunner().invoke(app, ["data", "list", "--json"])
    assert ran.exit_code == 0
    assert '"MUTAG"' in ran.stdout


def test_command_is_installed_and_gives_its_version():
    code = "import sys; from lgan.cli import main; sys.argv = ['lgan', '--version']; main()"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == f"lgan {__version__}\n"
    assert ran.stderr == ""


@pytest.mark.parametrize(
    ("words", "message"), [("fly", "No such command 'fly'"), ("cv csl --speed 9", "--speed")]
)
def test_unknown_commands_and_options_are_bad_usage(words, message, lgan, empty):
    ran = lgan(*words.split())
    assert ran.code == 2
    assert message in ran.err
    assert empty()


def test_error_text_is_shown_as_it_is(lgan, tmp_path):
    name = tmp_path / "[red]odd[/red] [name]" / "x.safetensors"
    ran = lgan("predict", name, "triangles")
    assert ran.code == 1
    assert f"Error: There is no checkpoint {name}." in ran.err


TORCHLESS = """
import sys
from lgan.cli import main
sys.argv = ["lgan", *sys.argv[1:]]
try:
    main()
finally:
    heavy = {"torch", "torch_geometric", "numpy", "numba", "scipy", "sklearn", "networkx"}
    print("read:", sorted(heavy & set(sys.modules)), file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--help"], 0),
        (["cv", "--help"], 0),
        (["cv", "MUTGA"], 2),
        (["cv", "--model", "gin", "MUTGA"], 2),
        (["train", "MUTAG", "--layers", "0"], 2),
        (["data", "info", "MUTGA"], 2),
        (["data", "list"], 0),
    ],
)
def test_help_and_mistyped_words_are_answered_without_torch(arguments, code):
    command = [sys.executable, "-c", TORCHLESS, *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == code, ran.stderr
    assert ran.stderr.splitlines()[-1] == "read: []"


@pytest.mark.parametrize("command", [*COMMANDS, *(c for c in OPTIONS if " " in c)])
def test_help_fits_into_80_columns_without_boxes(command, lgan, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    ran = lgan(*command.split(), "-h")
    assert ran.code == 0
    assert ran.out == lgan(*command.split(), "--help").out
    assert max(map(len, ran.out.splitlines())) <= 80
    assert "│" not in ran.out


def test_every_line_about_a_command_is_whole(lgan, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    told = lgan("--help").out
    for name, (_, line) in COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(line)}$", told, re.MULTILINE), name


@pytest.mark.parametrize(
    ("words", "completed"),
    [("lgan c", "cv"), ("lgan cv MUT", "MUTAG"), ("lgan cv MUTAG --model lgan-r", "lgan-res")],
)
def test_shells_complete_commands_data_sets_and_models(words, completed, lgan, monkeypatch):
    monkeypatch.setenv("_LGAN_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    assert completed in lgan().out.split()


def test_completion_can_be_installed(lgan):
    assert "--install-completion" in lgan("--help").out


def test_a_narrow_table_wraps_words_and_keeps_numbers_whole(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    table("T", ["model", "accuracy", "what it is"], [["lgan", "91.3% ± 5.2%", "sums " * 20]])
    assert "91.3% ± 5.2%" in capsys.readouterr().out
    table("T", ["graph", "class", "edges"], [["house", "yes", "0–1 +0.2  1–2 +0.1 " * 5]])
    assert "house" in capsys.readouterr().out, "a list of edges is no number"


def test_a_table_that_is_too_wide_is_cut_between_columns_and_loses_nothing(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    names = [f"weight_decay_{k}" for k in range(7)]
    rows = [[f"{row}{k}.123 ± 4.56" for k in range(7)] for row in range(3)]
    table("T", ["set", *names], [[f"set-{k}", *row] for k, row in enumerate(rows)], "a note " * 9)
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 60
    assert all(text in out for text in [*names, *(cell for row in rows for cell in row)])
    assert out.count("set-2") == 3, "every part names its rows"
    assert out.startswith("T\n")
    assert out.split("┘")[-1].split() == ["a", "note"] * 9


def test_a_column_is_as_wide_as_the_longest_line_of_its_cells(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "31")
    table("T", ["case", "lgan", "its"], [["layer", "1.25 s\n3.00 GiB", "2.50 s\n1.00 GiB"]])
    out = capsys.readouterr().out
    assert "│ layer │   1.25 s │   2.50 s │" in out


def test_brackets_in_names_of_columns_are_shown_as_they_are(capsys):
    table("T", ["id", "rate [/s]", "b [/] y"], [["[/s]", "1", "[red]"]])
    out = capsys.readouterr().out
    assert all(text in out for text in ("rate [/s]", "b [/] y", "[/s]", "[red]"))


def test_json_holds_what_json_has(capsys):
    print_json({"when": date(2020, 1, 2), "x": [float("nan"), float("-inf"), 1.5]})
    assert capsys.readouterr().out == '{"when": "2020-01-02", "x": [null, null, 1.5]}\n'

import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from lgan import __version__
from lgan.cli.app import app

SHARED = ["--root", "--mirror", "--json"]
TRAINING = [
    *SHARED, "--model", "--epochs", "--iterations", "--folds", "--batch-size", "--hidden",
    "--layers", "--dropout", "--lr", "--readout", "--features", "--no-compress", "--seed",
    "--device", "--output", "--resume", "--overwrite",
]  # fmt: skip
OPTIONS = {
    "demo": ["--epochs", "--folds", "--seed", "--output", "--json"],
    "train": TRAINING,
    "cv": [*TRAINING, "--splits", "--fair", "--seeds"],
    "predict": [*SHARED, "--device", "--seed", "--output"],
    "explain": [
        *SHARED, "--dataset", "--index", "--smiles", "--target", "--method", "--steps", "--output",
        "--report", "--gallery", "--device", "--seed",
    ],
    "data list": ["--json"],
    "data prepare": [*SHARED, "--features", "--no-compress"],
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
    assert re.search(rf"Examples?: lgan {command}\b", lgan(command, "--help").out)


def test_app_runs_under_the_runner_of_typer():
    ran = CliRunner().invoke(app, ["data", "list", "--json"])
    assert ran.exit_code == 0
    assert '"MUTAG"' in ran.stdout


def test_command_is_installed_and_gives_its_version():
    code = "import sys; from lgan.cli import main; sys.argv = ['lgan', '--version']; main()"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == f"lgan {__version__}\n"
    assert ran.stderr == ""


def test_unknown_command_is_bad_usage(lgan, empty):
    ran = lgan("fly")
    assert ran.code == 2
    assert "No such command 'fly'" in ran.err
    assert empty()


def test_unknown_option_is_bad_usage(lgan, empty):
    ran = lgan("cv", "triangles", "--speed", "9")
    assert ran.code == 2
    assert "--speed" in ran.err
    assert empty()


def test_error_text_is_shown_as_it_is(lgan, tmp_path):
    name = tmp_path / "[red]odd[/red] [name]" / "x.safetensors"
    ran = lgan("predict", name, "triangles")
    assert ran.code == 1
    assert f"Error: There is no checkpoint {name}." in ran.err

"""`lgan table` and `lgan bench` are in a checkout, and say so where there is none."""

import subprocess
import sys

import pytest

from lgan.cli import app

PROBE = """
import sys
from lgan.cli import main
sys.argv = ["lgan", "--help"]
try:
    main()
except SystemExit:
    pass
print([name for name in sys.modules if name.split(".")[0] in ("paper", "benchmarks")])
"""


def test_help_lists_the_commands_without_loading_them():
    ran = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True)
    assert "table " in ran.stdout
    assert "bench " in ran.stdout
    assert ran.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(("name", "folder"), [("table", "paper"), ("bench", "benchmarks")])
def test_an_installed_package_says_where_the_command_is(name, folder, lgan, monkeypatch, tmp_path):
    monkeypatch.setattr(app, "ROOT", tmp_path)
    ran = lgan(name, "--help")
    assert ran.code == 1
    assert f"`lgan {name}` belongs to a checkout" in ran.err
    assert f"`{folder}`" in ran.err


def test_the_command_of_a_checkout_has_its_own_help_and_errors(lgan):
    assert "classification" in lgan("table", "--help").out
    ran = lgan("table", "fly")
    assert ran.code == 2
    assert "No such command 'fly'" in ran.err
    assert "lgan table --help" in ran.err

"""The site builds without a warning, and has every name and command."""

import importlib.util
import re
import warnings
from pathlib import Path

import pytest

import lgan
from lgan.cli.app import COMMANDS

mkdocs = pytest.importorskip("mkdocs", reason="the site needs mkdocs")
pytest.importorskip("mkdocstrings", reason="the site needs mkdocstrings")

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.py"))


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    folder = tmp_path_factory.mktemp("site")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the tools
        config = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=True)
        config.extra["notebooks"] = False
        config.plugins.on_startup(command="build", dirty=False)
        build(config)
        config.plugins.on_shutdown()
    return folder


def test_every_public_name_and_command_is_in_the_site(site):
    text = "\n".join(page.read_text() for page in site.rglob("*.html"))
    names = [f"lgan.{name}" for name in lgan.__all__ if not name.startswith("_")]
    commands = [f"lgan {name}" for name in COMMANDS]
    assert [word for word in (*names, *commands) if word not in text] == []


def test_nothing_is_fetched_from_elsewhere(site):
    fetched = re.compile(r"<(?:script|img|link|iframe)[^>]*(?:src|href)=\"?(https?:[^\" >]+)")
    found = {match for page in site.rglob("*.html") for match in fetched.findall(page.read_text())}
    assert not found


def test_notebooks_and_pictures_are_in_the_site(site):
    wanted = [f"notebooks/{path.stem}.html" for path in NOTEBOOKS]
    wanted += ["pictures/layer.svg", "examples/molecules.csv", "CONTRIBUTING.html"]
    assert len(NOTEBOOKS) == 3
    assert [name for name in wanted if not (site / name).exists()] == []


def test_equations_are_plain_text(site):
    text = "\n".join(page.read_text() for page in site.rglob("*.html"))
    assert "T_t = ∑_{p ∈ N(t)} z_{tp}" in text
    assert ":math:" not in text
    assert ".. math::" not in text


def test_search_knows_the_names(site):
    assert "lgan.LGANConv" in (site / "search" / "search_index.json").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path):
    spec = importlib.util.spec_from_file_location("hooks", ROOT / "docs" / "hooks.py")
    hooks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hooks)
    assert hooks.executed(path).cells

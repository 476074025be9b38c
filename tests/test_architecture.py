"""Imports go down the layers, never up and never sideways."""

import ast
from pathlib import Path

import pytest

import lgan

SOURCE = Path(lgan.__file__).parent
ROOT = SOURCE.parents[1]
# What is not installed stands above the whole package.
OUTSIDE = ["paper", "benchmarks"]
ROWS = [
    {"paper"},
    {"benchmarks"},
    {"cli"},
    {"sweep", "estimator", "app"},
    {"experiment"},
    {"predictor"},
    {"train", "zoo", "explain"},
    {"data", "nn", "wl"},
    {"graph"},
    {"task", "ops"},
    {"catalogue", "_optional"},
]
LEVEL = {package: level for level, row in enumerate(ROWS) for package in row}
# The version, and digests of the source, are constants that anyone may read.
FREE = {"_version", "_sources"}
MODULES = sorted(p for p in SOURCE.rglob("*.py") if p.parent != SOURCE or p.stem in LEVEL)
MODULES += sorted(path for name in OUTSIDE for path in (ROOT / name).rglob("*.py"))


def _inside(path: Path) -> Path:
    return path.relative_to(SOURCE if path.is_relative_to(SOURCE) else ROOT)


def _package(path: Path) -> str:
    return _inside(path).with_suffix("").parts[0]


def _imported(tree: ast.AST) -> list[tuple[int, str]]:
    """Line and package of every import from this library, those inside functions included."""
    found = []
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: a relative import"
            module = node.module or ""
            names = [f"lgan.{a.name}" for a in node.names] if module == "lgan" else [module]
        for name in names:
            root, _, rest = f"{name}.".partition(".")
            if root in OUTSIDE:
                found.append((node.lineno, root))
            if root == "lgan":
                found.append((node.lineno, rest.split(".")[0]))
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(_inside(p)))
def test_a_module_imports_from_lower_layers_only(path):
    own = _package(path)
    assert own in LEVEL, f"`{own}` has no place in the layers: {ROWS}"
    for line, other in _imported(ast.parse(path.read_text())):
        if other in FREE or other == own:
            continue
        where = f"{_inside(path)}:{line} imports `{other}`"
        assert other in LEVEL, f"{where}, which is no layer; import the package that defines it"
        assert LEVEL[other] > LEVEL[own], f"{where}, which is not below `{own}`"


def test_every_package_has_tests_of_its_name():
    packages = [path.parent for path in SOURCE.glob("*/__init__.py")]
    packages += [ROOT / name for name in OUTSIDE]
    without = [p.name for p in packages if not list((ROOT / "tests" / p.name).glob("test_*.py"))]
    assert without == []


def test_the_check_sees_imports_of_every_form():
    source = """
import lgan.train.loop
from lgan import cli, ops
from lgan.nn import LGAN
def f():
    from lgan.zoo import gin
import torch, lganother
from paper.render import Grid
"""
    packages = [package for _, package in _imported(ast.parse(source))]
    assert packages == ["train", "cli", "ops", "nn", "paper", "zoo"]


def test_all_modules_are_checked():
    names = {str(_inside(path)) for path in MODULES}
    assert {"graph/ego_lines.py", "nn/lgan_conv.py", "ops/dispatch.py"} <= names
    assert {"paper/published.py", "benchmarks/child.py"} <= names

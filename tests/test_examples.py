import ast
import re
import runpy
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "examples"
EXAMPLES = sorted(path.name for path in FOLDER.glob("*.py"))


def _run(name: str, capsys: pytest.CaptureFixture[str]) -> str:
    runpy.run_path(str(FOLDER / name))["main"]()
    return capsys.readouterr().out


def test_the_first_examples_are_there():
    assert {"01_triangles.py", "02_train.py"} <= set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_is_short_and_opens_with_its_question(name):
    text = (FOLDER / name).read_text()
    assert text.count("\n") < 100
    docstring = ast.get_docstring(ast.parse(text)) or ""
    assert docstring.splitlines()[0].endswith("?")
    assert f"python examples/{name}" in docstring


@pytest.mark.parametrize("name", EXAMPLES)
def test_importing_an_example_does_nothing(name, capsys):
    names = runpy.run_path(str(FOLDER / name))
    assert callable(names["main"])
    assert capsys.readouterr().out == ""


def test_triangles_shows_what_each_layer_sees(capsys):
    out = _run("01_triangles.py", capsys)
    for triangle in ("[0, 1, 2]", "[0, 1, 3]", "[0, 2, 3]", "[1, 2, 3]"):
        assert triangle in out
    assert "node 4: touches 0-4, 1-4      opposite 0-1" in out
    assert "node 2: touches 1-2, 2-3      opposite -" in out
    assert re.search(r"GINConv +no\n", out)
    assert re.search(r"LGANConv +yes\n", out)


def test_train_leaves_gin_at_chance_and_teaches_lgan(capsys):
    out = _run("02_train.py", capsys)
    accuracy = dict(re.findall(r"(\S+) +accuracy on held-out pairs ([\d.]+)%", out))
    assert float(accuracy["GIN"]) == 50
    assert float(accuracy["LGAN"]) > 90
    assert float(accuracy["LGAN-res"]) > 90

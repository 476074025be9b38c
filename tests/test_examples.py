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


def test_explain_finds_the_planted_triangles(capsys):
    out = _run("04_explain.py", capsys)
    found, planted = map(int, re.findall(r"strongest: (\d+) of (\d+)", out)[0])
    assert planted > 100
    assert found > 0.99 * planted
    total, change = map(
        float, re.findall(r"scores ([\d.-]+), change of the output ([\d.-]+)", out)[0]
    )
    assert abs(total - change) < 0.01 * abs(change)
    assert Path(out.split("pictures: ")[1].strip()).read_text().startswith("<?xml")


def test_sweep_finds_settings_that_learn_by_both_objectives(capsys):
    out = _run("05_sweep.py", capsys)
    assert "16 of 16 proposed trials are done" in out
    found = re.findall(r"objective (\w+): .*'lr': 0.01.*'gin': '([\d.]+)%'", out)
    assert [objective for objective, _ in found] == ["gin", "fair"]
    assert all(float(accuracy) > 80 for _, accuracy in found)


def test_wl_hierarchy_holds_networks_to_their_tests(capsys):
    out = _run("03_wl_hierarchy.py", capsys)
    assert re.search(r"hexagon / two-triangles +- +yes +yes +yes\n", out)
    assert re.search(r"rook4x4 / shrikhande +- +- +- +yes\n", out)
    assert re.findall(r"separates (\d) of 3, (\d) beyond", out) == [("1", "0"), ("2", "0")]

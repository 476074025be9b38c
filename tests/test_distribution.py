"""What is in the wheel and in the source distribution, and what they say about themselves."""

import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> tuple[list[str], list[str]]:
    """The names in wheel and sdist, the latter without its leading folder."""
    sdist = pytest.importorskip("hatchling.builders.sdist").SdistBuilder
    wheel = pytest.importorskip("hatchling.builders.wheel").WheelBuilder
    folder = tmp_path_factory.mktemp("dist")
    [whole] = wheel(str(ROOT)).build(directory=str(folder), versions=["standard"])
    [source] = sdist(str(ROOT)).build(directory=str(folder), versions=["standard"])
    with zipfile.ZipFile(whole) as file, tarfile.open(source) as tar:
        return file.namelist(), [name.split("/", 1)[-1] for name in tar.getnames()]


def test_the_wheel_is_the_package_alone(built):
    wheel, _ = built
    assert {name.split("/")[0].split("-")[0] for name in wheel} == {"lgan"}
    assert "lgan/experiment/tuned.json" in wheel
    assert "lgan/py.typed" in wheel
    vendor = "lgan/app/static/vendor/openchemlib"
    assert {"lgan/app/static/index.html", f"{vendor}.js", f"{vendor}.LICENSE.txt"} <= set(wheel)
    assert not any("/tests/" in name or name.endswith((".nbi", ".nbc", ".pyc")) for name in wheel)


def test_the_source_distribution_has_no_results(built):
    _, source = built
    assert not any(name.startswith("results") for name in source)
    assert {"paper/__init__.py", "benchmarks/__init__.py", "tests/conftest.py"} <= set(source)


def test_every_dependency_has_a_lower_bound_and_the_oldest_versions_are_those():
    bounds = {}
    for text in [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["molecules"]]:
        name, least, version = text.partition(">=")
        assert least, f"{text} has no lower bound"
        bounds[name] = version
    lines = (ROOT / "constraints-lowest.txt").read_text().splitlines()
    lowest = dict(line.split("==") for line in lines if "==" in line)
    assert set(bounds) == set(lowest)
    for name, version in bounds.items():
        assert lowest[name] == version or lowest[name].startswith(f"{version}.")


def test_metadata_say_who_and_in_what_state():
    assert PROJECT["authors"]
    assert "Development Status :: 4 - Beta" in PROJECT["classifiers"]
    assert (ROOT / "CITATION.cff").read_text().startswith("cff-version")

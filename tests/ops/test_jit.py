import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import lgan
from lgan.ops.jit import LOOPS

SOURCE = Path(lgan.__file__).parent
FILES = sorted(
    path for path in SOURCE.rglob("*.py") if "@njit" in path.read_text() and path.stem != "jit"
)

CALLEE = """
from lgan.ops.jit import njit

@njit()
def step(x):
    return x + {}
"""
CALLER = """
from lgan.ops.jit import njit
from lgan.wl.callee_numba import step

@njit()
def twice(x):
    return step(step(x))
"""
RUN = """
from lgan.zoo.caller_numba import twice
print(twice(0), sum(twice.stats.cache_hits.values()))
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package with the real `njit` and two loops, one of which calls the other."""
    package = tmp_path / "lgan"
    for folder in ("ops", "wl", "zoo"):
        (package / folder).mkdir(parents=True)
        (package / folder / "__init__.py").touch()
    (package / "__init__.py").touch()
    for module in ("_version.py", "_sources.py", "ops/jit.py"):
        shutil.copy(SOURCE / module, package / module)
    (package / "wl" / "callee_numba.py").write_text(CALLEE.format(1))
    (package / "zoo" / "caller_numba.py").write_text(CALLER)
    return package


def _run(package: Path, **variables: str) -> tuple[int, int]:
    """What the caller gives, and how often it came from the cache."""
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
    environment |= {"PYTHONPATH": str(package.parent), **variables}
    ran = subprocess.run(
        [sys.executable, "-c", RUN], env=environment, capture_output=True, text=True, check=True
    )
    value, hits = ran.stdout.split()
    return int(value), int(hits)


@pytest.mark.parametrize("folder", [None, "elsewhere"])
def test_a_changed_loop_recompiles_its_callers_in_other_files(package, tmp_path, folder):
    variables = {} if folder is None else {"NUMBA_CACHE_DIR": str(tmp_path / folder)}
    assert _run(package, **variables) == (2, 0)
    assert _run(package, **variables) == (2, 1)
    callee = package / "wl" / "callee_numba.py"
    times = callee.stat()
    callee.write_text(CALLEE.format(5))  # of the same size and, to the file system, the same age
    os.utime(callee, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert _run(package, **variables) == (10, 0)
    assert _run(package, **variables) == (10, 1)


def test_there_are_loops_in_every_package_that_has_some():
    assert len(FILES) >= 15
    assert {path.relative_to(SOURCE).parts[0] for path in FILES} >= {"ops", "graph", "zoo", "data"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_of_loops_reads_nothing_that_the_cache_does_not_watch(path):
    watched = {other.relative_to(SOURCE.parent) for other in SOURCE.glob(LOOPS)}
    assert path.relative_to(SOURCE.parent) in watched
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("lgan"):
            module = Path(*node.module.split(".")).with_suffix(".py")
            assert module in watched or node.module == "lgan.ops.jit", f"line {node.lineno}"
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] + [getattr(node, "module", "")]
            assert not any(name.split(".")[0] == "numba" for name in names), f"line {node.lineno}"

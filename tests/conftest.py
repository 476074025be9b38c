import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from hypothesis import settings

from browser import NAMES

# Whoever first writes to the screen would otherwise fix its width for the tests after it.
os.environ.pop("COLUMNS", None)
import lgan.cli.screen  # noqa: F401

# The first call of a compiled function takes seconds, so examples have no deadline.
settings.register_profile("lgan", deadline=None)
settings.load_profile("lgan")


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes are named by their argument: a packed file holds the time it was packed at."""
    return argname if isinstance(val, bytes) else None


@pytest.fixture(autouse=True)
def seed() -> int:
    torch.manual_seed(0)
    return 0


@pytest.fixture
def float64() -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


@pytest.fixture(scope="module")
def local_ray() -> Iterator[None]:
    """A Ray cluster of two cores on this machine, which this process is connected to."""
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield
    ray.shutdown()


def _present(folder: Path) -> Path:
    if not folder.is_dir():
        pytest.skip(f"needs the offline mirror of real data: {folder} is missing")
    return folder


@pytest.fixture(scope="session")
def mirror() -> Path:
    """The folder with the archives ``NAME.zip`` of the TU sets."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data" / "tu"
    return _present(Path(os.environ.get("LGAN_MIRROR") or beside))


@pytest.fixture(scope="session")
def splits_folder(mirror: Path) -> Path:
    """The folder with GIN's published folds, one subfolder per set."""
    return _present(mirror.parent / "splits")


@pytest.fixture(scope="session")
def brec_folder(mirror: Path) -> Path:
    """The folder with the graphs of BREC."""
    return _present(mirror.parent / "brec")


@pytest.fixture(scope="session")
def browser() -> str:
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("needs a browser: no chromium is installed (apt-get install chromium)")
    return found

import subprocess
import sys
from pathlib import Path

import pytest

from lgan import TrainConfig, cross_validate
from lgan.data import replaced
from lgan.train import train_ensemble
from lgan.train.run_lock import run_lock

HOLD = """
import sys
from lgan.train.run_lock import run_lock
with run_lock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path: Path):
    """Another process that holds the folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path / "out")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_a_folder_is_held_by_one_run_and_free_when_its_process_dies(holder, tmp_path):
    with pytest.raises(ValueError, match=f"Another run is writing to {tmp_path / 'out'}"):
        run_lock(tmp_path / "out").__enter__()
    with run_lock(tmp_path / "elsewhere"):
        pass
    holder.kill()
    holder.wait()
    with run_lock(tmp_path / "out"):
        pass


@pytest.mark.parametrize("run", [cross_validate, train_ensemble])
def test_training_asks_for_the_folder(run, holder, union, factory, tmp_path):
    config = TrainConfig(epochs=1, iterations=1)
    before = sorted((tmp_path / "out").iterdir())
    with pytest.raises(ValueError, match="Another run is writing to"):
        run(factory(), union, folds=3, config=config, output=tmp_path / "out")
    assert sorted((tmp_path / "out").iterdir()) == before


def test_it_may_be_taken_inside_itself_and_given_back(tmp_path):
    for _ in range(2):
        with run_lock(tmp_path), run_lock(tmp_path):
            pass


def test_files_of_others_stay(tmp_path):
    (tmp_path / ".notes.tmp").write_text("mine")
    with replaced(tmp_path / "predicted.csv") as temporary:
        temporary.write_text("rows")
        with run_lock(tmp_path):
            pass
    assert (tmp_path / "predicted.csv").read_text() == "rows"
    assert (tmp_path / ".notes.tmp").read_text() == "mine"


def test_a_training_removes_what_a_killed_one_left(union, factory, tmp_path):
    names = ("state-0.safetensors", "result.json")
    stale = [tmp_path / f".{name}.0123.tmp" for name in names]
    for path in stale:
        path.write_text("half")
    config = TrainConfig(epochs=1, iterations=1)
    cross_validate(factory(), union, folds=3, config=config, output=tmp_path)
    assert not [path for path in stale if path.exists()]


def test_no_folder_needs_no_lock():
    with run_lock(None):
        pass


def test_a_file_in_the_way_is_told(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(OSError, match=r"Could not write to the folder .*file.*another output"):
        run_lock(tmp_path / "file" / "out").__enter__()

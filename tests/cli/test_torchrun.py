"""Processes that torchrun starts train as one, also when one of them is lost."""

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
import torch

from lgan.predictor import load_model

pytestmark = pytest.mark.slow
TINY = ["--members", "2", "--epochs", "40", "--hidden", "4", "--layers", "1", "--no-report"]


def start(processes: int, folder: Path, *words: str) -> "subprocess.Popen[bytes]":
    """A training of a tiny table by so many processes."""
    path = os.pathsep.join(entry for entry in sys.path if entry)
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--max-restarts=3"]
    command = [*launcher, f"--nproc-per-node={processes}", "-m", "lgan", "train", "t.csv", *TINY]
    env = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen([*command, *words], cwd=folder, env=env)


@pytest.fixture
def folder(tmp_path):
    rows = "\n".join(f"{'C' * (1 + i % 5)}{'ON'[i % 2]},{i % 2}" for i in range(40))
    (tmp_path / "t.csv").write_text(f"smiles,active\n{rows}\n")
    return tmp_path


def held_out(path: Path) -> torch.Tensor:
    return torch.tensor(load_model(path / "model.safetensors").checkpoint.info["loss"])


def test_a_run_that_lost_a_process_ends_with_the_right_result(folder):
    assert start(1, folder, "--output", "one").wait(300) == 0
    disturbed = start(2, folder, "--output", "two")
    while not list((folder / "two").glob("state-*.safetensors")):
        assert disturbed.poll() is None
        time.sleep(0.05)
    workers = psutil.Process(disturbed.pid).children()
    workers[-1].kill()
    assert disturbed.wait(300) == 0
    torch.testing.assert_close(
        held_out(folder / "two"), held_out(folder / "one"), atol=1e-5, rtol=0
    )


def test_a_state_goes_on_with_any_number_of_processes(folder):
    assert start(2, folder, "--output", "two").wait(300) == 0
    begun = start(2, folder, "--output", "other")
    while not list((folder / "other").glob("state-*.safetensors")):
        time.sleep(0.05)
    workers = psutil.Process(begun.pid).children()
    begun.kill()
    begun.wait()
    assert psutil.wait_procs(workers, timeout=30)[1] == []  # whoever is left would hold the folder
    assert start(1, folder, "--output", "other", "--resume").wait(300) == 0
    torch.testing.assert_close(
        held_out(folder / "other"), held_out(folder / "two"), atol=1e-5, rtol=0
    )

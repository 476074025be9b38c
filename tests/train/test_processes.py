"""Processes that share every batch train what one process trains on the whole of it."""

import os
import socket
import subprocess
import sys

import pytest
import torch
from safetensors.torch import load_file

import shared_training
from lgan.ops import together
from lgan.train.processes import joined


@pytest.fixture(scope="module")
def by_two(tmp_path_factory):
    """What two processes find, by case."""
    folder = tmp_path_factory.mktemp("two")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    where = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2"}
    path = os.pathsep.join(entry for entry in sys.path if entry)
    started = [
        subprocess.Popen(
            [sys.executable, shared_training.__file__, str(folder)],
            env={**os.environ, **where, "RANK": str(rank), "PYTHONPATH": path},
        )
        for rank in range(2)
    ]
    assert [process.wait(300) for process in started] == [0, 0]
    return folder


@pytest.mark.parametrize("case", shared_training.CASES)
def test_two_processes_with_half_a_batch_each_are_one_with_the_whole(case, by_two):
    torch.set_default_dtype(torch.float64)
    try:
        alone = shared_training.trained(case)
    finally:
        torch.set_default_dtype(torch.float32)
    shared = load_file(by_two / case)
    assert shared.keys() == alone.keys()
    for name, value in alone.items():
        torch.testing.assert_close(
            shared[name], value, rtol=1e-9, atol=1e-9, equal_nan=True, msg=lambda m, n=name: n + m
        )


def test_alone_nothing_is_shared():
    with joined() as leader:
        assert leader
        assert (together.workers(), together.rank(), together.least(3)) == (1, 0, 3)
        assert together.own_part(7) == slice(0, 7)
        x = torch.ones(2)
        assert together.total(x) is x

"""Who compiles the loops trains to the same bits as who reads them from the cache."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import sys
from functools import partial
import lgan
from lgan.train import train_ensemble
from lgan.train.tensor_file import checksum

union = lgan.load("triangles")
build = partial(lgan.LGAN, union.num_features, 32, 2, residual=True, norm=sys.argv[1])
config = lgan.TrainConfig(epochs=2, iterations=4, batch_size=32)
print(checksum(train_ensemble(build, union, members=4, config=config).network.state_dict()))
"""


@pytest.mark.slow
@pytest.mark.parametrize("norm", ["batch", "layer"])
def test_a_process_that_compiles_rounds_as_later_ones_do(norm, tmp_path):
    env = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", SCRIPT, norm]
    said = [
        subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert list(tmp_path.rglob("*.nbc")), "the first one compiled"
    assert said[0] == said[1] != ""

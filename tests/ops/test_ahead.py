import os
import subprocess
import sys

import pytest
import torch

from lgan import LGAN, load
from lgan.ops import ahead
from lgan.ops.numba_layer import layer_backward, layer_forward, layer_tested
from lgan.train import TrainConfig, cross_validate

PROBE = """
from lgan.ops.ahead import compile_layer, layer_is_compiled
from lgan.ops.numba_layer import layer_backward
before = layer_is_compiled()
compile_layer()
print(before, layer_is_compiled(), sum(layer_backward.stats.cache_hits.values()))
"""


def test_what_is_compiled_ahead_is_what_training_calls():
    union = load("triangles")
    cross_validate(
        lambda: LGAN(union.num_features, 4, 2), union, folds=torch.arange(200) // 2 % 2,
        config=TrainConfig(epochs=1, iterations=1),
    )  # fmt: skip
    for loop in (layer_forward, layer_tested, layer_backward):
        assert ahead.SIGNATURES[loop] in loop.signatures, loop


@pytest.mark.slow
def test_one_half_is_compiled_by_another_process_and_found_in_the_cache(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    for expected in ("False True 1\n", "True True 1\n"):
        ran = subprocess.run(
            [sys.executable, "-c", PROBE], env=environment, capture_output=True, text=True,
            check=True,
        )  # fmt: skip
        assert ran.stdout == expected, ran.stderr

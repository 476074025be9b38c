"""Programs over Triton kernels, run by Triton's interpreter on the CPU or on a GPU.

The interpreter is chosen when the kernels are defined, hence a process of its own.
"""

import os
import subprocess
import sys


def run_triton(program: str, device: str) -> str:
    """What a program prints; its ``{device!r}`` becomes the device."""
    env = {**os.environ, "TRITON_INTERPRET": "0" if device == "cuda" else "1"}
    run = subprocess.run(
        [sys.executable, "-c", program.format(device=device)],
        capture_output=True, text=True, env=env, timeout=600, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return run.stdout

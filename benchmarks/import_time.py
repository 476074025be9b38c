"""`import lgan` beside `import torch_geometric`, which it needs."""

from benchmarks.child import run_child
from benchmarks.config import BenchConfig
from benchmarks.measure import OURS, comparison
from benchmarks.row import Bar, Row

_CODE = """\
import sys, time
begin = time.perf_counter()
__import__(sys.argv[1])
print(time.perf_counter() - begin)
"""


def import_time(config: BenchConfig) -> list[Row]:
    """Import both in fresh processes, in turn."""
    peer = "torch_geometric"
    repeats = 1 if config.quick else 9
    samples: dict[str, list[float]] = {OURS: [], peer: []}
    memory: dict[str, int] = {}
    for turn in range(1 if config.quick else 0, repeats + 1):
        for package in samples:
            config.progress(f"import {package}, {turn} of {repeats}")
            run = run_child(_CODE, package)
            if run.problem:
                raise ValueError(f"`import {package}` {run.problem}.")
            memory[package] = run.memory or 0
            if turn:  # the first reads the files from the disk
                samples[package].append(float(run.output))
    row = comparison(
        "import", "`import lgan` in a fresh process", samples, peer=peer, bar=Bar("ratio", 1.3),
        detail={f"{package} memory": held for package, held in memory.items()},
    )  # fmt: skip
    return [row]

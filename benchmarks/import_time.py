"""Importing what a user begins with beside `import torch_geometric`, which it needs."""

from benchmarks.child import run_child
from benchmarks.config import BenchConfig
from benchmarks.measure import OURS, comparison
from benchmarks.row import Bar, Row

_CODE = """\
import sys, time
begin = time.perf_counter()
exec(sys.argv[1])
print(time.perf_counter() - begin)
"""
# `import lgan` alone reads nothing until a name is asked for. What each part needs is its peer.
CASES = {
    "network": ("from lgan import LGAN, load", "import torch_geometric"),
    "estimator": ("from lgan import LGANClassifier", "import torch_geometric, sklearn.base"),
}


def import_time(config: BenchConfig) -> list[Row]:
    """Import both sides in fresh processes, in turn."""
    return [_row(name, *statements, config) for name, statements in CASES.items()]


def _row(name: str, ours: str, peer: str, config: BenchConfig) -> Row:
    repeats = 1 if config.quick else 9
    sides = {OURS: ours, peer.removeprefix("import "): peer}
    samples: dict[str, list[float]] = {side: [] for side in sides}
    memory: dict[str, int] = {}
    for turn in range(1 if config.quick else 0, repeats + 1):
        for side, statement in sides.items():
            config.progress(f"{statement}, {turn} of {repeats}")
            run = run_child(_CODE, statement)
            if run.problem:
                raise ValueError(f"`{statement}` {run.problem}.")
            memory[side] = run.memory or 0
            if turn:  # the first reads the files from the disk
                samples[side].append(float(run.output))
    return comparison(
        f"import, {name}", f"`{ours}` in a fresh process", samples,
        peer=peer.removeprefix("import "), bar=Bar("ratio", 1.3),
        detail={f"{side} memory": held for side, held in memory.items()},
    )  # fmt: skip

"""Structural pair codes: what they cost to compute, and what they add to an epoch."""

import time
from functools import partial

import torch

from benchmarks.child import call_in_child, reset_peak, resident_memory
from benchmarks.child import peak_memory as peak
from benchmarks.config import BenchConfig
from benchmarks.measure import OURS, comparison
from benchmarks.row import Bar, Row
from benchmarks.training import Training, train_beside
from lgan.data import DATASETS, load
from lgan.graph.pair_codes import pair_codes
from lgan.nn import LGAN

SETS = ("MUTAG", "PTC_GIN", "PROTEINS", "IMDB-BINARY", "IMDB-MULTI", "Mutagenicity", "COLLAB")
COUNTED = ("triangles", "cycles", "full", "claws", "rings")
# Sets whose epoch is timed with the full code and without.
EPOCHS = ("MUTAG", "PROTEINS", "IMDB-BINARY")
PLAIN = "the same without codes"


def codes(config: BenchConfig) -> list[Row]:
    """Count every level on every set, and time an epoch with the full code and without."""
    sets = ("triangles",) if config.quick else SETS
    rows = [_cost(name, level, config) for name in sets for level in COUNTED]
    return rows + [_epoch(name, config) for name in (sets if config.quick else EPOCHS)]


def _cost(name: str, level: str, config: BenchConfig) -> Row:
    config.progress(f"{name}, {level}")
    mirror = None if config.mirror is None else str(config.mirror)
    arguments = {"name": name, "level": level, "root": str(config.root), "mirror": mirror}
    run = call_in_child("benchmarks.codes:count", arguments)
    memory = run.result.get("memory")
    return Row(
        name=f"{name}, {level}",
        what="codes of all pairs of the set, twins merged",
        seconds=run.result.get("seconds"),
        memory=None if memory is None else int(memory),
        size=int(run.result.get("pairs", 0)),
        note=run.problem,
        detail={key: run.result[key] for key in ("pairs", "distinct") if key in run.result},
    )


def count(name: str, level: str, root: str, mirror: str | None) -> dict[str, float]:
    """Seconds, bytes beyond the set itself, and how many codes are distinct; runs in a child."""
    lines = load(name, root=root, mirror=mirror).lines
    tiny = torch.tensor([[0, 0, 1], [1, 2, 2]])
    pair_codes(tiny, 3, level)  # compiles the loops
    reset_peak()
    before = resident_memory()
    begin = time.perf_counter()
    found = pair_codes(lines.pair_index, lines.num_nodes, level, multiplicity=lines.multiplicity)
    seconds = time.perf_counter() - begin
    memory = max(peak() - before, 0)
    distinct = torch.unique(found, dim=0).size(0)
    return {"seconds": seconds, "memory": memory, "pairs": found.size(0), "distinct": distinct}


def _epoch(name: str, config: BenchConfig) -> Row:
    width = 64 if DATASETS[name].kind == "social" else 32
    samples: dict[str, list[float]] = {OURS: [], PLAIN: []}
    # In turn, so that whatever else the machine does falls on both.
    for turn in range(1 if config.quick else 3):
        for side, level in ((OURS, "full"), (PLAIN, "none")):
            config.progress(f"{name}: an epoch {'with' if side == OURS else 'without'}, {turn + 1}")
            training = _training(name, level, width, config)
            samples[side] += train_beside(training, None, repeats=2 if config.quick else 4)[OURS]
    return comparison(
        f"{name}, epoch", f"one epoch with the full code, 4 layers of width {width}",
        samples, peer=PLAIN, bar=Bar("ratio", 1.15),
    )  # fmt: skip


def _training(name: str, level: str, width: int, config: BenchConfig) -> Training:
    union = load(
        name, root=config.root, mirror=config.mirror, pair_code=level, seed=config.seed
    ).to(config.device)
    build = partial(
        LGAN, union.num_features, width, union.num_classes, readout=DATASETS[name].readout,
        pair_code=level,
    )  # fmt: skip
    return Training.on_all(union, build, seed=config.seed)

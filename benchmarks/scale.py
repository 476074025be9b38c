"""Shards and processes: preparing a large table, an epoch of its shards, and an epoch by two."""

import csv
import json
import sys
import time
from functools import partial
from itertools import chain, repeat
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from benchmarks.config import BenchConfig
from benchmarks.molecules import molecule_file
from benchmarks.row import Bar, Row
from benchmarks.watched import Measured, measured
from lgan.data import Shards, prepare_shards
from lgan.data.sharded_union import Graphs, ShardedUnion
from lgan.nn import LGAN
from lgan.train import TrainConfig, train_ensemble
from lgan.train.processes import joined

TIMES, SHARDS, WINDOW = 10, 64, 8
MOST_MEMORY = 2 << 30
THIS = ["-m", "benchmarks.scale"]


def scale(config: BenchConfig) -> list[Row]:
    """HIV.csv ten times over, in 64 shards; every figure from a process of its own.

    Times are those inside the processes, without imports; an epoch is the second, when everything
    is compiled. Processes have one thread each.
    """
    with TemporaryDirectory(prefix="lgan-bench-") as made:
        folder = Path(made)
        once, many, number = _tables(config, folder)
        rows = _preparing(config, folder, once, many, number)
        return rows + _training(config, folder, number)


def _preparing(config: BenchConfig, folder: Path, once: Path, many: Path, number: int) -> list[Row]:
    runs: dict[str, Measured] = {}
    for name, path, processes in (("small", once, 1), ("one", many, 1), ("two", many, 2)):
        config.progress(f"preparing {path.name}, {processes} processes")
        words = ["prepare", str(path), str(folder / name), str(processes)]
        runs[name] = measured([sys.executable, *THIS, *words])
    what = f"{number:,} molecules into shards"
    least = min(MOST_MEMORY, 1.1 * runs["small"].memory)
    return [
        Row(
            name="prepare, memory",
            what=f"{what}, beside a tenth of them",
            seconds=runs["one"].told["seconds"],
            memory=runs["one"].memory,
            peer_memory=runs["small"].memory,
            bar=Bar("memory", least),
        ),
        Row(
            name="prepare, two processes",
            what=what,
            seconds=runs["two"].told["seconds"],
            peer="one process",
            peer_seconds=runs["one"].told["seconds"],
            memory=runs["two"].memory,
            bar=Bar("speedup", 1.7),
        ),
    ]


def _training(config: BenchConfig, folder: Path, number: int) -> list[Row]:
    shards = str(folder / "one")
    cases = {
        "whole": (1, "layer", 0), "window": (1, "layer", WINDOW), "two": (2, "layer", 0),
        "whole batch": (1, "batch", 0), "two batch": (2, "batch", 0),
    }  # fmt: skip
    runs: dict[str, Measured] = {}
    for name, (processes, norm, window) in cases.items():
        config.progress(f"an epoch, {name}")
        start = [sys.executable]
        if processes > 1:
            start += [
                "-m",
                "torch.distributed.run",
                "--standalone",
                f"--nproc-per-node={processes}",
            ]
        runs[name] = measured([*start, *THIS, "epoch", shards, norm, str(window)])
    what = f"an epoch of {number:,} molecules, LGAN-res of 4 layers, width 64, bonds"
    seconds = {name: run.told["seconds"] for name, run in runs.items()}
    return [
        Row(
            name="epoch, window of shards",
            what=f"{what}: {WINDOW} shards of {SHARDS} at a time",
            seconds=seconds["window"],
            peer="in memory",
            peer_seconds=seconds["whole"],
            memory=runs["window"].memory,
            peer_memory=runs["whole"].memory,
            bar=Bar("ratio", 1.1),
            note="" if runs["window"].memory <= MOST_MEMORY else "more than 2 GiB",
        ),
        Row(
            name="epoch, two processes, layer normalisation",
            what=what,
            seconds=seconds["two"],
            peer="one process",
            peer_seconds=seconds["whole"],
            bar=Bar("speedup", 1.6),
        ),
        Row(
            name="epoch, two processes, batch statistics synchronised",
            what=what,
            seconds=seconds["two batch"],
            peer="one process",
            peer_seconds=seconds["whole batch"],
        ),
    ]


def _tables(config: BenchConfig, folder: Path) -> tuple[Path, Path, int]:
    """A table, the same so many times over, and the rows of that."""
    if config.quick:
        body = [("C" * (1 + i % 9) + "O", str(i % 2)) for i in range(200)]
    else:
        with molecule_file(config, "HIV").open(newline="") as file:
            body = [(row["smiles"], row["HIV_active"]) for row in csv.DictReader(file)]
    paths = (folder / "once.csv", folder / "many.csv")
    for path, times in zip(paths, (1, TIMES), strict=True):
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["smiles", "y"])
            writer.writerows(chain.from_iterable(repeat(body, times)))
    return (*paths, len(body) * TIMES)


def prepare(source: str, folder: str, processes: str) -> dict[str, float]:
    """What a process does that prepares."""
    begin = time.perf_counter()
    made = prepare_shards(source, folder, shards=SHARDS, processes=int(processes))
    return {"seconds": time.perf_counter() - begin, "graphs": made.num_graphs}


def epoch(folder: str, norm: str, window: str) -> dict[str, float]:
    """What a process does that trains; the time of its second epoch."""
    torch.set_num_threads(1)
    shards = Shards.open(folder)
    graphs: Graphs = ShardedUnion(shards, int(window)) if int(window) else shards.union()
    sizes = (graphs.num_features, 64, graphs.num_classes)
    options = {"residual": True, "edge_dim": graphs.num_edge_features, "norm": norm}
    ends: list[float] = []
    with joined():
        train_ensemble(
            partial(LGAN, *sizes, **options),  # type: ignore[arg-type]
            graphs,
            members=1,
            config=TrainConfig(epochs=2, iterations=0, batch_size=128),
            on_epoch=lambda *_: ends.append(time.perf_counter()),
        )
    return {"seconds": ends[1] - ends[0]}


if __name__ == "__main__":
    what, *words = sys.argv[1:]
    told = {"prepare": prepare, "epoch": epoch}[what](*words)
    print(json.dumps(told))

"""Shards and processes: what they cost at three sizes, beside one process and beside memory."""

import csv
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from benchmarks.config import BenchConfig
from benchmarks.molecules import molecule_file
from benchmarks.row import Bar, Row
from benchmarks.scale_work import BATCH, STEPS
from benchmarks.shuffle import shuffle_quality
from benchmarks.watched import Measured, measured

# HIV.csv in part, whole, and ten times over; in shards of equal size, of which there are then 64.
SIZES = {"hundredth": 0.01, "tenth": 0.1, "once": 1, "many": 10}
SHARDS, WINDOW, TURNS = 64, 4, 3
LARGER = 4  # times the batch, for two processes
EXCHANGED = (1 << 18, 1 << 21, 1 << 24)  # bytes
WINDOWS = (1, 4, 8, 16, 64)
MOST_MEMORY = 2 << 30


def scale(config: BenchConfig) -> Iterator[Row]:
    """Every figure from a process of its own, with one thread; times are those inside it. Epochs
    are the medians of three turns, the rest is measured once.
    """
    with TemporaryDirectory(prefix="lgan-bench-") as made:
        bench = _Bench(config, Path(made), _rows(config))
        for part in (bench.preparing, bench.training, bench.predicting, bench.shuffling):
            yield from part()


@dataclass(frozen=True)
class _Bench:
    """The tables of all sizes in a folder, and what is measured of them."""

    config: BenchConfig
    folder: Path
    body: list[tuple[str, str]]

    @property
    def device(self) -> str:
        return self.config.device.type

    @property
    def processes(self) -> int:
        """Processes that prepare beside one: two on the CPU, all cores beside a GPU."""
        return 2 if self.device == "cpu" else os.cpu_count() or 2

    def number(self, size: str) -> int:
        return round(len(self.body) * SIZES[size])

    def table(self, size: str) -> Path:
        """The table of a size, which is written when it is first asked for."""
        path = self.folder / f"{size}.csv"
        if not path.is_file():
            rows = chain.from_iterable(repeat(self.body, max(1, round(SIZES[size]))))
            with path.open("w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(["smiles", "y"])
                writer.writerows(
                    row for row, _ in zip(rows, range(self.number(size)), strict=False)
                )
        return path

    def work(self, task: str, *words: object, processes: int = 1, watch: bool = True) -> Measured:
        """A task of :mod:`benchmarks.scale_work`, by one process or by several under torchrun."""
        self.config.progress(f"{task} {' '.join(Path(str(word)).name for word in words)}")
        start = [sys.executable]
        if processes > 1:
            start += ["-m", "torch.distributed.run", "--standalone"]
            start += [f"--nproc-per-node={processes}"]
        command = [*start, "-m", "benchmarks.scale_work", task, *map(str, words)]
        return measured(command, watch=watch)

    def preparing(self) -> list[Row]:
        """What a graph and a shard cost to make and to read; memory; and many processes."""
        runs, rows = {}, []
        for size in ("tenth", "once", "many"):
            shards = -(-SHARDS * self.number(size) // self.number("many"))
            runs[size] = self.work("prepare", self.table(size), self.folder / size, shards, 1)
            rows.append(_cost("prepare", f"shards: {shards}, one process", runs[size].told))
            read = self.work("read", self.folder / size).told
            rows.append(_cost("read", f"shards: {shards}, from the cache of the system", read))
        words = (self.table("many"), self.folder / "more", SHARDS, self.processes)
        one, more = runs["many"], self.work("prepare", *words)
        what = f"{self.number('many'):,} molecules into {SHARDS} shards"
        return [
            *rows,
            Row(
                name="prepare, memory",
                what=f"{what}, beside a tenth of them in shards of that size",
                seconds=one.told["seconds"],
                memory=one.memory,
                peer_memory=runs["once"].memory,
                bar=Bar("memory", min(MOST_MEMORY, 1.1 * runs["once"].memory)),
            ),
            Row(
                name=f"prepare, {self.processes} processes",
                what=what,
                seconds=more.told["seconds"],
                peer="one process",
                peer_seconds=one.told["seconds"],
                memory=more.memory,
                bar=Bar("speedup", 1.7) if self.device == "cpu" else None,
                detail={"processes": self.processes},
            ),
        ]

    def training(self) -> list[Row]:
        """What a graph costs in an epoch; by windows beside memory; two processes beside one."""
        sizes = ("tenth", "once", "many")
        cases = [_Case(size) for size in sizes] + [_Case("many", window=WINDOW)]
        # Normalisation and batches that two processes share.
        shared = [("layer", 1), ("layer", LARGER), ("batch", 1)] if self.device == "cpu" else []
        cases += [
            _Case("once", norm, times=times, processes=number)
            for norm, times in shared
            for number in (1, 2)
        ]
        runs = self._epochs(cases)
        rows = []
        for size in sizes:
            of = f"trained on, of {self.number(size):,} in memory"
            rows.append(_cost("epoch", of, runs[_Case(size)].told))
        whole, window = runs[_Case("many")], runs[_Case("many", window=WINDOW)]
        what = f"up to {STEPS} steps of an epoch of {{:,}} molecules, LGAN-res of 4 layers, bonds"
        rows.append(
            Row(
                name="epoch, window of shards",
                what=f"{what.format(self.number('many'))}: {WINDOW} shards of {SHARDS} at a time",
                seconds=window.told["seconds"],
                peer="in memory",
                peer_seconds=whole.told["seconds"],
                memory=window.memory,
                peer_memory=whole.memory,
                bar=Bar("ratio", 1.1) if self.device == "cpu" else None,
                note="" if window.memory <= MOST_MEMORY else "more than 2 GiB",
            )
        )
        for norm, times in shared:
            one, two = (runs[_Case("once", norm, times=times, processes=n)] for n in (1, 2))
            batch = int(two.told["batch"])
            rows.append(
                Row(
                    name=f"epoch, two processes, {norm} normalisation, batches of {batch}",
                    what=what.format(self.number("once")),
                    seconds=two.told["seconds"],
                    peer="one process",
                    peer_seconds=one.told["seconds"],
                    size=batch,
                    bar=Bar("speedup", 1.6) if norm == "layer" else None,
                )
            )
        for number in EXCHANGED if shared else ():
            told = self.work("exchange", number, processes=2).told
            what = f"{number:,} bytes, which two processes add up"
            rows.append(_cost("exchange", what, told))
        return rows

    def _epochs(self, cases: "list[_Case]") -> "dict[_Case, Measured]":
        """The median of some turns, in which every case is measured once."""
        found: dict[_Case, list[Measured]] = {case: [] for case in cases}
        for _ in range(1 if self.config.quick else TURNS):
            for case, runs in found.items():
                batch = BATCH[self.device] * case.times
                words = (self.folder / case.size, case.norm, case.window, self.device, batch)
                # Of two processes beside one nothing is told but the time.
                watch = case.size != "once"
                runs.append(self.work("epoch", *words, processes=case.processes, watch=watch))
        return {
            case: sorted(runs, key=lambda run: run.told["seconds"])[len(runs) // 2]
            for case, runs in found.items()
        }

    def predicting(self) -> list[Row]:
        """What a row costs that is read and predicted."""
        output = self.folder / "model"
        words = ["--members", "1", "--epochs", "1", "--iterations", "5", "--no-report"]
        words += ["--device", self.device, "--output", str(output)]
        self.config.progress("train a model")
        measured([sys.executable, "-m", "lgan", "train", str(self.folder / "tenth"), *words])
        rows = []
        for size in ("hundredth", "tenth", "once"):
            where = (output / "model.safetensors", self.table(size), self.folder / f"p-{size}")
            told = self.work("predict", *where, self.device).told
            rows.append(_cost("predict", "in 4 parts, one member, one process", told))
        return rows

    def shuffling(self) -> list[Row]:
        """The correlation of neighbours in an epoch, as the table is and sorted by its label."""
        labels = torch.tensor([float(y) for _, y in self.body]).repeat(round(SIZES["many"]))
        tables = {"as the table is": labels, "sorted by label": labels.sort().values}
        return [
            Row(
                name=f"shuffle, {order}",
                what=f"windows of {window} of {SHARDS} shards, {len(labels):,} graphs",
                seconds=None,
                size=window,
                note="correlations, no times",
                detail=shuffle_quality(values, SHARDS, window),
            )
            for order, values in tables.items()
            for window in WINDOWS
        ]


@dataclass(frozen=True)
class _Case:
    """An epoch: of which table, with which normalisation, how many shards at a time (0: all in
    memory), by how many processes, and with how many times the usual batch.
    """

    size: str
    norm: str = "layer"
    window: int = 0
    processes: int = 1
    times: int = 1


def _cost(name: str, what: str, told: dict[str, Any]) -> Row:
    """A row of the model that `lgan table scale` makes of costs."""
    graphs = f"{told['graphs']:,} molecules, " if "graphs" in told else ""
    return Row(
        name=f"cost, {name}",
        what=graphs + what,
        seconds=told["seconds"],
        size=told.get("graphs", told.get("bytes")),
        detail={key: value for key, value in told.items() if key != "seconds"},
    )


def _rows(config: BenchConfig) -> list[tuple[str, str]]:
    """The SMILES and labels of a table."""
    if config.quick:
        return [("C" * (1 + i % 9) + "O", str(i % 2)) for i in range(400)]
    with molecule_file(config, "HIV").open(newline="") as file:
        return [(row["smiles"], row["HIV_active"]) for row in csv.DictReader(file)]

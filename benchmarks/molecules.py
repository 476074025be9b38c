"""From a CSV of molecules to graphs, and from the cache, beside chemprop."""

import csv
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from benchmarks.config import BenchConfig
from benchmarks.row import Bar, Row

__all__ = ["molecules"]

# An interpreter that has chemprop: it is a peer, never a dependency.
PEER_PYTHON = "LGAN_CHEMPROP_PYTHON"
HERE = Path(__file__).resolve().parent
_OURS = "import sys; from benchmarks.molecules import read_table; read_table(*sys.argv[1:])"
SAMPLE_EVERY = 0.25  # looking takes time from those that are looked at


@dataclass(frozen=True)
class Measured:
    """What a process told, and the most memory it and its children held together."""

    told: dict[str, Any]
    memory: int


def molecules(config: BenchConfig) -> list[Row]:
    """Read and featurise HIV.csv in a fresh process, then again from the cache.

    Imports are outside the clock on both sides, our worker processes inside. Chemprop runs with
    and without workers, and its faster time counts. Memory is that of a process with all its
    children, shared pages counted once.
    """
    threads = torch.get_num_threads()
    with TemporaryDirectory(prefix="lgan-bench-") as folder:
        path, target = _table(config, Path(folder))
        ours = [sys.executable, "-c", _OURS, str(path), target, folder]
        config.progress("lgan, from the file")
        made = _measured([*ours, str(threads)])
        config.progress("lgan, from the cache")
        cached = _measured([*ours, str(threads)])
        peers, note = _peers(path, target, threads, config)
    fastest = min(peers, key=lambda run: run.told["seconds"]) if peers else None
    least = min((run.memory for run in peers), default=None)
    if fastest is not None and fastest.told["atoms"] != made.told["atoms"]:
        raise ValueError(
            f"Both sides must read the same atoms, got {made.told['atoms']} and "
            f"{fastest.told['atoms']} of the peer. Compare the versions of RDKit."
        )
    shared: dict[str, Any] = {
        "what": f"{path.name}: {made.told['graphs']:,} molecules as graphs",
        "seconds": made.told["seconds"],
        "peer": None if fastest is None else f"chemprop {fastest.told['version']}",
        "peer_seconds": None if fastest is None else fastest.told["seconds"],
        "memory": made.memory,
        "peer_memory": least,
        "size": made.told["graphs"],
        "note": note,
    }
    half = None if least is None else Bar("memory", least / 2)
    return [
        Row(name="file, time", bar=Bar("ratio", 0.5), **shared),
        Row(name="file, memory", bar=half, **shared),
        Row(
            name="cache",
            what=f"{path.name} again, from the cache",
            seconds=cached.told["seconds"],
            memory=cached.memory,
            bar=Bar("seconds", 2),
        ),
    ]


def _table(config: BenchConfig, folder: Path) -> tuple[Path, str]:
    if config.quick:
        path = folder / "tiny.csv"
        with path.open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["smiles", "y"])
            rows.writerows(("C" * (1 + i % 9) + "O", i % 2) for i in range(1200))
        return path, "y"
    if config.mirror is None or not Path(config.mirror).is_dir():
        raise ValueError(
            "The benchmark `molecules` needs HIV.csv in the folder `molecules` beside the mirror "
            f"of the TU sets, got the mirror {config.mirror}. Pass `--mirror FOLDER`."
        )
    path = Path(config.mirror).resolve().parent / "molecules" / "HIV.csv"
    if not path.is_file():
        raise ValueError(f"Expected the table of molecules in {path}, got no such file.")
    return path, "HIV_active"


def _peers(
    path: Path, target: str, threads: int, config: BenchConfig
) -> tuple[list[Measured], str]:
    """Chemprop with and without workers, or the reason why not."""
    python = os.environ.get(PEER_PYTHON)
    if not python:
        return [], f"no peer: {PEER_PYTHON} names no interpreter that has chemprop"
    runs = []
    for workers in (0, threads):
        config.progress(f"chemprop, {workers} workers")
        command = [python, str(HERE / "chemprop_peer.py"), str(path), target, str(workers)]
        runs.append(_measured(command, library=False))
    return runs, "the peer with 0 workers and with as many as there are threads, the better counts"


def _measured(command: list[str], *, library: bool = True) -> Measured:
    """Run a command that prints JSON last, and watch the memory of it and its children."""
    paths = [str(HERE.parent), os.environ.get("PYTHONPATH", "")] if library else []
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    with (
        TemporaryDirectory(prefix="lgan-bench-") as folder,
        open(Path(folder) / "out", "w+") as out,
        open(Path(folder) / "err", "w+") as err,
    ):
        process = subprocess.Popen(command, env=env, stdout=out, stderr=err)
        peak = 0
        while process.poll() is None:
            peak = max(peak, _tree_memory(process.pid))
            time.sleep(SAMPLE_EVERY)
        out.seek(0)
        err.seek(0)
        if process.returncode:
            last = (err.read().strip().splitlines() or ["nothing said"])[-1]
            raise ValueError(
                f"`{Path(command[0]).name} {' '.join(command[1:3])}` must succeed, got exit code "
                f"{process.returncode} at {peak / 2**20:,.0f} MiB: {last}"
            )
        return Measured(json.loads(out.read().strip().splitlines()[-1]), peak)


def _tree_memory(pid: int) -> int:
    """Bytes that a process and its children hold, pages that several share counted once."""
    import psutil

    total = 0
    try:
        process = psutil.Process(pid)
        for member in [process, *process.children(recursive=True)]:
            rollup = Path(f"/proc/{member.pid}/smaps_rollup")
            try:
                lines = rollup.read_text().splitlines()
            except OSError:
                total += member.memory_info().rss
                continue
            total += next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    except (psutil.Error, StopIteration):  # one of them has just ended
        return total
    return total


def read_table(path: str, target: str, cache: str, processes: str) -> None:
    """What our side runs, in a process of its own; prints JSON."""
    from lgan.data.molecule_tables import read_molecule_table

    begin = time.perf_counter()
    table = read_molecule_table(
        Path(path), targets=[target], processes=int(processes), cache=Path(cache)
    )
    told = {
        "seconds": time.perf_counter() - begin,
        "graphs": len(table.molecules.rows),
        "atoms": int(table.molecules.node_ptr[-1]),
    }
    print(json.dumps(told))

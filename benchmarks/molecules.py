"""From a CSV of molecules to graphs, and from the cache, beside chemprop."""

import csv
import json
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from benchmarks.config import BenchConfig
from benchmarks.row import Bar, Row
from benchmarks.watched import NO_PEER, Measured, measured, peer_python

PEER = Path(__file__).resolve().parent / "chemprop_peer.py"
_OURS = "import sys; from benchmarks.molecules import read_table; read_table(*sys.argv[1:])"


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
        made = measured([*ours, str(threads)])
        config.progress("lgan, from the cache")
        cached = measured([*ours, str(threads)])
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
    return molecule_file(config, "HIV"), "HIV_active"


def molecule_file(config: BenchConfig, name: str) -> Path:
    """The table of a set of molecules."""
    if config.mirror is None or not Path(config.mirror).is_dir():
        raise ValueError(
            f"The benchmark needs {name}.csv in the folder `molecules` beside the mirror "
            f"of the TU sets, got the mirror {config.mirror}. Pass `--mirror FOLDER`."
        )
    path = Path(config.mirror).resolve().parent / "molecules" / f"{name}.csv"
    if not path.is_file():
        raise ValueError(f"Expected the table of molecules in {path}, got no such file.")
    return path


def _peers(
    path: Path, target: str, threads: int, config: BenchConfig
) -> tuple[list[Measured], str]:
    """Chemprop with and without workers, or the reason why not."""
    python = peer_python()
    if python is None:
        return [], NO_PEER
    runs = []
    for workers in (0, threads):
        config.progress(f"chemprop, {workers} workers")
        command = [python, str(PEER), "read", str(path), target, str(workers)]
        runs.append(measured(command, library=False))
    return runs, "the peer with 0 workers and with as many as there are threads, the better counts"


def read_table(path: str, target: str, cache: str, processes: str) -> None:
    """What our side runs, in a process of its own; prints JSON."""
    from lgan.data.molecules.tables import read_molecule_table

    begin = time.perf_counter()
    table = read_molecule_table(
        Path(path), targets=[target], processes=int(processes), cache=Path(cache)
    )
    told = {
        "seconds": time.perf_counter() - begin,
        "graphs": table.num_graphs,
        "atoms": table.num_nodes,
    }
    print(json.dumps(told))

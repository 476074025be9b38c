"""From the archive of a data set to ready for training, and from its cache."""

import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.child import ChildRun, call_in_child, run_child
from benchmarks.config import BenchConfig
from benchmarks.measure import OURS, comparison, interleaved
from benchmarks.row import Bar, Row
from lgan.data import fetch, load

# The command itself, in a process of its own.
_COMMAND = "import sys; sys.argv[0] = 'lgan'; from lgan.cli import main; main()"


def prepare(config: BenchConfig) -> list[Row]:
    """Run ``lgan data prepare`` on COLLAB's archive, then load what it cached.

    The peer, PyG's ``TUDataset`` on the unpacked files, only parses; it takes minutes and runs
    with ``--full`` alone.
    """
    name = "MUTAG" if config.quick else "COLLAB"
    archive = fetch(name, root=config.root, mirror=config.mirror)
    with TemporaryDirectory(prefix="lgan-bench-") as folder:
        # Compiled loops are cached on disk by the first run; the archive is then in memory too.
        _prepare("MUTAG", archive.parent, Path(folder) / "warm", config, needed=False)
        archive.read_bytes()
        run = _prepare(name, archive.parent, Path(folder) / "ours", config, needed=True)
        peer = _peer(name, archive, Path(folder) / "peer", config)
        samples = interleaved(
            {OURS: lambda: load(name, root=Path(folder) / "ours")},
            repeats=2 if config.quick else 5,
        )
    shared: dict[str, Any] = {
        "what": f"{name} from its zip to ready for training, `lgan data prepare`",
        "seconds": run.seconds,
        "peer": None if peer is None else "TUDataset (parsing)",
        "peer_seconds": None if peer is None else peer.result.get("seconds"),
        "memory": run.memory,
        "peer_memory": None if peer is None else peer.memory,
        "note": peer.problem if peer is not None else "",
    }
    return [
        Row(name="zip, time", bar=Bar("seconds", 120), **shared),
        Row(name="zip, memory", bar=Bar("memory", 4 * 2**30), **shared),
        comparison(
            "cache", f"`lgan.load` of {name} as prepared", samples,
            bar=Bar("seconds", 3),
        ),
    ]  # fmt: skip


def _prepare(name: str, mirror: Path, root: Path, config: BenchConfig, *, needed: bool) -> ChildRun:
    config.progress(f"lgan data prepare {name}")
    arguments = ["data", "prepare", name, "--mirror", str(mirror), "--root", str(root), "--json"]
    run = run_child(_COMMAND, *arguments)
    if needed and run.problem:
        raise ValueError(f"`lgan data prepare {name}` {run.problem}.")
    return run


def _peer(name: str, archive: Path, root: Path, config: BenchConfig) -> ChildRun | None:
    if not config.full:
        return None
    config.progress(f"PyG TUDataset {name}")
    raw = root / name / "raw"
    raw.mkdir(parents=True)
    with zipfile.ZipFile(archive) as files:
        for item in files.infolist():
            if not item.is_dir():
                (raw / Path(item.filename).name).write_bytes(files.read(item))
    return call_in_child("benchmarks.prepare:parse_with_pyg", {"root": str(root), "name": name})


def parse_with_pyg(root: str, name: str) -> dict[str, float]:
    """Seconds that ``TUDataset`` needs for unpacked files; runs in a child."""
    import time

    from torch_geometric.datasets import TUDataset

    begin = time.perf_counter()
    TUDataset(root, name)
    return {"seconds": time.perf_counter() - begin}

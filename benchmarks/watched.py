"""A command in a process of its own: what it told last, how long it took, the memory it held."""

import json
import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

# An interpreter that has chemprop: it is a peer, never a dependency.
PEER_PYTHON = "LGAN_CHEMPROP_PYTHON"
NO_PEER = f"no peer: {PEER_PYTHON} names no interpreter that has chemprop"
HERE = Path(__file__).resolve().parent
SAMPLE_EVERY = 0.25  # looking takes time from those that are looked at


@dataclass(frozen=True)
class Measured:
    """What a process told, and the most memory it and its children held together.

    Attributes:
        told: The JSON of its last line.
        memory: Bytes at the peak.
        seconds: From its start to its end.
    """

    told: dict[str, Any]
    memory: int
    seconds: float


def peer_python() -> str | None:
    """The interpreter that has chemprop, where one is named."""
    return os.environ.get(PEER_PYTHON) or None


def measured(command: list[str], *, library: bool = True, watch: bool = True) -> Measured:
    """Run a command, and watch the memory of it and its children.

    Args:
        command: The command; where its last line is JSON, that is what it tells.
        library: Let it import this library and its benchmarks.
        watch: Look at its memory, which takes time from it where it has all cores; 0 otherwise.
    """
    paths = [str(HERE.parent), os.environ.get("PYTHONPATH", "")] if library else []
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    with (
        TemporaryDirectory(prefix="lgan-bench-") as folder,
        open(Path(folder) / "out", "w+") as out,
        open(Path(folder) / "err", "w+") as err,
    ):
        begin = time.perf_counter()
        process = subprocess.Popen(command, env=env, stdout=out, stderr=err)
        peak = 0
        while process.poll() is None:
            peak = max(peak, _tree_memory(process.pid) if watch else 0)
            time.sleep(SAMPLE_EVERY)
        seconds = time.perf_counter() - begin
        out.seek(0)
        err.seek(0)
        if process.returncode:
            last = (err.read().strip().splitlines() or ["nothing said"])[-1]
            raise ValueError(
                f"`{Path(command[0]).name} {' '.join(command[1:3])}` must succeed, got exit code "
                f"{process.returncode} at {peak / 2**20:,.0f} MiB: {last}"
            )
        last = (out.read().strip().splitlines() or [""])[-1]
        return Measured(json.loads(last) if last.startswith("{") else {}, peak, seconds)


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

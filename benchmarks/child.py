"""Measurements in a process of their own: its peak memory, its time, its limits."""

import json
import os
import resource
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

# The folder that `benchmarks` and `paper` are in, which is not installed.
ROOT = Path(__file__).resolve().parents[1]
# The peak is read inside the child: what the system reports to the parent also counts the
# parent's own memory at the moment of the fork.
_PROLOGUE = """\
import atexit, os, resource, sys
def _peak():
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    if os.path.exists("/proc/self/status"):
        for line in open("/proc/self/status"):
            if line.startswith("VmHWM"):
                peak = int(line.split()[1]) * 1024
    with open(os.environ["LGAN_BENCH_PEAK"], "w") as file:
        file.write(str(peak))
atexit.register(_peak)
"""


@dataclass(frozen=True)
class ChildRun:
    """How a process went.

    Attributes:
        seconds: From its start to its end.
        memory: Peak memory in bytes; ``None`` if it was killed.
        output: Its standard output.
        problem: Why it failed, for a note; empty if it did not.
        result: What the function called in it returned.
    """

    seconds: float
    memory: int | None
    output: str
    problem: str = ""
    result: dict[str, Any] = field(default_factory=dict)


def run_child(
    code: str,
    *arguments: str,
    threads: int | None = None,
    timeout: float | None = None,
    python: str = sys.executable,
) -> ChildRun:
    """Run Python code in a fresh process.

    Args:
        code: The program.
        arguments: Its ``sys.argv[1:]``.
        threads: Threads it may use; by default as many as this process.
        timeout: Seconds after which it is stopped.
        python: The interpreter.
    """
    number = str(threads or torch.get_num_threads())
    env = os.environ | {"OMP_NUM_THREADS": number, "MKL_NUM_THREADS": number}
    env["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    with TemporaryDirectory(prefix="lgan-bench-") as folder:
        peak = Path(folder) / "peak"
        begin = time.perf_counter()
        try:
            run = subprocess.run(
                [python, "-c", _PROLOGUE + code, *arguments],
                env=env | {"LGAN_BENCH_PEAK": str(peak)},
                capture_output=True, text=True, timeout=timeout, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return ChildRun(time.perf_counter() - begin, None, "",
                            f"did not finish in {timeout:g} s")  # fmt: skip
        seconds = time.perf_counter() - begin
        memory = int(peak.read_text()) if peak.exists() else None
    return ChildRun(seconds, memory, run.stdout, _problem(run.returncode, run.stderr))


def call_in_child(
    function: str,
    arguments: dict[str, Any],
    *,
    memory_limit: int | None = None,
    timeout: float | None = None,
    threads: int | None = None,
) -> ChildRun:
    """Call a function in a fresh process.

    Args:
        function: ``module:name`` of a function that returns plain values by name.
        arguments: Plain values to call it with.
        memory_limit: Bytes of data it may hold.
        timeout: Seconds after which it is stopped.
        threads: Threads it may use; by default as many as this process.
    """
    code = "from benchmarks.child import serve; serve()"
    limit = str(memory_limit or 0)
    run = run_child(code, function, json.dumps(arguments), limit, timeout=timeout, threads=threads)
    if run.problem:
        return run
    result = json.loads(run.output.splitlines()[-1])
    return ChildRun(run.seconds, run.memory, run.output, "", result)


def serve() -> None:
    """What the child of :func:`call_in_child` runs."""
    function, arguments, limit = sys.argv[1:]
    if int(limit):
        resource.setrlimit(resource.RLIMIT_DATA, (int(limit), int(limit)))
    module, _, name = function.partition(":")
    result = getattr(import_module(module), name)(**json.loads(arguments))
    sys.stdout.write(f"\n{json.dumps(result)}\n")


def peak_memory() -> int:
    """The most bytes this process has held so far."""
    return (
        _kilobytes("self/status", "VmHWM")
        or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    )


def reset_peak() -> None:
    """Forget the peak so far, where the system can."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def resident_memory() -> int:
    """The bytes this process holds now."""
    return _kilobytes("self/status", "VmRSS") or peak_memory()


def available_memory() -> int:
    """The bytes the machine can still give out."""
    physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return _kilobytes("meminfo", "MemAvailable") or physical


def _kilobytes(file: str, field_name: str) -> int | None:
    """A number of Linux's own account, in bytes."""
    path = Path("/proc") / file
    if path.exists():
        for line in path.read_text().splitlines():
            if line.startswith(f"{field_name}:"):
                return int(line.split()[1]) * 1024
    return None


def _problem(code: int, errors: str) -> str:
    if code == 0:
        return ""
    last = (errors.strip().splitlines() or [""])[-1]
    if code == -9 or "MemoryError" in errors or "out of memory" in errors.lower():
        return "ran out of memory"
    return f"failed ({last[:200] or f'exit code {code}'})"

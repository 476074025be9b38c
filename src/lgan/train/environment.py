"""Where and with what a record was made."""

import os
import platform
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import torch

from lgan._version import __version__


def environment(device: torch.device) -> dict[str, object]:
    """Versions, revision, machine and time, for a record."""
    import torch_geometric

    name = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine()
    return {
        "lgan": __version__,
        "revision": _revision(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "torch_geometric": torch_geometric.__version__,
        "device": name,
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": typed_command(),
    }


def typed_command() -> str:
    """The command as it was typed; of an absolute path only the name is kept."""
    words = [Path(sys.argv[0]).name or "python", *sys.argv[1:]]
    return shlex.join(Path(word).name if word.startswith("/") else word for word in words)


def peak_memory(device: torch.device) -> int:
    """The most bytes the process (or its share of the GPU) has held so far."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    if sys.platform == "win32":
        import psutil

        return int(psutil.Process().memory_info().peak_wset)
    import resource  # Windows has no such module

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _revision() -> str | None:
    """The git revision of the checkout the package runs from, if it does."""
    try:
        run = subprocess.run(
            ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"],
            capture_output=True, text=True, check=True, timeout=10,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return run.stdout.strip() or None


def choose_device(name: str) -> torch.device:
    """The device of that name; ``auto`` takes a GPU where there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise ValueError(
            "The device 'cuda' needs a GPU and a CUDA build of torch, and none is here. "
            "Use `--device cpu`, or `device='cpu'`."
        )
    try:
        device = torch.device(name)
    except RuntimeError:
        device = torch.device("meta")
    number = {"cpu": 1, "cuda": torch.cuda.device_count()}.get(device.type, 0)
    if (device.index or 0) >= number:
        raise ValueError(f"The device must be cpu, cuda or auto, got {name!r}.")
    return device

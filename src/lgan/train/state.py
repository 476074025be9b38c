"""The state of a run on disk, from which it can go on."""

import json
from pathlib import Path
from typing import Any

from torch import Tensor

from lgan.data.cache import load_tensors, save_tensors

__all__ = ["load_state", "save_state"]


def save_state(
    path: Path, tensors: dict[str, Tensor], done: int, fingerprint: dict[str, Any]
) -> None:
    """Write everything that changes while a run goes on.

    Args:
        path: The file.
        tensors: What changes, by name.
        done: How many epochs are done.
        fingerprint: What must agree for a run to go on from here.
    """
    metadata = {"done": str(done), "settings": json.dumps(fingerprint)}
    save_tensors(path, tensors, metadata)


def load_state(path: Path, now: dict[str, Tensor], fingerprint: dict[str, Any]) -> int:
    """Put everything as it was, in place, and return how many epochs were done."""
    tensors, metadata = load_tensors(path)
    before = json.loads(metadata.get("settings", "{}"))
    changed = [key for key, value in fingerprint.items() if before.get(key) != value]
    if changed:
        listed = ", ".join(f"{key} {before.get(key)} → {fingerprint[key]}" for key in changed)
        raise ValueError(
            f"The run in {path.parent} was started with other settings: {listed}. "
            "Resume with the same settings, or choose another output folder."
        )
    if {n: t.shape for n, t in now.items()} != {n: t.shape for n, t in tensors.items()}:
        raise ValueError(
            f"The run in {path.parent} was started with a model of another shape. "
            "Resume with the same model, or choose another output folder."
        )
    for name, value in now.items():
        value.copy_(tensors[name])
    return int(metadata["done"])

"""The state of a run on disk, from which it can go on."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch import Tensor

from lgan.data.cache import load_tensors, save_tensors

__all__ = ["RunState"]

# Writing that takes less than this, in seconds, is done after every epoch.
QUICK = 0.1
# The share of a run's time that writing may take where it is slow.
SHARE = 0.05


class RunState:
    """The file that holds the state of a run.

    It is written after every epoch, or, where the models are so large that writing them takes
    long, as often as a twentieth of the time allows.

    Args:
        path: The file.
        tensors: Returns everything that changes while the run goes on, by name.
        fingerprint: What must agree for a run to go on from the file.
    """

    def __init__(
        self, path: Path, tensors: Callable[[], dict[str, Tensor]], fingerprint: dict[str, Any]
    ) -> None:
        self.path = path
        self.tensors = tensors
        self.fingerprint = fingerprint
        self._cost = 0.0
        self._written = 0.0

    def save(self, done: int, *, last: bool = False) -> None:
        """Write the state after so many epochs, unless that was done a short while ago."""
        begin = time.perf_counter()
        if not last and self._cost > QUICK and begin - self._written < self._cost / SHARE:
            return
        metadata = {"done": str(done), "settings": json.dumps(self.fingerprint)}
        save_tensors(self.path, self.tensors(), metadata)
        self._written = time.perf_counter()
        self._cost = self._written - begin

    @staticmethod
    def models(path: Path) -> int:
        """How many models train together in the run of a file."""
        return int(json.loads(load_tensors(path)[1]["settings"])["models"])

    def load(self) -> int:
        """Put everything as it was, in place, and return how many epochs were done."""
        stored, metadata = load_tensors(self.path)
        before, settings = json.loads(metadata.get("settings", "{}")), self.fingerprint
        keys = dict.fromkeys([*settings, *before])
        changed = [key for key in keys if before.get(key) != settings.get(key)]
        if changed:
            listed = ", ".join(f"{key} {before.get(key)} → {settings.get(key)}" for key in changed)
            raise ValueError(
                f"The run in {self.path.parent} was started with other settings: {listed}. "
                "Resume with the same settings, or choose another output folder."
            )
        now = self.tensors()
        if {n: t.shape for n, t in now.items()} != {n: t.shape for n, t in stored.items()}:
            raise ValueError(
                f"The run in {self.path.parent} was started with a model of another shape. "
                "Resume with the same model, or choose another output folder."
            )
        for name, value in now.items():
            value.copy_(stored[name])
        return int(metadata["done"])

"""The state of a run on disk, from which it can go on."""

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from lgan.data.cache import load_tensors, save_tensors
from lgan.train.tensor_file import checksum, json_object, not_finite, read_metadata

# Writing that takes less than this, in seconds, is done after every epoch.
QUICK = 0.1
# The share of a run's time that writing may take where it is slow.
SHARE = 0.05
# Settings that are checksums, which tell nobody anything, and what they are of.
CHECKSUMS = {
    "folds": "folds, or what is held out inside them (`--fair`, `--bagged`, `--seeds`)",
    "targets": "targets",
    "features and edges": "features and edges",
}


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
        tensors = {name: tensor.detach().cpu() for name, tensor in self.tensors().items()}
        metadata = {
            "done": str(done),
            "settings": json.dumps(self.fingerprint),
            "checksum": checksum(tensors),
        }
        save_tensors(self.path, tensors, metadata)
        self._written = time.perf_counter()
        self._cost = self._written - begin

    @staticmethod
    def models(path: Path) -> int:
        """How many models train together in the run of a file."""
        try:
            models = _settings(read_metadata(path)).get("models")
        except ValueError as error:
            raise _damaged(path, str(error)) from error
        if not isinstance(models, int) or models < 1:
            raise _damaged(path, f"it names {models!r} models")
        return models

    def load(self) -> int:
        """Put everything as it was, in place, and return how many epochs were done."""
        try:
            metadata = read_metadata(self.path)
            before = _settings(metadata)
        except ValueError as error:
            raise _damaged(self.path, str(error)) from error
        settings = self.fingerprint
        keys = dict.fromkeys([*settings, *before])
        changed = [key for key in keys if before.get(key) != settings.get(key)]
        if changed:
            listed = ", ".join(
                CHECKSUMS.get(key) or f"{key} {before.get(key)} → {settings.get(key)}"
                for key in changed
            )
            raise ValueError(
                f"The run in {self.path.parent} was started with other settings: {listed}. "
                "Resume with the same settings, or choose another output folder."
            )
        done, epochs = metadata.get("done", ""), int(settings["epochs"])
        if not done.isdecimal() or not 1 <= int(done) <= epochs:
            raise _damaged(self.path, f"it speaks of {done or 'no'} epochs of {epochs}")
        stored, now = load_tensors(self.path)[0], self.tensors()
        if {n: t.shape for n, t in now.items()} != {n: t.shape for n, t in stored.items()}:
            raise ValueError(
                f"The run in {self.path.parent} was started with a model of another shape. "
                "Resume with the same model, or choose another output folder."
            )
        if metadata.get("checksum") != checksum(stored):
            raise _damaged(self.path, "its tensors do not have the checksum they were saved with")
        weights = {n: t for n, t in stored.items() if not n.startswith("curves.")}
        if (name := not_finite(weights)) is not None:
            raise _damaged(self.path, f"`{name}` is not finite")
        for name, value in now.items():
            value.copy_(stored[name])
        return int(done)


def _settings(metadata: Mapping[str, str]) -> dict[str, Any]:
    if "settings" not in metadata:
        raise ValueError("its header is missing")
    return json_object(metadata["settings"])


def _damaged(path: Path, reason: str) -> ValueError:
    return ValueError(
        f"{path} is not the state of a run: {reason}. Start anew with `--overwrite`, or choose "
        "another output folder."
    )

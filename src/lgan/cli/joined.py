"""Processes that train as one, maybe on several machines: what they must have in common."""

import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from lgan.cli.screen import console, log

if TYPE_CHECKING:
    from torch import Tensor

    from lgan.data.shards.union import Graphs


@contextmanager
def joined_processes() -> Iterator[bool]:
    """Train together with the processes that torchrun started; only the one that writes files,
    which is told so, speaks.
    """
    if _alone():
        yield True
        return
    from lgan.train.processes import joined

    with joined() as leader:
        console.quiet = log.quiet = not leader
        yield leader


@contextmanager
def all_or_none() -> Iterator[None]:
    """Inside, what fails in one of the joined processes fails in all of them, which would wait for
    it. The first that failed speaks, and the leader, which names its machine.
    """
    failed: Exception | None = None
    try:
        yield
    except Exception as error:
        failed = error
    if _alone():
        if failed is not None:
            raise failed
        return
    from lgan.ops import together

    own = "" if failed is None else f"{platform.node()}: {failed}"
    said = together.gathered(own)
    first = next(filter(None, said), "")
    if failed is not None:
        if said.index(first) == together.rank():
            console.quiet = log.quiet = False
        raise failed
    if first:
        raise ValueError(f"A process of this training could not begin, on {first}")


def restarted() -> bool:
    """Whether torchrun started one of the joined processes in place of a lost one."""
    count = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))
    if _alone():
        return count > 0
    from lgan.ops import together

    return any(together.gathered(count > 0))


def check_same_state(folder: Path) -> None:
    """Refuse to go on where the joined processes do not see the same state of the run."""
    found = [(path.name, path.stat()) for path in sorted(folder.glob("state-*.safetensors"))]
    seen = str([(name, state.st_size, state.st_mtime_ns) for name, state in found])
    _check_same(
        seen, f"see the same state of the run in {folder}",
        "Choose an output folder on a file system that they share.",
    )  # fmt: skip


def check_same_data(union: "Graphs", fold: "Tensor") -> None:
    """Refuse joined processes that have read different data, parts of which make no whole."""
    from lgan.ops import together
    from lgan.train.loop import content
    from lgan.train.tensor_file import checksum

    if together.workers() == 1:
        return
    parts = {"fold": fold, "y": union.y, "node_ptr": union.node_ptr}
    _check_same(
        checksum(parts) + content(union), "read the same data in the same order",
        "Give all of them the same file or folder, and the same versions of packages.",
    )  # fmt: skip


def _check_same(own: str, must: str, remedy: str) -> None:
    from lgan.ops import together

    said = together.gathered((own, platform.node()))
    first, here = said[0]
    other = next((where for value, where in said if value != first), None)
    if other is not None:
        raise ValueError(
            f"Processes that train together must {must}, got others on {other} than on {here}. "
            f"{remedy}"
        )


def _alone() -> bool:
    """Whether nobody started this process beside others; told without torch."""
    return "WORLD_SIZE" not in os.environ and "torch" not in sys.modules

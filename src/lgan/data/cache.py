"""Tensors on disk: written whole or not at all, by one process at a time."""

import errno
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from torch import Tensor


def cache_key(name: str, options: Mapping[str, Any], version: str) -> str:
    """A file name that begins readably and changes with every option and the version.

    Example:
        >>> cache_key("MUTAG", {"compress": True}, "1.0")
        'MUTAG-077c5405807a'
    """
    content = json.dumps(
        {"name": name, "options": dict(options), "version": version}, sort_keys=True
    )
    prefix = re.sub(r"[^A-Za-z0-9._-]", "_", name)
    return f"{prefix}-{hashlib.sha256(content.encode()).hexdigest()[:12]}"


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors and the metadata that `save_tensors` wrote."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as stored:
            tensors = {key: stored.get_tensor(key) for key in stored.keys()}  # noqa: SIM118
            return tensors, stored.metadata() or {}
    except SafetensorError as error:
        raise ValueError(
            f"Expected a cache of tensors (safetensors) in {path}, got {error}. "
            "Delete the file; it is made again when it is needed."
        ) from error


def save_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
    """Write tensors and metadata to ``path``, whole or not at all.

    Takes the lock of `locked`; within it there is no need to.
    """
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    with locked(path), replaced(path) as temporary:
        try:
            save_file({k: _owned(v) for k, v in tensors.items()}, temporary, dict(metadata))
        except SafetensorError as error:
            found = re.search(r"(\w[^:]*) \(os error (\d+)\)", str(error))
            number, reason = (int(found[2]), found[1]) if found else (errno.EIO, str(error))
            raise OSError(number, reason) from error


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock that belongs to ``path``; other processes and threads wait.

    A process that dies lets go of it. What an interrupted writer left behind is removed here,
    since whoever holds the lock is the only writer. The lock may be taken again inside itself.
    """
    from filelock import FileLock

    path = Path(path)
    with _explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path.with_name(f".{path.name}.lock"), is_singleton=True)
        lock.acquire()
    try:
        if lock.lock_counter == 1:
            for stale in path.parent.glob(f".{path.name}.*.tmp"):
                stale.unlink(missing_ok=True)
        yield
    finally:
        lock.release()


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """A temporary path beside ``path`` that takes its place when the block succeeds.

    Nobody ever sees half a file: where the block fails, ``path`` stays as it was.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{uuid4().hex}.tmp")
    try:
        with _explained(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            yield temporary
            with temporary.open("rb+") as written:
                os.fsync(written.fileno())
            os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OSError(
            error.errno,
            f"Could not write {path}: {error.strerror or error}. Expected a folder that may be "
            "written to, with room left. Free some space or name another folder (`--root`).",
        ) from error


def _owned(tensor: Tensor) -> Tensor:
    """A dense CPU tensor that shares its memory with nothing larger, as safetensors asks."""
    tensor = tensor.detach().cpu().contiguous()
    return tensor if tensor.untyped_storage().nbytes() == tensor.nbytes else tensor.clone()

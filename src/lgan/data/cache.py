"""Tensors on disk: written whole or not at all, by one process at a time."""

import errno
import glob
import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import uuid4

from torch import Tensor

fcntl: Any = import_module("fcntl") if os.name == "posix" else None


def cache_key(name: str, options: Mapping[str, Any], code: str) -> str:
    """A file name that begins readably and changes with every option and what computes it.

    Example:
        >>> cache_key("MUTAG", {"compress": True}, "a51f")
        'MUTAG-4630bc4810b4'
    """
    content = json.dumps({"name": name, "options": dict(options), "code": code}, sort_keys=True)
    prefix = re.sub(r"[^A-Za-z0-9._-]", "_", name)
    return f"{prefix}-{hashlib.sha256(content.encode()).hexdigest()[:12]}"


def digest_of(parts: Iterable[bytes]) -> str:
    """The digest of parts, which changes where one of them ends too."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


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
def locked(path: Path, *, wait: bool = True) -> Iterator[bool]:
    """Hold the lock that belongs to ``path``; other processes and threads wait, or go on without
    it where they do not want to ``wait``.

    A process that dies lets go of it. The lock may be taken again inside itself. Gives whether it
    is held.
    """
    from filelock import FileLock, Timeout

    path = Path(path)
    with _explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path.with_name(f".{path.name}.lock"), is_singleton=True)
        held = True
        try:
            lock.acquire(blocking=wait)
        except Timeout:
            held = False
    try:
        yield held
    finally:
        if held:
            lock.release()


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """A temporary path beside ``path`` that takes its place when the block succeeds.

    Nobody ever sees half a file: where the block fails, ``path`` stays as it was. What it may be
    read and written by is what the umask says, or what was there before. What a killed writer of
    the same file left behind is removed.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{uuid4().hex}.tmp")
    try:
        with _explained(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            _remove_abandoned(path)
            temporary.touch()
            mode = (path if path.is_file() else temporary).stat().st_mode
            with _in_use(temporary):
                yield temporary
                temporary.chmod(mode)  # some writers, safetensors among them, choose their own
                with temporary.open("rb+") as written:
                    os.fsync(written.fileno())
                os.replace(temporary, path)
    finally:
        with suppress(OSError):
            temporary.unlink()


def save_json(path: Path, plain: Mapping[str, Any]) -> None:
    """Write JSON to ``path``, whole or not at all."""
    with replaced(path) as temporary:
        temporary.write_text(json.dumps(plain), encoding="utf-8")


def save_record(path: Path | str, plain: Mapping[str, Any], *, indent: int | None = 1) -> None:
    """Write a record as JSON of finite numbers to ``path``, whole or not at all."""
    with replaced(Path(path)) as temporary:
        temporary.write_text(json.dumps(plain, indent=indent, allow_nan=False) + "\n")


def check_same(before: Mapping[str, Any], now: Mapping[str, Any], holds: str) -> None:
    """Refuse a folder of which a plan says that it ``holds`` what was made otherwise than now."""
    changed = [f"{n} {before.get(n)} → {now[n]}" for n in now if before.get(n) != now[n]]
    if changed:
        raise ValueError(
            f"{holds} of something else: {', '.join(changed)}. Choose another folder, or delete "
            "this one."
        )


@contextmanager
def _in_use(temporary: Path) -> Iterator[None]:
    """Mark a temporary file as being written; the mark goes when its process ends."""
    if fcntl is None:  # Windows, where a file that is open cannot be removed
        yield
        return
    with temporary.open("rb") as file:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _remove_abandoned(path: Path) -> None:
    """Remove temporary files beside ``path`` that nobody is writing any more."""
    for stale in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
        with suppress(OSError), stale.open("rb") as file:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            stale.unlink()


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OSError(
            error.errno,
            f"Could not write {path}: {error.strerror or error}. Expected a folder that may be "
            "written to, with room left. Free some space or choose another folder.",
        ) from error


def _owned(tensor: Tensor) -> Tensor:
    """A dense CPU tensor that shares its memory with nothing larger, as safetensors asks."""
    tensor = tensor.detach().cpu().contiguous()
    return tensor if tensor.untyped_storage().nbytes() == tensor.nbytes else tensor.clone()

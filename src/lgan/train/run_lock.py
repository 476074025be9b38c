"""One run at a time in a folder."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lgan.ops import together


@contextmanager
def run_lock(folder: Path | str | None) -> Iterator[None]:
    """Hold a folder for one run; another process that asks for it is refused.

    A process that dies lets go of it. The lock may be taken again inside itself.

    Args:
        folder: The folder, which is made where it is not there; ``None`` for a run that writes
            nothing. Of processes that train together the first holds it for all.
    """
    if folder is None or together.rank() > 0:
        yield
        return
    from filelock import FileLock, Timeout

    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / ".run.lock", is_singleton=True)
        lock.acquire(timeout=0)
    except Timeout:
        raise ValueError(
            f"Another run is writing to {folder}. Wait for its end, or choose another output "
            "folder."
        ) from None
    except OSError as error:
        raise OSError(
            error.errno,
            f"Could not write to the folder {folder}: {error.strerror or error}. Choose another "
            "output folder.",
        ) from error
    try:
        yield
    finally:
        lock.release()

"""Featurising on several processes, in order, with a bounded number of chunks under way.

Workers are plain processes that run one small script, not those of `multiprocessing`: they do not
import the user's program again, need no guard around it, and load neither torch nor this library.
"""

import pickle
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice
from typing import Any

from lgan.data.molecules import featurise as script
from lgan.data.molecules.featurise import READY, Molecules, featurise, joined

# For every process: so many that none waits while a block that is done is predicted.
CHUNKS_AHEAD = 8


def featurised(
    chunks: Iterable[Sequence[Any]], *, processes: int = 1, **options: bool
) -> Iterator[Molecules]:
    """`featurise` of every chunk, in order.

    A single chunk is done in this process, since a worker takes a while to start. A structure
    that brings a worker down is found and becomes an error of its row. One process is this one.
    """
    rest = iter(chunks)
    first = list(islice(rest, 2))
    if processes < 2 or len(first) < 2 or not sys.executable:
        for chunk in chain(first, rest):
            yield featurise(chunk, **options)
        return
    with _Workers(processes, options) as workers:
        waiting: deque[Future[Molecules]] = deque()
        for chunk in chain(first, rest):
            waiting.append(workers.threads.submit(workers.featurise, chunk))
            if len(waiting) >= processes * CHUNKS_AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


class _Workers:
    """Threads that each talk to a process of their own."""

    def __init__(self, processes: int, options: dict[str, bool]) -> None:
        self._options = options
        self.threads = ThreadPoolExecutor(processes, thread_name_prefix="featurise")
        self._own = threading.local()
        self._started: list[subprocess.Popen[bytes]] = []
        self._ended = False

    def __enter__(self) -> "_Workers":
        return self

    def __exit__(self, *_: object) -> None:
        self._ended = True
        self.threads.shutdown(wait=False, cancel_futures=True)
        for process in list(self._started):
            process.kill()  # what is under way is no longer wanted
        self.threads.shutdown(wait=True)
        for process in self._started:
            with suppress(OSError), process:  # a request that nobody reads any more
                pass

    def featurise(self, chunk: Sequence[Any]) -> Molecules:
        try:
            return self._ask(chunk)
        except (EOFError, OSError, pickle.UnpicklingError):
            if self._ended:
                raise
            self._own.process = None  # it is gone; the next request starts another
        if len(chunk) == 1:
            return replace(featurise([]), errors=((0, "RDKit broke down on this molecule"),))
        half = len(chunk) // 2
        parts = (chunk[:half], chunk[half:])
        return joined([self.featurise(part) for part in parts], [len(part) for part in parts])

    def _ask(self, chunk: Sequence[Any]) -> Molecules:
        process = getattr(self._own, "process", None) or self._start()
        pickle.dump(list(chunk), process.stdin, protocol=5)
        process.stdin.flush()
        return Molecules(**pickle.load(process.stdout))

    def _start(self) -> Any:
        # -P: the folder of the script, which is full of our modules, stays off the path.
        command = [sys.executable, "-P", script.__file__]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._started.append(process)
        assert process.stdin is not None
        assert process.stdout is not None
        pickle.dump(self._options, process.stdin, protocol=5)
        process.stdin.flush()
        if process.stdout.read(len(READY)) != READY:
            raise RuntimeError(
                f"A worker for reading molecules must start with {sys.executable}, got exit code "
                f"{process.wait()}. Pass `processes=1` to read them in this process."
            )
        self._own.process = process
        return process

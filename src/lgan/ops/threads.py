"""How compiled loops are shared out among threads."""

import ctypes
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import cache
from itertools import pairwise
from threading import Lock
from typing import Any

import torch
from threadpoolctl import LibController, ThreadpoolController

# Elements below which a second thread costs more than it saves (measured: about 50 us a hand-off).
SMALL = 1 << 16
# Columns are split only into parts at least this wide: a cache line of float32.
NARROW = 16
# Threads that anyone gets: of a million the system would end the process.
MOST = 256
# Freed memory that a process keeps, and the largest block of it; names and numbers of glibc.
KEPT, KEPT_BLOCK = 512 << 20, 32 << 20
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3

_threads: ContextVar[int | None] = ContextVar("lgan_threads", default=None)
_inside: ContextVar[bool] = ContextVar("lgan_threads_inside", default=False)
# A library and how many threads it had.
_Setting = tuple[LibController, int]


class _Limits:
    """The limits that hold at this moment, in all threads of the process.

    BLAS has one setting for all of them, and a new thread begins with what another last set torch
    to; so what the first found is restored when the last has left.
    """

    def __init__(self) -> None:
        self.lock = Lock()
        self.holding: dict[object, int] = {}
        self.torch_before = 1
        self.blas_before: dict[str, _Setting] = {}

    def enter(self, own: object, threads: int, *, nested: bool) -> tuple[int, list[_Setting]]:
        """Limit this thread and BLAS; what torch had here, or before the first came, and what
        libraries had whose setting is of one thread.
        """
        with self.lock:
            before = torch.get_num_threads()
            if not nested:
                self.torch_before = before = self.torch_before if self.holding else before
            torch.set_num_threads(threads)
            self.holding[own] = threads
            of_thread: list[_Setting] = []
            # What was loaded since the last limit is limited as well.
            for library in ThreadpoolController().select(user_api="blas").lib_controllers:
                setting = library, library.num_threads
                if getattr(library, "threading_layer", None) == "openmp":
                    of_thread.append(setting)
                    _set_blas(library, threads)
                else:
                    self.blas_before.setdefault(library.filepath, setting)
            self._limit_all()
        return before, of_thread

    def leave(self, own: object, torch_before: int, of_thread: list[_Setting]) -> None:
        """Give this thread back what it had, and BLAS what those who are still inside ask for."""
        with self.lock:
            self.holding.pop(own, None)  # forgotten in a process that was forked
            torch.set_num_threads(torch_before)
            for library, before in of_thread:
                _set_blas(library, before)
            self._limit_all()
            if not self.holding:
                self.blas_before.clear()

    def _limit_all(self) -> None:
        fewest = min(self.holding.values(), default=None)
        for library, before in self.blas_before.values():
            _set_blas(library, before if fewest is None else fewest)

    def begin_anew(self) -> None:
        """In a process that was forked, which has one thread: nobody else is inside."""
        self.lock = Lock()
        self.holding.clear()


def _set_blas(library: LibController, threads: int) -> None:
    library.set_num_threads(threads)
    # From threadpoolctl 3.8 on the first thread to set OpenBLAS bars all others, until it says so.
    if (let_others := getattr(library, "clear_controlling_thread", None)) is not None:
        let_others()


_limits = _Limits()


@contextmanager
def _limited(threads: int) -> Iterator[int]:
    """Inside, torch and BLAS use so many threads; gives how many torch had before."""
    own, nested = object(), _inside.get()
    before, of_thread = _limits.enter(own, threads, nested=nested)
    token = _inside.set(True)
    try:
        yield before
    finally:
        _limits.leave(own, before, of_thread)
        _inside.reset(token)


@contextmanager
def model_threads(device: torch.device) -> Iterator[None]:
    """Inside, threads take models on the CPU apart, and operations of torch use one thread each.

    Two pools that share the cores get in each other's way: the threads of one wait actively for
    its next piece of work while those of the other have some.

    Numbers below the normal ones, about 1e-38, count as 0: the gradients at graphs that a model has
    long learned are full of them, and each costs an Intel core some hundred cycles.
    """
    if device.type != "cpu":
        yield
        return
    import scipy.linalg.cython_blas  # noqa: F401  (what is loaded later would not be limited)

    _keep_freed_memory()
    with _limited(1) as threads:
        token = _threads.set(threads)
        flushed = _flushes_subnormal()
        torch.set_flush_denormal(True)
        try:
            yield
        finally:
            torch.set_flush_denormal(flushed)
            _threads.reset(token)


@contextmanager
def at_most(threads: int | None) -> Iterator[None]:
    """Inside, the compiled loops, torch and BLAS use so many threads, `MOST` at most; as many as
    before for ``None``.
    """
    if threads is None:
        yield
        return
    with _limited(min(threads, MOST)):
        yield


def _keep_freed_memory() -> None:
    """Let the allocator reuse the arrays of a step instead of giving them back to the system, which
    would hand them out anew page by page (measured: up to a sixth of a step of ten models).
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # not glibc, whose settings these are
        return
    mallopt(M_MMAP_THRESHOLD, KEPT_BLOCK)
    mallopt(M_TRIM_THRESHOLD, KEPT)


def _flushes_subnormal() -> bool:
    """Whether this thread takes numbers below the normal ones for 0."""
    return not bool(torch.full((), 1e-39) * 1 > 0)


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(
        threads, thread_name_prefix="lgan", initializer=torch.set_num_threads, initargs=(1,)
    )


def _begin_anew() -> None:
    """In a process that was forked: threads are not copied, and who waits for them waits for ever,
    OpenMP as well; so there is one, and pools are made again.
    """
    _pool.cache_clear()
    _limits.begin_anew()
    torch.set_num_threads(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


def _share_out(loop: Callable[..., None], parts: Sequence[tuple[int, ...]], threads: int) -> None:
    """Call a loop on the first part here, and on others in threads that round as this one does."""
    flush = _threads.get() is not None
    waiting = [_pool(threads).submit(_rounding_alike, flush, loop, *part) for part in parts[1:]]
    loop(*parts[0])
    for job in waiting:
        job.result()


def _rounding_alike(flush: bool, loop: Callable[..., None], *args: Any) -> None:
    torch.set_flush_denormal(flush)
    loop(*args)


def by_planes(loop: Callable[[int, int], None], planes: int, work: int) -> None:
    """Call ``loop(k0, k1)`` over parts of the planes, one a thread of :func:`model_threads`."""
    threads = (_threads.get() or 1) if work >= SMALL else 1
    cuts = [planes * i // threads for i in range(threads + 1)]
    _share_out(loop, [part for part in pairwise(cuts) if part[0] < part[1]], threads)


def side_by_side(work: Callable[[int], None], number: int) -> None:
    """Call ``work(0)`` … ``work(number - 1)`` without gradients in the threads of
    :func:`model_threads`, each of them with one thread; one after another, with all of them, where
    there are fewer pieces of work than threads.
    """
    threads = _threads.get() or 1
    if number < threads or threads == 1:
        with torch.no_grad():
            for i in range(number):
                work(i)
        return
    contexts = [copy_context() for _ in range(threads)]

    @torch.no_grad()
    def some(first: int) -> None:
        _threads.set(1)
        for i in range(first, number, threads):
            work(i)

    _share_out(lambda t: contexts[t].run(some, t), [(t,) for t in range(threads)], threads)


def in_threads(loop: Callable[..., None], planes: int, columns: int, work: int, *args: Any) -> None:
    """Call ``loop(*args, k0, k1, c0, c1)`` over parts of the planes, or of the columns of one."""
    threads = (_threads.get() or torch.get_num_threads()) if work >= SMALL else 1
    if planes >= threads:
        cuts = [planes * i // threads for i in range(threads + 1)]
        parts = [(a, b, 0, columns) for a, b in pairwise(cuts)]
    else:
        threads = max(1, min(threads, columns // NARROW))
        cuts = [columns * i // threads for i in range(threads + 1)]
        parts = [(0, planes, a, b) for a, b in pairwise(cuts)]
    _share_out(lambda *part: loop(*args, *part), parts, threads)

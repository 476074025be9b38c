"""Work that is done one piece after another, with a queue that does not grow without end."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from lgan.app.limits import Limits, RefusedError

T = TypeVar("T")


class OneThread:
    """A thread and the queue before it.

    The loops of a model run on all cores as it is, and two of them at once are not safe with every
    threading layer of numba; matplotlib keeps its settings in one place for all threads.
    """

    def __init__(self, limits: Limits):
        self.limits = limits
        self._waiting = 0
        self._thread = ThreadPoolExecutor(1)

    def submit(self, work: Callable[[], T]) -> "Future[T]":
        """Queue work that may take its time."""
        return self._thread.submit(work)

    async def run(self, work: Callable[[], T]) -> T:
        """Do some work, or refuse where too much waits or it takes too long."""
        if self._waiting >= self.limits.waiting:
            raise RefusedError(
                429, f"{self._waiting} questions are waiting. Ask again in a moment."
            )
        self._waiting += 1
        try:
            # What has not begun when the time is over is taken from the queue.
            return await asyncio.wait_for(
                asyncio.wrap_future(self.submit(work)), self.limits.seconds
            )
        except TimeoutError:
            raise RefusedError(
                504,
                f"No answer within {self.limits.seconds:g} s. Ask for less at once, or again when "
                "the model is less busy.",
            ) from None
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """Forget what waits, and end after what runs."""
        self._thread.shutdown(wait=False, cancel_futures=True)

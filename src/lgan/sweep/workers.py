"""Where batches run: here, in processes of this machine, or on the machines of a Ray cluster."""

import os
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from multiprocessing import get_context
from typing import Any

import torch

from lgan.data.shards.ray_tasks import ray_cluster
from lgan.sweep.evaluate import Batch, evaluate
from lgan.sweep.trial import Outcome

Evaluate = Callable[[Batch], list[Outcome]]


class Workers(ABC):
    """Something that runs batches.

    Attributes:
        slots: How many batches run at once.
    """

    slots: int

    @abstractmethod
    def submit(self, ticket: int, batch: Batch) -> None:
        """Begin with a batch."""

    @abstractmethod
    def next(self) -> tuple[int, list[Outcome] | None]:
        """Wait for one of the batches: its ticket and outcomes, ``None`` if its worker died."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the workers."""


class Here(Workers):
    """This process, one batch after another."""

    slots = 1

    def __init__(self, run: Evaluate = evaluate) -> None:
        self._run = run
        self._queue: deque[tuple[int, Batch]] = deque()

    def submit(self, ticket: int, batch: Batch) -> None:
        """Put a batch in the queue."""
        self._queue.append((ticket, batch))

    def next(self) -> tuple[int, list[Outcome] | None]:
        """Run the next batch."""
        ticket, batch = self._queue.popleft()
        return ticket, self._run(batch)

    def close(self) -> None:
        """Forget what is in the queue."""
        self._queue.clear()


class Processes(Workers):
    """Processes of this machine, each with its share of the cores.

    Args:
        number: How many.
        run: What they do with a batch.
    """

    def __init__(self, number: int, run: Evaluate = evaluate) -> None:
        self.slots = number
        self._run = run
        self._threads = max(1, (os.cpu_count() or 1) // number)
        # A process that is killed breaks its pool: each has one of its own.
        self._free = [self._start() for _ in range(number)]
        self._running: dict[Future[list[Outcome]], tuple[int, ProcessPoolExecutor]] = {}

    def submit(self, ticket: int, batch: Batch) -> None:
        """Hand a batch to a process."""
        pool = self._free.pop()
        try:
            future = pool.submit(self._run, batch)
        except BrokenProcessPool:  # killed while it had nothing to do
            pool = self._start()
            future = pool.submit(self._run, batch)
        self._running[future] = (ticket, pool)

    def next(self) -> tuple[int, list[Outcome] | None]:
        """Wait for a process; one that was killed has no outcomes."""
        done, _ = wait(self._running, return_when=FIRST_COMPLETED)
        future = next(iter(done))
        ticket, pool = self._running.pop(future)
        try:
            return ticket, future.result()
        except BrokenProcessPool:
            pool = self._start()
            return ticket, None
        finally:
            self._free.append(pool)

    def close(self) -> None:
        """End the processes, without waiting for what they do."""
        for pool in (*self._free, *(pool for _, pool in self._running.values())):
            processes = list((pool._processes or {}).values())
            pool.shutdown(wait=False, cancel_futures=True)
            for process in processes:
                process.terminate()

    def _start(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(
            1,
            mp_context=get_context("spawn"),
            initializer=torch.set_num_threads,
            initargs=(self._threads,),
        )


class RayCluster(Workers):
    """The machines of an existing Ray cluster.

    Data and folds are read by the workers, from folders that every machine must have.

    Args:
        address: Address of the cluster, such as ``auto`` or ``HOST:6379``.
        slots: Batches at once; by default one for each GPU, or core without ``gpus``.
        gpus: GPUs a batch takes.
        run: What a worker does with a batch.
    """

    def __init__(
        self, address: str, slots: int | None = None, gpus: int = 0, run: Evaluate = evaluate
    ) -> None:
        self._connection = ExitStack()
        self._ray = self._connection.enter_context(ray_cluster(address))
        have = self._ray.cluster_resources()
        self.slots = slots or max(1, int(have.get("GPU" if gpus else "CPU", 1)))
        # Batches whose worker died are submitted again by the search, which counts how often.
        self._task: Any = self._ray.remote(num_cpus=1, num_gpus=gpus, max_retries=0)(run)
        self._running: dict[Any, int] = {}

    def submit(self, ticket: int, batch: Batch) -> None:
        """Hand a batch to the cluster."""
        self._running[self._task.remote(batch)] = ticket

    def next(self) -> tuple[int, list[Outcome] | None]:
        """Wait for a worker."""
        done, _ = self._ray.wait(list(self._running), num_returns=1)
        ticket = self._running.pop(done[0])
        errors = self._ray.exceptions
        try:
            return ticket, self._ray.get(done[0])
        except errors.RayTaskError:  # the batch itself failed, and would again
            raise
        except errors.RayError:
            return ticket, None

    def close(self) -> None:
        """Stop what still runs and leave the cluster."""
        for task in self._running:
            self._ray.cancel(task, force=True)
        self._connection.close()

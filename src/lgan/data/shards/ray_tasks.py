"""Tasks on the machines of an existing Ray cluster."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from lgan._optional import require

# How often a task whose worker is lost, or workers that train together, are started anew.
RESTARTS = 100


@contextmanager
def ray_cluster(address: str) -> Iterator[Any]:
    """Ray, connected to a cluster; as it is where this process is connected already.

    Args:
        address: Address of the cluster, such as ``auto`` or ``HOST:6379``.
    """
    ray = require("ray")
    connect = not ray.is_initialized()
    if connect:
        ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    try:
        yield ray
    finally:
        if connect:
            ray.shutdown()


def on_ray(
    address: str,
    task: Callable[..., Any],
    calls: Iterable[tuple[Any, ...]],
    *,
    shared: Sequence[Any] = (),
    gpus: int = 0,
) -> Iterator[Any]:
    """What a function returns for every call, in the order in which they end.

    As many calls are under way as the cluster has cores, or GPUs, and one waits: calls that are
    read from a large file are read as fast as they are worked off. Ray runs a task again whose
    worker is lost; an error of the function itself is raised here, and ends what is under way.

    Args:
        address: See :func:`ray_cluster`.
        task: The function.
        calls: The arguments of every call.
        shared: Arguments that come first in every call, and are sent once.
        gpus: GPUs that a call takes.
    """
    with ray_cluster(address) as ray:
        remote = ray.remote(num_cpus=1, num_gpus=gpus, max_retries=RESTARTS)(task)
        first = [ray.put(value) for value in shared]
        running: list[Any] = []

        def ended() -> Any:
            [done], running[:] = ray.wait(running, num_returns=1)
            try:
                return ray.get(done)
            except ray.exceptions.RayTaskError as error:
                raise error.cause from None

        try:
            for call in calls:
                running.append(remote.remote(*first, *call))
                if len(running) > max(1, ray.cluster_resources().get("GPU" if gpus else "CPU", 1)):
                    yield ended()
            while running:
                yield ended()
        finally:
            for left in running:
                ray.cancel(left, force=True)

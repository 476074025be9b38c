"""Processes that train on parts of every batch, and what they must know of each other.

Sums over the rows of a batch, such as those of a batch normalisation, are then sums over the parts
of all processes. Alone, all of this is nothing.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch import distributed as processes

T = TypeVar("T")
_sharing: ContextVar[bool] = ContextVar("lgan_sharing", default=False)


@contextmanager
def sharing() -> Iterator[None]:
    """Inside, every batch is shared out among the processes of ``torch.distributed``, maybe one.

    A program that uses these for something else is left alone outside.
    """
    token = _sharing.set(True)
    try:
        yield
    finally:
        _sharing.reset(token)


def shared() -> bool:
    """Whether batches are shared out, maybe to one process only."""
    return _sharing.get()


def workers() -> int:
    """How many processes share a batch; 1 alone."""
    return processes.get_world_size() if shared() and processes.is_initialized() else 1


def rank() -> int:
    """The number of this process among them; 0 for the one that writes files."""
    return processes.get_rank() if workers() > 1 else 0


def own_part(number: int) -> slice:
    """The part of so many things that this process takes; parts differ by one at most."""
    return slice(number * rank() // workers(), number * (rank() + 1) // workers())


def balanced_part(work: Tensor) -> slice:
    """The part of things in a row that this process takes, by the work that each of them is: about
    as much for every process, and one thing at least, of which there must be enough.
    """
    number, parts, cuts = len(work), workers(), [0]
    if parts == 1:
        return slice(0, number)
    work = work.double()
    middle = torch.cumsum(work, 0) - work / 2
    for part in range(1, parts):
        before = int(torch.searchsorted(middle, work.sum() * part / parts))
        cuts.append(min(max(before, cuts[-1] + 1), number - parts + part))
    return slice(cuts[rank()], [*cuts, number][rank() + 1])


def total(x: Tensor) -> Tensor:
    """The sum of a tensor over all processes, differentiable."""
    if workers() == 1:
        return x
    found: Tensor = _Total.apply(x)
    return found


def sum_in_place(x: Tensor) -> None:
    """Replace a tensor by its sum over all processes."""
    if workers() > 1:
        processes.all_reduce(x)


def sum_later(x: Tensor) -> Callable[[], object]:
    """Begin to replace a tensor by its sum over all processes; what is returned waits for it."""
    if workers() == 1:
        return lambda: None
    waiting: Callable[[], object] = processes.all_reduce(x, async_op=True).wait
    return waiting


def least(number: int) -> int:
    """The smallest of the numbers that all processes give."""
    if workers() == 1:
        return number
    found = torch.tensor(number)
    processes.all_reduce(found, processes.ReduceOp.MIN)
    return int(found)


def gathered(thing: T) -> list[T]:
    """What every process gives, a small thing that can be pickled, by their numbers."""
    if workers() == 1:
        return [thing]
    found: list[Any] = [None] * workers()
    processes.all_gather_object(found, thing)
    return found


class _Total(torch.autograd.Function):
    """What every process adds reaches the loss of all of them, and so do gradients come back."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        """The sum."""
        x = x.detach().clone(memory_format=torch.contiguous_format)
        processes.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        """The sum of the gradients."""
        grad = grad.clone(memory_format=torch.contiguous_format)
        processes.all_reduce(grad)
        return grad

"""Models that train together, as many at once as memory allows."""

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor, nn

from lgan.data.shards.union import Graphs
from lgan.ops import together
from lgan.train.batches import drawn_graphs
from lgan.train.config import TrainConfig
from lgan.train.memory import check_weights_fit, models_at_once, outline
from lgan.train.state import RunState

logger = logging.getLogger(__name__)

T = TypeVar("T")


def how_many_at_once(
    factory: Callable[[], nn.Module],
    union: Graphs,
    models: int,
    *,
    fold: Tensor,
    config: TrainConfig,
    rows: Tensor | None = None,
    device: torch.device,
) -> int:
    """How many of the models train at once within the memory budget; said where it is not all.

    Args:
        factory: Builds one model.
        union: The data set.
        models: Number of models.
        fold: The test fold of every graph ``[G]``.
        config: Settings.
        rows: Rows of the largest activations of every graph ``[G]``; by default its nodes.
        device: Where they train.
    """
    model = outline(factory)
    check_weights_fit(model, device)
    rows = torch.diff(union.node_ptr).cpu() if rows is None else rows
    budget = config.budget_on(device)
    at_once = models_at_once(model, rows, drawn_graphs(fold, config.batch_size), budget)
    threads = torch.get_num_threads()
    if device.type == "cpu" and threads < at_once < models:  # each takes models of its own
        at_once -= at_once % threads
    at_once = together.least(at_once)
    if at_once < models:
        logger.warning(
            "%d models need more than the memory budget of %.1f GiB: training %d at a time, all of "
            "%d epochs.", models, budget / 2**30, at_once, config.epochs,
        )  # fmt: skip
    return at_once


def train_in_groups(
    train: Callable[[range, bool], T],
    models: int,
    at_once: int,
    *,
    folder: Path | str | None = None,
    resume: bool = False,
) -> list[T]:
    """Train models in groups, one after another, in halves where a GPU has too little memory.

    Args:
        train: Trains some of the models, going on from their state or not.
        models: Number of models.
        at_once: The most that train together.
        folder: Folder of the states, see :func:`state_file`.
        resume: Go on from the states there: a group of which there is one has the models it had
            then, whatever the memory is now, and so have those behind it.
    """
    stored = Path(folder) if resume and folder is not None else None
    groups = _groups(models, at_once, stored)
    return [part for group in groups for part in _train_or_halve(train, group, resume=resume)]


def state_file(folder: Path | str | None, group: range) -> Path | None:
    """The file that holds the state of a group."""
    return None if folder is None else Path(folder) / f"state-{group.start}.safetensors"


def _groups(models: int, at_once: int, stored: Path | None) -> Iterator[range]:
    start = 0
    while start < models:
        state = state_file(stored, range(start, models))
        if state is not None and state.exists():
            at_once = RunState.models(state)
        yield range(start, min(start + at_once, models))
        start += at_once


def _train_or_halve(train: Callable[[range, bool], T], group: range, *, resume: bool) -> list[T]:
    """Train a group of models, in halves where they need more memory than the GPU has."""
    try:
        return [train(group, resume)]
    except torch.OutOfMemoryError:
        if len(group) == 1:
            raise
    torch.cuda.empty_cache()
    half = -(-len(group) // 2)
    logger.warning("Out of GPU memory: going on with %d models at a time.", half)
    # A state there may be is that of more models.
    first = _train_or_halve(train, group[:half], resume=False)
    return first + _train_or_halve(train, group[half:], resume=False)

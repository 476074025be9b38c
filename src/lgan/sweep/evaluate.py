"""One batch of trials: settings of one shape, trained side by side on all folds."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import mean
from typing import Any, TypeVar

import torch
from torch import Tensor

from lgan.experiment import Reading, prepare, run_side_by_side, settings_for
from lgan.sweep.record import Head
from lgan.sweep.trial import Outcome
from lgan.task import METRICS, Metric
from lgan.train import Curves, CVResult, OnEpoch, over_seeds

T = TypeVar("T")


@dataclass(frozen=True)
class Batch:
    """What a worker needs to know, in plain values.

    Attributes:
        head: What the search is about.
        source: Name or path of the data set.
        params: Settings of every trial; those that change shapes agree.
        folds: Number of stratified folds, or the test fold of every graph.
        device: Where to compute.
        reading: What is said of the source beyond its name; its seed is that of the search.
        medians: By number of epochs, the value that finished trials reached half the time: where
            all trials of the batch are below, it is stopped.
    """

    head: Head
    source: str
    params: list[dict[str, Any]]
    folds: int | list[int] = 10
    device: str = "cpu"
    reading: Reading = field(default_factory=Reading)
    medians: dict[int, float] = field(default_factory=dict)


class _HopelessError(Exception):
    """All trials of a batch are below the medians."""


def evaluate(batch: Batch) -> list[Outcome]:
    """Cross-validate all trials of a batch side by side.

    What goes wrong with these settings (memory, a set the model cannot do) is an outcome, so that
    a search goes on; what goes wrong with the machine is not.
    """
    begin, head = time.perf_counter(), batch.head
    seeds = range(head.seed, head.seed + head.seeds)
    name = Path(batch.source).name
    settings = [
        settings_for(head.model, name, **{**head.fixed, **params}).with_seed(seed)
        for params in batch.params
        for seed in seeds
    ]
    progress: list[dict[int, float]] = [{} for _ in batch.params]  # the objective so far
    try:
        reading = replace(batch.reading, seed=head.seed)
        union = prepare(settings[0], batch.source, reading, device=batch.device)
        folds = batch.folds if isinstance(batch.folds, int) else torch.tensor(batch.folds)
        number = folds if isinstance(folds, int) else int(folds.max()) + 1
        results = run_side_by_side(
            settings,
            union,
            folds=folds,
            metric=head.metric,
            fair=head.objective == "fair",
            stop_if_not_finite=False,
            on_epoch=_watch(batch, number, settings[0].training.epochs, progress),
        )
    except _HopelessError:
        seconds = time.perf_counter() - begin
        return [
            Outcome("pruned", list(own.values())[-1], progress=own, seconds=seconds)
            for own in progress
        ]
    except (ValueError, MemoryError, torch.OutOfMemoryError) as error:
        seconds = time.perf_counter() - begin
        return [Outcome("failed", message=str(error), seconds=seconds) for _ in batch.params]
    seconds = time.perf_counter() - begin
    trials = zip(_batched(results, head.seeds), progress, strict=True)
    return [_outcome(each, own, head.objective, seconds) for each, own in trials]


def _watch(batch: Batch, folds: int, epochs: int, progress: list[dict[int, float]]) -> OnEpoch:
    """Fills in the objective of every trial so far, and ends the batch where all are below."""
    head, at, fair = batch.head, checkpoints(epochs), batch.head.objective == "fair"
    trainings = len(batch.params) * head.seeds

    def watch(epoch: int, curves: Curves) -> None:
        # Where memory allows only some of the models at a time there is no whole to judge by.
        if epoch not in at or curves.test.size(0) != trainings * folds * (2 if fair else 1):
            return
        values = [_so_far(curves, k, folds, epoch, fair=fair) for k in range(trainings)]
        for own, seeds in zip(progress, _batched(values, head.seeds), strict=True):
            own[epoch] = mean(seeds)
        median = batch.medians.get(epoch)
        if median is not None and all(own[epoch] < median for own in progress):
            raise _HopelessError

    return watch


def checkpoints(epochs: int) -> list[int]:
    """Epochs at which trials are compared: each quarter but the last.

    Example:
        >>> checkpoints(350)
        [87, 175, 262]
    """
    return sorted({epochs * quarter // 4 for quarter in (1, 2, 3)} - {0, epochs})


def _batched(values: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """The values in runs of ``size``."""
    return (values[start : start + size] for start in range(0, len(values), size))


def _so_far(curves: Curves, k: int, folds: int, epoch: int, *, fair: bool) -> float:
    """The objective of training ``k`` if it ended here."""
    first = k * folds * (2 if fair else 1)
    if fair:
        # Behind the models of the rule `gin` come those with an inner hold-out: the next fold.
        return _inner(curves.validation[first + folds : first + 2 * folds, :epoch], curves.metric)
    means = curves.test[first : first + folds, :epoch].nanmean(0)
    return float((_sign(curves.metric) * means).max())


def _outcome(
    results: Sequence[CVResult], progress: dict[int, float], objective: str, seconds: float
) -> Outcome:
    """What the trainings of one trial found, on average."""
    if not all(result.loss.isfinite().all() for result in results):
        message = "Training is no longer finite: the loss or an output is NaN or infinite."
        return Outcome("failed", message=message, seconds=seconds)
    metric = METRICS[results[0].metric]
    value = mean(
        _inner(result.inner_validation, metric)
        if objective == "fair"
        else _sign(metric) * result.selected("gin").mean
        for result in results
    )
    return Outcome(
        state="done",
        value=value,
        results=over_seeds(results),
        progress={**progress, results[0].test.size(1): value},
        seconds=seconds,
    )


def _inner(validation: Tensor, metric: Metric) -> float:
    """The mean over folds of the best epoch on the inner hold-outs ``[folds, epochs]``."""
    return float((_sign(metric) * validation).amax(1).nanmean())


def _sign(metric: Metric) -> int:
    return 1 if metric.higher_is_better else -1

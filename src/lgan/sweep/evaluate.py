"""One batch of trials: settings of one shape, trained side by side on all folds."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean
from typing import Any, TypeVar

import torch

from lgan.data import choose_folds
from lgan.experiment import Settings, network_spec, prepare, settings_for, variant
from lgan.sweep.trial import Outcome
from lgan.train import Curves, CVResult, cross_validate_variants, over_seeds

__all__ = ["Batch", "evaluate"]

T = TypeVar("T")


@dataclass(frozen=True)
class Batch:
    """What a worker needs to know, in plain values.

    Attributes:
        model: Name of the model.
        dataset: Name of the data set.
        params: Settings of every trial; those that change shapes agree.
        fixed: Settings that all trials share.
        objective: ``gin`` or ``fair``.
        folds: Number of stratified folds.
        splits: Folder of published folds instead.
        seed: Seed of folds, weights and batches.
        seeds: Trainings of every trial, side by side; its objective is their mean. They differ in
            initial weights and dropout and share the batches.
        device: Where to compute.
        root: Folder for prepared data.
        mirror: Folder or address of the archives.
        medians: By number of epochs, the value that finished trials reached half the time: where
            all trials of the batch are below, it is stopped.
    """

    model: str
    dataset: str
    params: list[dict[str, Any]]
    fixed: dict[str, Any] = field(default_factory=dict)
    objective: str = "gin"
    folds: int = 10
    splits: str | None = None
    seed: int = 0
    seeds: int = 1
    device: str = "cpu"
    root: str = "data"
    mirror: str | None = None
    medians: dict[int, float] = field(default_factory=dict)


class _HopelessError(Exception):
    """All trials of a batch are below the medians."""


class _Watch:
    """The objective of every trial so far, and whether to go on."""

    def __init__(self, batch: Batch, folds: int, epochs: int) -> None:
        self.trials, self.seeds, self.folds = len(batch.params), batch.seeds, folds
        self.fair, self.medians = batch.objective == "fair", batch.medians
        self.at = checkpoints(epochs)
        self.progress: list[dict[int, float]] = [{} for _ in batch.params]

    def __call__(self, epoch: int, curves: Curves) -> None:
        models = self.trials * self.seeds * self.folds * (2 if self.fair else 1)
        # Where memory allows only some of the models at a time there is no whole to judge by.
        if epoch not in self.at or curves.test.size(0) != models:
            return
        each = range(self.trials * self.seeds)
        values = [_so_far(curves, k, self.folds, epoch, fair=self.fair) for k in each]
        for progress, seeds in zip(self.progress, _batched(values, self.seeds), strict=True):
            progress[epoch] = mean(seeds)
        median = self.medians.get(epoch)
        if median is not None and all(p[epoch] < median for p in self.progress):
            raise _HopelessError


def evaluate(batch: Batch) -> list[Outcome]:
    """Cross-validate all trials of a batch side by side.

    What goes wrong with these settings (memory, a set the model cannot do) is an outcome, so that
    a search goes on; what goes wrong with the machine is not.
    """
    begin = time.perf_counter()
    seeds = range(batch.seed, batch.seed + batch.seeds)
    settings = [_settings(batch, params, seed) for params in batch.params for seed in seeds]
    watch: _Watch | None = None
    try:
        union = prepare(
            settings[0],
            root=batch.root,
            mirror=batch.mirror,
            seed=batch.seed,
            device=batch.device,
        )
        fold = choose_folds(batch.dataset, batch.splits, union.y, batch.folds, seed=batch.seed)
        epochs = settings[0].training.epochs
        watch = _Watch(batch, int(fold.max()) + 1, epochs)
        spec = network_spec(batch.model)
        results = cross_validate_variants(
            [variant(s, union) for s in settings],
            union,
            folds=fold,
            fair=batch.objective == "fair",
            captured=spec.captured,
            rows=None if spec.rows is None else spec.rows(union),
            stop_if_not_finite=False,
            on_epoch=watch,
        )
    except _HopelessError:
        assert watch is not None
        seconds = time.perf_counter() - begin
        return [
            Outcome("pruned", list(progress.values())[-1], progress=progress, seconds=seconds)
            for progress in watch.progress
        ]
    except (ValueError, MemoryError, torch.OutOfMemoryError) as error:
        seconds = time.perf_counter() - begin
        return [Outcome("failed", message=str(error), seconds=seconds) for _ in batch.params]
    seconds = time.perf_counter() - begin
    trials = zip(_batched(results, batch.seeds), watch.progress, strict=True)
    return [_outcome(each, progress, batch.objective, seconds) for each, progress in trials]


def checkpoints(epochs: int) -> list[int]:
    """Epochs at which trials are compared: each quarter but the last.

    Example:
        >>> checkpoints(350)
        [87, 175, 262]
    """
    return sorted({epochs * quarter // 4 for quarter in (1, 2, 3)} - {0, epochs})


def _settings(batch: Batch, params: Mapping[str, Any], seed: int) -> Settings:
    settings = settings_for(batch.model, batch.dataset, **{**batch.fixed, **params})
    return settings.with_seed(seed)


def _batched(values: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """The values in runs of ``size``."""
    return (values[start : start + size] for start in range(0, len(values), size))


def _so_far(curves: Curves, k: int, folds: int, epoch: int, *, fair: bool) -> float:
    """The objective of training ``k`` if it ended here."""
    first = k * folds * (2 if fair else 1)
    if fair:
        # Behind the models of the rule `gin` come those with an inner hold-out: the next fold.
        return float(curves.validation[first + folds : first + 2 * folds, :epoch].amax(1).mean())
    return float(curves.test[first : first + folds, :epoch].mean(0).max())


def _outcome(
    results: Sequence[CVResult], progress: dict[int, float], objective: str, seconds: float
) -> Outcome:
    """What the trainings of one trial found, on average."""
    if not all(result.loss.isfinite().all() for result in results):
        message = "Training is no longer finite: the loss or an output is NaN or infinite."
        return Outcome("failed", message=message, seconds=seconds)
    value = mean(_inner(r) if objective == "fair" else r.selected("gin").mean for r in results)
    return Outcome(
        state="done",
        value=value,
        results=over_seeds(results),
        progress={**progress, results[0].test.size(1): value},
        seconds=seconds,
    )


def _inner(result: CVResult) -> float:
    """The mean best accuracy on the inner hold-outs."""
    return float(result.inner_validation.amax(1).mean())

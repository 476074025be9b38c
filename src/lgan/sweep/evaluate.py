"""One batch of trials: settings of one shape, trained side by side on all folds."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from lgan.data import check_folds, read_folds, stratified_folds
from lgan.experiment import Settings, factory, network_spec, prepare, settings_for
from lgan.graph import GraphUnion
from lgan.sweep.trial import Outcome
from lgan.train import Curves, CVResult, Variant, cross_validate_variants

__all__ = ["Batch", "evaluate"]


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
    device: str = "cpu"
    root: str = "data"
    mirror: str | None = None
    medians: dict[int, float] = field(default_factory=dict)


class _HopelessError(Exception):
    """All trials of a batch are below the medians."""


class _Watch:
    """The objective of every trial so far, and whether to go on."""

    def __init__(self, batch: Batch, sizes: Tensor, epochs: int) -> None:
        self.trials, self.sizes = len(batch.params), sizes
        self.fair, self.medians = batch.objective == "fair", batch.medians
        self.at = checkpoints(epochs)
        self.progress: list[dict[int, float]] = [{} for _ in batch.params]

    def __call__(self, epoch: int, curves: Curves) -> None:
        models = self.trials * len(self.sizes) * (2 if self.fair else 1)
        # Where memory allows only some of the models at a time there is no whole to judge by.
        if epoch not in self.at or curves.test.size(0) != models:
            return
        for k, progress in enumerate(self.progress):
            progress[epoch] = _so_far(curves, k, self.sizes, epoch, fair=self.fair)
        median = self.medians.get(epoch)
        if median is not None and all(p[epoch] < median for p in self.progress):
            raise _HopelessError


def evaluate(batch: Batch) -> list[Outcome]:
    """Cross-validate all trials of a batch side by side.

    What goes wrong with these settings (memory, a set the model cannot do) is an outcome, so that
    a search goes on; what goes wrong with the machine is not.
    """
    begin = time.perf_counter()
    settings = [_settings(batch, params) for params in batch.params]
    watch: _Watch | None = None
    try:
        union = prepare(
            settings[0],
            root=batch.root,
            mirror=batch.mirror,
            seed=batch.seed,
            device=batch.device,
        )
        fold = _folds(union, batch)
        epochs = settings[0].training.epochs
        watch = _Watch(batch, torch.bincount(fold[fold >= 0]), epochs)
        spec = network_spec(batch.model)
        results = cross_validate_variants(
            [Variant(factory(s, union), s.training, s.about()) for s in settings],
            union,
            folds=fold,
            fair=batch.objective == "fair",
            captured=spec.captured,
            rows=None if spec.rows is None else spec.rows(union),
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
        return [Outcome("failed", message=str(error), seconds=seconds) for _ in settings]
    seconds = time.perf_counter() - begin
    pairs = zip(results, watch.progress, strict=True)
    return [_outcome(result, progress, batch.objective, seconds) for result, progress in pairs]


def checkpoints(epochs: int) -> list[int]:
    """Epochs at which trials are compared: each quarter but the last.

    Example:
        >>> checkpoints(350)
        [87, 175, 262]
    """
    return sorted({epochs * quarter // 4 for quarter in (1, 2, 3)} - {0, epochs})


def _settings(batch: Batch, params: Mapping[str, Any]) -> Settings:
    settings = settings_for(batch.model, batch.dataset, **{**batch.fixed, **params})
    return settings.with_seed(batch.seed)


def _folds(union: GraphUnion, batch: Batch) -> Tensor:
    y = union.y.cpu()
    if batch.splits is None:
        return stratified_folds(y, batch.folds, seed=batch.seed)
    fold = read_folds(batch.splits, union.num_graphs)
    check_folds(fold, y)
    return fold


def _so_far(curves: Curves, k: int, sizes: Tensor, epoch: int, *, fair: bool) -> float:
    """The objective of trial ``k`` if it ended here."""
    folds = len(sizes)
    first = k * folds * (2 if fair else 1)
    if fair:
        # Behind the models of the rule `gin` come those with an inner hold-out: the next fold.
        right = curves.validation[first + folds : first + 2 * folds, :epoch]
        share = right.double() / sizes.roll(-1)[:, None]
        return float(share.amax(1).mean())
    share = curves.test[first : first + folds, :epoch].double() / sizes[:, None]
    return float(share.mean(0).max())


def _outcome(
    result: CVResult, progress: dict[int, float], objective: str, seconds: float
) -> Outcome:
    read = {rule: result.selected(rule) for rule in result.rules}
    value = read["gin"].mean
    if objective == "fair":
        sizes = torch.tensor(result.inner_sizes)[:, None]
        value = float((result.inner_validation.double() / sizes).amax(1).mean())
    return Outcome(
        state="done",
        value=value,
        results={rule: {"mean": r.mean, "std": r.std} for rule, r in read.items()},
        progress={**progress, result.test.size(1): value},
        seconds=seconds,
    )

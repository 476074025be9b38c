"""Members side by side: models that each hold another fold out, and predict as one."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from lgan.data.shards.union import Graphs
from lgan.data.splits import OUTSIDE
from lgan.task import Metric, TargetScale
from lgan.train.companion import Companion, features_of_graphs, fitted
from lgan.train.config import TrainConfig
from lgan.train.curves import Curves
from lgan.train.environment import environment, peak_memory
from lgan.train.evaluate import HeldOut, predict
from lgan.train.folds import choose_groups
from lgan.train.groups import how_many_at_once, state_file, train_in_groups
from lgan.train.jobs import Job, Variant, held_out_job, model_seed
from lgan.train.loop import OnEpoch, train_together
from lgan.train.objective import Objective
from lgan.train.run_lock import run_lock
from lgan.train.selection import best_epoch, stop_epoch
from lgan.train.share import agreement, share_of
from lgan.train.stack import join, model_view

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class TrainedEnsemble:
    """Trained members, and what each said of the graphs it was not trained on.

    Predictions are probabilities, or numbers in the units of the targets.

    Attributes:
        network: All members as one stacked module, parameters ``[K, …]``, in evaluation mode, at
            the chosen epoch.
        epoch: The epoch, counted from 1, with the best held-out metric of all members together.
        fold: The fold of every graph ``[G]``; -1 for one that all members trained on,
            :data:`OUTSIDE` for one that none did.
        held_out: The fold that each member holds out ``[K]``.
        companion: What answers beside the members, where something does.
        member_predictions: What each member says of the graphs it held out ``[K, G, O]``, its
            companion beside it; NaN for those it was trained on.
        scale: Mean and deviation of numeric targets in the training part of each member
            ``[K, T]``: its outputs are in these units.
        fold_scores: The metric of the out-of-fold predictions in every fold that was held out;
            NaN where the fold does not define it.
        pooled_score: The metric of all out-of-fold predictions together.
        test: The metric of every member on its held-out fold after every epoch ``[K, E]``.
        loss: Training loss of every member ``[K, E]``.
        info: Settings, metric, time, environment, for a record.
    """

    network: nn.Module
    epoch: int
    fold: Tensor
    held_out: Tensor
    companion: Companion | None
    member_predictions: Tensor
    scale: TargetScale | None
    fold_scores: tuple[float, ...]
    pooled_score: float
    test: Tensor
    loss: Tensor
    info: dict[str, Any]

    @property
    def members(self) -> int:
        """Number of members."""
        return self.held_out.numel()

    @property
    def predictions(self) -> Tensor:
        """Out-of-fold predictions ``[G, O]``: the mean over the members that held a graph out; NaN
        where none did.
        """
        return self.member_predictions.nanmean(0)

    def answers(self, union: Graphs, graphs: Tensor) -> Tensor:
        """What each member says of some graphs of a data set ``[K, n, O]``, its companion beside
        it.
        """
        out = predict(self.network, union, graphs).cpu().double()
        said = union.known_task.link(out, self.scale).view(self.members, len(graphs), -1)
        if self.companion is None:
            return said
        told = features_of_graphs(union, graphs).cpu()
        return self.companion.beside(said, told, union.known_task)

    @property
    def score(self) -> float:
        """The metric of the out-of-fold predictions, mean over folds.

        The epoch was chosen by these very graphs, which makes it optimistic by a little; the rule
        ``bagged`` of :func:`lgan.cross_validate` measures the choice too.
        """
        return float(torch.tensor(self.fold_scores, dtype=torch.float64).nanmean())


def train_ensemble(
    factory: Callable[[], nn.Module],
    union: Graphs,
    *,
    members: int = 10,
    folds: int | Tensor | None = None,
    config: TrainConfig | None = None,
    metric: str | None = None,
    graph_weight: Tensor | None = None,
    captured: bool = True,
    rows: Tensor | None = None,
    device: torch.device | None = None,
    output: Path | str | None = None,
    resume: bool = False,
    model: dict[str, Any] | None = None,
    on_epoch: OnEpoch | None = None,
) -> TrainedEnsemble:
    """Train members side by side, each with another fold held out, and keep them at the epoch where
    their held-out metric is best on the average.

    Args:
        factory: Builds one model.
        union: The data set, on the device to train on.
        members: Number of models; one holds out a tenth of the graphs, or the first fold.
        folds: Number of folds to draw, or the fold of every graph ``[G]`` (-1: never held out,
            :data:`OUTSIDE`: read by no member); by default as many as there are members, and at
            least five, or as the rarest class has graphs. Member ``i`` holds out fold ``i``,
            counted round where there are fewer folds.
        config: Settings; ``window`` and ``patience`` say how the epoch is chosen and when to stop.
        metric: Name of the metric, see :func:`lgan.cross_validate`.
        graph_weight: What the loss of every graph is multiplied by ``[G]``.
        captured: Use CUDA graphs on a GPU; the model must not synchronise.
        rows: Rows of the largest activations of every graph ``[G]``; by default its nodes.
        device: Where to train; by default where the data set is.
        output: Folder for the state of the run, see :class:`RunState`.
        resume: Go on from the state in ``output``.
        model: Name and options of the model; a run that goes on must have the same.
        on_epoch: Called after every epoch.

    Example:
        >>> import lgan
        >>> union = lgan.load("triangles")
        >>> ensemble = train_ensemble(
        ...     lambda: lgan.LGAN(union.num_features, 8, union.num_classes, num_layers=2),
        ...     union, members=3, config=TrainConfig(epochs=2, iterations=0))
        >>> ensemble.predictions.shape, ensemble.held_out.tolist()
        (torch.Size([200, 2]), [0, 1, 2])
    """
    if members < 1:
        raise ValueError(f"`members` must be 1 or more, got {members}.")
    config = config or TrainConfig()
    number = (max(5, members) if members > 1 else 10) if folds is None else folds
    fold, _ = choose_groups(union, number, config.seed, at_most=folds is None, outside=True)
    config = config.sized(int((fold != OUTSIDE).sum()))
    jobs = _jobs(fold, members, config.seed)
    # Batches are drawn from the whole set, and larger where a part of it is not read.
    share = float((fold != OUTSIDE).double().mean())
    drawn = replace(config, batch_size=round(config.batch_size / share))
    groups = fold.clamp(min=-1)
    variant, place = Variant(factory, drawn, model or {}), device or union.device
    at_once = how_many_at_once(
        factory, union, members, fold=groups, config=drawn, rows=rows, device=place
    )
    train = partial(
        train_together, union, groups=groups, metric=metric, graph_weight=graph_weight,
        captured=captured, device=device,
    )  # fmt: skip
    with run_lock(output):
        stacks, curves = _train(
            train, variant, jobs, at_once, output=output, resume=resume, on_epoch=on_epoch
        )
    whole = replace(
        curves[0],
        test=torch.cat([part.test for part in curves]),
        loss=torch.cat([part.loss for part in curves]),
        seconds=torch.cat([part.seconds for part in curves]),
    )
    return _ensemble(join(stacks), whole, union, jobs, fold, config, place, graph_weight)


def train_ensembles(
    factory: Callable[[], nn.Module],
    union: Graphs,
    folds: Sequence[Tensor],
    *,
    members: int = 10,
    config: TrainConfig | None = None,
    metric: str | None = None,
    captured: bool = True,
    rows: Tensor | None = None,
    device: torch.device | None = None,
) -> list[TrainedEnsemble]:
    """Several ensembles in one program, each on a part of the data set, for cross-validation.

    They share the batches, which are drawn from the whole set and so large that a member trains on
    ``batch_size`` graphs of its part on the average. With ``patience`` all stop when the last one
    would.

    Args:
        folds: For every ensemble the fold of each graph ``[G]``: :data:`OUTSIDE` for one that no
            member reads, -1 for one that all train on.
        members: Number of models of an ensemble.

    The other arguments are those of :func:`train_ensemble`.
    """
    inside = sum(int((fold != OUTSIDE).sum()) for fold in folds) / len(folds)
    config = (config or TrainConfig()).sized(round(inside))
    parts, place = [_jobs(fold, members, config.seed) for fold in folds], device or union.device
    share = torch.stack([job.train for jobs in parts for job in jobs]).double().mean()
    drawn = replace(config, batch_size=round(config.batch_size / float(share)))
    groups = torch.full((union.num_graphs,), -1)
    at_once = how_many_at_once(
        factory, union, members * len(folds), fold=groups, config=drawn, rows=rows, device=place
    )
    trained, step = [], max(1, at_once // members)
    for start in range(0, len(folds), step):
        some = parts[start : start + step]
        # A variant of its own for every ensemble: the models of a variant choose one epoch.
        stacked, curves = train_together(
            union, [Variant(factory, drawn)] * len(some),
            [replace(job, variant=i) for i, jobs in enumerate(some) for job in jobs],
            groups=groups, metric=metric, captured=captured, device=device, keep_selected=True,
        )  # fmt: skip
        for i, jobs in enumerate(some):
            own = slice(i * members, (i + 1) * members)
            mine = replace(curves, test=curves.test[own], loss=curves.loss[own])
            network = join([model_view(stacked, own)])
            fold = folds[start + i]
            trained.append(_ensemble(network, mine, union, jobs, fold, config, place))
    return trained


def _jobs(fold: Tensor, members: int, seed: int) -> list[Job]:
    """The members of an ensemble: each holds out another fold, counted round."""
    jobs = [held_out_job(fold, i % (int(fold.max()) + 1), seed=seed) for i in range(members)]
    return [
        replace(job, seed=model_seed(seed, i), train=job.train & (fold != OUTSIDE))
        for i, job in enumerate(jobs)
    ]


def _ensemble(
    network: nn.Module,
    curves: Curves,
    union: Graphs,
    jobs: list[Job],
    fold: Tensor,
    config: TrainConfig,
    place: torch.device,
    graph_weight: Tensor | None = None,
) -> TrainedEnsemble:
    """Trained members with what they say of the graphs that they held out."""
    measured, test = curves.metric, curves.test
    held_out = torch.arange(len(jobs)) % (int(fold.max()) + 1)
    objective = Objective.of(
        union.known_task, measured, union.y, torch.stack([job.train for job in jobs])
    )
    said = _held_out_predictions(network, union, jobs, objective, place)
    companion = _companion(union, config, jobs, fold, said, graph_weight)
    oof, y = said.nanmean(0), union.y.cpu()
    info = {
        "metric": measured.name,
        "members": len(jobs),
        "config": asdict(config),
        "seconds": round(float(curves.seconds.sum()), 3),
        "environment": environment(place),
        "peak_memory": peak_memory(place),
    }
    return TrainedEnsemble(
        network=network,
        epoch=best_epoch(test, higher=measured.higher_is_better, window=config.window) + 1,
        fold=fold,
        held_out=held_out,
        companion=companion,
        member_predictions=said,
        scale=objective.scale,
        fold_scores=tuple(_score(measured, y, oof, fold == k) for k in held_out.unique().tolist()),
        pooled_score=_score(measured, y, oof, torch.isin(fold, held_out)),
        test=test,
        loss=curves.loss,
        info=info,
    )


def _companion(
    union: Graphs,
    config: TrainConfig,
    jobs: list[Job],
    fold: Tensor,
    said: Tensor,
    weight: Tensor | None,
) -> Companion | None:
    """The companion of members, where the settings have one; what they ``said`` of the graphs that
    they held out ``[K, G, O]`` is from here on what both say.
    """
    inside = fold != OUTSIDE
    inside = inside if weight is None else inside & (weight.cpu() > 0)
    seen, tests = [job.train for job in jobs], [job.test for job in jobs]
    found = fitted(union, config, inside, seen, tests, weight)
    if found is None:
        return None
    agreed = torch.zeros(2, dtype=torch.float64)
    for k, (graphs, other) in enumerate(zip(tests, found.held_out, strict=True)):
        agreed += agreement(found.objective, k, graphs, said[k, graphs], other, weight)
    companion = replace(found.companion, share=float(share_of(agreed)))
    for k, (graphs, other) in enumerate(zip(tests, found.held_out, strict=True)):
        said[k, graphs] = said[k, graphs].lerp(other.to(said), companion.share)
    return companion


def _train(
    train: Callable[..., tuple[nn.Module, Curves]],
    variant: Variant,
    jobs: list[Job],
    at_once: int,
    *,
    output: Path | str | None,
    resume: bool,
    on_epoch: OnEpoch | None,
) -> tuple[list[nn.Module], list[Curves]]:
    """The members at the epoch they choose together, and their curves.

    Members that do not fit into memory together train in groups, and all epochs: only then can they
    choose, and the groups train once more, up to the chosen epoch.
    """
    alone = replace(variant, config=replace(variant.config, patience=0))

    def one_group(group: range, resume: bool) -> tuple[nn.Module | None, Curves]:
        whole = len(group) == len(jobs)
        stacked, curves = train(
            [variant if whole else alone],
            [jobs[k] for k in group],
            state=state_file(output, group),
            resume=resume,
            keep_selected=whole,
            on_epoch=on_epoch,
        )
        return (stacked if whole else None), curves

    parts = train_in_groups(one_group, len(jobs), at_once, folder=output, resume=resume)
    curves = [part for _, part in parts]
    if parts[0][0] is not None:
        return [parts[0][0]], curves
    logger.warning("Members in groups choose when all have trained: they train again, up to then.")
    config, metric = variant.config, curves[0].metric
    window, higher = config.window, metric.higher_is_better
    test = torch.cat([part.test for part in curves])
    epochs = stop_epoch([test], patience=config.patience, window=window, higher=higher)
    until = best_epoch(test[:, :epochs], window=window, higher=higher) + 1
    stacks, start = [], 0
    for part in curves:
        group = jobs[start : start + len(part.test)]
        stacks.append(train([alone], group, until=until)[0])
        start += len(group)
    return stacks, [part.cut(epochs) for part in curves]


def _held_out_predictions(
    network: nn.Module,
    union: Graphs,
    jobs: list[Job],
    objective: Objective,
    device: torch.device,
) -> Tensor:
    """What each member says of its held-out graphs ``[K, G, O]``, NaN elsewhere."""
    outputs = HeldOut(union, [job.test for job in jobs], device).outputs(network)
    said = outputs[0].new_full((len(jobs), union.num_graphs, outputs[0].size(-1)), torch.nan)
    for row, job, prediction in zip(said, jobs, objective.predictions(outputs), strict=True):
        row[job.test] = prediction
    return said


def _score(metric: Metric, y: Tensor, predictions: Tensor, rows: Tensor) -> float:
    return metric(y[rows].numpy(), predictions[rows].numpy())

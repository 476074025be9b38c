"""Cross-validation: all folds at once."""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from lgan.data.shards.union import Graphs
from lgan.data.splits import check_folds, drawn_folds
from lgan.graph import GraphUnion
from lgan.task import Metric
from lgan.train.bag_companions import Beside
from lgan.train.config import TrainConfig
from lgan.train.curves import BY_MODEL, BagSums, Curves, stop_choices
from lgan.train.environment import environment, peak_memory
from lgan.train.groups import how_many_at_once, state_file, train_in_groups
from lgan.train.jobs import Job, Variant, held_out_job
from lgan.train.loop import OnEpoch, train_together
from lgan.train.result import CVResult
from lgan.train.run_lock import run_lock
from lgan.train.selection import mean_over_models, stop_epoch
from lgan.train.share import share_of


def cross_validate(
    factory: Callable[[], nn.Module],
    union: GraphUnion,
    *,
    folds: int | Tensor = 10,
    config: TrainConfig | None = None,
    metric: str | None = None,
    fair: bool = False,
    bagged: bool | int = False,
    captured: bool = True,
    rows: Tensor | None = None,
    device: torch.device | None = None,
    output: Path | str | None = None,
    resume: bool = False,
    model: dict[str, Any] | None = None,
    on_epoch: OnEpoch | None = None,
) -> CVResult:
    """Train a model for every fold, side by side, and test it on that fold after every epoch.

    Args:
        factory: Builds one model; called once a fold.
        union: The data set (:func:`lgan.load`), on the device to train on.
        folds: Number of stratified folds, or the test fold of every graph ``[G]`` (-1: a graph
            in no test fold).
        config: Settings; by default the protocol of Xu et al.
        metric: Name of the metric that epochs are chosen by, for example ``"roc-auc"``, see
            :data:`lgan.task.METRICS`; by default accuracy on registered data sets and for classes
            without names, and the default of the task otherwise.
        fair: Train a second model for every fold, in the same program, that leaves the next
            fold out as an inner hold-out, for the rule ``fair``. (The epoch is chosen fairly; the
            default settings of the registered data sets were searched on these very folds.)
        bagged: Train a model for every fold and every other fold as its inner hold-out, or for so
            many of these, in the same program, for the rule ``bagged``: the models of a fold choose
            one epoch together and average their predictions, their companions beside them where
            the settings have these. Those of ``fair`` are among them.
        captured: Use CUDA graphs on a GPU; the model must not synchronise.
        rows: Rows of the largest activations of every graph ``[G]``; by default its nodes.
        device: Where to train; by default where the data set is.
        output: Folder for the state, see :class:`RunState`, and the record ``result.json``.
        resume: Go on from the state in ``output``.
        model: Name and options of the model, for the record.
        on_epoch: Called after every epoch with its number and the curves so far.

    Example:
        >>> import lgan
        >>> union = lgan.load("triangles")
        >>> result = lgan.cross_validate(
        ...     lambda: lgan.LGAN(union.num_features, 8, union.num_classes, num_layers=2),
        ...     union, folds=2, config=lgan.TrainConfig(epochs=2, iterations=0))
        >>> result.selected("gin").rule
        'gin'
    """
    variant = Variant(factory, config or TrainConfig(), model or {})
    [result] = cross_validate_variants(
        [variant],
        union,
        folds=folds,
        metric=metric,
        fair=fair,
        bagged=bagged,
        captured=captured,
        rows=rows,
        device=device,
        output=output,
        resume=resume,
        on_epoch=on_epoch,
    )
    if output is not None:
        with run_lock(output):
            result.save(Path(output) / "result.json")
    return result


def cross_validate_variants(
    variants: Sequence[Variant],
    union: GraphUnion,
    *,
    folds: int | Tensor = 10,
    metric: str | None = None,
    fair: bool = False,
    bagged: bool | int = False,
    captured: bool = True,
    rows: Tensor | None = None,
    device: torch.device | None = None,
    output: Path | str | None = None,
    resume: bool = False,
    stop_if_not_finite: bool = True,
    on_epoch: OnEpoch | None = None,
) -> list[CVResult]:
    """:func:`cross_validate` for several settings of one shape, all in one program.

    Args:
        variants: How the models of every setting are built and trained. Seeds decide initial
            weights and dropout; all share the batches of the first.
        union: The data set, on the device to train on.
        stop_if_not_finite: Raise an error where training is not finite, see
            :func:`lgan.train.loop.train_together`.
        on_epoch: Called after every epoch; the curves hold the models variant after variant.

    The other arguments are those of :func:`cross_validate`.
    """
    variants = [replace(v, config=v.config.sized(union.num_graphs)) for v in variants]
    config = variants[0].config
    fold, strata = choose_groups(union, folds, config.seed)
    number = int(fold.max()) + 1
    members = _number_of_members(number, fair=fair, bagged=bagged)
    jobs: list[Job] = []
    for index, variant in enumerate(variants):
        seed = variant.config.seed
        jobs += [held_out_job(fold, k, seed=seed, variant=index) for k in range(number)]
        inner = _inner_jobs(fold, strata, members, seed, index)
        jobs += [replace(job, bag=k // members) for k, job in enumerate(inner)] if bagged else inner

    place = device or union.device
    at_once = how_many_at_once(
        variants[0].factory, union, len(jobs), fold=fold, config=config, rows=rows, device=place
    )
    # What stops together must train together: groups train all epochs, and are cut afterwards.
    patient = [replace(v, config=replace(v.config, patience=0)) for v in variants]

    each = len(jobs) // len(variants)
    beside = Beside.of(union, jobs[:each], config) if bagged else None

    def train(group: range, resume: bool) -> Curves:
        own, whole = [jobs[k] for k in group], len(group) == len(jobs)
        if not whole:  # which epoch all folds choose is known when the last group has ended
            own = [
                replace(job, bag=number + k % each) if k % each < number else job
                for k, job in zip(group, own, strict=True)
            ]
        return train_together(
            union,
            variants if whole else patient,
            own,
            groups=fold,
            metric=metric,
            companions=None if beside is None else [beside.inner[k % each] for k in group],
            captured=captured,
            device=device,
            state=state_file(output, group),
            resume=resume,
            stop_if_not_finite=stop_if_not_finite,
            on_epoch=on_epoch,
        )[1]

    with run_lock(output):
        parts = train_in_groups(train, len(jobs), at_once, folder=output, resume=resume)
    measured = _Measured.join(parts).cut(jobs, config)
    results = []
    for index, variant in enumerate(variants):
        mine = range(index * each, (index + 1) * each)
        info: dict[str, Any] = {}
        if len(variants) > 1:
            info["variants_side_by_side"] = len(variants)
            info["batch_seed"] = config.seed
        info |= {
            "folds": fold.tolist(),
            "graphs": union.num_graphs,
            "nodes": union.original_nodes,
            "environment": environment(place),
            "peak_memory": peak_memory(place),
        }
        result = _result(union, jobs, mine, number, measured, variant, info)
        if bagged:
            result = _with_bags(result, union, jobs, mine, members, measured, beside)
        results.append(replace(result, pooled=_pooled(result, union, measured.curves.metric)))
    return results


def choose_groups(
    union: Graphs, folds: int | Tensor, seed: int, *, at_most: bool = False, outside: bool = False
) -> tuple[Tensor, Tensor]:
    """The test fold of every graph, given or drawn, and what folds are stratified by, both ``[G]``.

    Args:
        union: The data set.
        folds: Number of folds to draw, or the test fold of every graph.
        seed: Fixes the draw.
        at_most: Draw fewer folds where a class has fewer graphs.
        outside: Whether graphs may be left out of everything.
    """
    task, y = union.known_task, union.y.cpu()
    # Graphs of which the target is missing go where there is room.
    strata = task.strata(y, folds if isinstance(folds, int) else 0).clamp(min=0)
    if isinstance(folds, int):
        names = task.classes if task.has_classes else ()
        fold = drawn_folds(union.name, strata, folds, seed, at_most=at_most, names=names)
    else:
        fold = folds.cpu()
    # Numbers need no two classes to train on.
    strata = strata if task.has_classes else torch.arange(union.num_graphs)
    check_folds(fold, strata, outside=outside)
    return fold, strata


def _number_of_members(folds: int, *, fair: bool, bagged: bool | int) -> int:
    """How many models with an inner hold-out every fold has."""
    if not fair and not bagged:
        return 0
    if folds < 3:
        raise ValueError(
            f"The rule {'bagged' if bagged else 'fair'!r} holds two folds out, one to test on and "
            f"one to choose the epoch on: it needs three folds or more, got {folds}. Choose more "
            "folds."
        )
    members = folds - 1 if bagged is True else int(bagged) or 1
    if not 1 <= members < folds:
        raise ValueError(
            f"`bagged` must be the number of members of a fold, from 1 to {folds - 1} with {folds} "
            f"folds, got {bagged}. Choose fewer members, or more folds."
        )
    return members


def _inner_jobs(fold: Tensor, strata: Tensor, members: int, seed: int, variant: int) -> list[Job]:
    """For every fold jobs that each leave another one out too, as their inner hold-out: the next
    fold, and others at even distances behind it.
    """
    number = int(fold.max()) + 1
    jobs = []
    for k in range(number):
        for member in range(members):
            inner = (k + 1 + member * (number - 1) // members) % number
            jobs.append(held_out_job(fold, k, inner, seed=seed, variant=variant))
            classes = torch.unique(strata[jobs[-1].train]).tolist()
            if len(classes) < 2:
                raise ValueError(
                    "The training part beside the inner hold-out must hold at least two classes, "
                    f"got only {classes} in fold {k + 1} of {number}. Use stratified folds."
                )
    return jobs


@dataclass(frozen=True)
class _Measured:
    """The curves of all models, by model and epoch ``[K, E]``, and the predictions of each."""

    curves: Curves
    predictions: list[Tensor]
    epochs: list[int]
    bags: list[BagSums]

    @staticmethod
    def join(parts: list[Curves]) -> "_Measured":
        cat: dict[str, Any] = {n: torch.cat([getattr(c, n) for c in parts]) for n in BY_MODEL}
        seconds = torch.stack([c.seconds for c in parts]).sum(0)
        return _Measured(
            curves=replace(parts[0], **cat, seconds=seconds),
            predictions=[c.selected.of(k) for c in parts for k in range(len(c.loss))],
            epochs=[epoch for c in parts for epoch in c.selected.epoch.tolist()],
            bags=[c.bags for c in parts],
        )

    def said(self, model: int, epoch: int, bag: tuple[int, int]) -> Tensor | None:
        """The predictions of a model after so many epochs: those it chose itself, or of the bag
        that keeps all of them; ``None`` where they were not kept.
        """
        chosen = self.predictions[model]
        if self.epochs[model] + 1 == epoch:
            return chosen
        kept = [every for bags in self.bags if (every := bags.of(*bag)) is not None]
        return kept[0][epoch - 1].to(chosen.dtype) if kept else None

    def cut(self, jobs: list[Job], config: TrainConfig) -> "_Measured":
        """The epochs after which one program of all models would have stopped."""
        epochs = stop_epoch(
            [self.curves.chosen_on(who) for who in stop_choices(jobs)],
            patience=config.patience,
            window=config.window,
            higher=self.curves.metric.higher_is_better,
        )
        return replace(self, curves=self.curves.cut(epochs))


def _result(
    union: GraphUnion,
    jobs: list[Job],
    mine: range,
    number: int,
    measured: _Measured,
    variant: Variant,
    info: dict[str, Any],
) -> CVResult:
    """The result of the models ``mine``: those of the folds, then those with an inner hold-out, of
    which the first of every fold is that of the rule ``fair``.
    """
    outer = list(mine[:number])
    inner = list(mine[number :: len(mine) // number - 1]) if len(mine) > number else []
    curves = measured.curves
    result = CVResult(
        dataset=union.name,
        model=variant.about,
        config=asdict(variant.config),
        fold_sizes=[jobs[k].test.numel() for k in outer],
        test=curves.test[outer],
        loss=curves.loss[outer],
        inner_sizes=[jobs[k].validation.numel() for k in inner],
        inner_test=curves.test[inner],
        inner_validation=curves.validation[inner],
        seconds=curves.seconds,
        info=info,
        metric=curves.metric.name,
        task={} if union.task is None else union.task.to_json(),
    )
    predictions = {}
    for rule, models in (("gin", outer), ("fair", inner)):
        chosen = result.selected(rule).epochs if models else ()
        found = (
            measured.said(k, epoch, (jobs[k].variant, number + k - mine.start))
            for k, epoch in zip(models, chosen, strict=True)
        )
        said = [own for own in found if own is not None]
        if models and len(said) == len(models):
            rows = said[0].new_full((union.num_graphs, said[0].size(1)), torch.nan)
            for k, own in zip(models, said, strict=True):
                rows[jobs[k].test] = own
            predictions[rule] = rows
    return replace(result, predictions=predictions)


def _pooled(result: CVResult, union: GraphUnion, metric: Metric) -> dict[str, float | None]:
    """By rule: the metric of all held-out predictions at once; ``None`` where it has no value."""
    y, values = union.y.cpu(), {}
    for rule, said in result.predictions.items():
        there = ~said.isnan().any(1)  # a graph may be in no fold
        values[rule] = metric(y[there].numpy(), said[there].numpy())
    return {rule: value if math.isfinite(value) else None for rule, value in values.items()}


def _with_bags(
    result: CVResult,
    union: GraphUnion,
    jobs: list[Job],
    mine: range,
    members: int,
    measured: _Measured,
    beside: Beside | None,
) -> CVResult:
    """The result with the averaged predictions of the members of every fold, their companions
    beside them where they have some.
    """
    y, number, epochs = union.y.cpu(), len(result.fold_sizes), result.seconds.numel()
    test = torch.zeros(number, epochs, dtype=torch.float64)
    validation, means, shares = test.clone(), [], []
    for k in range(number):
        inner = list(mine[number + k * members :][:members])
        validation[k] = mean_over_models(measured.curves.validation[inner])
        job = jobs[inner[0]]
        sums = [found for bags in measured.bags if (found := bags.of(job.variant, k)) is not None]
        mean = torch.stack(sums).sum(0)[:epochs] / members  # [E, n, O]
        if beside is not None:
            shares.append(share_of(measured.curves.agreement[inner].sum(0)))
            mean = mean.lerp(beside.test[k].to(mean), shares[k][:, None, None])
        means.append(mean.to(torch.get_default_dtype()))
        truth = y[job.test].numpy()
        scores = [measured.curves.metric(truth, mean.numpy()) for mean in means[k]]
        test[k] = torch.tensor(scores, dtype=torch.float64)
    result = replace(result, bagged_members=members, bagged_test=test, bagged_validation=validation)
    rows = means[0].new_full((union.num_graphs, means[0].size(-1)), torch.nan)
    for k, epoch in enumerate(result.selected("bagged").epochs):
        rows[jobs[mine[k]].test] = means[k][epoch - 1]
    result = replace(result, predictions={**result.predictions, "bagged": rows})
    if not shares:
        return result
    chosen = result.selected("bagged").epochs
    told = [round(float(own[epoch - 1]), 4) for own, epoch in zip(shares, chosen, strict=True)]
    return replace(result, info={**result.info, "companion": told})

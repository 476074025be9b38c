"""Cross-validation: all folds at once."""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from lgan.data.splits import check_folds, drawn_folds
from lgan.graph import GraphUnion
from lgan.train.batches import drawn_graphs
from lgan.train.config import TrainConfig
from lgan.train.environment import environment, peak_memory
from lgan.train.loop import Curves, Job, OnEpoch, Variant, held_out_job, train_together
from lgan.train.memory import check_weights_fit, models_at_once, outline
from lgan.train.result import CVResult
from lgan.train.run_lock import run_lock
from lgan.train.state import RunState

__all__ = ["choose_groups", "cross_validate", "cross_validate_variants"]

logger = logging.getLogger(__name__)


def cross_validate(
    factory: Callable[[], nn.Module],
    union: GraphUnion,
    *,
    folds: int | Tensor = 10,
    config: TrainConfig | None = None,
    metric: str | None = None,
    fair: bool = False,
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
        folds: Number of stratified folds, or the test fold of every graph.
        metric: Name of the metric that epochs are chosen by.
        fair: Also train the models of the rule ``fair``.
        captured: Use CUDA graphs on a GPU; the models must not synchronise.
        rows: Rows of the largest activations of every graph ``[G]``.
        device: Where to train; by default where the data set is.
        output: Folder for the state, see :class:`RunState`.
        resume: Go on from the state in ``output``.
        stop_if_not_finite: Raise an error where training is not finite, see
            :func:`lgan.train.loop.train_together`.
        on_epoch: Called after every epoch; the curves hold the models variant after variant.
    """
    config = variants[0].config
    fold, strata = choose_groups(union, folds, config.seed)
    number = int(fold.max()) + 1
    jobs: list[Job] = []
    for index, variant in enumerate(variants):
        seed = variant.config.seed
        jobs += [held_out_job(fold, k, seed=seed, variant=index) for k in range(number)]
        jobs += _inner_jobs(fold, strata, seed, index) if fair else []

    place = device or union.device
    model = outline(variants[0].factory)
    check_weights_fit(model, place)
    rows = torch.diff(union.node_ptr).cpu() if rows is None else rows
    budget = config.budget_on(place)
    at_once = models_at_once(model, rows, drawn_graphs(fold, config.batch_size), budget)
    if at_once < len(jobs):
        logger.warning(
            "%d models need more than the memory budget of %.1f GiB: training %d at a time.",
            len(jobs), budget / 2**30, at_once,
        )  # fmt: skip

    def train(group: range, resume: bool) -> Curves:
        return train_together(
            union,
            variants,
            [jobs[k] for k in group],
            groups=fold,
            metric=metric,
            captured=captured,
            device=device,
            state=None if output is None else _state_file(output, group.start),
            resume=resume,
            stop_if_not_finite=stop_if_not_finite,
            on_epoch=on_epoch,
        )[1]

    stored = Path(output) if resume and output is not None else None
    parts: list[Curves] = []
    with run_lock(output):
        for group in _groups(len(jobs), at_once, stored):
            parts += _train_or_halve(train, group, resume=resume)
    measured, each = _Measured.join(parts), len(jobs) // len(variants)
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
        results.append(_result(union, jobs, mine, number, measured, variant, info))
    return results


def choose_groups(union: GraphUnion, folds: int | Tensor, seed: int) -> tuple[Tensor, Tensor]:
    """The test fold of every graph, given or drawn, and what folds are stratified by, both ``[G]``.

    Args:
        union: The data set.
        folds: Number of folds to draw, or the test fold of every graph.
        seed: Fixes the draw.
    """
    task, y = union.known_task, union.y.cpu()
    # Graphs of which the target is missing go where there is room.
    strata = task.strata(y).clamp(min=0)
    fold = drawn_folds(union.name, strata, folds, seed) if isinstance(folds, int) else folds.cpu()
    # Numbers need no two classes to train on.
    strata = strata if task.has_classes else torch.arange(union.num_graphs)
    check_folds(fold, strata)
    return fold, strata


def _inner_jobs(fold: Tensor, strata: Tensor, seed: int, variant: int) -> list[Job]:
    """For every fold a job that leaves the next one out too, as its inner hold-out."""
    number = int(fold.max()) + 1
    if number < 3:
        raise ValueError(
            "The rule 'fair' holds two folds out, one to test on and one to choose the epoch on: "
            f"it needs three folds or more, got {number}. Choose more folds."
        )
    jobs = [
        held_out_job(fold, k, (k + 1) % number, seed=seed, variant=variant) for k in range(number)
    ]
    for k, job in enumerate(jobs):
        classes = torch.unique(strata[job.train]).tolist()
        if len(classes) < 2:
            raise ValueError(
                "The training part beside the inner hold-out must hold at least two classes, got "
                f"only {classes} in fold {k + 1} of {number}. Use stratified folds."
            )
    return jobs


def _groups(models: int, at_once: int, stored: Path | None) -> Iterator[range]:
    """The models in groups that train together.

    Args:
        models: Number of models.
        at_once: The most that train together.
        stored: Folder of a run that goes on: a group of which there is a state has the models it
            had then, whatever the memory is now, and so have those behind it.
    """
    start = 0
    while start < models:
        if stored is not None and (state := _state_file(stored, start)).exists():
            at_once = RunState.models(state)
        yield range(start, min(start + at_once, models))
        start += at_once


def _train_or_halve(
    train: Callable[[range, bool], Curves], group: range, *, resume: bool
) -> list[Curves]:
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


def _state_file(folder: Path | str, start: int) -> Path:
    return Path(folder) / f"state-{start}.safetensors"


@dataclass(frozen=True)
class _Measured:
    """The curves of all models, by model and epoch ``[K, E]``, and the predictions of each."""

    loss: Tensor
    test: Tensor
    validation: Tensor
    seconds: Tensor
    metric: str
    predictions: list[Tensor]
    epochs: list[int]

    @staticmethod
    def join(parts: list[Curves]) -> "_Measured":
        return _Measured(
            loss=torch.cat([c.loss for c in parts]),
            test=torch.cat([c.test for c in parts]),
            validation=torch.cat([c.validation for c in parts]),
            seconds=torch.stack([c.seconds for c in parts]).sum(0),
            metric=parts[0].metric.name,
            predictions=[c.selected.of(k) for c in parts for k in range(len(c.loss))],
            epochs=[epoch for c in parts for epoch in c.selected.epoch.tolist()],
        )


def _result(
    union: GraphUnion,
    jobs: list[Job],
    mine: range,
    number: int,
    measured: _Measured,
    variant: Variant,
    info: dict[str, Any],
) -> CVResult:
    """The result of the models ``mine``: those of the folds, then those with an inner hold-out."""
    outer, inner = list(mine[:number]), list(mine[number:])
    result = CVResult(
        dataset=union.name,
        model=variant.about,
        config=asdict(variant.config),
        fold_sizes=[jobs[k].test.numel() for k in outer],
        test=measured.test[outer],
        loss=measured.loss[outer],
        inner_sizes=[jobs[k].validation.numel() for k in inner],
        inner_test=measured.test[inner],
        inner_validation=measured.validation[inner],
        seconds=measured.seconds,
        info=info,
        metric=measured.metric,
        task={} if union.task is None else union.task.to_json(),
    )
    predictions = {}
    for rule, models in (("gin", outer), ("fair", inner)):
        # Folds that trained in several groups chose without each other.
        chosen = [measured.epochs[k] + 1 for k in models]
        if models and chosen == list(result.selected(rule).epochs):
            found = measured.predictions[models[0]]
            rows = found.new_full((union.num_graphs, found.size(1)), torch.nan)
            for k in models:
                rows[jobs[k].test] = measured.predictions[k]
            predictions[rule] = rows
    return replace(result, predictions=predictions)

"""Cross-validation: all folds at once."""

import logging
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from lgan.data.splits import check_folds, stratified_folds
from lgan.graph import GraphUnion
from lgan.train.batches import drawn_graphs
from lgan.train.config import TrainConfig
from lgan.train.environment import environment, peak_memory
from lgan.train.loop import Curves, Job, OnEpoch, held_out_job, train_together
from lgan.train.result import CVResult

__all__ = ["cross_validate"]

logger = logging.getLogger(__name__)


def cross_validate(
    factory: Callable[[], nn.Module],
    union: GraphUnion,
    *,
    folds: int | Tensor = 10,
    config: TrainConfig | None = None,
    fair: bool = False,
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
        fair: Train a second model for every fold, in the same program, that leaves the next
            fold out as an inner hold-out, for the rule ``fair``.
        output: Folder for the state after every epoch and the record ``result.json``.
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
    config = config or TrainConfig()
    y = union.y.cpu()
    fold = stratified_folds(y, folds, seed=config.seed) if isinstance(folds, int) else folds.cpu()
    check_folds(fold, y)
    number = int(fold.max()) + 1
    jobs = [held_out_job(fold, k, seed=config.seed + k) for k in range(number)]
    if fair:
        jobs += _inner_jobs(fold, y, config.seed)

    together = _models_at_once(factory, union, fold, config, len(jobs))
    if together < len(jobs):
        logger.warning(
            "%d models need more than the memory budget of %.1f GiB: training %d at a time.",
            len(jobs), config.memory_budget / 2**30, together,
        )  # fmt: skip
    parts: list[Curves] = []
    start = 0
    while start < len(jobs):
        state = None if output is None else Path(output) / f"state-{start}.safetensors"
        try:
            _, curves = train_together(
                union,
                factory,
                jobs[start : start + together],
                groups=fold,
                config=config,
                state=state,
                resume=resume,
                about=model,
                on_epoch=on_epoch,
            )
        except torch.OutOfMemoryError:
            if together == 1:
                raise
            together = -(-together // 2)
            torch.cuda.empty_cache()
            logger.warning("Out of GPU memory: going on with %d models at a time.", together)
            continue
        parts.append(curves)
        start += together
    result = _result(union, jobs, _joined(parts), number, config, model or {}, fold)
    if output is not None:
        result.save(Path(output) / "result.json")
    return result


def _inner_jobs(fold: Tensor, y: Tensor, seed: int) -> list[Job]:
    """For every fold a job that leaves the next one out too, as its inner hold-out."""
    number = int(fold.max()) + 1
    if number < 3:
        raise ValueError(
            "The rule 'fair' holds two folds out, one to test on and one to choose the epoch on: "
            f"it needs three folds or more, got {number}. Choose more folds."
        )
    jobs = [held_out_job(fold, k, (k + 1) % number, seed=seed + k) for k in range(number)]
    for k, job in enumerate(jobs):
        classes = torch.unique(y[job.train]).tolist()
        if len(classes) < 2:
            raise ValueError(
                "The training part beside the inner hold-out must hold at least two classes, got "
                f"only {classes} in fold {k + 1} of {number}. Use stratified folds."
            )
    return jobs


def _models_at_once(
    factory: Callable[[], nn.Module],
    union: GraphUnion,
    fold: Tensor,
    config: TrainConfig,
    models: int,
) -> int:
    """How many models fit into the memory budget with the largest batch they may meet."""
    with torch.random.fork_rng(devices=[]):
        maps = [p for p in factory().parameters() if p.dim() == 2]
    sizes = torch.diff(union.node_ptr).cpu()
    nodes = int(torch.topk(sizes, drawn_graphs(fold, config.batch_size)).values.sum())
    # Every linear map keeps its input and output, a normalisation and a kernel one more each.
    bytes_per_model = 3 * nodes * sum(p.size(-1) * p.element_size() for p in maps)
    return max(1, min(models, config.memory_budget // max(bytes_per_model, 1)))


def _joined(parts: list[Curves]) -> Curves:
    return Curves(
        loss=torch.cat([c.loss for c in parts]),
        test=torch.cat([c.test for c in parts]),
        validation=torch.cat([c.validation for c in parts]),
        seconds=torch.stack([c.seconds for c in parts]).sum(0),
    )


def _result(
    union: GraphUnion,
    jobs: list[Job],
    curves: Curves,
    number: int,
    config: TrainConfig,
    model: dict[str, Any],
    fold: Tensor,
) -> CVResult:
    inner = jobs[number:]
    return CVResult(
        dataset=union.name,
        model=model,
        config=asdict(config),
        fold_sizes=[job.test.numel() for job in jobs[:number]],
        test=curves.test[:number],
        loss=curves.loss[:number],
        inner_sizes=[job.validation.numel() for job in inner],
        inner_test=curves.test[number:],
        inner_validation=curves.validation[number:],
        seconds=curves.seconds,
        info={
            "folds": fold.tolist(),
            "graphs": union.num_graphs,
            "nodes": union.original_nodes,
            "environment": environment(union.device),
            "peak_memory": peak_memory(union.device),
        },
    )

"""Training of models side by side: one program, as many models as there are jobs."""

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from lgan import ops
from lgan._version import __version__
from lgan.catalogue import DATASETS
from lgan.data.shards.union import Graphs, ShardedUnion
from lgan.graph.device_union import DeviceUnion
from lgan.nn.norm import BatchNorm
from lgan.ops import together
from lgan.train.adam import StackedAdam
from lgan.train.average import RunningMean
from lgan.train.batches import epoch_batches
from lgan.train.captured import CapturedSteps, CapturedWindows
from lgan.train.config import TrainConfig
from lgan.train.curves import Curves, stop_choices
from lgan.train.evaluate import HeldOut
from lgan.train.jobs import PER_MODEL_SETTINGS, Job, Variant
from lgan.train.objective import Objective
from lgan.train.share import agreement
from lgan.train.snapshot import Snapshot
from lgan.train.stack import drawn_together
from lgan.train.state import RunState
from lgan.train.step import Step, Whole
from lgan.train.tensor_file import checksum

# Called after every epoch with its number (from 1) and the curves so far.
OnEpoch = Callable[[int, Curves], None]


def train_together(
    union: Graphs,
    variants: Sequence[Variant],
    jobs: Sequence[Job],
    *,
    groups: Tensor,
    metric: str | None = None,
    graph_weight: Tensor | None = None,
    companions: Sequence[Tensor] | None = None,
    captured: bool = True,
    device: torch.device | None = None,
    state: Path | None = None,
    resume: bool = False,
    keep_selected: bool = False,
    until: int | None = None,
    stop_if_not_finite: bool = True,
    on_epoch: OnEpoch | None = None,
) -> tuple[nn.Module, Curves]:
    """Train one model for every job, all in one program, and return them stacked.

    Every batch is read once for all models; the graphs that a model must not see are masked out
    of its loss and of its batch statistics, which makes this exactly as many separate trainings.

    Args:
        union: The data set.
        variants: How models are built and trained; each job is a model of one of them.
        jobs: What each model trains and is tested on.
        groups: Group of every graph; batches hold each group in its proportion ``[G]``.
        metric: Name of the metric, see :data:`lgan.task.METRICS`; by default accuracy where the
            classes have no names or the data set is a registered one, or that of the task.
        graph_weight: What the loss of every graph is multiplied by ``[G]``; batch statistics and
            metrics count every graph alike. 1 unless given.
        companions: What the companion of every model says of its inner hold-out, no rows where it
            has none; how that agrees with the model is measured after every epoch.
        captured: Use CUDA graphs on a GPU; the model must not synchronise.
        device: Where to train; by default where the data set is. A data set that is elsewhere
            stays there, and its batches are moved one by one.
        state: File that holds the state of the run, see :class:`RunState`.
        resume: Go on from ``state`` where it exists.
        keep_selected: Return every model as it was at the epoch that was selected, see
            :class:`SelectedPredictions`, and not as it is after the last.
        until: Train so many epochs of those of the settings, which stay the horizon of schedules.
        stop_if_not_finite: Raise an error where the loss or an output of a model is not a finite
            number; the state is then that of an epoch before. Otherwise the others go on, and
            the losses of that model are NaN from there on.
        on_epoch: Called after every epoch.
    """
    chosen = [variants[job.variant] for job in jobs]
    config = _shared_config(variants)
    device = device or union.device
    model = drawn_together([v.factory for v in chosen], [job.seed for job in jobs])
    if union.num_edge_features and getattr(model, "edge_dim", None) is None:
        raise ValueError(
            f"The edges of {union.name or 'the data set'} have {union.num_edge_features} features "
            f"and the model {type(model).__name__} reads none. Build it with "
            "`edge_dim=union.num_edge_features`, or load with `edge_features='none'`."
        )
    if union.edge_directed and not getattr(model, "directed", False):
        raise ValueError(
            f"The edges of {union.name or 'the data set'} have a direction and the model "
            f"{type(model).__name__} does not read it. Build `lgan.LGAN` with `directed=True`, "
            "or load with `symmetrise=True`."
        )
    if union.num_graph_features and getattr(model, "graph_dim", None) is None:
        raise ValueError(
            f"{union.name or 'The data set'} has {union.num_graph_features} features of whole "
            f"graphs and the model {type(model).__name__} reads none. Build it with "
            "`graph_dim=union.num_graph_features` (LGAN and GIN can), or load without "
            "`graph_features`."
        )
    model = model.to(device).train()
    dtype = next(model.parameters()).dtype
    if _in_double(model, device):
        model.double()
    rates = torch.tensor([v.config.lr for v in chosen], dtype=torch.float64)
    decays = torch.tensor([v.config.weight_decay for v in chosen], dtype=torch.float64)
    optimizer = StackedAdam(model, rates, decays, decoupled=config.optimizer == "adamw")
    mean = RunningMean(model, [v.config.average for v in chosen])
    seen = torch.stack([job.train for job in jobs])
    measured = union.known_task.metric(metric or default_metric(union))
    objective = Objective.of(union.known_task, measured, union.y, seen, config.class_weight)
    curves = Curves.empty(jobs, config, objective)
    best = Snapshot(model) if keep_selected else None
    kept, epoch = None, 0
    if state is not None:
        tensors = partial(_state, model, optimizer, mean, curves, best)
        known = _fingerprint(union, jobs, groups, variants, measured.name, graph_weight)
        kept = RunState(state, tensors, known)
        epoch = kept.load() if resume and state.exists() else 0
    half = config.precision == "bfloat16"
    if half and device.type != "cuda":
        raise ValueError(
            f"`precision='bfloat16'` needs a GPU, got the device {device}. "
            "Train in float32, or on a GPU."
        )
    step = Step(model, optimizer, objective.to(device), half=half)
    windows: dict[str, Any] = {}
    if isinstance(union, ShardedUnion):
        windows = {"shard_ptr": union.shards.graph_ptr, "window": union.window}
    if graph_weight is not None:
        graph_weight = _checked_weight(graph_weight, union.num_graphs).to(device)
    given = (seen.to(device), step, graph_weight)
    ready: Callable[[Iterable[Tensor]], Any] = list
    run: Callable[[Any, Tensor], Tensor] = partial(_run_steps, union, objective, *given)
    cut: DeviceUnion | None = None
    if captured and device.type == "cuda" and together.workers() == 1:
        if isinstance(union, ShardedUnion):
            run = CapturedWindows(union, device, *given).run
        elif union.device.type == device.type:
            cut = DeviceUnion(union)
            steps = CapturedSteps(cut, *given)
            ready, run = steps.plan, steps.run
    held_out = [torch.cat([job.test, job.validation]) for job in jobs]
    tested = HeldOut(union, held_out, device, captured=cut)

    last, who = until or config.epochs, stop_choices(jobs)
    stopped = epoch == last or (epoch > 0 and curves.stopped(who, epoch, config))
    plan = partial(
        epoch_batches,
        groups,
        iterations=config.iterations,
        batch_size=config.batch_size,
        seed=config.seed,
        **windows,
    )
    with ops.model_threads(device):
        batches = [] if stopped else ready(plan(epoch=epoch))
        while not stopped:
            begin = time.perf_counter()
            loss = run(batches, _schedule(chosen, epoch))
            if epoch + 1 < last:  # while a GPU still trains
                batches = ready(plan(epoch=epoch + 1))
            mean.update(epoch)
            curves.loss[:, epoch] = loss.cpu()
            with mean.in_place():
                said = _measure(curves, epoch, jobs, objective, tested.outputs(model), companions)
                curves.take(epoch, said, config)
                if best is not None:
                    best.take(curves.selected.epoch == epoch)
            curves.seconds[epoch] = time.perf_counter() - begin
            if stop_if_not_finite:
                _check_finite(curves.loss[:, epoch], epoch + 1, chosen)
            epoch += 1
            stopped = epoch == last or curves.stopped(who, epoch, config)
            if kept is not None and together.rank() == 0:
                kept.save(epoch, last=stopped)
            if on_epoch is not None:
                on_epoch(epoch, curves)
    if best is None:
        mean.swap()
    else:
        best.restore()
    return model.to(dtype), curves.cut(epoch)


def _run_steps(
    union: Graphs,
    objective: Objective,
    seen: Tensor,
    step: Step,
    graph_weight: Tensor | None,
    batches: Sequence[Tensor],
    scale: Tensor,
) -> Tensor:
    """The steps of an epoch, one after another; returns the mean losses ``[K]``."""
    device = seen.device
    loss, scale = torch.zeros(seen.size(0), device=device), scale.to(device)
    if min(map(len, batches)) < together.workers():
        raise ValueError(
            f"A batch must have a graph for each of {together.workers()} processes, got one of "
            f"{min(map(len, batches))}. Choose a larger batch, or fewer processes."
        )
    if isinstance(union, ShardedUnion):  # graphs of a shard go to one process, or to two
        batches = [ids.sort().values for ids in batches]
    work, on_host = union.work_per_graph.cpu(), seen.cpu()
    own = [together.balanced_part(work[ids]) for ids in batches]
    parts = [ids[part] for ids, part in zip(batches, own, strict=True)]
    for number, batch in enumerate(union.batches(parts)):
        batch = batch if device == union.device else batch.to(device)
        weight = None if graph_weight is None else graph_weight[batch.ids]
        whole = None
        if together.workers() > 1:
            ids = batches[number]
            counted = objective.counted(objective.y[ids], on_host[:, ids])
            whole = Whole(own[number].start, counted.to(device))
        if number > 0:  # all of the above was done while gradients were on their way
            step.update(scale)
        loss += step.gradients(batch, seen[:, batch.ids], weight, whole)
    step.update(scale)
    together.sum_in_place(loss)
    return loss / len(batches)


def default_metric(union: Graphs) -> str:
    """The metric of a data set unless another is named."""
    if union.task is None or union.name in DATASETS:
        return "accuracy" if union.known_task.has_classes else union.known_task.default_metric.name
    return union.known_task.default_metric.name


def _measure(
    curves: Curves,
    epoch: int,
    jobs: Sequence[Job],
    objective: Objective,
    outputs: list[Tensor],
    companions: Sequence[Tensor] | None,
) -> list[Tensor]:
    """Take the metrics of held-out graphs after an epoch into the curves; gives what is said of
    the test graphs.
    """
    predictions = []
    for k, (job, both) in enumerate(zip(jobs, objective.predictions(outputs), strict=True)):
        test, validation = torch.split(both, [job.test.numel(), job.validation.numel()])
        curves.test[k, epoch] = objective.score(job.test, test)
        if job.validation.numel():
            curves.validation[k, epoch] = objective.score(job.validation, validation)
        if companions is not None and len(companions[k]):
            found = agreement(objective, k, job.validation, validation, companions[k])
            curves.agreement[k, epoch] = found
        if not bool(outputs[k].isfinite().all()):
            curves.loss[k, epoch] = torch.nan
        predictions.append(test)
    return predictions


def _in_double(model: nn.Module, device: torch.device) -> bool:
    """Whether processes that share batches on the CPU train in double precision.

    With batch statistics many weights have a gradient of 0, or near it; rounding makes it something
    else, and Adam a step of full size whose direction depends on the order of sums. In single
    precision the number of processes would soon decide what is found.
    """
    batch = any(isinstance(module, BatchNorm) for module in model.modules())
    return together.shared() and batch and device.type == "cpu"


def _checked_weight(weight: Tensor, graphs: int) -> Tensor:
    fits = weight.shape == (graphs,) and bool((weight.isfinite() & (weight >= 0)).all())
    if not fits or not bool((weight > 0).any()):
        raise ValueError(
            f"`graph_weight` must have a finite number of 0 or more for each of {graphs} graphs, "
            f"not all of them 0, got {weight}. Leave it out to weigh all alike."
        )
    return weight.to(torch.get_default_dtype())


def _check_finite(loss: Tensor, epoch: int, chosen: Sequence[Variant]) -> None:
    wrong = (~loss.isfinite()).nonzero().flatten().tolist()
    if wrong:
        rate = max(chosen[k].config.lr for k in wrong)
        raise ValueError(
            f"Training is no longer finite: in epoch {epoch} the loss or an output of {len(wrong)} "
            f"of {len(chosen)} models is NaN or infinite. Choose a smaller learning rate (`lr`, "
            f"now {rate:g}), or look for extreme values among the features. A state that was "
            "saved is of an epoch before."
        )


def _shared_config(variants: Sequence[Variant]) -> TrainConfig:
    """The settings that all variants have in common."""
    first = variants[0].config
    for variant in variants[1:]:
        own = variant.config
        if own != replace(first, **{name: getattr(own, name) for name in PER_MODEL_SETTINGS}):
            raise ValueError(
                f"Models side by side may differ in {', '.join(PER_MODEL_SETTINGS)} only, got "
                f"{own} beside {first}. Train the others in a run of their own."
            )
    return first


def _schedule(chosen: Sequence[Variant], epoch: int) -> Tensor:
    """Factor of the learning rates, one for all models where they agree, or one each ``[K]``."""
    configs = [variant.config for variant in chosen]
    factors = [config.lr_factor(epoch) for config in configs]
    schedules = {(config.schedule, config.lr_halving, config.warmup) for config in configs}
    return torch.tensor(factors[0] if len(schedules) == 1 else factors, dtype=torch.float64)


def _state(
    model: nn.Module,
    optimizer: StackedAdam,
    mean: RunningMean,
    curves: Curves,
    best: Snapshot | None,
) -> dict[str, Tensor]:
    """Everything that changes while a run goes on, by name."""
    tensors = {f"optimizer.{name}": t for name, t in optimizer.state_dict().items()}
    tensors |= {f"buffer.{name}": t for name, t in model.named_buffers()}
    tensors |= {f"mean.{name}": t for name, t in mean.mean.items()}
    tensors |= {} if best is None else {f"best.{name}": t for name, t in best.kept.items()}
    return tensors | {f"curves.{name}": t for name, t in curves.tensors().items()}


def _fingerprint(
    union: Graphs,
    jobs: Sequence[Job],
    groups: Tensor,
    variants: Sequence[Variant],
    metric: str,
    graph_weight: Tensor | None,
) -> dict[str, Any]:
    """What must agree for a run to go on from a state, by the names a message gives it."""
    splits = hashlib.sha256(groups.numpy().tobytes())
    for job in jobs:
        splits.update(f"{job.seed} {job.variant} {job.bag}".encode())
        for part in (job.train, job.test, job.validation):
            splits.update(part.numpy().tobytes())
    if graph_weight is not None:
        splits.update(graph_weight.cpu().double().numpy().tobytes())
    configs = [asdict(variant.config) for variant in variants]
    abouts = [variant.about for variant in variants]
    settings = {
        **{key: _one_or_all([config[key] for config in configs]) for key in configs[0]},
        "dataset": union.name,
        "graphs": union.num_graphs,
        "nodes": int(union.node_ptr[-1]),
        **({"window": union.window} if isinstance(union, ShardedUnion) else {}),
        "node features": union.num_features,
        "targets": checksum({"y": union.y})[:12],
        "features and edges": content(union),
        "models": len(jobs),
        "folds": splits.hexdigest()[:12],
        "metric": metric,
        "task": str(union.known_task),
        "lgan": __version__,
        **{f"model {key}": _one_or_all([a[key] for a in abouts]) for key in abouts[0]},
    }
    plain: dict[str, Any] = json.loads(json.dumps(settings))
    return plain


def content(union: Graphs) -> str:
    """A checksum of the graphs themselves."""
    if isinstance(union, ShardedUnion):
        shards = union.shards
        told = json.dumps([[file.sha256 for file in shards.files], shards.encoder.to_json()])
        return hashlib.sha256(told.encode()).hexdigest()[:12]
    parts = {name: getattr(union, name) for name in ("x", "x_table", "graph_x")}
    names = ("pair_index", "pair_rows", "pair_table")
    parts |= {name: getattr(union.lines, name) for name in names}
    return checksum({name: part for name, part in parts.items() if part is not None})[:12]


def _one_or_all(values: list[Any]) -> Any:
    return values[0] if all(value == values[0] for value in values) else values

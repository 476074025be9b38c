"""Training of models side by side: one program, as many models as there are jobs."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch
from torch import Tensor, nn

from lgan.data.cache import load_tensors, save_tensors
from lgan.graph import GraphBatch, GraphUnion
from lgan.train.adam import StackedAdam
from lgan.train.batches import epoch_batches
from lgan.train.config import TrainConfig
from lgan.train.evaluate import HeldOut
from lgan.train.stack import build_stack

__all__ = ["Curves", "Job", "OnEpoch", "held_out_job", "train_together"]


@dataclass(frozen=True)
class Job:
    """One model to train.

    Attributes:
        seed: Seed of its initial weights and dropout.
        train: Whether it trains on each graph ``[G]``.
        test: Graphs it is tested on after every epoch.
        validation: Graphs of its inner hold-out; may be none.
    """

    seed: int
    train: Tensor
    test: Tensor
    validation: Tensor


def held_out_job(fold: Tensor, test: int, inner: int | None = None, *, seed: int) -> Job:
    """A job that tests on one fold, keeps an inner one out too, and trains on all others."""
    held_out = fold == test
    validation = torch.empty(0, dtype=torch.int64)
    if inner is not None:
        validation = (fold == inner).nonzero().squeeze(1)
        held_out = held_out | (fold == inner)
    return Job(seed, ~held_out, (fold == test).nonzero().squeeze(1), validation)


@dataclass
class Curves:
    """What was measured, by model and epoch ``[K, E]``; filled as training goes on.

    Attributes:
        loss: Mean training loss.
        test: Test graphs classified right.
        validation: Graphs of the inner hold-out classified right.
        seconds: Time of every epoch ``[E]``, evaluation included.
    """

    loss: Tensor
    test: Tensor
    validation: Tensor
    seconds: Tensor

    @staticmethod
    def empty(models: int, epochs: int) -> "Curves":
        """Curves before the first epoch."""
        counts = torch.zeros(models, epochs, dtype=torch.int64)
        loss = torch.zeros(models, epochs)
        return Curves(loss, counts, counts.clone(), torch.zeros(epochs))

    def tensors(self) -> dict[str, Tensor]:
        """The curves by name."""
        return {"loss": self.loss, "test": self.test, "validation": self.validation,
                "seconds": self.seconds}  # fmt: skip


# Called after every epoch with its number (from 1) and the curves so far.
OnEpoch = Callable[[int, Curves], None]


def train_together(
    union: GraphUnion,
    factory: Callable[[], nn.Module],
    jobs: Sequence[Job],
    *,
    groups: Tensor,
    config: TrainConfig,
    state: Path | None = None,
    resume: bool = False,
    on_epoch: OnEpoch | None = None,
) -> tuple[nn.Module, Curves]:
    """Train one model for every job, all in one program, and return them stacked.

    Every batch is read once for all models; the graphs that a model must not see are masked out
    of its loss and of its batch statistics, which makes this exactly as many separate trainings.

    Args:
        union: The data set, on the device to train on.
        factory: Builds one model.
        jobs: What each model trains and is tested on.
        groups: Group of every graph; batches hold each group in its proportion ``[G]``.
        config: Settings.
        state: File that holds the state after every epoch.
        resume: Go on from ``state`` where it exists.
        on_epoch: Called after every epoch.
    """
    model = build_stack(factory, [job.seed for job in jobs]).to(union.device).train()
    optimizer = StackedAdam(model, config.lr, config.weight_decay)
    curves = Curves.empty(len(jobs), config.epochs)
    done = 0
    if resume and state is not None and state.exists():
        done = _load_state(state, model, optimizer, curves, _fingerprint(config, jobs))
    seen = torch.stack([job.train for job in jobs]).to(union.device)
    share = float(seen.float().mean())
    tested = HeldOut(union, [torch.cat([job.test, job.validation]) for job in jobs])

    for epoch in range(done, config.epochs):
        begin = time.perf_counter()
        scale = config.lr_at(epoch) / config.lr
        loss = torch.zeros(len(jobs), device=union.device)
        steps = 0
        for ids in epoch_batches(
            groups,
            iterations=config.iterations,
            batch_size=config.batch_size,
            share=share,
            seed=config.seed,
            epoch=epoch,
        ):
            ids = ids.to(union.device)
            loss += _step(model, optimizer, _masked(union.batch(ids), seen[:, ids]), scale)
            steps += 1
        curves.loss[:, epoch] = loss.cpu() / steps
        for k, right in enumerate(tested.correct(model)):
            split = jobs[k].test.numel()
            curves.test[k, epoch] = int(right[:split].sum())
            curves.validation[k, epoch] = int(right[split:].sum())
        curves.seconds[epoch] = time.perf_counter() - begin
        if state is not None:
            _save_state(state, model, optimizer, curves, epoch + 1, _fingerprint(config, jobs))
        if on_epoch is not None:
            on_epoch(epoch + 1, curves)
    return model, curves


def _masked(batch: GraphBatch, seen: Tensor) -> tuple[GraphBatch, Tensor]:
    """The batch with statistics over the graphs each model may see, and its loss weights."""
    weight = seen.to(torch.get_default_dtype())
    per_node = torch.repeat_interleave(weight, torch.diff(batch.ptr), dim=1)
    batch = replace(batch, node_weight=per_node * batch.multiplicity)
    return batch, weight / weight.sum(1, keepdim=True).clamp(min=1)


def _step(
    model: nn.Module, optimizer: StackedAdam, masked: tuple[GraphBatch, Tensor], scale: float
) -> Tensor:
    """One update of all models; returns their losses ``[K]``."""
    batch, weight = masked
    optimizer.zero_grad()
    log_probability = model(batch).log_softmax(-1)  # [K, B, C]
    target = batch.y.expand(weight.shape)[..., None]
    loss: Tensor = -(log_probability.gather(-1, target).squeeze(-1) * weight).sum(1)
    loss.sum().backward()
    optimizer.step(scale)
    return loss.detach()


def _fingerprint(config: TrainConfig, jobs: Sequence[Job]) -> dict[str, object]:
    """What must agree for a run to go on from a state."""
    settings = asdict(config)
    settings["models"] = len(jobs)
    return settings


def _save_state(
    path: Path,
    model: nn.Module,
    optimizer: StackedAdam,
    curves: Curves,
    done: int,
    fingerprint: dict[str, object],
) -> None:
    tensors = {f"optimizer.{name}": t for name, t in optimizer.state_dict().items()}
    tensors |= {f"buffer.{name}": t for name, t in model.named_buffers()}
    tensors |= {f"curves.{name}": t for name, t in curves.tensors().items()}
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    save_tensors(path, tensors, {"done": str(done), "settings": json.dumps(fingerprint)})


def _load_state(
    path: Path,
    model: nn.Module,
    optimizer: StackedAdam,
    curves: Curves,
    fingerprint: dict[str, object],
) -> int:
    tensors, metadata = load_tensors(path)
    before = json.loads(metadata["settings"])
    changed = [key for key, value in fingerprint.items() if before.get(key) != value]
    if changed:
        listed = ", ".join(f"{key} {before.get(key)} → {fingerprint[key]}" for key in changed)
        raise ValueError(
            f"The run in {path.parent} was started with other settings: {listed}. "
            "Resume with the same settings, or choose another output folder."
        )
    prefix = "optimizer."
    optimizer.load_state_dict(
        {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}
    )
    for name, buffer in model.named_buffers():
        buffer.copy_(tensors[f"buffer.{name}"])
    for name, curve in curves.tensors().items():
        curve.copy_(tensors[f"curves.{name}"])
    return int(metadata["done"])

"""The library's own training loop and a peer's, an epoch of each in turn."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from benchmarks.measure import OURS, synchronize
from lgan import ops
from lgan.graph import GraphUnion
from lgan.train import TrainConfig
from lgan.train.curves import Curves
from lgan.train.jobs import Job, Variant
from lgan.train.loop import train_together

PEER = "PyG GIN, DataLoader"


@dataclass(frozen=True)
class Training:
    """A training by the library, as the benchmarks run it.

    Attributes:
        union: The data set, on its device.
        factory: Builds one model.
        jobs: What every model trains and is tested on.
        groups: Group of every graph.
        seed: Seed of the batches.
        batch_size: Graphs in a batch.
    """

    union: GraphUnion
    factory: Callable[[], nn.Module]
    jobs: Sequence[Job]
    groups: Tensor
    seed: int = 0
    batch_size: int = 32

    @staticmethod
    def on_all(
        union: GraphUnion,
        factory: Callable[[], nn.Module],
        *,
        models: int = 1,
        tested: int = 0,
        seed: int = 0,
        batch_size: int = 32,
    ) -> "Training":
        """Train models on every graph; the loop tests on one of them."""
        everything = torch.ones(union.num_graphs, dtype=torch.bool)
        nothing = torch.empty(0, dtype=torch.int64)
        jobs = [Job(seed + i, everything, torch.tensor([tested]), nothing) for i in range(models)]
        groups = torch.full((union.num_graphs,), -1)
        return Training(union, factory, jobs, groups, seed, batch_size)

    def run(
        self,
        epochs: int,
        *,
        state: Path | None = None,
        on_epoch: Callable[[int, Curves], None] | None = None,
    ) -> None:
        """Train for some epochs, each one pass over the training part."""
        settings = TrainConfig(
            epochs=epochs, iterations=0, batch_size=self.batch_size, seed=self.seed
        )
        train_together(
            self.union, [Variant(self.factory, settings)], self.jobs, groups=self.groups,
            state=state, on_epoch=on_epoch,
        )  # fmt: skip


def train_beside(
    training: Training,
    peer: Callable[[int], object] | None,
    *,
    repeats: int,
    state: Path | None = None,
    progress: Callable[[str], None] | None = None,
) -> dict[str, list[float]]:
    """Seconds of every epoch of both sides, the first of each left out.

    Everything that happens in an epoch of the library counts: batches, steps, evaluation, and
    the state on disk where one is kept.
    """
    device = training.union.device
    samples: dict[str, list[float]] = {OURS: [], PEER: []}
    begin = time.perf_counter()

    def on_epoch(epoch: int, _: Curves) -> None:
        nonlocal begin
        synchronize(device)
        samples[OURS].append(time.perf_counter() - begin)
        if progress is not None:
            progress(f"epoch {epoch} of {repeats + 1}")
        if peer is not None:
            begin = time.perf_counter()
            peer(epoch - 1)
            synchronize(device)
            samples[PEER].append(time.perf_counter() - begin)
        begin = time.perf_counter()

    training.run(repeats + 1, state=state, on_epoch=on_epoch)
    return {side: seconds[1:] for side, seconds in samples.items()}


def dense_operations(run: Callable[[], object]) -> int:
    """Floating-point operations of the dense products of what is run.

    The counter sees operations of torch in this thread, hence the backend without compiled loops.
    """
    from torch.utils.flop_counter import FlopCounterMode

    with ops.backend("torch"), FlopCounterMode(display=False) as counter:
        run()
    return int(counter.get_total_flops())

"""Ten-fold cross-validation, all folds side by side, beside PyG's GIN fold after fold."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import torch
from torch import Tensor

from benchmarks.config import BenchConfig
from benchmarks.measure import OURS, comparison, matmul_rate
from benchmarks.peers import PeerTraining
from benchmarks.row import Bar, Row
from benchmarks.sets import BothSides, load_both
from benchmarks.training import PEER, Training, dense_operations, train_beside
from lgan.data import stratified_folds
from lgan.nn import LGAN
from lgan.train.environment import peak_memory
from lgan.train.jobs import held_out_job

# Set, width, at least this many times faster on 2 cores.
CASES = (("MUTAG", 32, 3.0), ("IMDB-BINARY", 64, 4.0), ("PROTEINS", 32, 1.5))
ON_GPU = 30.0
FOLDS = 10
# Settings (seeds) that ride beside the folds; the GPU takes as many as fit.
SETTINGS = {"cpu": (1,), "cuda": (1, 4, 16, 64, 256)}


def cross_validation(config: BenchConfig) -> list[Row]:
    """Time per model and epoch, evaluation of the held-out fold included on both sides.

    Our side trains all folds at once, on a GPU with many seeds each; on the CPU it keeps a
    resumable state on disk after every epoch, as ``lgan cv`` does. The peer trains one fold after
    another, one of them in each round.
    """
    cases = CASES[:1] if config.quick else CASES
    rate = matmul_rate(config.device, size=256 if config.quick else 2048)
    rows = []
    for name, width, speedup in cases:
        config.progress(f"{name}: reading")
        case = _Case(name, width, load_both(name, config), config)
        bar = Bar("speedup", speedup if config.device.type == "cpu" else ON_GPU)
        rows.append(case.row(bar, rate))
    return rows


@dataclass(frozen=True)
class _Measured:
    models: int
    samples: dict[str, list[float]]  # ours per model
    memory: int | None

    @property
    def seconds(self) -> float:
        return median(self.samples[OURS])


@dataclass(frozen=True)
class _Case:
    name: str
    width: int
    both: BothSides
    config: BenchConfig

    def row(self, bar: Bar, rate: float) -> Row:
        """The number of models side by side that gives the least time per model."""
        union, device = self.both.union, self.config.device
        fold = stratified_folds(union.y.cpu(), FOLDS, seed=self.config.seed)
        peers = [_peer_fold(self.both, fold, k, self.width, device) for k in range(FOLDS)]
        measured: list[_Measured] = []
        note = self.both.note
        for settings in (1, 2) if self.config.quick else SETTINGS[device.type]:
            try:
                measured.append(self._measure(self._training(fold, settings), peers))
            except torch.OutOfMemoryError:
                note = f"{FOLDS * settings} models did not fit"
                break
        if not measured:
            raise MemoryError(f"Ten models of {self.name} do not fit on {device}.")
        best = min(measured, key=lambda m: m.seconds)
        detail = {f"seconds per model, {m.models} models": m.seconds for m in measured}
        if device.type == "cpu":  # on a GPU it is launches and traffic that count
            detail |= _dense(self._training(fold, best.models // FOLDS), best, rate)
        row = comparison(
            f"{self.name}, {best.models} models",
            f"one epoch of one fold of {union.num_graphs} graphs, 4 layers of width {self.width}",
            best.samples, peer=PEER, bar=bar, size=union.num_graphs, note=note, detail=detail,
        )  # fmt: skip
        return replace(row, memory=best.memory)

    def _training(self, fold: Tensor, settings: int) -> Training:
        union, seed = self.both.union, self.config.seed
        factory = partial(
            LGAN, union.num_features, self.width, union.num_classes, readout=self.both.readout
        )
        jobs = [held_out_job(fold, k, seed=seed + s) for s in range(settings) for k in range(FOLDS)]
        return Training(union=union, factory=factory, jobs=jobs, groups=fold, seed=seed)

    def _measure(self, training: Training, peers: list[PeerTraining]) -> _Measured:
        device, models = self.config.device, len(training.jobs)
        on_gpu = device.type == "cuda"
        if on_gpu:
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats(device)
        with TemporaryDirectory(prefix="lgan-bench-") as folder:
            samples = train_beside(
                training, lambda epoch: peers[epoch % FOLDS].epoch(),
                repeats=2 if self.config.quick else 5 if on_gpu else 10,
                state=None if on_gpu else Path(folder) / "state-0.safetensors",
                progress=lambda text: self.config.progress(f"{self.name}, {models} models: {text}"),
            )  # fmt: skip
        samples[OURS] = [seconds / models for seconds in samples[OURS]]
        return _Measured(models, samples, peak_memory(device) if on_gpu else None)


def _peer_fold(
    both: BothSides, fold: Tensor, k: int, width: int, device: torch.device
) -> PeerTraining:
    held_out = (fold == k).tolist()
    train = [graph for graph, out in zip(both.graphs, held_out, strict=True) if not out]
    test = [graph for graph, out in zip(both.graphs, held_out, strict=True) if out]
    return PeerTraining(
        train, test, hidden_channels=width, num_classes=both.union.num_classes, device=device
    )


def _dense(training: Training, measured: _Measured, rate: float) -> dict[str, float]:
    """What the dense products alone would take at the rate of a large product."""
    operations = dense_operations(lambda: training.run(1)) / measured.models
    return {
        "dense operations per model": operations,
        "operations per second of a large product": rate,
        "dense products at that rate, seconds": operations / rate,
        "dense products at that rate, share of ours": operations / rate / measured.seconds,
    }

"""What every model costs on every set: preparation, one epoch, memory."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import torch

from benchmarks.child import ChildRun
from benchmarks.row import memory_text, seconds_text
from lgan._optional import require
from lgan.data import (
    DATASETS,
    RawGraphs,
    fetch,
    load_raw,
    node_features,
    stratified_folds,
    triangle_pairs,
)
from lgan.experiment import Reading, Settings, factory, network_spec, prepare, settings_for
from lgan.train.jobs import Variant, held_out_job
from lgan.train.loop import train_together
from lgan.zoo import KernelSpec, model_spec
from paper.json_records import read_record, write_record
from paper.render import Grid

FOLDS = 10
MEANING = [
    "Preparation: from the archive to what the model reads, nothing cached (a kernel: its Gram "
    "matrices). Epoch: one model, one pass over nine tenths of the graphs in the model's own "
    "width and batch size, evaluation of the tenth included, the median after a first epoch; a "
    "kernel: the support vector machine of one fold with its inner search.",
    "Memory: the peak of the process, Python and its libraries included, or what the GPU held.",
    "Each cell in a process of its own, one after another, on the same machine in one run.",
]


@dataclass(frozen=True)
class Cost:
    """A cell of the table.

    Attributes:
        model: Name of the model.
        dataset: Name of the data set.
        prepare: Seconds of preparation.
        epoch: Seconds of one epoch.
        memory: Peak memory in bytes.
        settings: Width, layers, batch size.
        refused: Why there are no figures.
    """

    model: str
    dataset: str
    prepare: float | None = None
    epoch: float | None = None
    memory: int | None = None
    settings: dict[str, Any] | None = None
    refused: str = ""


# Calls ``module:function`` in a process of its own, with the arguments given.
InChild = Callable[[str, dict[str, Any]], ChildRun]


def measure_costs(
    models: Sequence[str],
    datasets: Sequence[str],
    in_child: InChild,
    arguments: dict[str, Any],
    on_cost: Callable[[Cost], None] | None = None,
) -> list[Cost]:
    """Measure every model on every set, one after another, each in a process of its own."""
    costs = []
    for dataset in datasets:
        for model in models:
            given = {"model": model, "dataset": dataset, **arguments}
            run = in_child("paper.runtime:measure_cost", given)
            cost = Cost(model, dataset, refused=run.problem)
            if not run.problem:
                cost = Cost(**run.result)
                # On the CPU the process is what holds memory, and its parent reads the peak.
                cost = cost if cost.memory else replace(cost, memory=run.memory)
            if cost.refused:
                cost = Cost(model, dataset, refused=cost.refused)
            costs.append(cost)
            if on_cost is not None:
                on_cost(cost)
    return costs


def measure_cost(
    model: str,
    dataset: str,
    *,
    epochs: int = 3,
    root: str = "data",
    mirror: str | None = None,
    seed: int = 0,
    device: str = "cpu",
) -> dict[str, Any]:
    """Measure one model on one set, in this process; a refusal is a result."""
    settings = settings_for(model, dataset, iterations=0, epochs=epochs + 1, seed=seed)
    shown = {key: settings.flat().get(key) for key in ("hidden", "num_layers", "batch_size")}
    cost = Cost(model, dataset, settings=shown)
    if DATASETS[dataset].kind != "synthetic":
        mirror = str(fetch(dataset, root=root, mirror=mirror).parent)
        with TemporaryDirectory(prefix="lgan-runtime-") as unused:  # compiles the reader
            load_raw(dataset, root=unused, mirror=mirror, seed=seed)
    run = _kernel_cost if isinstance(model_spec(model), KernelSpec) else _network_cost
    # The preparation of an empty folder is the preparation without a cache.
    with TemporaryDirectory(prefix="lgan-runtime-") as empty:
        try:
            return asdict(run(cost, settings, empty, mirror, torch.device(device)))
        except (ValueError, MemoryError, torch.OutOfMemoryError) as error:
            return asdict(replace(cost, refused=str(error) or type(error).__name__))


def _network_cost(
    cost: Cost, settings: Settings, root: str, mirror: str | None, device: torch.device
) -> Cost:
    seed = settings.training.seed
    # Compiles what is compiled on first use, which is not what is measured.
    warm = settings_for(settings.model, "triangles", iterations=1, epochs=1)
    _train(warm, prepare(warm, reading=Reading(root=root), device=device))
    begin = time.perf_counter()
    reading = Reading(root=root, mirror=mirror, seed=seed)
    union = prepare(settings, reading=reading, device=device)
    prepared = time.perf_counter() - begin
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    seconds = _train(settings, union)
    memory = torch.cuda.max_memory_allocated(device) if device.type == "cuda" else None
    return replace(cost, prepare=prepared, epoch=median(seconds[1:]), memory=memory)


def _train(settings: Settings, union: Any) -> list[float]:
    """Seconds of every epoch of one model that holds the first of ten folds out."""
    fold = stratified_folds(union.y.cpu(), FOLDS, seed=settings.training.seed)
    _, curves = train_together(
        union,
        [Variant(factory(settings, union), settings.training)],
        [held_out_job(fold, 0, seed=settings.training.seed)],
        groups=fold,
        captured=network_spec(settings.model).captured,
    )
    seconds: list[float] = curves.seconds.tolist()
    return seconds


def _kernel_cost(
    cost: Cost, settings: Settings, root: str, mirror: str | None, device: torch.device
) -> Cost:
    from lgan.train.kernel_svm import cross_validate_kernel

    spec = model_spec(settings.model)
    assert isinstance(spec, KernelSpec)
    seed = settings.training.seed
    _gram_matrices(spec, settings, replace(triangle_pairs(20), name=settings.dataset), "degree")
    begin = time.perf_counter()
    raw = load_raw(settings.dataset, root=root, mirror=mirror, seed=seed)
    grams = _gram_matrices(spec, settings, raw, settings.features)
    prepared = time.perf_counter() - begin
    fold = stratified_folds(raw.y, FOLDS, seed=seed)
    begin = time.perf_counter()
    cross_validate_kernel(grams.matrices, raw.y, folds=fold, candidates=grams.candidates, seed=seed)
    return replace(cost, prepare=prepared, epoch=(time.perf_counter() - begin) / FOLDS)


def _gram_matrices(spec: KernelSpec, settings: Settings, raw: RawGraphs, features: str) -> Any:
    labels, _ = node_features(raw, features)
    return spec.grams(raw, labels, **settings.options)


@dataclass(frozen=True)
class RuntimeRecord:
    """Costs of one run on one machine.

    Attributes:
        cells: The costs.
        environment: Versions, machine, time.
    """

    cells: list[Cost]
    environment: dict[str, Any]

    def save(self, path: Path | str) -> None:
        """Write as JSON, whole or not at all."""
        write_record(path, asdict(self))

    @staticmethod
    def load(path: Path | str) -> "RuntimeRecord":
        """Read a record."""
        plain = read_record(path, "a runtime record")
        return RuntimeRecord([Cost(**cell) for cell in plain["cells"]], plain["environment"])

    def grids(self) -> list[Grid]:
        """A table each for epoch, preparation and memory, models down and sets across."""
        models = list(dict.fromkeys(cell.model for cell in self.cells))
        datasets = list(dict.fromkeys(cell.dataset for cell in self.cells))
        by_key = {(cell.model, cell.dataset): cell for cell in self.cells}
        refusals = list(dict.fromkeys(cell.refused for cell in self.cells if cell.refused))

        def text(model: str, dataset: str, what: str) -> str:
            cell = by_key.get((model, dataset))
            if cell is None:
                return "not run"
            if cell.refused:
                return f"not done [{refusals.index(cell.refused) + 1}]"
            show = memory_text if what == "memory" else seconds_text
            return show(getattr(cell, what))

        where = f"{self.environment.get('device')}, {self.environment.get('threads')} threads"
        notes = MEANING + [f"[{i}] {reason}" for i, reason in enumerate(refusals, 1)]
        titles = {"epoch": "One epoch", "prepare": "Preparation", "memory": "Peak memory"}
        return [
            Grid(
                f"{title} ({where})",
                ["model", *datasets],
                [[m, *(text(m, d, what) for d in datasets)] for m in models],
                notes if what == "memory" else [],
            )
            for what, title in titles.items()
        ]


def panels(record: RuntimeRecord) -> dict[str, list[tuple[str, float]]]:
    """By set, the models and the seconds of an epoch, the fastest first."""
    found: dict[str, list[tuple[str, float]]] = {}
    for cell in record.cells:
        if cell.epoch is not None:
            found.setdefault(cell.dataset, []).append((cell.model, cell.epoch))
    return {name: sorted(rows, key=lambda row: row[1]) for name, rows in found.items()}


def draw(record: RuntimeRecord, path: Path | str) -> None:
    """Draw every model's epoch on every set as PNG, LGAN marked."""
    canvas = require("matplotlib.backends.backend_agg").FigureCanvasAgg
    content = panels(record)
    if not content:
        raise ValueError("There is no epoch to draw: every model refused every set.")
    columns = min(3, len(content))
    lines = -(-len(content) // columns)
    longest = max(len(rows) for rows in content.values())
    figure = require("matplotlib.figure").Figure(
        figsize=(4.2 * columns, lines * (1.2 + 0.22 * longest)), layout="constrained"
    )
    for number, (dataset, rows) in enumerate(content.items(), 1):
        axes = figure.add_subplot(lines, columns, number)
        colours = ["#1f77b4" if name.startswith("lgan") else "#c7c7c7" for name, _ in rows]
        axes.barh(range(len(rows)), [seconds for _, seconds in rows], color=colours)
        axes.set_yticks(range(len(rows)), [name for name, _ in rows], fontsize=8)
        axes.invert_yaxis()
        axes.set_xscale("log")
        axes.xaxis.set_minor_formatter(require("matplotlib.ticker").NullFormatter())
        axes.set_xlabel("seconds of an epoch", fontsize=8)
        axes.set_title(dataset, fontsize=9)
    where = record.environment
    figure.suptitle(f"{where.get('device')}, {where.get('threads')} threads", fontsize=10)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    canvas(figure).print_png(str(path))

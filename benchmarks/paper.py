"""What a whole table costs: ten-fold cross-validation of all six sets of the paper."""

from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import torch

from benchmarks.config import BenchConfig
from benchmarks.row import Bar, Row
from lgan.data import DATASETS, load
from lgan.nn import LGAN
from lgan.train import TrainConfig, cross_validate
from lgan.train.environment import peak_memory

# The largest first: what fits then, fits.
SETS = {"COLLAB": 64, "IMDB-MULTI": 64, "IMDB-BINARY": 64, "PROTEINS": 32, "PTC_MR": 32,
        "MUTAG": 32}  # fmt: skip
BARS = {"COLLAB": Bar("seconds", 8 * 60), "all six sets": Bar("seconds", 20 * 60)}
EPOCHS = 350


def paper(config: BenchConfig) -> list[Row]:
    """LGAN, 4 layers, 10 folds, 350 epochs of 50 steps, every set.

    With ``--full`` all epochs run; otherwise some, and their median is taken 350 times.
    """
    sets = {"triangles": 8} if config.quick else SETS
    rows = [_row(name, width, config) for name, width in sets.items()]
    note = "" if config.full else f"projected to {EPOCHS} epochs"
    total = sum(row.seconds or 0 for row in rows)
    name = "all six sets"
    rows.append(Row(name=name, what=f"{', '.join(sets)}", seconds=total, bar=BARS[name], note=note))
    return rows


def _row(name: str, width: int, config: BenchConfig) -> Row:
    config.progress(f"{name}: preparing")
    union = load(name, root=config.root, mirror=config.mirror).to(config.device)
    epochs = EPOCHS if config.full else 3 if config.quick else 8
    settings = TrainConfig(
        epochs=epochs, iterations=2 if config.quick else 50, batch_size=32, seed=config.seed
    )
    if config.device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(config.device)
    factory = partial(
        LGAN, union.num_features, width, union.num_classes, readout=DATASETS[name].readout
    )
    with TemporaryDirectory(prefix="lgan-bench-") as folder:
        result = cross_validate(
            factory, union, folds=10, config=settings, output=Path(folder),
            on_epoch=lambda epoch, _: config.progress(f"{name}: epoch {epoch} of {epochs}"),
        )  # fmt: skip
    seconds = result.seconds.tolist()
    typical = median(seconds[1:])
    return Row(
        name=name,
        what=f"10 folds, {EPOCHS} epochs of {settings.iterations} steps, 4 layers of width {width}",
        seconds=sum(seconds) if config.full else seconds[0] + typical * (EPOCHS - 1),
        memory=peak_memory(config.device),
        bar=BARS.get(name),
        size=union.num_graphs,
        note="" if config.full else f"projected from {epochs - 1} epochs",
        detail={"seconds of an epoch": typical},
    )

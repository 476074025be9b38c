"""What the processes do that `lgan bench scale` measures: ``python -m benchmarks.scale_work …``.

Times are taken inside them, without imports, and told as JSON.
"""

import json
import os
import statistics
import sys
import time
from functools import partial
from typing import Any

import torch
from torch import distributed

from lgan.data import Shards, prepare_shards
from lgan.data.shards.union import Graphs, ShardedUnion
from lgan.nn import LGAN
from lgan.predictor import load_model
from lgan.predictor.prediction_parts import predict_in_parts
from lgan.train import TrainConfig, train_ensemble
from lgan.train.curves import Curves
from lgan.train.processes import joined

# Graphs in a batch, of all processes together, and the width of the layers.
BATCH = {"cpu": 128, "cuda": 1024}
WIDTH = {"cpu": 64, "cuda": 128}
# Steps after which an epoch is long enough to be measured, and graphs that are held out.
STEPS, HELD_OUT = 150, 512
EXCHANGES = 10


def prepare(source: str, folder: str, shards: str, processes: str) -> dict[str, float]:
    """Make shards."""
    begin = time.perf_counter()
    made = prepare_shards(source, folder, shards=int(shards), processes=int(processes))
    return _cost(time.perf_counter() - begin, made)


def read(folder: str) -> dict[str, float]:
    """Read shard after shard, as training does between windows."""
    shards = Shards.open(folder)
    begin = time.perf_counter()
    for number in range(len(shards)):
        shards.union([number])
    return _cost(time.perf_counter() - begin, shards)


def _cost(seconds: float, shards: Shards) -> dict[str, float]:
    sizes = {"graphs": shards.num_graphs, "shards": len(shards), "bytes": shards.nbytes}
    return {"seconds": seconds, **sizes}


def epoch(folder: str, norm: str, window: str, device: str, size: str) -> dict[str, float]:
    """Train for an epoch, of a large table for a part of one, after a few steps that compile; with
    CUDA the second, after capturing. A few graphs of the first shard are held out.
    """
    place, batch = torch.device(device), int(size)
    torch.set_num_threads(1)
    shards = Shards.open(folder)
    graphs: Graphs = ShardedUnion(shards, int(window)) if int(window) else shards.union().to(place)
    options: dict[str, Any] = {
        "residual": True, "edge_dim": graphs.num_edge_features, "norm": norm,
    }  # fmt: skip
    width = WIDTH[place.type]
    factory = partial(LGAN, graphs.num_features, width, graphs.num_classes, **options)
    seconds: list[float] = []

    def note(number: int, curves: Curves) -> None:
        seconds.append(float(curves.seconds[number - 1]))

    folds = torch.full((graphs.num_graphs,), -1)
    held = min(HELD_OUT, graphs.num_graphs // 10)
    folds[: 2 * held] = torch.arange(2 * held) % 2  # of the two folds one is held out
    steps = max(1, min(STEPS, graphs.num_graphs // batch))
    train = partial(train_ensemble, factory, graphs, members=1, folds=folds, device=place)
    with joined():
        train(config=TrainConfig(epochs=1, iterations=3, batch_size=batch))
        epochs = 1 if place.type == "cpu" else 2
        train(config=TrainConfig(epochs=epochs, iterations=steps, batch_size=batch), on_epoch=note)
    return {
        "seconds": seconds[-1],
        "graphs": min(steps * batch, graphs.num_graphs),
        "batch": batch,
        "parameters": sum(weight.numel() for weight in factory().parameters()),
    }


def predict(model: str, table: str, folder: str, device: str) -> dict[str, float]:
    """Predict a table in parts; one row comes first, which loads what is compiled."""
    torch.set_num_threads(1)
    predictor = load_model(model).to(device)
    predictor.predict(["CCO"])
    begin = time.perf_counter()
    made = predict_in_parts(predictor, table, folder, parts=4)
    return {"seconds": time.perf_counter() - begin, "graphs": made.rows}


def exchange(size: str) -> dict[str, float]:
    """Add up so many bytes over all processes; the median of ten."""
    with joined():
        numbers, times = torch.ones(int(size) // 4), []
        for _ in range(EXCHANGES):
            distributed.barrier()
            begin = time.perf_counter()
            distributed.all_reduce(numbers)
            times.append(time.perf_counter() - begin)
    return {"seconds": statistics.median(times), "bytes": 4 * len(numbers)}


TASKS = {each.__name__: each for each in (prepare, read, epoch, predict, exchange)}

if __name__ == "__main__":
    what, *words = sys.argv[1:]
    found = TASKS[what](*words)
    if os.environ.get("RANK", "0") == "0":  # of several processes one speaks
        print(json.dumps(found))

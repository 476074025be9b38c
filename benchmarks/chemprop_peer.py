"""Chemprop at work on a CSV; run by an interpreter that has it, prints JSON.

``read FILE TARGET WORKERS`` builds its data set and graphs, ``epochs FILE TARGET KIND NUMBER``
trains its default model, ``regression`` or ``classification``. Not imported by anyone: chemprop
lives in an environment of its own.
"""

import json
import sys
import time
from typing import Any

import chemprop
import numpy as np
import pandas as pd
from chemprop.data import MoleculeDatapoint, MoleculeDataset, build_dataloader
from rdkit import RDLogger


def _points(path: str, target: str) -> list[MoleculeDatapoint]:
    table = pd.read_csv(path)
    points = []
    for smiles, y in zip(table["smiles"], table[target].to_numpy(float), strict=True):
        try:
            points.append(MoleculeDatapoint.from_smi(smiles, np.array([y])))
        except RuntimeError:  # its command line stops here; we let it go on
            continue
    return points


def read(path: str, target: str, workers: str) -> dict[str, Any]:
    """Build the data set and tell how long it took."""
    begin = time.perf_counter()
    data = MoleculeDataset(_points(path, target), n_workers=int(workers))
    data.cache = True
    seconds = time.perf_counter() - begin
    atoms = int(sum(data[i].mg.V.shape[0] for i in range(len(data))))
    return {"seconds": seconds, "graphs": len(data), "atoms": atoms}


def epochs(path: str, target: str, kind: str, number: str) -> dict[str, Any]:
    """Train the default model on nine tenths of the rows, validate on the rest: seconds of every
    epoch.
    """
    from chemprop.models import MPNN
    from chemprop.nn import (
        BinaryClassificationFFN,
        BondMessagePassing,
        NormAggregation,
        RegressionFFN,
    )
    from lightning import pytorch as pl

    class Clock(pl.Callback):
        def __init__(self) -> None:
            self.seconds: list[float] = []

        def on_train_epoch_start(self, *_: Any) -> None:
            self.begin = time.perf_counter()

        def on_train_epoch_end(self, *_: Any) -> None:  # after the validation
            self.seconds.append(time.perf_counter() - self.begin)

    points = _points(path, target)
    held_out = MoleculeDataset(points[::10])
    train = MoleculeDataset([point for i, point in enumerate(points) if i % 10])
    if kind == "regression":
        held_out.normalize_targets(train.normalize_targets())
    for part in (train, held_out):
        part.cache = True
    head = RegressionFFN() if kind == "regression" else BinaryClassificationFFN()
    model = MPNN(BondMessagePassing(), NormAggregation(), head, batch_norm=False)
    clock = Clock()
    trainer = pl.Trainer(
        accelerator="cpu", max_epochs=int(number), logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False, callbacks=[clock],
    )  # fmt: skip
    trainer.fit(model, build_dataloader(train), build_dataloader(held_out, shuffle=False))
    return {"seconds": clock.seconds, "graphs": len(points)}


if __name__ == "__main__":
    RDLogger.DisableLog("rdApp.*")
    what, *arguments = sys.argv[1:]
    told = {"read": read, "epochs": epochs}[what](*arguments)
    print(json.dumps(told | {"version": chemprop.__version__}))

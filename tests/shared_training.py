"""Trains small models in float64, alone or as one of several processes (a script)."""

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from safetensors.torch import save_file
from torch import Tensor

from lgan import LGAN, GraphUnion, TrainConfig, load
from lgan.data import Shards, prepare_shards
from lgan.data.shards.union import Graphs, ShardedUnion
from lgan.train import train_ensemble
from lgan.train.processes import joined

# Ethane and cyclopropane are twins through and through.
SMILES = ["CC", "C1CC1", "CCO", "C1CCC1", "CC(=O)O", "c1ccccc1", "CN", "C#N", "C1CC1C", "OCC1CC1"]
CASES: dict[str, dict[str, object]] = {
    "batch": {"norm": "batch"},
    "alone": {"norm": "batch", "members": 1},
    "layer": {"norm": "layer", "dropout": 0.5, "readout": "sum+mean+max", "residual": True},
    "epochs": {"norm": "batch", "dropout": 0.3, "patience": 2},
    "window": {"norm": "layer", "dropout": 0.3, "window": 4},
}


def trained(case: str, output: Path | None = None, *, resume: bool = False) -> dict[str, Tensor]:
    """The weights, statistics and figures of one of the cases."""
    options = dict(CASES[case])
    window = int(str(options.pop("window", 0)))
    if not window:
        return _trained(_union(), options, output, resume)
    with TemporaryDirectory() as made:
        return _trained(ShardedUnion(_shards(Path(made)), window), options, output, resume)


def _union() -> GraphUnion:
    union = load(SMILES * 4, targets={"y": [i % 3 for i in range(40)]})
    assert union.x_table is not None
    assert bool((union.lines.multiplicity > 1).any())
    return replace(union, x_table=union.x_table.double())


def _shards(folder: Path) -> Shards:
    rows = "\n".join(f"{smiles},{i % 3}" for i, smiles in enumerate(SMILES * 4))
    (folder / "t.csv").write_text(f"smiles,y\n{rows}\n")
    return prepare_shards(folder / "t.csv", folder / "shards", shards=8)


def _trained(
    union: Graphs, options: dict[str, object], output: Path | None, resume: bool
) -> dict[str, Tensor]:
    members, patience = options.pop("members", 3), options.pop("patience", 0)
    sizes = (union.num_features, 6, union.num_classes)
    ensemble = train_ensemble(
        partial(LGAN, *sizes, num_layers=2, edge_dim=union.num_edge_features, **options),
        union,
        members=members,
        folds=4,
        config=TrainConfig(epochs=4, iterations=3, batch_size=7, patience=patience, average=0.5),
        output=output,
        resume=resume,
    )
    figures = {"test": ensemble.test, "loss": ensemble.loss, "said": ensemble.member_predictions}
    return {**ensemble.network.state_dict(), **figures}


if __name__ == "__main__":
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    with joined() as leader:
        for name in CASES:
            found = trained(name)
            if leader:
                save_file({k: v.contiguous() for k, v in found.items()}, f"{sys.argv[1]}/{name}")

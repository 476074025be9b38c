"""The study behind the recipe: one change at a time, on sets that are judged apart from each other.

    python -m paper.recipe_study prepare --molecules FOLDER --folder F
    python -m paper.recipe_study run --folder F [--choices A;B] [--sets S,T] [--members M]
    lgan table recipe

`prepare` needs RDKit and writes every set of the suite, encoded as a user's own data would be, with
its folds; `run` trains what is not in the records yet. The first round compared choices with a
base, two members each; the second compares changes of the recipe with it, four members each. The
third is in `paper.molecule_choices`. The fourth asks what to tell of whole graphs.
"""

import argparse
import csv
import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import torch

from benchmarks.record import add_json_line, json_lines
from lgan._version import __version__
from lgan.data import Encoder, load_raw, stratified_folds
from lgan.data.cache import load_tensors, save_tensors
from lgan.data.graph_features import OF_GRAPHS, OF_MOLECULES, decided_by_width
from lgan.data.molecules.descriptors import BITS
from lgan.data.raw import RawGraphs
from lgan.data.split_words import Split
from lgan.experiment import settings_for
from lgan.experiment.run import variant
from lgan.graph import GraphUnion
from lgan.nn import LGAN
from lgan.task import Task
from lgan.train import TrainConfig, cross_validate
from lgan.train.environment import environment
from lgan.zoo import GIN
from paper import molecule_choices, uneven
from paper.render import Grid

RECORDS = Path("results/recipe")
# Sets that a choice must have been measured on to be chosen.
FEWEST = 6
# Outer folds.
FOLDS = 5
# Errors as small as that are none.
SOLVED = 1e-3
# Source, and how its folds are drawn.
SUITE = {
    "MUTAG": ("MUTAG", "stratified"),
    "PTC_MR": ("PTC_MR", "stratified"),
    "Mutagenicity": ("Mutagenicity", "stratified"),
    "PROTEINS": ("PROTEINS", "stratified"),
    "IMDB-BINARY": ("IMDB-BINARY", "stratified"),
    "IMDB-MULTI": ("IMDB-MULTI", "stratified"),
    "ESOL": ("ESOL.csv", "random"),
    "ESOL-scaffold": ("ESOL.csv", "scaffold"),
    "FreeSolv": ("FreeSolv.csv", "random"),
    "FreeSolv-scaffold": ("FreeSolv.csv", "scaffold"),
    "BBBP": ("BBBP.csv", "stratified"),
    "BBBP-scaffold": ("BBBP.csv", "scaffold"),
    "ClinTox": ("ClinTox.csv", "random"),
    "triangles": ("triangles", "stratified"),
    "properties": ("HIV.csv", "random"),
}
# Rows of HIV.csv, drawn with seed 0, whose computed logP and QED are the targets.
PROPERTIES = 4000
CODES = ("none", "rings", "full")
DENSE = ("IMDB-BINARY", "IMDB-MULTI")
# Where every choice begins. Settings of the network first, then those of the training.
NETWORK: dict[str, Any] = {
    "hidden": 64, "num_layers": 4, "residual": True, "norm": "layer",
    "readout": "sum+mean+max",
    "dropout": 0.2, "head_layers": 1, "pair_code": "none",
}  # fmt: skip
TRAINING: dict[str, Any] = {
    "epochs": 60, "optimizer": "adamw", "lr": 0.002, "weight_decay": 1e-4, "schedule": "cosine",
    "warmup": 0.05, "window": 5, "batch_size": 0,
}  # fmt: skip
# One change each; `batch_size` 0 is a twentieth of the graphs, 16 to 128.
CHOICES: dict[str, dict[str, Any]] = {
    "base": {},
    "batch norm": {"norm": "batch"},
    "before": {
        "norm": "batch", "optimizer": "adam", "lr": 0.003, "schedule": "halving",
        "lr_halving": 25, "warmup": 0.0, "weight_decay": 0.0, "batch_size": 64, "window": 1,
        "residual": False, "readout": "sum",
    },
    "sum": {"readout": "sum"},
    "mean": {"readout": "mean"},
    "sum+mean": {"readout": "sum+mean"},
    "rings": {"pair_code": "rings"},
    "full codes": {"pair_code": "full"},
    "dropout 0": {"dropout": 0.0},
    "dropout 0.5": {"dropout": 0.5},
    "lr 0.0007": {"lr": 0.0007},
    "lr 0.005": {"lr": 0.005},
    "width 128": {"hidden": 128},
    "two maps behind": {"head_layers": 2},
    "input too": {"include_input": True},
    "squash": {"squash": True},
    "average": {"average": 0.8},
    "decay 0.01": {"weight_decay": 0.01},
    "6 layers": {"num_layers": 6},
    "batch norm, input too": {"norm": "batch", "include_input": True},
    "batch norm, two maps behind": {"norm": "batch", "head_layers": 2},
    "batch norm, dropout 0": {"norm": "batch", "dropout": 0.0},
    "batch norm, average": {"norm": "batch", "average": 0.8},
    "batch norm, lr 0.005": {"norm": "batch", "lr": 0.005},
    "batch norm, 120 epochs": {"norm": "batch", "epochs": 120},
    "batch norm, all": {
        "norm": "batch", "include_input": True, "head_layers": 2, "pair_code": "rings",
    },
    "recipe": {"norm": "batch", "dropout": 0.0, "average": 0.8},
    "recipe, rings": {"norm": "batch", "dropout": 0.0, "average": 0.8, "pair_code": "rings"},
    "recipe, squash": {"norm": "batch", "dropout": 0.0, "average": 0.8, "squash": True},
    "recipe, full codes": {"norm": "batch", "dropout": 0.0, "average": 0.8, "pair_code": "full"},
    "recipe, lr 0.0007": {"norm": "batch", "dropout": 0.0, "average": 0.8, "lr": 0.0007},
    "recipe, no average, rings": {"norm": "batch", "dropout": 0.0, "pair_code": "rings"},
    "recipe, gin": {"norm": "batch", "dropout": 0.0, "average": 0.8, "model": "gin"},
    "gin": {"model": "gin"},
    "gin batch norm": {"model": "gin", "norm": "batch"},
}  # fmt: skip
CHANGES: dict[str, dict[str, Any]] = {
    "lr 0.0007, 120 epochs": {"lr": 0.0007, "epochs": 120},
    "lr 0.004": {"lr": 0.004},
    "120 epochs": {"epochs": 120},
    "squash, lr 0.0007": {"squash": True, "lr": 0.0007},
    "splines": {"pair_code": "full", "code_map": "spline"},
    "splines, squash, lr 0.0007": {
        "pair_code": "full", "code_map": "spline", "squash": True, "lr": 0.0007,
    },
    "width 128": {"hidden": 128},
    "two maps behind": {"head_layers": 2},
    "two maps behind, squash": {"head_layers": 2, "squash": True},
    "mean+max": {"readout": "mean+max"},
    "squashed read-out": {"readout": "squashed+mean+max"},
    "squashed read-out, lr 0.0007": {"readout": "squashed+mean+max", "lr": 0.0007},
    "squashed read-out, squash": {"readout": "squashed+mean+max", "squash": True},
    "dropout 0.2": {"dropout": 0.2},
    "decay 0.05": {"weight_decay": 0.05},
    "batches of 64": {"batch_size": 64},
    "two maps behind, batches of 64": {"head_layers": 2, "batch_size": 64},
    "two maps behind, batches of 64, 120 epochs": {
        "head_layers": 2, "batch_size": 64, "epochs": 120,
    },
    "gin, lr 0.0007": {"model": "gin", "lr": 0.0007},
}  # fmt: skip
# What is told of whole molecules, half of it dropped in training or nothing.
TOLD: dict[str, dict[str, Any]] = {
    "fingerprints": {"told": ("morgan",)},
    "fingerprints, dropped": {"told": ("morgan",), "graph_dropout": 0.5},
    "descriptors, dropped": {"told": ("rdkit2d",), "graph_dropout": 0.5},
    "both, dropped": {"told": tuple(OF_MOLECULES), "graph_dropout": 0.5},
}
_NOW = "two maps behind, batches of 64"
CHANGES |= {f"{_NOW}, {name}": {**CHANGES[_NOW], **told} for name, told in TOLD.items()}
CHOICES |= {f"recipe, {name}": {**CHOICES["recipe"], **change} for name, change in CHANGES.items()}
# Settings of the default as it is, all epochs, without and with what is told of whole graphs.
WHOLE: dict[str, dict[str, Any]] = {
    "graphs alone": {"patience": 0, "graph_features": "none"},
    "patterns and shape": {"patience": 0, "companion": "none"},
}
# Whose patterns are those that so many graphs have; in the others they take all places.
SHARED = {f"patterns of {least} or more graphs, shape": least for least in (1, 2, 3)}
WHOLE |= dict.fromkeys(SHARED, WHOLE["patterns and shape"])
SHARED["patterns, shape, a companion"] = 2
WHOLE["patterns, shape, a companion"] = {"patience": 0}
LABELLED = ("MUTAG", "PTC_MR", "Mutagenicity", "PROTEINS")
MOLECULES = ("ESOL", "FreeSolv", "ClinTox")


class Round(NamedTuple):
    """A part of the study.

    Attributes:
        members: Models of an ensemble: of each outer fold, which hold another fold out to choose
            the epoch.
        base: What its choices are compared with.
        sets: The columns of its table.
        choices: The rows.
        how: How a cell was measured.
    """

    members: int
    base: str
    sets: Iterable[str]
    choices: Iterable[str]
    how: str


_BAGGED = "{folds} outer folds, {members} members each, rule `bagged`"
ROUNDS = (
    Round(2, "base", SUITE, CHOICES, _BAGGED.format(folds=FOLDS, members=2)),
    Round(4, "recipe", SUITE, CHOICES, _BAGGED.format(folds=FOLDS, members=4)),
    Round(
        molecule_choices.MEMBERS,
        "default before",
        molecule_choices.SPLITS,
        molecule_choices.CHOICES,
        f"{molecule_choices.MEMBERS} members trained on the training part of each split and "
        "judged on its validation part",
    ),
    Round(4, "graphs alone", LABELLED, WHOLE, _BAGGED.format(folds=FOLDS, members=4)),
    Round(
        4,
        "graphs alone",
        DENSE,
        WHOLE,
        "Graphs without labels, by `lgan cv`: " + _BAGGED.format(folds=FOLDS, members=4),
    ),
    Round(
        2,
        "graphs alone",
        MOLECULES,
        WHOLE,
        "Molecules without what RDKit computes of them as wholes, by `lgan cv`: "
        + _BAGGED.format(folds=FOLDS, members=2),
    ),
    Round(
        uneven.MEMBERS,
        "sums as they are",
        uneven.NAMES,
        uneven.CHOICES,
        f"Made graphs, 300 a set, and a social network with labels that say nothing, by "
        f"`python -m paper.uneven`: {uneven.FOLDS} folds, {uneven.MEMBERS} members; the error of "
        "numbers is 1 - R²",
    ),
)


def prepare(molecules: Path, folder: Path, sets: list[str]) -> None:
    """Write sets of the suite with their folds, as far as they are not there."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in sets:
        source, split = SUITE[name]
        path = molecules / source
        if name == "properties":
            raw = _properties(path)
        else:
            own = path.exists()
            raw = load_raw(path if own else source, targets="all" if own else None)
        # Descriptors tell what `properties` asks for.
        told = () if name == "properties" else OF_MOLECULES if raw.featuriser else OF_GRAPHS
        encoder = Encoder.fit(raw, graph_features=tuple(told))
        if encoder.graphs is not None:
            encoder = replace(encoder, graphs=replace(encoder.graphs, places=None))
        assert encoder.task is not None
        fold = Split.parse(split).folds(raw, encoder.task, FOLDS, 0)
        for code in CODES:
            if (code == "rings" and name in DENSE) or (folder / _file(name, code)).exists():
                continue
            for compress in (True, False) if code == "none" else (True,):
                union = encoder.encode(raw, pair_code=code, compress=compress)
                about = {"task": json.dumps(encoder.task.to_json()), "name": name}
                tensors = {**union.tensors(), "fold": fold}
                save_tensors(folder / _file(name, code if compress else "plain"), tensors, about)
        print(name, union, flush=True)


def _properties(path: Path) -> RawGraphs:
    """Molecules with what RDKit computes of them: many, and numbers."""
    from rdkit.Chem import MolFromSmiles
    from rdkit.Chem.QED import qed
    from rdkit.Chem.rdMolDescriptors import CalcCrippenDescriptors

    with path.open(newline="") as file:
        smiles = [row["smiles"] for row in csv.DictReader(file)]
    chosen = np.random.default_rng(0).permutation(len(smiles))[:PROPERTIES].tolist()
    read = [(smiles[row], MolFromSmiles(smiles[row])) for row in chosen]
    kept = [(text, molecule) for text, molecule in read if molecule is not None]
    return load_raw(
        [text for text, _ in kept],
        targets={
            "logp": [CalcCrippenDescriptors(molecule)[0] for _, molecule in kept],
            "qed": [qed(molecule) for _, molecule in kept],
        },
    )


def run(
    folder: Path, output: Path, sets: list[str], choices: list[str], members: int, seed: int
) -> None:
    """Train what is not in the records yet and add a line for each."""
    output.parent.mkdir(parents=True, exist_ok=True)
    done = {
        (row["set"], row["choice"], row["members"], row["seed"]) for row in records(output.parent)
    }
    place = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    for choice in choices:
        for name in sets:
            if (name, choice, members, seed) not in done:
                row = _measure(folder, name, choice, members, seed, place)
                if row is None:
                    print(name, choice, "is not prepared", flush=True)
                    continue
                add_json_line(output, row)
                print(name, choice, row["bagged"], row["fair"], row["seconds"], flush=True)


def records(folder: Path = RECORDS) -> Iterator[dict[str, Any]]:
    """All rows that were measured; those of the first round do not tell their members."""
    for path in sorted(folder.glob("*.jsonl")):
        yield from ({"members": 2, **row} for row in json_lines(path))


def _measure(
    folder: Path, name: str, choice: str, members: int, seed: int, place: torch.device
) -> dict[str, Any] | None:
    change = {} if choice in WHOLE else {**CHOICES[choice]}
    plain = change.pop("model", "lgan") == "gin"
    settings = {**NETWORK, **TRAINING, **change}
    code, told = settings["pair_code"], settings.pop("told", ())
    if choice in WHOLE:
        code = "full" if name in DENSE else "none"
        told = () if "graph_features" in WHOLE[choice] else tuple(OF_GRAPHS)
    path = folder / _file(name, "plain" if plain else code)
    if not path.exists():
        return None
    tensors, about = load_tensors(path)
    fold, features = tensors.pop("fold"), tensors.pop("graph_x", None)
    kinds = () if features is None else decided_by_width(features.size(1))
    if {*told} - {*kinds}:
        return None
    if told and features is not None:
        parts = dict(zip(kinds, features.split([BITS, features.size(1) - BITS], 1), strict=True))
        if least := SHARED.get(choice):
            shared = (parts["patterns"] > 0).sum(0) >= least
            parts["patterns"] = parts["patterns"][:, shared]
        tensors["graph_x"] = torch.cat([parts[kind] for kind in told], 1)
    task = Task.from_json(json.loads(about["task"]))
    union = GraphUnion.from_tensors(tensors, name, task).to(place)
    settings["batch_size"] = settings["batch_size"] or max(16, min(128, union.num_graphs // 20))
    training = {key: settings[key] for key in settings if key in TrainConfig.__dataclass_fields__}
    hidden = settings["hidden"]
    network = {key: settings[key] for key in settings if key not in {*training, "hidden"}}
    network["edge_dim"] = union.num_edge_features or None
    network["graph_dim"] = union.num_graph_features or None
    if plain:
        network = {k: v for k, v in network.items()
                   if k in ("num_layers", "norm", "readout", "dropout", "edge_dim")}  # fmt: skip
    sizes = (union.num_features, hidden, task.num_outputs)
    build: Callable[[], torch.nn.Module] = partial(GIN if plain else LGAN, *sizes, **network)
    config = TrainConfig(**training, iterations=0, seed=seed)
    if choice in WHOLE:
        present = variant(settings_for("lgan", "", seed=seed, **WHOLE[choice]), union)
        build, config, settings = present.factory, present.config, present.about
        if seed:  # draws other folds too
            fold = stratified_folds(union.y.cpu(), FOLDS, seed)
    begin = time.perf_counter()
    metric = task.default_metric.name if task.classes else "rmse"
    result = cross_validate(build, union, folds=fold, config=config, bagged=members, metric=metric)
    bagged, fair = result.selected("bagged"), result.selected("fair")
    return {
        "set": name, "choice": choice, "members": members, "seed": seed, "metric": result.metric,
        "bagged": round(bagged.mean, 5), "fair": round(fair.mean, 5),
        "bagged_folds": [round(value, 5) for value in bagged.folds],
        "fair_folds": [round(value, 5) for value in fair.folds],
        "epochs": bagged.epochs, "seconds": round(time.perf_counter() - begin, 1),
        "settings": settings | ({"told": told} if told else {}), "version": __version__,
        "environment": environment(place),
    }  # fmt: skip


def _file(name: str, code: str) -> str:
    return f"{name}.{code}.safetensors"


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("what", choices=("prepare", "run"))
    parser.add_argument("--folder", type=Path, default=Path("data/recipe"))
    parser.add_argument("--molecules", type=Path, default=Path("molecules"))
    parser.add_argument("--output", type=Path, default=RECORDS / "study.jsonl")
    parser.add_argument("--members", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sets", default=",".join(SUITE))
    parser.add_argument("--choices", default=";".join(CHOICES))
    given = parser.parse_args()
    sets = given.sets.split(",")
    if given.what == "prepare":
        prepare(given.molecules, given.folder, sets)
    else:
        choices = given.choices.split(";")
        run(given.folder, given.output, sets, choices, given.members, given.seed)


def recipe_grids(rows: list[dict[str, Any]]) -> list[Grid]:
    """Of every round: what every choice is worth on every set, and what leaving one set out would
    have chosen."""
    return [grid for one in ROUNDS for grid in _round(rows, one)]


def _round(rows: list[dict[str, Any]], one: Round) -> list[Grid]:
    members, base, columns, choices, how = one
    rows = [
        row
        for row in rows
        if row["members"] == members and row["choice"] in choices and row["set"] in columns
    ]
    metric = {row["set"]: row["metric"] for row in rows}
    values: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        values.setdefault((row["set"], row["choice"]), []).append(row["bagged"])
    reached = {cell: fmean(each) for cell, each in values.items()}
    error = {cell: _error(metric[cell[0]], value) for cell, value in reached.items()}
    # A set that is solved tells nothing of what could be better.
    sets = [name for name in columns if error.get((name, base), SOLVED) > SOLVED]
    gains = {
        choice: {
            name: 100 * (1 - error[name, choice] / error[name, base])
            for name in sets
            if (name, choice) in error
        }
        for choice in choices
    }
    gains = {choice: gain for choice, gain in gains.items() if gain}
    if not gains:
        return []
    cells = [
        [choice, *(f"{gain[n]:+.1f}" if n in gain else "" for n in sets),
         f"{fmean(gain.values()):+.1f}"]
        for choice, gain in gains.items()
    ]  # fmt: skip
    told = ", ".join(f"{name} {metric[name]} {reached[name, base]:.3f}" for name in sets)
    seeds = len({row["seed"] for row in rows})
    drawn = "seed 0: one run a cell" if seeds == 1 else f"up to {seeds} seeds a cell"
    notes = [
        f"{how}, {drawn}, so that "
        "differences of a few percent on one set are noise. Blank: not measured.",
        f"The {base}: {told}.",
    ]
    left_out = []
    for name in sets:
        others = {
            choice: fmean(value for other, value in gain.items() if other != name)
            for choice, gain in gains.items()
            if name in gain and len(gain) >= FEWEST and "gin" not in choice
        }
        if others:
            best = max(others, key=lambda choice: others[choice])
            left_out.append([name, best, f"{others[best]:+.1f}", f"{gains[best][name]:+.1f}"])
    title = f"Less error than the {base}, in percent, by choice and set"
    worth = Grid(title, ["choice", *sets, "mean"], cells, notes)
    chosen = Grid(
        f"The choice by all other sets, and what it is worth on the set left out ({base})",
        ["set", "chosen by the others", "gain there", "gain here"],
        left_out,
    )
    return [worth, chosen] if left_out else [worth]


def _error(metric: str, value: float) -> float:
    return max(value if metric in ("rmse", "mae", "log-loss") else 1 - value, SOLVED)


if __name__ == "__main__":
    main()

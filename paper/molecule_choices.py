"""Changes of the default on molecules, judged on validation parts alone: the third round of the
study behind the recipe, and the one with large sets.

    python -m paper.molecules prepare --molecules FOLDER --folder F
    python -m paper.molecule_choices --folder F [--choices A;B] [--sets HIV,Tox21-scaffold]
    lgan table recipe

The sets and splits are those of the table of molecules. Members are trained on the training part
of every split and judged together on its validation part; test parts are not read. Choices are
compared with the default before this round, whose epochs fell from 5,000 graphs on.
"""

import argparse
import re
import time
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import torch

from benchmarks.record import add_json_line, json_lines
from lgan._version import __version__
from lgan.train.environment import environment, typed_command
from paper.molecule_networks import networks
from paper.molecule_peers import FORESTS, link
from paper.molecule_sets import SEEDS, SETS, TRAIN, VALIDATION, PreparedSet
from paper.molecules import called

RECORDS = Path("results/recipe/validation.jsonl")
MEMBERS = 3
# Set and split by the name of a column.
SPLITS = {
    f"{name}{'-scaffold' if kind == 'scaffold' else ''}": (name, kind)
    for name, (_, _, kinds) in SETS.items()
    for kind in kinds
}
TOLD, ALONE = "lgan+morgan+rdkit2d", {"companion": "none"}
# A model of the table of molecules and what is changed of it; `longer` multiplies the epochs.
CHOICES: dict[str, tuple[str, dict[str, Any]]] = {
    "default before": ("lgan+none", {}),
    "width 128": ("lgan+none", {"hidden": 128}),
    "width 128, dropout 0.2": ("lgan+none", {"hidden": 128, "dropout": 0.2}),
    "dropout 0.2": ("lgan+none", {"dropout": 0.2}),
    "dropout 0.5": ("lgan+none", {"dropout": 0.5}),
    "twice the epochs": ("lgan+none", {"longer": 2.0}),
    "twice the epochs, stopping": ("lgan+none", {"longer": 2.0, "patience": 20}),
    "half the epochs": ("lgan+none", {"longer": 0.5}),
    "four times the epochs": ("lgan+none", {"longer": 4.0}),
    "twice the epochs, dropout 0.2": ("lgan+none", {"longer": 2.0, "dropout": 0.2}),
    "width 128, twice the epochs": ("lgan+none", {"hidden": 128, "longer": 2.0}),
    "mean": ("lgan+none", {"readout": "mean"}),
    "mean+max": ("lgan+none", {"readout": "mean+max"}),
    "layer norm": ("lgan+none", {"norm": "layer"}),
    "lr 0.0007": ("lgan+none", {"lr": 0.0007}),
    "decay 0.05": ("lgan+none", {"weight_decay": 0.05}),
    "batches of 512": ("lgan+none", {"batch_size": 512}),
    "6 layers": ("lgan+none", {"num_layers": 6}),
    "one map behind": ("lgan+none", {"head_layers": 1}),
    "balanced classes": ("lgan+none", {"class_weight": "balanced"}),
    "rings": ("lgan+none", {"pair_code": "rings"}),
    "edge states": ("lgan+edge-states", {}),
    "gine": ("gine", {}),
    "fingerprints and descriptors, withheld": (TOLD, ALONE),
    "fingerprints and descriptors, withheld, twice the epochs": (TOLD, {**ALONE, "longer": 2.0}),
    "fingerprints and descriptors, a companion": (TOLD, {}),
    "descriptors": ("lgan+rdkit2d", ALONE),
    "descriptors learned": ("lgan+learned", {}),
    "descriptors learned, as much": ("lgan+learned-1", {}),
    "a forest": ("rf", {}),
    "a forest, leaves of two": ("rf-tuned", {}),
    "a forest beside": ("lgan+rf-tuned", {"longer": 2.0}),
    "fingerprints and descriptors": (TOLD, ALONE),
    "fingerprints and descriptors, none dropped": (TOLD, {**ALONE, "graph_dropout": 0.0}),
    "fingerprints and descriptors, dropout 0.2": (TOLD, {**ALONE, "dropout": 0.2}),
}


def run(
    folder: Path,
    output: Path,
    columns: list[str],
    choices: list[str],
    members: int,
    answers: Path | None = None,
) -> None:
    """Measure what is not in the records yet and add a line for each; what every member says goes
    to the folder ``answers``, where one is given.
    """
    output.parent.mkdir(parents=True, exist_ok=True)
    rows = json_lines(output) if output.exists() else []
    done = {(row["set"], row["choice"], row["members"]) for row in rows}
    for column in columns:
        for choice in choices:
            count = 1 if CHOICES[choice][0] in FORESTS else members
            if (column, choice, count) not in done:
                row, each = _measure(folder, column, choice, count)
                if answers is not None:
                    answers.mkdir(parents=True, exist_ok=True)
                    name = re.sub(r"\W+", "-", f"{column} {choice}")
                    np.savez_compressed(answers / f"{name}.npz", *each)
                add_json_line(output, row)
                print(column, choice, row["bagged"], row["seconds"], flush=True)


def _measure(
    folder: Path, column: str, choice: str, members: int
) -> tuple[dict[str, Any], list[Any]]:
    name, split = SPLITS[column]
    model, change = CHOICES[choice]
    data = PreparedSet.load(folder, name)
    seeds = [0] if split == "ogb" else list(SEEDS)
    inside = sum(int((data.part(split, seed) == TRAIN).sum()) for seed in seeds) // len(seeds)
    epochs = round(change.get("longer", 1) * max(15, min(60, round(60 * (5000 / inside) ** 0.5))))
    change = {"epochs": epochs, "patience": 0, **change}
    change.pop("longer", None)
    begin = time.perf_counter()
    told: dict[str, Any] = {"folder": str(folder), "name": name, "split": split, "model": model}
    told["judged"] = VALIDATION
    if model in FORESTS:
        grown = [called("paper.molecule_peers:forest", {**told, "seed": seed}) for seed in seeds]
        classes = data.union.known_task.has_classes
        said = [link(trees["predictions"], classes=classes) for trees in grown]
        ran = {**grown[0], "epochs": [], "environment": environment(torch.device("cpu"))}
    else:
        told |= {"seeds": seeds, "members": members, "change": change, "keep": True}
        ran = networks(**told)
        said = [np.asarray(answers) for answers in ran["predictions"]]
    scores = [
        data.score(split, seed, VALIDATION, answers)
        for seed, answers in zip(seeds, said, strict=True)
    ]
    row = {
        "set": column, "choice": choice, "members": members, "seed": 0, "metric": data.metric.name,
        "bagged": round(fmean(scores), 5), "bagged_folds": [round(value, 5) for value in scores],
        "epochs": ran["epochs"], "seconds": round(time.perf_counter() - begin, 1),
        "settings": ran["settings"], "version": __version__,
        "environment": {**ran["environment"], "command": typed_command()},
    }  # fmt: skip
    return row, ran.get("each", [])


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--folder", type=Path, default=Path("data/molecules"))
    parser.add_argument("--output", type=Path, default=RECORDS)
    parser.add_argument("--sets", default=",".join(SPLITS))
    parser.add_argument("--choices", default=";".join(CHOICES))
    parser.add_argument("--answers", type=Path)
    parser.add_argument("--members", type=int, default=MEMBERS)
    given = parser.parse_args()
    columns, choices = given.sets.split(","), given.choices.split(";")
    unknown = sorted({*columns} - {*SPLITS}) + sorted({*choices} - {*CHOICES})
    if unknown:
        parser.error(f"Expected sets of {', '.join(SPLITS)} and choices of {'; '.join(CHOICES)}, "
                     f"got {unknown[0]!r}.")  # fmt: skip
    run(given.folder, given.output, columns, choices, given.members, given.answers)


if __name__ == "__main__":
    main()

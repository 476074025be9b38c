"""Molecules, head to head: every model on the same rows of the same splits.

    python -m paper.molecules prepare --molecules FOLDER
    python -m paper.molecules run --sets ESOL,FreeSolv --models lgan,chemprop,rf --members 1,5
    lgan table molecules

`prepare` needs RDKit and writes every set once; `run` measures what is not in the records yet,
every cell in a process of its own, and appends a line for each. Chemprop is run by the interpreter
that the environment variable LGAN_CHEMPROP_PYTHON names.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.child import call_in_child
from lgan._version import __version__
from lgan.train.environment import environment
from paper.molecule_networks import NETWORKS
from paper.molecule_peers import FORESTS, link
from paper.molecule_sets import SEEDS, SETS, TEST, PreparedSet, prepare

__all__ = ["records", "run"]

RECORDS = Path("results/molecules")
MODELS = (*NETWORKS, "chemprop", *FORESTS)


def records(folder: Path = RECORDS) -> Iterator[dict[str, Any]]:
    """All cells that were measured, each with the file it is in."""
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            yield {**json.loads(line), "record": path.name}


def run(
    folder: Path, output: Path, sets: list[str], models: list[str], members: list[int], seeds: int
) -> None:
    """Measure the cells that no record beside ``output`` holds yet.

    Args:
        folder: Where the sets are prepared.
        output: File of JSON lines that cells are added to.
        sets: Sets, the smallest first, say.
        models: Models.
        members: Sizes of ensembles; forests have one.
        seeds: Trainings on the split of ogbg-molhiv.
    """
    output.parent.mkdir(parents=True, exist_ok=True)
    done = {_key(row) for row in records(output.parent)}
    for name in sets:
        for split in SETS[name][2]:
            for model in models:
                asked = [1] if model in FORESTS else members
                left = [n for n in asked if (name, split, model, n) not in done]
                for row in _cells(folder, name, split, model, left, seeds):
                    with output.open("a") as file:
                        file.write(json.dumps(row) + "\n")
                    shown = [round(score, 4) for score in row["scores"]]
                    print(*_key(row), shown, row["train_seconds"], flush=True)


def _cells(
    folder: Path, name: str, split: str, model: str, members: list[int], seeds: int
) -> Iterator[dict[str, Any]]:
    """Measured cells, one for each number of members."""
    each = list(range(seeds)) if split == "ogb" else list(SEEDS)
    where = {"folder": str(folder), "name": name, "split": split}
    if not members:
        return
    if model in NETWORKS:
        for count in members:
            told = {**where, "seeds": each, "model": model, "members": count}
            ran = _called("paper.molecule_networks:networks", told)
            yield _row(folder, name, split, model, count, each, ran)
        return
    function = "paper.molecule_peers:" + ("chemprop" if model == "chemprop" else "forest")
    for_all = {"members": max(members)} if model == "chemprop" else {"model": model}
    ran_each = [_called(function, {**where, "seed": seed, **for_all}) for seed in each]
    for count in members:
        own = [ran["members"][str(count)] for ran in ran_each] if model == "chemprop" else ran_each
        ran = {key: [one[key] for one in own] for key in own[0]}
        ran |= {"settings": ran_each[0]["settings"], "peak_memory": max(ran["peak_memory"])}
        yield _row(folder, name, split, model, count, each, ran)


def _called(function: str, arguments: dict[str, Any]) -> dict[str, Any]:
    ran = call_in_child(function, arguments)
    if ran.problem:
        raise RuntimeError(f"{arguments} {ran.problem}")
    return {"peak_memory": ran.memory, **ran.result}


def _row(
    folder: Path, name: str, split: str, model: str, members: int, seeds: list[int],
    ran: dict[str, Any],
) -> dict[str, Any]:  # fmt: skip
    data = PreparedSet.load(folder, name)
    task = data.union.known_task
    metric = task.metric("roc-auc" if task.classes else "rmse")
    scores, rows = [], []
    for seed, said in zip(seeds, ran["predictions"], strict=True):
        part = data.parts[split, 0 if split == "ogb" else seed]
        answers = np.asarray(said) if model in NETWORKS else link(said, classes=task.has_classes)
        scores.append(metric(data.union.y[part == TEST].numpy(), answers))
        rows.append(torch.bincount(part, minlength=3).tolist())
    return {
        "dataset": name, "split": split, "metric": metric.name, "model": model,
        "members": members, "seeds": seeds, "scores": [round(score, 6) for score in scores],
        "train_seconds": [round(value, 3) for value in ran["train_seconds"]],
        "predict_seconds": [round(value, 4) for value in ran["predict_seconds"]],
        "peak_memory": ran["peak_memory"], "rows": rows, "settings": ran["settings"],
        "version": __version__,
        "environment": ran.get("environment") or environment(torch.device("cpu")),
    }  # fmt: skip


def _key(row: dict[str, Any]) -> tuple[str, str, str, int]:
    return row["dataset"], row["split"], row["model"], row["members"]


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("what", choices=("prepare", "run"))
    parser.add_argument("--folder", type=Path, default=Path("data/molecules"))
    parser.add_argument("--molecules", type=Path, default=Path("molecules"))
    parser.add_argument("--output", type=Path, default=RECORDS / "cells.jsonl")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--models", default="lgan")
    parser.add_argument("--members", default="1,5")
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    sets = given.sets.split(",")
    if given.what == "prepare":
        given.folder.mkdir(parents=True, exist_ok=True)
        prepare(given.molecules, given.folder, sets)
        return
    models, members = given.models.split(","), [int(n) for n in given.members.split(",")]
    unknown = sorted({*sets} - {*SETS}) + sorted({*models} - {*MODELS})
    if unknown:
        parser.error(f"Expected sets of {', '.join(SETS)} and models of {', '.join(MODELS)}, "
                     f"got {unknown[0]!r}.")  # fmt: skip
    run(given.folder, given.output, sets, models, members, given.seeds)


if __name__ == "__main__":
    main()

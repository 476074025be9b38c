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
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.child import call_in_child
from benchmarks.record import add_json_line, json_lines
from lgan._version import __version__
from lgan.data.cache import save_json
from lgan.train.environment import environment, typed_command
from paper.molecule_networks import NETWORKS
from paper.molecule_peers import FORESTS, link
from paper.molecule_sets import SEEDS, SETS, TEST, PreparedSet, prepare

RECORDS = Path("results/molecules")
Cell = tuple[str, str, str, int]
MODELS = (*NETWORKS, "chemprop", *FORESTS)


def records(folder: Path = RECORDS) -> Iterator[dict[str, Any]]:
    """All cells that were measured, each with the file it is in."""
    for path in sorted(folder.glob("*.jsonl")):
        yield from ({**row, "record": path.name} for row in json_lines(path))


def run(
    folder: Path,
    output: Path,
    sets: list[str],
    models: list[str],
    members: list[int],
    *,
    seeds: int = 3,
    processes: int = 1,
) -> None:
    """Measure the cells that no record beside ``output`` holds yet.

    What the peers do model by model is kept below ``folder`` as it is done, so that a run that was
    stopped loses no more than the models it was at.
    """
    output.parent.mkdir(parents=True, exist_ok=True)
    key = itemgetter("dataset", "split", "model", "members")
    done = {key(row) for row in records(output.parent)}
    cells = [
        (name, split, model, count)
        for name in sets
        for split in SETS[name][2]
        for model in models
        for count in ([1] if model in FORESTS else members)
        if (name, split, model, count) not in done
    ]
    with ThreadPoolExecutor(processes) as pool:

        @cache
        def unit(
            name: str, split: str, model: str, seed: int, member: int
        ) -> Future[dict[str, Any]]:
            """A model of a peer, trained once for whichever cells need it."""
            path = folder / "units" / f"{name}-{split}-{model}-{seed}-{member}.json"
            told = {"folder": str(folder), "name": name, "split": split, "seed": seed}
            told |= {"member": member} if model == "chemprop" else {"model": model}
            function = "chemprop" if model == "chemprop" else "forest"
            return pool.submit(_unit, f"paper.molecule_peers:{function}", told, path)

        waiting = []
        for cell in cells:
            name, split, model, count = cell
            each = list(range(seeds)) if split == "ogb" else list(SEEDS)
            parts = [
                [unit(name, split, model, seed, k) for k in range(count)]
                for seed in each
                if model not in NETWORKS
            ]
            waiting.append((cell, each, parts))
        for cell, each, parts in waiting:
            ran = _joined(parts) if parts else _network(folder, cell, each)
            row = _row(folder, cell, each, ran)
            add_json_line(output, row)
            print(*cell, [round(s, 4) for s in row["scores"]], row["train_seconds"], flush=True)


def _network(folder: Path, cell: Cell, seeds: list[int]) -> dict[str, Any]:
    name, split, model, members = cell
    told = {"folder": str(folder), "name": name, "split": split, "model": model}
    return called("paper.molecule_networks:networks", {**told, "seeds": seeds, "members": members})


def _unit(function: str, arguments: dict[str, Any], path: Path) -> dict[str, Any]:
    """What a peer's model said, from its file where it is there."""
    if not path.exists():
        ran = called(function, arguments)
        save_json(path, ran)
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def _joined(units: list[list[Future[dict[str, Any]]]]) -> dict[str, Any]:
    """Ensembles of a cell from their models: predictions averaged, times added."""
    done = [[unit.result() for unit in own] for own in units]
    return {
        "predictions": [np.mean([u["predictions"] for u in own], axis=0).tolist() for own in done],
        "train_seconds": [sum(unit["train_seconds"] for unit in own) for own in done],
        "predict_seconds": [sum(unit["predict_seconds"] for unit in own) for own in done],
        "peak_memory": max(unit["peak_memory"] for own in done for unit in own),
        "settings": done[0][0]["settings"],
        "environment": done[0][0].get("environment"),
    }


def called(function: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """What a function says that is called in a process of its own; peers have one thread."""
    ran = call_in_child(function, arguments, threads=None if "networks" in function else 1)
    if ran.problem:
        raise RuntimeError(f"{arguments} {ran.problem}")
    return {"peak_memory": ran.memory, **ran.result}


def _row(folder: Path, cell: Cell, seeds: list[int], ran: dict[str, Any]) -> dict[str, Any]:
    name, split, model, members = cell
    data = PreparedSet.load(folder, name)
    classes, scores, rows = data.union.known_task.has_classes, [], []
    for seed, said in zip(seeds, ran["predictions"], strict=True):
        answers = np.asarray(said) if model in NETWORKS else link(said, classes=classes)
        scores.append(data.score(split, seed, TEST, answers))
        rows.append(torch.bincount(data.part(split, seed), minlength=3).tolist())
    alone = {}
    if "alone" in ran:  # the network that a forest answers beside
        each = zip(seeds, map(np.asarray, ran["alone"]), strict=True)
        said_alone = [data.score(split, seed, TEST, answers) for seed, answers in each]
        alone = {"alone": [round(score, 6) for score in said_alone]}
    return {
        "dataset": name, "split": split, "metric": data.metric.name, "model": model,
        "members": members, "seeds": seeds, "scores": [round(score, 6) for score in scores],
        **alone,
        "train_seconds": [round(value, 3) for value in ran["train_seconds"]],
        "predict_seconds": [round(value, 4) for value in ran["predict_seconds"]],
        "peak_memory": ran["peak_memory"], "rows": rows, "settings": ran["settings"],
        "version": __version__,
        "environment": {
            **(ran.get("environment") or environment(torch.device("cpu"))),
            "command": typed_command(),
        },
    }  # fmt: skip


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("what", choices=("prepare", "run"))
    parser.add_argument("--folder", type=Path, default=Path("data/molecules"))
    parser.add_argument("--molecules", type=Path, default=Path("molecules"))
    parser.add_argument("--output", type=Path, default=RECORDS / "cells.jsonl")
    parser.add_argument("--no-descriptors", action="store_true")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--models", default="lgan")
    parser.add_argument("--members", default="1,5")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--processes", type=int, default=1)
    given = parser.parse_args()
    sets = given.sets.split(",")
    if given.what == "prepare":
        given.folder.mkdir(parents=True, exist_ok=True)
        prepare(given.molecules, given.folder, sets, descriptors=not given.no_descriptors)
        return
    models, members = given.models.split(","), [int(n) for n in given.members.split(",")]
    unknown = sorted({*sets} - {*SETS}) + sorted({*models} - {*MODELS})
    if unknown:
        parser.error(f"Expected sets of {', '.join(SETS)} and models of {', '.join(MODELS)}, "
                     f"got {unknown[0]!r}.")  # fmt: skip
    how = {"seeds": given.seeds, "processes": given.processes}
    run(given.folder, given.output, sets, models, members, **how)


if __name__ == "__main__":
    main()

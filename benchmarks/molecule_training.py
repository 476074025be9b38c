"""Training on molecules and predicting them, beside chemprop with its defaults."""

import csv
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.config import BenchConfig
from benchmarks.measure import matmul_rate, spread
from benchmarks.molecules import PEER, molecule_file
from benchmarks.row import Bar, Row
from benchmarks.training import dense_operations
from benchmarks.watched import NO_PEER, measured, peer_python
from lgan.data import load
from lgan.experiment import factory, settings_for, with_data_options
from lgan.train import train_ensemble
from lgan.train.curves import Curves

_OURS = "import sys; from benchmarks.molecule_training import our_epochs; our_epochs(*sys.argv[1:])"
_LGAN = "from lgan.cli import main; main()"
# Target and kind of every set.
SETS = {"ESOL": ("log_solubility", "regression"), "BBBP": ("p_np", "classification")}
# Members, width (0: the recipe's) and how many times faster a model must be.
CASES = ((1, 0, 2.5), (10, 0, 5.0), (10, 300, 1.5))
# Members of a whole training, and how many times faster a model must be.
WHOLE = ((1, 3.0), (10, 5.0))
PREDICTED = 3.0


def molecule_training(config: BenchConfig) -> Iterator[Row]:
    """A whole prediction and whole trainings; then epochs of the default recipe and of chemprop in
    turn, per model.

    A prediction is the command from its start to its end, with one model that has hardly trained:
    by default, and by the graphs alone. A training is the command with its defaults, which reads
    the table and, of ours, computes descriptors and writes the report. Of epochs the first of a
    process is left out; both sides validate within their epoch. The widest case has one turn of two
    more epochs.
    """
    with TemporaryDirectory(prefix="lgan-bench-") as folder:
        files = _files(config, Path(folder))
        yield from _predictions(files, Path(folder), config)
        for name, path in files.items():
            yield from _trainings(name, path, Path(folder), config)
        for name, path in files.items():
            yield from _epochs(name, path, config)


def _files(config: BenchConfig, folder: Path) -> dict[str, Path]:
    if not config.quick:
        return {name: molecule_file(config, name) for name in SETS}
    path = folder / "ESOL.csv"
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["smiles", SETS["ESOL"][0]])
        rows.writerows(("C" * (1 + i % 9) + "O", i % 9 + 0.5) for i in range(60))
    return {"ESOL": path}


def _epochs(name: str, path: Path, config: BenchConfig) -> list[Row]:
    target, kind = SETS[name]
    turns, epochs = (1, 2) if config.quick else (3, 5)
    cases = CASES[:1] if config.quick else CASES
    ours: dict[tuple[int, int], list[float]] = {case[:2]: [] for case in cases}
    peers: list[float] = []
    operations: dict[tuple[int, int], float] = {}
    version, python = "", peer_python()
    # In turn, so that whatever else the machine does falls on all.
    for turn in range(turns):
        for members, width in ours:
            if width and turn:
                continue  # minutes an epoch
            config.progress(f"{name}, {members} of width {width or 'default'}, {turn + 1}")
            given = [str(path), target, str(members), str(width), str(3 if width else epochs)]
            run = measured([sys.executable, "-c", _OURS, *given])
            ours[members, width] += [second / members for second in run.told["seconds"]]
            operations[members, width] = run.told["operations"]
        if python is not None:
            config.progress(f"{name}, chemprop, {turn + 1}")
            command = [python, str(PEER), "epochs", str(path), target, kind, str(epochs)]
            run = measured(command, library=False)
            peers += run.told["seconds"][1:]
            version = run.told["version"]
    rate = matmul_rate(config.device)
    return [
        Row(
            name=f"{name}, {members} at once, {f'width {width}' if width else 'default width'}",
            what="an epoch of one model",
            seconds=median(ours[members, width]),
            peer=f"chemprop {version}" if peers else None,
            peer_seconds=median(peers) if peers else None,
            bar=Bar("speedup", least),
            size=members,
            note="" if peers else NO_PEER,
            detail=spread({"lgan": ours[members, width], "chemprop": peers})
            | {
                "dense operations per model": operations[members, width],
                "operations per second of a large product": rate,
                "dense products at that rate, seconds": operations[members, width] / rate,
            },
        )
        for members, width, least in cases
    ]


def _predictions(files: dict[str, Path], folder: Path, config: BenchConfig) -> list[Row]:
    name, path = next(iter(files.items()))
    target, kind = SETS[name]
    asked = path if config.quick else _readable(molecule_file(config, "HIV"), folder)
    lgan = [sys.executable, "-c", _LGAN]
    ours = {}
    for told in ("auto", "none"):
        config.progress("lgan, a model to predict with")
        measured([*lgan, "train", str(path), "--target", target, "--members", "1", "--epochs", "1",
                  "--graph-features", told, "--output", str(folder / told)])  # fmt: skip
        config.progress(f"lgan, {asked.name}")
        model, out = str(folder / told / "model.safetensors"), str(folder / "ours.csv")
        ours[told] = measured([*lgan, "predict", model, str(asked), "--output", out])
    peer, python = None, peer_python()
    if python is not None:
        chemprop = str(Path(python).parent / "chemprop")
        config.progress("chemprop, a model to predict with")
        there = str(folder / "peer")
        measured([chemprop, "train", "-i", str(path), "--task-type", kind, "--epochs", "3",
                  "-s", "smiles", "--target-columns", target, "-o", there],
                 library=False)  # fmt: skip
        config.progress(f"chemprop, {asked.name}")
        peer = measured([chemprop, "predict", "-i", str(asked), "-s", "smiles", "--model-path",
                         there, "-o", str(folder / "peer.csv"), "--drop-extra-columns"],
                        library=False)  # fmt: skip
    with asked.open(newline="") as file:
        number = sum(1 for _ in csv.reader(file)) - 1
    return [
        Row(
            name=f"predict {asked.stem}" + (", the graphs alone" if told == "none" else ""),
            what=f"{number:,} rows by one model, the command from start to end",
            seconds=run.seconds,
            peer=None if peer is None else "chemprop predict",
            peer_seconds=None if peer is None else peer.seconds,
            memory=run.memory,
            peer_memory=None if peer is None else peer.memory,
            bar=Bar("speedup", PREDICTED),
            size=number,
            note="" if peer else NO_PEER,
        )
        for told, run in ours.items()
    ]


def _trainings(name: str, path: Path, folder: Path, config: BenchConfig) -> list[Row]:
    target, kind = SETS[name]
    cases = WHOLE[:1] if config.quick else WHOLE
    short = ["--epochs", "1"] if config.quick else []
    ours = []
    for members, _ in cases:
        config.progress(f"{name}, lgan train, {members}")
        out = str(folder / f"{name}-{members}")
        command = [sys.executable, "-c", _LGAN, "train", str(path), "--target", target]
        ours.append(measured([*command, "--members", str(members), *short, "--output", out]))
    peer = None
    if (python := peer_python()) is not None:
        config.progress(f"{name}, chemprop train")
        command = [str(Path(python).parent / "chemprop"), "train", "-i", str(path), "-s", "smiles"]
        command += ["--task-type", kind, "--target-columns", target, *short]
        peer = measured([*command, "-o", str(folder / f"{name}-peer")], library=False)
    return [
        Row(
            name=f"{name}, {members} trained, each",
            what="the command by its defaults from start to end, per model",
            seconds=run.seconds / members,
            peer=None if peer is None else "chemprop train",
            peer_seconds=None if peer is None else peer.seconds,
            memory=run.memory,
            peer_memory=None if peer is None else peer.memory,
            bar=Bar("speedup", least),
            size=members,
            note="" if peer else NO_PEER,
        )
        for (members, least), run in zip(cases, ours, strict=True)
    ]


def _readable(path: Path, folder: Path) -> Path:
    """The molecules of a table that RDKit reads: chemprop ends at the first that it does not."""
    from rdkit import Chem, rdBase

    with rdBase.BlockLogs(), path.open(newline="") as file:
        texts = [row["smiles"] for row in csv.DictReader(file)]
        texts = [text for text in texts if Chem.MolFromSmiles(text) is not None]
    found = folder / path.name
    with found.open("w", newline="") as file:
        csv.writer(file).writerows([["smiles"], *([text] for text in texts)])
    return found


def our_epochs(path: str, target: str, members: str, width: str, epochs: str) -> None:
    """What our side runs, in a process of its own: seconds of every epoch and the operations of
    dense products in one of one model, as JSON.
    """
    # At chemprop's width the graphs alone, as it reads them.
    union = load(path, targets=[target], graph_features="none" if int(width) else "auto")
    settings = settings_for("lgan", "", epochs=int(epochs), hidden=int(width) or None)
    settings = with_data_options(settings, union)
    train = partial(train_ensemble, factory(settings, union), union)
    # Where memory splits the members into groups, an epoch is that of all groups together.
    seconds = [0.0] * int(epochs)

    def note(epoch: int, curves: Curves) -> None:
        seconds[epoch - 1] += float(curves.seconds[epoch - 1])

    train(members=int(members), config=settings.training, on_epoch=note)
    once = replace(settings.training, epochs=1)
    operations = dense_operations(lambda: train(members=1, config=once))
    print(json.dumps({"seconds": seconds[1:], "operations": operations}))

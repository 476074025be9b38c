"""What ten members cost beside one, by the default recipe."""

import json
import sys
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.config import BenchConfig
from benchmarks.measure import spread
from benchmarks.molecules import molecule_file
from benchmarks.row import Bar, Row
from benchmarks.watched import measured
from lgan.data import load
from lgan.experiment import factory, settings_for, with_data_options
from lgan.train import train_ensemble

_EPOCHS = "import sys; from benchmarks.members import epochs; epochs(*sys.argv[1:])"
MEMBERS, MOST = 10, 4.0
# Target and number of epochs of every set.
SETS = {"MUTAG": ("", 30), "BBBP": ("p_np", 6)}


def members(config: BenchConfig) -> list[Row]:
    """An epoch of ten members and of one in turn, each in a process of its own, held-out graphs
    tested within; the first epoch of a process is left out.
    """
    with TemporaryDirectory(prefix="lgan-bench-") as folder:
        made = Path(folder) / "MUTAG.csv"
        made.write_text(
            "smiles,y\n" + "".join(f"{'C' * (1 + i % 9)}O,{i % 2}\n" for i in range(60))
        )
        rows = []
        for name, (target, number) in SETS.items():
            source, column = name, target
            if config.quick:
                source, column, number = str(made), "y", 2
            elif target:
                source = str(molecule_file(config, name))
            given = [source, column, str(number), str(config.root), str(config.mirror or "")]
            taken: dict[int, list[float]] = {MEMBERS: [], 1: []}
            for turn in range(1 if config.quick else 5):
                for count, seconds in taken.items():
                    config.progress(f"{name}, {count} side by side, {turn + 1}")
                    run = measured([sys.executable, "-c", _EPOCHS, str(count), *given], watch=False)
                    seconds.append(median(run.told["seconds"]))
            rows.append(_row(name, taken))
    return rows


def _row(name: str, taken: dict[int, list[float]]) -> Row:
    return Row(
        name=f"{name}, {MEMBERS} members",
        what=f"an epoch of {MEMBERS} members side by side",
        seconds=median(taken[MEMBERS]),
        peer="one member",
        peer_seconds=median(taken[1]),
        bar=Bar("ratio", MOST),
        detail=spread({"lgan": taken[MEMBERS], "one member": taken[1]}),
    )


def epochs(count: str, source: str, target: str, number: str, root: str, mirror: str) -> None:
    """What one side runs: the seconds of every epoch but the first, as JSON."""
    targets = [target] if target else None
    union = load(source, targets=targets, graph_features="auto", root=root, mirror=mirror or None)
    settings = with_data_options(settings_for("lgan", "", epochs=int(number)), union)
    seconds: list[float] = []
    train = partial(train_ensemble, factory(settings, union), union)
    train(
        members=int(count), config=settings.training,
        on_epoch=lambda epoch, curves: seconds.append(float(curves.seconds[epoch - 1])),
    )  # fmt: skip
    print(json.dumps({"seconds": seconds[1:]}))

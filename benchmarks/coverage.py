"""How often intervals and sets hold the truth of new molecules, and how wide they are.

``python -m benchmarks.coverage FreeSolv.csv ESOL.csv BBBP.csv Mutagenicity`` draws 20
random test parts of a fifth. On the rest an estimator is fitted, whose intervals or sets are CV+,
and beside it the same estimator without a fifth of that, on which split conformal prediction is
calibrated.
"""

import argparse
import csv
import math
import os
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

from benchmarks.peers import pyg_graphs
from benchmarks.record import add_json_line, json_lines
from lgan.data import load_raw, node_features
from lgan.estimator import LGANClassifier, LGANRegressor
from lgan.estimator.side_by_side import Estimator, fit_side_by_side
from lgan.train.environment import choose_device, environment

HELD_OUT = 0.2  # of all molecules for the test, and of the others for the calibration
SPLITS = 20
TOGETHER = {"cpu": 1, "cuda": SPLITS}  # splits whose models train side by side
RECORDS = Path("results/coverage/splits.jsonl")


class Covered(NamedTuple):
    """What one method gave on one split.

    Attributes:
        share: Test molecules whose truth lies inside.
        size: Mean width of the intervals, or mean number of classes of the sets.
    """

    share: float
    size: float


def covered(
    graphs: list[Any],
    y: NDArray[Any],
    estimator: Estimator,
    splits: list[int],
    *,
    alpha: float,
    seed: int,
) -> list[dict[str, Covered]]:
    """Both methods on some of :data:`SPLITS` random splits, whose models train side by side."""
    outer = _splits(y, SPLITS, seed, estimator)
    parts = []
    for train, _ in (outer[split] for split in splits):
        [(proper, calibration)] = _splits(y[train], 1, seed, estimator)
        parts.append((train, train[proper], train[calibration]))
    rows = [own for train, proper, _ in parts for own in (train, proper)]
    models = iter(fit_side_by_side(estimator, graphs, y, rows))
    found = []
    for split, (_, _, calibration) in zip(splits, parts, strict=True):
        test = outer[split][1]
        new, truth = [graphs[i] for i in test], y[test]
        known, answers = [graphs[i] for i in calibration], y[calibration]
        found.append(
            {
                "CV+": _of_model(next(models), new, truth, alpha),
                "split conformal": _split(next(models), known, answers, new, truth, alpha),
            }
        )
    return found


def split_radius(strange: NDArray[np.float64], alpha: float) -> float:
    """What the strangeness of a new graph does not exceed with probability ``1 - alpha``.

    Example:
        >>> split_radius(np.arange(1.0, 20.0), 0.1), split_radius(np.arange(5.0), 0.1)
        (18.0, inf)
    """
    rank = math.ceil((1 - alpha) * (len(strange) + 1))
    return float(np.sort(strange)[rank - 1]) if rank <= len(strange) else math.inf


def _splits(
    y: NDArray[Any], number: int, seed: int, estimator: Estimator
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    classes = isinstance(estimator, LGANClassifier)
    kind = StratifiedShuffleSplit if classes else ShuffleSplit
    return list(kind(number, test_size=HELD_OUT, random_state=seed).split(y, y))


def _of_model(model: Estimator, new: list[Any], truth: NDArray[Any], alpha: float) -> Covered:
    if isinstance(model, LGANClassifier):
        return _sets(model.predict_set(new, alpha), truth, model.classes_)
    ends = model.predict_interval(new, alpha)
    return _intervals(ends[:, 0], ends[:, 1], truth)


def _split(
    model: Estimator,
    known: list[Any],
    answers: NDArray[Any],
    new: list[Any],
    truth: NDArray[Any],
    alpha: float,
) -> Covered:
    if isinstance(model, LGANClassifier):
        own = answers[:, None] == model.classes_
        radius = split_radius(1 - model.predict_proba(known)[own], alpha)
        return _sets(1 - model.predict_proba(new) <= radius, truth, model.classes_)
    radius = split_radius(np.abs(model.predict(known) - answers), alpha)
    middle = model.predict(new)
    return _intervals(middle - radius, middle + radius, truth)


def _intervals(low: NDArray[np.float64], high: NDArray[np.float64], truth: NDArray[Any]) -> Covered:
    return Covered(float(((low <= truth) & (truth <= high)).mean()), float((high - low).mean()))


def _sets(found: NDArray[np.bool_], truth: NDArray[Any], classes: NDArray[Any]) -> Covered:
    return Covered(float(found[truth[:, None] == classes].mean()), float(found.sum(1).mean()))


def _table(path: Path) -> tuple[list[Any], NDArray[np.float64]]:
    """The molecules of a table and their target, or the graphs of a TU set and their classes."""
    if not path.suffix:
        raw = load_raw(str(path), mirror=os.environ.get("LGAN_MIRROR"))
        return pyg_graphs(raw, *node_features(raw, "labels")), raw.y.numpy().astype(float)
    with path.open(newline="") as file:
        cells = list(csv.DictReader(file))
    target = next(name for name in cells[0] if name != "smiles")
    there = [row for row in cells if row["smiles"] and row[target]]
    return [row["smiles"] for row in there], np.array([float(row[target]) for row in there])


def main() -> None:
    """Measure tables of molecules, a column ``smiles``, then the target, and TU sets by name; every
    split that no line of the output holds yet.
    """
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("tables", nargs="+", type=Path)
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--members", type=int, default=10)
    parser.add_argument("--alpha", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=RECORDS)
    given = parser.parse_args()
    if not 1 <= given.splits <= SPLITS:
        parser.error(f"Expected --splits from 1 to {SPLITS}, got {given.splits}.")
    given.output.parent.mkdir(parents=True, exist_ok=True)
    device = choose_device("auto")
    for path in given.tables:
        graphs, y = _table(path)
        kind = LGANClassifier if len(np.unique(y)) == 2 else LGANRegressor
        told = {"table": path.stem, "members": given.members, "alpha": given.alpha}
        told |= {"seed": given.seed, "kind": "sets" if kind is LGANClassifier else "intervals"}
        there = [row["split"] for row in records(given.output) if told.items() <= row.items()]
        left = [split for split in range(given.splits) if split not in there]
        for first in range(0, len(left), TOGETHER[device.type]):
            splits = left[first : first + TOGETHER[device.type]]
            estimator = kind(members=given.members, random_state=given.seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                found = covered(graphs, y, estimator, splits, alpha=given.alpha, seed=given.seed)
            for split, both in zip(splits, found, strict=True):
                row = {**told, "split": split, "found": both, "environment": environment(device)}
                add_json_line(given.output, row)
                sizes = (f"{name} {of.share:.3f} {of.size:.3f}" for name, of in both.items())
                print(path.stem, split, *sizes, flush=True)


def records(path: Path = RECORDS) -> list[dict[str, Any]]:
    """All splits that were measured."""
    return json_lines(path) if path.exists() else []


if __name__ == "__main__":
    main()

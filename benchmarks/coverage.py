"""How often intervals and sets hold the truth of new molecules, and how wide they are.

``python -m benchmarks.coverage FreeSolv.csv ESOL.csv BBBP.csv --splits 20`` draws random test parts
of a fifth. On the rest an estimator is fitted, whose intervals or sets are CV+, and beside it the
same estimator without a fifth of that, on which split conformal prediction is calibrated.
"""

import argparse
import csv
import json
import math
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

from lgan._version import __version__
from lgan.estimator import LGANClassifier, LGANRegressor
from lgan.estimator.side_by_side import Estimator, fit_side_by_side

HELD_OUT = 0.2  # of all molecules for the test, and of the others for the calibration


@dataclass(frozen=True)
class Coverage:
    """What one method gave on every split.

    Attributes:
        name: The table.
        method: ``CV+`` or ``split conformal``.
        covered: Share of the test molecules whose truth lies inside ``[S]``.
        size: Mean width of the intervals, or mean number of classes of the sets ``[S]``.
    """

    name: str
    method: str
    covered: list[float]
    size: list[float]

    def __str__(self) -> str:
        return (
            f"{self.name:12} {self.method:16} {len(self.covered):3} splits   covered "
            f"{np.mean(self.covered):.3f} ± {np.std(self.covered):.3f}   size "
            f"{np.mean(self.size):.3f} ± {np.std(self.size):.3f}"
        )


def coverage(
    name: str,
    smiles: list[str],
    y: NDArray[Any],
    estimator: Estimator,
    *,
    splits: int = 20,
    alpha: float = 0.1,
    seed: int = 0,
) -> list[Coverage]:
    """Both methods on random splits.

    Args:
        name: What the molecules are called.
        smiles: Molecules.
        y: Numbers or classes ``[n]``.
        estimator: What is fitted.
        splits: Number of random splits.
        alpha: Share of misses.
        seed: Fixes the splits.
    """
    found: dict[str, list[tuple[float, float]]] = {"CV+": [], "split conformal": []}
    x = np.array(smiles, dtype=object)
    for train, test in _splits(x, y, splits, seed, estimator):
        [(proper, calibration)] = _splits(x[train], y[train], 1, seed, estimator)
        parts = [train, train[proper]]
        whole, part = fit_side_by_side(estimator, smiles, y, parts)
        new, truth = x[test].tolist(), y[test]
        known, answers = x[train[calibration]].tolist(), y[train[calibration]]
        found["CV+"].append(_of_model(whole, new, truth, alpha))
        found["split conformal"].append(_split(part, known, answers, new, truth, alpha))
    return [
        Coverage(name, method, [c for c, _ in rows], [s for _, s in rows])
        for method, rows in found.items()
    ]


def split_radius(strange: NDArray[np.float64], alpha: float) -> float:
    """What the strangeness of a new graph does not exceed with probability ``1 - alpha``.

    Example:
        >>> split_radius(np.arange(1.0, 20.0), 0.1), split_radius(np.arange(5.0), 0.1)
        (18.0, inf)
    """
    rank = math.ceil((1 - alpha) * (len(strange) + 1))
    return float(np.sort(strange)[rank - 1]) if rank <= len(strange) else math.inf


def _splits(
    x: NDArray[Any], y: NDArray[Any], number: int, seed: int, estimator: Estimator
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    classes = isinstance(estimator, LGANClassifier)
    kind = StratifiedShuffleSplit if classes else ShuffleSplit
    return list(kind(number, test_size=HELD_OUT, random_state=seed).split(x, y))


def _of_model(
    model: Estimator, new: list[str], truth: NDArray[Any], alpha: float
) -> tuple[float, float]:
    if isinstance(model, LGANClassifier):
        return _sets(model.predict_set(new, alpha), truth, model.classes_)
    ends = model.predict_interval(new, alpha)
    return _intervals(ends[:, 0], ends[:, 1], truth)


def _split(
    model: Estimator,
    known: list[str],
    answers: NDArray[Any],
    new: list[str],
    truth: NDArray[Any],
    alpha: float,
) -> tuple[float, float]:
    if isinstance(model, LGANClassifier):
        own = answers[:, None] == model.classes_
        radius = split_radius(1 - model.predict_proba(known)[own], alpha)
        return _sets(1 - model.predict_proba(new) <= radius, truth, model.classes_)
    radius = split_radius(np.abs(model.predict(known) - answers), alpha)
    middle = model.predict(new)
    return _intervals(middle - radius, middle + radius, truth)


def _intervals(
    low: NDArray[np.float64], high: NDArray[np.float64], truth: NDArray[Any]
) -> tuple[float, float]:
    return float(((low <= truth) & (truth <= high)).mean()), float((high - low).mean())


def _sets(
    found: NDArray[np.bool_], truth: NDArray[Any], classes: NDArray[Any]
) -> tuple[float, float]:
    return float(found[truth[:, None] == classes].mean()), float(found.sum(1).mean())


def _table(path: Path) -> tuple[list[str], NDArray[np.float64]]:
    with path.open(newline="") as file:
        cells = list(csv.DictReader(file))
    target = next(name for name in cells[0] if name != "smiles")
    there = [row for row in cells if row["smiles"] and row[target]]
    return [row["smiles"] for row in there], np.array([float(row[target]) for row in there])


def main() -> None:
    """Measure tables of molecules: a column ``smiles``, then the target."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("tables", nargs="+", type=Path)
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--members", type=int, default=10)
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--alpha", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    rows = []
    for path in given.tables:
        smiles, y = _table(path)
        kind = LGANClassifier if len(np.unique(y)) == 2 else LGANRegressor
        estimator = kind(members=given.members, epochs=given.epochs, random_state=given.seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            found = coverage(
                path.stem, smiles, y, estimator,
                splits=given.splits, alpha=given.alpha, seed=given.seed,
            )  # fmt: skip
        rows += found
        print(*found, sep="\n", flush=True)
    if given.output is not None:
        said = {name: value for name, value in vars(given).items() if name != "output"}
        said["tables"] = [path.stem for path in given.tables]
        record = {"version": __version__, **said, "rows": [asdict(row) for row in rows]}
        given.output.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()

"""The peers of the table of molecules: chemprop by its command line, forests on fingerprints."""

import csv
import os
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.child import run_child
from benchmarks.watched import PEER_PYTHON
from lgan.train.environment import choose_device, environment
from paper.molecule_sets import BITS, RADIUS, TEST, PreparedSet

# Forests and what they have in place of scikit-learn's defaults. `rf-tuned` was chosen on the
# validation part of HIV (`python -m paper.molecule_choices`), also before splits by entropy and
# balanced classes, which were no better and of which no record is kept.
FORESTS: dict[str, dict[str, int]] = {
    "rf": {},
    "rf-tuned": {"n_estimators": 200, "min_samples_leaf": 2},
    "gb": {},
}
PARTS = ("train", "val", "test")
_CHEMPROP = "from chemprop.cli.main import main; main()"
_VERSION = "import importlib.metadata as m; print(m.version('chemprop'), m.version('torch'))"


def chemprop(folder: str, name: str, split: str, seed: int, member: int) -> dict[str, Any]:
    """Train one model of chemprop with its defaults on one split, and predict its test part.

    It uses a GPU where there is one, as ours does. Its epoch is chosen by chemprop on the
    validation part. Ensembles are models of other seeds,
    whose predictions are averaged, as its own are.
    """
    python = os.environ.get(PEER_PYTHON)
    if python is None:
        raise ValueError(f"Set {PEER_PYTHON} to an interpreter that has chemprop 2.3.1.")
    data = PreparedSet.load(Path(folder), name)
    task = data.union.known_task
    with TemporaryDirectory(prefix="lgan-chemprop-") as place:
        work = Path(place)
        test = _tables(data.table, data.part(split, seed).tolist(), work)
        usual = ["--smiles-columns", "smiles", "--accelerator", "auto", "--num-workers", "0"]
        trained = run_child(
            _CHEMPROP, "train", "-i", str(work / "all.csv"), "-o", str(work / "model"), *usual,
            "-t", "classification" if task.classes else "regression",
            "--target-columns", *task.targets, "--splits-column", "split",
            "--metrics", "roc" if task.classes else "rmse",
            "--pytorch-seed", str(1000 * member + seed), python=python,
        )  # fmt: skip
        if trained.problem:
            raise RuntimeError(f"chemprop train {trained.problem}")
        said = run_child(
            _CHEMPROP, "predict", "-i", str(test), "-o", str(work / "said.csv"), *usual,
            "--model-paths", str(work / "model" / "model_0" / "best.pt"), python=python,
        )  # fmt: skip
        if said.problem:
            raise RuntimeError(f"chemprop predict {said.problem}")
        predictions = _said(work / "said.csv", task.targets)
    version, torch = run_child(_VERSION, python=python).output.split()
    return {
        "predictions": predictions, "train_seconds": trained.seconds,
        "predict_seconds": said.seconds, "peak_memory": trained.memory,
        "settings": {"chemprop": version, "torch": torch},
        "environment": environment(choose_device("auto")),
    }  # fmt: skip


def forest(
    folder: str, name: str, split: str, seed: int, model: str, judged: int = TEST
) -> dict[str, Any]:
    """Fit trees on Morgan fingerprints of all rows but those of the test part and of the part that
    is predicted, one model a target; nothing is chosen.
    """
    from sklearn import __version__ as version
    from sklearn.ensemble import (
        GradientBoostingClassifier,
        GradientBoostingRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )

    data = PreparedSet.load(Path(folder), name)
    task = data.union.known_task
    bits = np.unpackbits(data.bits.numpy(), axis=1).astype(np.float32)
    y = data.union.y.numpy()
    y = (y[:, None] if y.ndim == 1 else y).astype(float)
    y[y < 0] = np.nan if task.has_classes else y[y < 0]
    part = data.part(split, seed)
    test, seen = (part == judged).numpy(), ((part != TEST) & (part != judged)).numpy()
    kinds: dict[tuple[str, bool], Any] = {
        ("rf", True): RandomForestClassifier,
        ("rf", False): RandomForestRegressor,
        ("gb", True): GradientBoostingClassifier,
        ("gb", False): GradientBoostingRegressor,
    }
    kind, options = kinds[model.removesuffix("-tuned"), bool(task.classes)], FORESTS[model]
    fit, predict, said = 0.0, 0.0, np.zeros((int(test.sum()), y.shape[1]))
    for target in range(y.shape[1]):
        rows = seen & ~np.isnan(y[:, target])
        begin = time.perf_counter()
        trees = kind(**options, random_state=seed).fit(bits[rows], y[rows, target])
        middle = time.perf_counter()
        if task.classes:
            one = [*trees.classes_].index(1.0) if 1.0 in trees.classes_ else None
            said[:, target] = 0 if one is None else trees.predict_proba(bits[test])[:, one]
        else:
            said[:, target] = trees.predict(bits[test])
        fit, predict = fit + middle - begin, predict + time.perf_counter() - middle
    settings = {"kind": kind.__name__, "scikit-learn": version, **options}
    settings["morgan"] = f"radius {RADIUS}, {BITS} bits"
    return {
        "predictions": said.round(6).tolist(), "train_seconds": fit, "predict_seconds": predict,
        "settings": settings,
    }  # fmt: skip


def link(said: Sequence[Sequence[float]], *, classes: bool) -> NDArray[np.float64]:
    """Predictions of a peer as a metric reads them: both classes where one target has classes."""
    values = np.asarray(said, dtype=float)
    return np.column_stack([1 - values[:, 0], values[:, 0]]) if classes else values


def _tables(table: Path, parts: list[int], work: Path) -> Path:
    """The rows with a column that names their part; those of the test part apart, without targets.

    In the former the test part has no targets that the training could look at: only its name.
    """
    with table.open(newline="") as file:
        header, *rows = list(csv.reader(file))
    with (work / "all.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*header, "split"])
        kept = ([*row, PARTS[part]] for row, part in zip(rows, parts, strict=True) if part != TEST)
        writer.writerows(kept)
    test = work / "test.csv"
    with test.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["smiles"])
        writer.writerows([row[0]] for row, part in zip(rows, parts, strict=True) if part == TEST)
    return test


def _said(path: Path, targets: Sequence[str]) -> list[list[float]]:
    with path.open(newline="") as file:
        return [[float(row[name]) for name in targets] for row in csv.DictReader(file)]

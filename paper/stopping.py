"""What stopping early would have changed, from the curves of runs that trained all epochs.

    lgan table stopping

Of every outer fold under the rule `bagged` the curves of its members are cut where they would have
stopped, by the epochs that brought nothing better, as `lgan train` does on its data.
"""

from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from statistics import fmean

import torch

from lgan.train import CVResult
from lgan.train.selection import best_epoch, stop_epoch
from paper.render import Grid

# Epochs that bring nothing better, as a share of all; the recipe waits for a third of them.
PATIENCE = {
    "all epochs": 0.0,
    "a sixth": 1 / 6,
    "a quarter": 1 / 4,
    "a third": 1 / 3,
    "half": 1 / 2,
}


def stopping_grid(paths: Iterable[Path]) -> Grid:
    """For every set and network the accuracy by patience, and the share of the epochs trained."""
    found = [CVResult.load(path) for path in sorted(paths)]
    runs = [run for run in found if run.bagged_members and _complete(run)]
    runs.sort(key=lambda run: (run.dataset, str(run.model["name"])))
    rows, gaps = [], torch.zeros(len(PATIENCE))
    for (dataset, name), group in groupby(runs, lambda run: (run.dataset, str(run.model["name"]))):
        same = list(group)
        cells = [_stopped(same, patience) for patience in PATIENCE.values()]
        rows.append([dataset, name, *(f"{score:.1f} ({used:.0%})" for score, used in cells)])
        gaps += torch.tensor([score for score, _ in cells]) - cells[0][0]
    columns = ["set", "network", *PATIENCE]
    means = (gaps / len(rows)).tolist()
    rows.append(["mean change", "", "", *(f"{gap:+.2f}" for gap in means[1:])])
    notes = [
        "Accuracy in percent by the rule `bagged`, in parentheses the share of the epochs that "
        "would have been trained, if training stopped after so many that brought nothing better; "
        "means over folds and seeds. Nothing was trained for this table: curves of complete runs "
        "are cut, of networks that read the graphs alone.",
    ]
    return Grid("What it changes to stop training early", columns, rows, notes)


def _complete(run: CVResult) -> bool:
    """Whether a run by the recipe trained all epochs, of networks that read the graphs alone."""
    trained = run.bagged_test.size(1) == run.config["epochs"]
    return trained and run.config["schedule"] == "cosine" and not run.model.get("graph_features")


def _stopped(runs: list[CVResult], share: float) -> tuple[float, float]:
    """The accuracy in percent and the share of the epochs trained."""
    scores, used = [], []
    for run in runs:
        window, epochs = run.config["window"], run.config["epochs"]
        patience = round(share * epochs)
        for test, chosen_on in zip(run.bagged_test, run.bagged_validation[:, None], strict=True):
            last = stop_epoch([chosen_on], patience=patience, window=window)
            scores.append(100 * float(test[best_epoch(chosen_on[:, :last], window=window)]))
            used.append(last / epochs)
    return fmean(scores), fmean(used)

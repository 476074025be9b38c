"""Pictures of a search, by Optuna: its history and what mattered."""

import warnings
from pathlib import Path

from lgan._optional import require
from lgan.sweep.record import SweepRecord
from lgan.sweep.study import optuna_study


def draw(record: SweepRecord, folder: Path | str, stem: str) -> list[Path]:
    """Draw a search; returns the pictures made.

    ``STEM-history.png`` shows every trial and the best so far, ``STEM-importance.png`` how much
    of the differences each setting explains; the latter needs two trials and two choices.
    """
    optuna, pyplot = require("optuna"), require("matplotlib.pyplot")
    study = optuna_study(record.head, [t for t in record.trials if t.value is not None])
    if len(study.trials) < 2:
        raise ValueError(
            f"A picture of a search needs two finished trials, got {len(study.trials)}. Run more."
        )
    pictures = require("optuna.visualization.matplotlib")
    draws = {"history": pictures.plot_optimization_history}
    if len({trial.value for trial in study.trials}) > 1:
        draws["importance"] = pictures.plot_param_importances
    paths = []
    Path(folder).mkdir(parents=True, exist_ok=True)
    before = pyplot.get_backend()
    pyplot.switch_backend("Agg")
    for name, plot in draws.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            figure = plot(study).figure
        figure.suptitle(f"{record.head.dataset}, {record.head.model}: rule {record.head.objective}")
        path = Path(folder) / f"{stem}-{name}.png"
        figure.savefig(path, dpi=120, bbox_inches="tight")
        pyplot.close(figure)
        paths.append(path)
    pyplot.switch_backend(before)
    return paths

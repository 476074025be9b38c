"""Which settings should a model have on a new data set?

A search tries many. Settings that keep the shapes of the weights (learning rate, dropout, weight
decay) train side by side in one program, on all folds at once, so that eight of them cost little
more than one. Every trial is in the study's file before it runs: stop this program at any time,
start it again, and it goes on where it was.

Here a grid of sixteen settings is searched on generated graphs in which triangles decide the
class. The rule of the objective matters: `gin` chooses epoch and settings on the very folds that
it reports, `fair` on an inner hold-out.

    python examples/05_sweep.py

The same from the command line, with Optuna's proposals:

    lgan sweep triangles --model lgan --epochs 10 --folds 3 --trials 16
"""

import tempfile
from pathlib import Path

from lgan.sweep import Batch, Head, Here, Study, Trial, tune

SPACE = {
    "hidden": [4, 16],  # changes shapes: a batch has one of them
    "lr": [0.001, 0.01],
    "dropout": [0.0, 0.5],
    "weight_decay": [0.0, 0.0001],
}
FIXED = {"epochs": 6, "iterations": 3, "num_layers": 2}


def show(trials: list[Trial]) -> None:
    finished = [trial for trial in trials if trial.outcome is not None]
    best = max((trial.value or 0.0 for trial in finished), default=0.0)
    print(f"{len(finished):2} of {len(trials)} proposed trials are done, best so far {best:.1%}")


def search(folder: Path, objective: str) -> None:
    head = Head(
        model="lgan",
        dataset="triangles",
        objective=objective,
        space=SPACE,
        fixed=FIXED,
        folds="3",
        seed=0,
        sampler="grid",
    )
    study = Study(folder / f"{objective}.json", head)
    batch = Batch(head, "triangles", [], folds=3)
    winner = tune(study, Here(), batch, trials=16, size=8, on_trials=show)
    assert winner is not None
    assert winner.outcome is not None
    rules = {rule: f"{read['mean']:.1%}" for rule, read in winner.outcome.results.items()}
    print(f"objective {objective}: {winner.params} wins; read by every rule: {rules}\n")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for objective in ("gin", "fair"):
            search(Path(folder), objective)


if __name__ == "__main__":
    main()

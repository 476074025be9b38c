"""Who proposes trials and remembers them: Optuna's samplers, and a JSON file."""

import json
import random
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lgan._optional import require
from lgan.catalogue import known
from lgan.sweep.record import Head, SweepRecord
from lgan.sweep.space import points, shape_of
from lgan.sweep.trial import Outcome, Trial

SAMPLERS = {
    "random": "points at random, none twice",
    "grid": "all points in order",
    "tpe": "Optuna's tree-structured Parzen estimator",
}


class Study:
    """The memory of a search in one JSON file, which is also its record.

    Whatever it has proposed is on disk before it runs. Trials of one batch have one shape, so that
    they can train side by side: the first is the sampler's proposal, the others its proposals given
    that shape. Where it repeats itself, the batch is filled up with other points of the shape.

    Args:
        path: The file; an existing one is gone on with.
        head: What the search is about.
        environment: Where it is run, for the record.
    """

    def __init__(
        self, path: Path | str, head: Head, environment: dict[str, Any] | None = None
    ) -> None:
        known(head.sampler, SAMPLERS, "sampler")
        self.path, self.head = Path(path), head
        self._environment = environment or {}
        self._trials: dict[int, Trial] = {}
        if self.path.exists():
            before = SweepRecord.load(self.path)
            self._trials = {trial.number: trial for trial in before.trials}
            head.check_same(before.head, str(self.path))

    def propose(self, size: int) -> list[Trial]:
        """New trials of one shape, at most ``size``; none where the space is exhausted."""
        tried = {key_of(trial.params) for trial in self.trials()}
        left = {key_of(point): point for point in points(self.head.space)}
        left = {key: point for key, point in left.items() if key not in tried}
        chosen = [] if self.head.sampler == "grid" or not left else self._sample(size, left)
        rest = [point for point in left.values() if point not in chosen]
        number = max(self._trials, default=-1) + 1
        if self.head.sampler != "grid":
            random.Random(f"{self.head.seed} {number}").shuffle(rest)
        if left:
            shape = shape_of((chosen or rest)[0])
            chosen += [p for p in rest if shape_of(p) == shape][: size - len(chosen)]
        proposed = [Trial(number + i, point) for i, point in enumerate(chosen)]
        self._trials |= {trial.number: trial for trial in proposed}
        self._save()
        return proposed

    def tell(self, number: int, outcome: Outcome) -> None:
        """Remember what a trial gave."""
        self._trials[number] = replace(self._trials[number], outcome=outcome)
        self._save()

    def trials(self) -> list[Trial]:
        """All trials, in order."""
        return list(self._trials.values())

    def unfinished(self) -> list[Trial]:
        """Trials that were running when a search stopped: they are run again, none is lost."""
        return [trial for trial in self.trials() if trial.outcome is None]

    def record(self) -> SweepRecord:
        """What the file holds."""
        return SweepRecord(self.head, self.trials(), self._environment)

    def _save(self) -> None:
        self.record().save(self.path)

    def _sample(self, size: int, left: Mapping[str, dict[str, Any]]) -> list[dict[str, Any]]:
        """Proposals of one shape that nobody has run, until the sampler repeats itself."""
        optuna = require("optuna")
        study = optuna_study(self.head, self.trials())
        distributions = _distributions(self.head)
        chosen: list[dict[str, Any]] = []
        while len(chosen) < size:
            # A new sampler for every trial, seeded by its number, proposes the same after a
            # restart.
            seed = self.head.seed + len(self._trials) + len(chosen)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
                sampler = (
                    optuna.samplers.RandomSampler(seed=seed)
                    if self.head.sampler == "random"
                    else optuna.samplers.TPESampler(
                        seed=seed, multivariate=True, constant_liar=True
                    )
                )
                shape = shape_of(chosen[0]) if chosen else {}
                study.sampler = optuna.samplers.PartialFixedSampler(shape, sampler)
                point = left.get(key_of(study.ask(distributions).params))
            if point is None or point in chosen:
                break
            chosen.append(point)
        return chosen


def optuna_study(
    head: Head, trials: Sequence[Trial], *, storage: str | None = None, name: str | None = None
) -> Any:
    """A search as Optuna has it: for its samplers, its pictures, and, in a database at the address
    ``storage``, where a study of that name is replaced, for its dashboard.
    """
    optuna = require("optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    if storage is not None and name in optuna.get_all_study_names(storage):
        optuna.delete_study(study_name=name, storage=storage)
    study = optuna.create_study(storage=storage, study_name=name, direction="maximize")
    states = {
        "running": optuna.trial.TrialState.RUNNING,
        "done": optuna.trial.TrialState.COMPLETE,
        "pruned": optuna.trial.TrialState.PRUNED,
        "failed": optuna.trial.TrialState.FAIL,
    }
    for trial in trials:
        outcome = trial.outcome
        study.add_trial(
            optuna.trial.create_trial(
                state=states["running" if outcome is None else outcome.state],
                params=trial.params,
                distributions=_distributions(head),
                value=trial.value,
                intermediate_values=None if outcome is None else outcome.progress,
            )
        )
    return study


def key_of(params: Mapping[str, Any]) -> str:
    """Settings as a string that can be compared."""
    return json.dumps(params, sort_keys=True)


def _distributions(head: Head) -> dict[str, Any]:
    categories = require("optuna").distributions.CategoricalDistribution
    return {name: categories(tuple(choices)) for name, choices in head.space.items()}

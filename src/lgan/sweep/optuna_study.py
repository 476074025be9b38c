"""A study in a database, with Optuna's proposals."""

import contextlib
import json
import random
import warnings
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lgan._optional import require
from lgan.sweep.record import Head, SweepRecord
from lgan.sweep.space import points, shape_of
from lgan.sweep.study import Study, key_of
from lgan.sweep.trial import Outcome, State, Trial

__all__ = ["OptunaStudy", "sqlite_url"]

_HEAD, _OUTCOME, _REPEATED = "lgan head", "lgan outcome", "lgan repeated"


def sqlite_url(path: Path | str) -> str:
    """The database URL of a file.

    Example:
        >>> sqlite_url("runs/sweep/a.db")
        'sqlite:///runs/sweep/a.db'
    """
    return f"sqlite:///{Path(path).as_posix()}"


class OptunaStudy(Study):
    """A study in any database that Optuna takes.

    The first trial of a batch is Optuna's proposal; the others are its proposals given that
    shape, so that they can train side by side. Once it repeats itself the batch is filled up with
    other points of the shape; a repeated proposal is no trial.

    Args:
        storage: Database URL, such as ``sqlite:///study.db``.
        name: Name of the study in the database; an existing one is gone on with.
        head: What the search is about.
        environment: Where it is run, for the record.
    """

    def __init__(
        self, storage: str, name: str, head: Head, environment: dict[str, Any] | None = None
    ) -> None:
        self.head = head
        self._environment = environment or {}
        self._optuna = require("optuna")
        self._optuna.logging.set_verbosity(self._optuna.logging.WARNING)
        if storage.startswith("sqlite:///"):
            Path(storage.removeprefix("sqlite:///")).parent.mkdir(parents=True, exist_ok=True)
        self._study = self._optuna.create_study(
            storage=storage, study_name=name, direction="maximize", load_if_exists=True
        )
        before = self._study.user_attrs.get(_HEAD)
        if before is not None:
            head.check_same(before, f"{storage}, study {name!r}")
        self._study.set_user_attr(_HEAD, json.loads(json.dumps(asdict(head))))
        categories = self._optuna.distributions.CategoricalDistribution
        self._distributions = {key: categories(tuple(c)) for key, c in head.space.items()}

    def propose(self, size: int) -> list[Trial]:
        """Proposals of one shape that have not been run yet."""
        known = {key_of(trial.params) for trial in self.trials()}
        fresh: list[Trial] = []
        shape: dict[str, Any] = {}
        while len(fresh) < size:
            proposed = self._ask(shape)
            if key_of(proposed.params) in known:
                self._trial(proposed.number).set_user_attr(_REPEATED, True)
                self._study.tell(proposed.number, state=self._optuna.trial.TrialState.FAIL)
                break
            known.add(key_of(proposed.params))
            fresh.append(proposed)
            shape = shape_of(proposed.params)
        return fresh + [self._ask(point) for point in self._left(size - len(fresh), shape)]

    @staticmethod
    def remove(storage: str, name: str) -> None:
        """Delete a study from a database, if it is there."""
        optuna = require("optuna")
        with contextlib.suppress(KeyError):
            optuna.delete_study(study_name=name, storage=storage)

    def tell(self, number: int, outcome: Outcome) -> None:
        """Hand an outcome to Optuna."""
        states = self._optuna.trial.TrialState
        state = {"done": states.COMPLETE, "pruned": states.PRUNED}.get(outcome.state, states.FAIL)
        trial = self._trial(number)
        for epoch, value in outcome.progress.items():
            trial.report(value, epoch)
        trial.set_user_attr(_OUTCOME, asdict(outcome))
        final = outcome.value if outcome.state == "done" else None
        self._study.tell(number, final, state=state)

    def trials(self) -> list[Trial]:
        """All trials, in order."""
        trials = self._study.get_trials(deepcopy=False)
        return [_plain(trial) for trial in trials if _REPEATED not in trial.user_attrs]

    def record(self) -> SweepRecord:
        """Everything in the database, for a file."""
        return SweepRecord(self.head, self.trials(), self._environment)

    def _ask(self, fixed: Mapping[str, Any]) -> Trial:
        """Optuna's proposal, given some of the settings."""
        samplers = self._optuna.samplers
        # A new sampler for every trial, seeded by its number, proposes the same after a restart.
        seed = self.head.seed + len(self._study.get_trials(deepcopy=False))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", self._optuna.exceptions.ExperimentalWarning)
            sampler = samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True)
            self._study.sampler = samplers.PartialFixedSampler(dict(fixed), sampler)
            trial = self._study.ask(self._distributions)
        return Trial(trial.number, trial.params)

    def _left(self, size: int, shape: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Points of a shape, or of any one, that nobody has proposed, at random."""
        trials = self.trials()
        tried = {key_of(trial.params) for trial in trials}
        space = {name: tuple(choices) for name, choices in self.head.space.items()}
        left = [point for point in points(space) if key_of(point) not in tried]
        draw = random.Random(f"{self.head.seed} {len(trials)}")
        draw.shuffle(left)
        wanted = shape or (shape_of(left[0]) if left else {})
        return [point for point in left if shape_of(point) == wanted][:size]

    def _trial(self, number: int) -> Any:
        frozen = self._study.get_trials(deepcopy=False)[number]
        return self._optuna.trial.Trial(self._study, frozen._trial_id)


def _plain(trial: Any) -> Trial:
    told = trial.user_attrs.get(_OUTCOME)
    state: State = {"COMPLETE": "done", "PRUNED": "pruned", "FAIL": "failed"}.get(
        trial.state.name, "running"
    )  # type: ignore[assignment]
    if told is not None and state != "running":
        return Trial.from_json({"number": trial.number, "params": trial.params, "outcome": told})
    outcome = None if state == "running" else Outcome(state, trial.value)
    return Trial(trial.number, dict(trial.params), outcome)

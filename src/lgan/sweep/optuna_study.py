"""A study in a database, with Optuna's proposals."""

import json
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

_HEAD, _OUTCOME = "lgan head", "lgan outcome"


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
    shape, so that they can train side by side. Settings proposed a second time are not run again:
    such a trial gets the outcome of the first.

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
        self._twins: dict[int, list[int]] = {}  # trials that wait for the outcome of another
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
        known = {key_of(trial.params): trial for trial in self.trials()}
        fresh: list[Trial] = []
        shape: dict[str, Any] = {}
        for _ in range(size):
            proposed = self._ask(shape)
            first = known.setdefault(key_of(proposed.params), proposed)
            if first.outcome is not None:
                self.tell(proposed.number, first.outcome)
            elif first is not proposed:
                self._twins.setdefault(first.number, []).append(proposed.number)
            else:
                fresh.append(proposed)
                shape = shape_of(proposed.params)
        return fresh or [self._ask(point) for point in self._left(size)]

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
        for twin in self._twins.pop(number, []):
            self.tell(twin, outcome)

    def trials(self) -> list[Trial]:
        """All trials, in order."""
        return [_plain(trial) for trial in self._study.get_trials(deepcopy=False)]

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

    def _left(self, size: int) -> list[dict[str, Any]]:
        """Points of one shape that nobody has proposed, once Optuna repeats itself."""
        tried = {key_of(trial.params) for trial in self.trials()}
        space = {name: tuple(choices) for name, choices in self.head.space.items()}
        left = [point for point in points(space) if key_of(point) not in tried]
        return [point for point in left if shape_of(point) == shape_of(left[0])][:size]

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

"""A search on disk: the space, every trial, the winner."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lgan.data.cache import save_record
from lgan.sweep.trial import OBJECTIVES, Trial

FORMAT = 1


@dataclass(frozen=True)
class Head:
    """What a search is about; it must agree for a search to go on.

    Attributes:
        model: Name of the model.
        dataset: Name of the data set.
        objective: ``gin`` or ``fair``.
        space: Choices by setting.
        fixed: All other settings, which the trials share; in early records those given.
        folds: Number of folds drawn, or the name of the folder of published ones.
        split: How folds are made; see :class:`lgan.data.Split`.
        metric: Name of the metric that the objective is a mean of.
        asked: What was said of the source beyond its name, by option.
        seed: Seed of folds, weights, batches and proposals.
        sampler: ``random``, ``grid`` or ``tpe``.
        seeds: Trainings of every trial, side by side, whose mean is its objective. They differ in
            initial weights and dropout and share the batches.
        data: Checksum of graphs, targets and folds; empty in early records.
    """

    model: str
    dataset: str
    objective: str
    space: dict[str, list[Any]]
    fixed: dict[str, Any]
    folds: str
    seed: int
    sampler: str
    seeds: int = 1
    split: str = "stratified"
    metric: str = "accuracy"
    asked: dict[str, Any] = field(default_factory=dict)
    data: str = ""

    def check_same(self, before: "Head", where: str) -> None:
        """Refuse to go on with another search than the one begun."""
        now, then = self._flat(), before._flat()
        if not before.data:
            then["data"] = self.data
        names = dict.fromkeys([*now, *then])
        changed = [name for name in names if then.get(name) != now.get(name)]
        if changed:
            listed = "; ".join(f"{name}: {then.get(name)} → {now.get(name)}" for name in changed)
            raise ValueError(
                f"The search in {where} was begun with other settings: {listed}. "
                "Go on with the same, or give the new one another `--name`."
            )

    def _flat(self) -> dict[str, Any]:
        plain = json.loads(json.dumps(asdict(self)))
        fixed = plain.pop("fixed")
        return {**plain, **fixed}


@dataclass(frozen=True)
class SweepRecord:
    """A search as JSON.

    Attributes:
        head: What it is about.
        trials: All trials, in the order they were proposed.
        environment: Where it was run.
    """

    head: Head
    trials: list[Trial]
    environment: dict[str, Any] = field(default_factory=dict)

    @property
    def winner(self) -> Trial | None:
        """The finished trial with the best objective, the first of equals."""
        done = [trial for trial in self.trials if trial.value is not None]
        return max(done, key=lambda trial: trial.score, default=None)

    def to_json(self) -> dict[str, Any]:
        """Plain values, with the winner and the counts beside the trials they come from."""
        states = [t.outcome.state if t.outcome else "running" for t in self.trials]
        winner = self.winner
        return {
            "format": FORMAT,
            **asdict(self.head),
            "meaning": OBJECTIVES[self.head.objective],
            "num_trials": len(self.trials),
            "states": {state: states.count(state) for state in sorted(set(states))},
            "winner": None if winner is None else asdict(winner),
            "trials": [asdict(trial) for trial in self.trials],
            "environment": self.environment,
        }

    @staticmethod
    def from_json(plain: dict[str, Any]) -> "SweepRecord":
        """The record back from :meth:`to_json`."""
        if plain.get("format") != FORMAT:
            raise ValueError(
                f"Expected a search record of format {FORMAT}, got {plain.get('format')}. "
                "Read it with the version of lgan that wrote it, or search again."
            )
        told = {name: plain[name] for name in Head.__dataclass_fields__ if name in plain}
        if not str(told["folds"]).isdigit():  # early records name published folds by these alone
            told.setdefault("split", f"published:{told['folds']}")
        trials = [Trial.from_json(trial) for trial in plain["trials"]]
        return SweepRecord(Head(**told), trials, plain["environment"])

    def save(self, path: Path | str) -> None:
        """Write the record, whole or not at all."""
        save_record(path, self.to_json())

    @staticmethod
    def load(path: Path | str) -> "SweepRecord":
        """Read a record."""
        return SweepRecord.from_json(json.loads(Path(path).read_text()))

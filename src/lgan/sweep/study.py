"""Who proposes trials and remembers them: a JSON file, or a database that Optuna keeps."""

import json
import random
from abc import ABC, abstractmethod
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

from lgan.sweep.record import Head, SweepRecord
from lgan.sweep.space import points, shape_of
from lgan.sweep.trial import Outcome, Trial

__all__ = ["SAMPLERS", "JsonStudy", "Study", "key_of"]

SAMPLERS = {
    "random": "points of a random shape, none twice; needs no other package",
    "grid": "all points in order; needs no other package",
    "tpe": "Optuna's tree-structured Parzen estimator",
}


class Study(ABC):
    """The memory of a search. Whatever it has proposed is on disk before it runs."""

    head: Head

    @abstractmethod
    def propose(self, size: int) -> list[Trial]:
        """New trials of one shape, at most ``size``; none where the space is exhausted."""

    @abstractmethod
    def tell(self, number: int, outcome: Outcome) -> None:
        """Remember what a trial gave."""

    @abstractmethod
    def trials(self) -> list[Trial]:
        """All trials, in order."""

    def unfinished(self) -> list[Trial]:
        """Trials that were running when a search stopped: they are run again, none is lost."""
        return [trial for trial in self.trials() if trial.outcome is None]

    def record(self) -> SweepRecord:
        """Everything, for a file."""
        return SweepRecord(self.head, self.trials())


class JsonStudy(Study):
    """A study in one JSON file, which is also its record; proposes by ``random`` or ``grid``.

    Args:
        path: The file; an existing one is gone on with.
        head: What the search is about.
        environment: Where it is run, for the record.
    """

    def __init__(
        self, path: Path | str, head: Head, environment: dict[str, Any] | None = None
    ) -> None:
        if head.sampler not in ("random", "grid"):
            raise ValueError(
                f"A study in a JSON file proposes by random or grid, got {head.sampler!r}. "
                "Use a database for other samplers."
            )
        self.path = Path(path)
        self.head = head
        self._environment = environment or {}
        self._trials: list[Trial] = []
        if self.path.exists():
            before = SweepRecord.load(self.path)
            head.check_same(json.loads(self.path.read_text()), str(self.path))
            self._trials = before.trials
        self._shapes: dict[str, list[dict[str, Any]]] = defaultdict(list)
        tried = {key_of(trial.params) for trial in self._trials}
        for point in points({name: tuple(c) for name, c in head.space.items()}):
            if key_of(point) not in tried:
                self._shapes[key_of(shape_of(point))].append(point)

    def propose(self, size: int) -> list[Trial]:
        """The next points of one shape."""
        if not self._shapes:
            return []
        shape, count = next(iter(self._shapes)), len(self._trials)
        left = self._shapes[shape]
        chosen = left[:size]
        if self.head.sampler == "random":
            # Seeded by what is there already: a search that was stopped goes on the same way.
            draw = random.Random(f"{self.head.seed} {count}")
            shape = draw.choice(sorted(self._shapes))
            left = self._shapes[shape]
            chosen = draw.sample(left, min(size, len(left)))
        self._shapes[shape] = [point for point in left if point not in chosen]
        if not self._shapes[shape]:
            del self._shapes[shape]
        proposed = [Trial(count + i, point) for i, point in enumerate(chosen)]
        self._trials += proposed
        self._save()
        return proposed

    def tell(self, number: int, outcome: Outcome) -> None:
        """Write an outcome to the file."""
        self._trials[number] = replace(self._trials[number], outcome=outcome)
        self._save()

    def trials(self) -> list[Trial]:
        """All trials, in order."""
        return list(self._trials)

    def record(self) -> SweepRecord:
        """What the file holds."""
        return SweepRecord(self.head, self.trials(), self._environment)

    def _save(self) -> None:
        self.record().save(self.path)


def key_of(params: dict[str, Any]) -> str:
    """Settings as a string that can be compared."""
    return json.dumps(params, sort_keys=True)

"""A trial: settings to try and what came of them."""

import math
from dataclasses import dataclass, field
from typing import Any, Literal

State = Literal["running", "done", "pruned", "failed"]

OBJECTIVES = {
    "gin": "mean of the held-out metric at the one epoch where it is best. Optimistic: epoch and "
    "settings are chosen on the very folds that are reported.",
    "fair": "mean of the metric on the inner hold-out, each fold at its own best epoch. The test "
    "folds take no part in the choice.",
}


@dataclass(frozen=True)
class Outcome:
    """What a trial gave.

    Attributes:
        state: ``done``, ``pruned`` or ``failed``.
        value: The objective, of which more is better: an error counts with a minus sign. Of a
            pruned trial up to where it was stopped.
        results: Mean and deviation over folds by rule.
        progress: The objective so far by number of epochs.
        seconds: Time of the batch it ran in.
        message: Why it failed.
    """

    state: State
    value: float | None = None
    results: dict[str, dict[str, float]] = field(default_factory=dict)
    progress: dict[int, float] = field(default_factory=dict)
    seconds: float = 0.0
    message: str = ""


@dataclass(frozen=True)
class Trial:
    """One point of the search space.

    Attributes:
        number: Counted from 0.
        params: Its settings.
        outcome: What came of it; ``None`` while it runs, or was running when the search stopped.
    """

    number: int
    params: dict[str, Any]
    outcome: Outcome | None = None

    @property
    def value(self) -> float | None:
        """The objective of a trial that ran to its end."""
        return self.outcome.value if self.outcome and self.outcome.state == "done" else None

    @property
    def score(self) -> float:
        """What trials are ranked by: equal means may differ in their last bits."""
        return -math.inf if self.value is None else round(self.value, 9)

    @staticmethod
    def from_json(plain: dict[str, Any]) -> "Trial":
        """The trial back from its plain values."""
        told = plain["outcome"]
        if told is not None:
            progress = {int(epoch): value for epoch, value in told["progress"].items()}
            told = Outcome(**{**told, "progress": progress})
        return Trial(plain["number"], plain["params"], told)

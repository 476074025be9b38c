"""The search: propose, run side by side, remember, until enough trials are done."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from statistics import median

from lgan.sweep.evaluate import Batch
from lgan.sweep.space import shape_of
from lgan.sweep.study import Study, key_of
from lgan.sweep.trial import Outcome, Trial
from lgan.sweep.workers import Workers

# A batch whose worker dies this often is given up: it is the batch, then, not the machine.
TRIES = 3
# Trials that must have finished before others are measured by them.
STARTUP = 8

# Called with all trials after each batch, and when batches begin.
OnTrials = Callable[[list[Trial]], None]


def tune(
    study: Study,
    workers: Workers,
    batch: Batch,
    *,
    trials: int,
    size: int = 8,
    prune: bool = True,
    on_trials: OnTrials | None = None,
) -> Trial | None:
    """Search until a study has so many trials; the winner, if any trial finished.

    Every trial is in the study's storage before it runs. Those that were running when an earlier
    search ended, by Ctrl-C or a kill, are run first; a batch whose worker dies is run again.

    Args:
        study: Proposes trials and remembers them.
        workers: Runs them.
        batch: What all batches share: data, folds, device.
        trials: How many trials the study shall have in the end.
        size: Trials of one shape that train side by side.
        prune: Stop a batch at a quarter, half or three quarters of its epochs where all its
            trials are below the median of the finished ones there (Golovin et al., Google Vizier,
            2017). A single trial is not stopped: beside others it costs next to nothing.
        on_trials: Told all trials whenever something changed.
    """
    # The trials of a batch, and how often it was begun.
    waiting = [(part, 1) for part in _by_shape(study.unfinished(), size)]
    running: dict[int, tuple[list[Trial], int]] = {}
    tickets = count()
    while True:
        while len(running) < workers.slots:
            room = trials - len(study.trials())
            if not waiting and room > 0 and (fresh := study.propose(min(size, room))):
                waiting.append((fresh, 1))
            if not waiting:
                break
            ticket = next(tickets)
            running[ticket] = waiting.pop(0)
            params = [trial.params for trial in running[ticket][0]]
            limits = medians(study.trials()) if prune else {}
            workers.submit(ticket, replace(batch, params=params, medians=limits))
        if on_trials is not None:
            on_trials(study.trials())
        if not running:
            return study.record().winner
        ticket, outcomes = workers.next()
        own, tries = running.pop(ticket)
        if outcomes is None and tries < TRIES:
            waiting.append((own, tries + 1))
            continue
        lost = Outcome("failed", message=f"The worker died {TRIES} times with these settings.")
        for trial, outcome in zip(own, outcomes or [lost] * len(own), strict=True):
            study.tell(trial.number, outcome)


def medians(trials: Sequence[Trial]) -> dict[int, float]:
    """By number of epochs, what finished trials had reached by then, the median of them."""
    done = [t.outcome for t in trials if t.outcome is not None and t.outcome.state == "done"]
    epochs = sorted({epoch for outcome in done for epoch in outcome.progress})
    values = {epoch: [o.progress[epoch] for o in done if epoch in o.progress] for epoch in epochs}
    return {epoch: median(some) for epoch, some in values.items() if len(some) >= STARTUP}


def _by_shape(trials: Sequence[Trial], size: int) -> list[list[Trial]]:
    groups: dict[str, list[Trial]] = {}
    for trial in trials:
        groups.setdefault(key_of(shape_of(trial.params)), []).append(trial)
    return [group[i : i + size] for group in groups.values() for i in range(0, len(group), size)]

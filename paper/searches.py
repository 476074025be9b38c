"""What the searches for settings found, and what is left of it with fresh seeds."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paper.cells import chosen_group, measure
from paper.published import SETS
from paper.records import Run, check_accuracy
from paper.render import Grid

# Settings that change no result.
NOT_SETTINGS = ("memory_budget",)


@dataclass(frozen=True)
class Search:
    """All searches for one model on one set.

    Attributes:
        model: Name of the model.
        dataset: Name of the data set.
        trials: How many trials ended.
        value: Objective of the winner: the best of the trials with the most seeds.
        seeds: Seeds that it is the mean of.
        tied: Settings of the winner, the first of equals, and of those that equal it.
    """

    model: str
    dataset: str
    trials: int
    value: float
    seeds: int
    tied: list[dict[str, Any]]


def read_searches(folder: Path | str) -> list[Search]:
    """The searches by the rule ``gin`` in a folder of records that `lgan sweep` wrote."""
    found: dict[tuple[str, str], list[tuple[int, float, dict[str, Any]]]] = {}
    for path in sorted(Path(folder).glob("*.json")):
        plain = json.loads(path.read_text())
        if plain.get("objective") != "gin":
            continue
        check_accuracy(plain, path)
        for trial in plain["trials"]:
            outcome = trial["outcome"] or {}
            if outcome.get("state") == "done":
                settings = {**plain["fixed"], **trial["params"]}
                settings = {k: v for k, v in settings.items() if k not in NOT_SETTINGS}
                key = plain["model"], plain["dataset"]
                found.setdefault(key, []).append(
                    (plain.get("seeds", 1), outcome["value"], settings)
                )
    searches = []
    for (model, dataset), trials in found.items():
        # Equal means may differ in their last bits.
        seeds, value = max((seeds, round(value, 9)) for seeds, value, _ in trials)
        tied = [each for s, v, each in trials if (s, round(v, 9)) == (seeds, value)]
        searches.append(Search(model, dataset, len(trials), value, seeds, tied))
    return searches


def search_grid(searches: Sequence[Search], runs: Sequence[Run]) -> Grid:
    """One table: models down, sets across; the best trial, then the same settings anew."""
    by_cell = {(search.model, search.dataset): search for search in searches}
    models = dict.fromkeys(sorted(search.model for search in searches))
    sets = [name for name in SETS if any(key[1] == name for key in by_cell)]
    rows = [[model, *(_text(by_cell.get((model, s)), model, s, runs) for s in sets)]
            for model in models]  # fmt: skip
    notes = [
        "Best trial (×seeds, of all trials) → the settings that won, trained anew (×seeds). The "
        "first is a maximum over trials and epochs on the very folds it is reported on; what the "
        "second falls short of it by was luck. Where trials tie, one of them was trained anew.",
    ]
    return Grid(
        "Searches: accuracy in percent, rule gin, published folds", ["model", *sets], rows, notes
    )


def _text(search: Search | None, model: str, dataset: str, runs: Sequence[Run]) -> str:
    if search is None:
        return "not searched"
    seeds = f"×{search.seeds}, " if search.seeds > 1 else ""
    best = f"{100 * search.value:.1f} ({seeds}of {search.trials})"
    # Early records leave out what nobody gave.
    mine = [
        run
        for run in runs
        if (run.model, run.dataset) == (model, dataset)
        and any(all(run.settings.get(k, v) == v for k, v in won.items()) for won in search.tied)
    ]
    anew = measure(chosen_group(mine, published_folds=True), "gin")
    return best if anew is None else f"{best} → {anew.mean:.1f} ×{anew.seeds}"

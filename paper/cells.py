"""Which records make a cell of the accuracy table, and what they say together."""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

from lgan.catalogue import DATASETS
from lgan.zoo import MODELS
from paper.records import Run, default_settings
from paper.significance import mark

NOT_RUN = "not run"
CHOICE = (
    "A cell averages the seeds (×n) of one setting on one partition: GIN's published folds before "
    "other folds (‡), the settings that `lgan cv` uses by default before others, independent seeds "
    "before those that share initial weights (°: records of lgan 0.1.0, where model `k` of seed "
    "`s` began with `s + k`, so that three seeds of ten folds have 12 initialisations), then the "
    "setting with the most seeds, then the newest; never the one with the best figure. The "
    "deviation is that over folds, averaged over seeds."
)


@dataclass(frozen=True)
class Cell:
    """A measured figure, in percent.

    Attributes:
        mean: Mean over folds and seeds.
        std: Standard deviation over folds, averaged over seeds.
        folds: Accuracy of every fold, averaged over seeds.
        fold_key: Which folds these are.
        test_share: Test graphs over training graphs.
        published_folds: Whether they are those published with GIN.
        independent: Whether its seeds share no initial weights.
        settings: What it was measured with.
        records: The files it comes from, one a seed.
        members: Models of a fold that were averaged, where that are not all inner folds.
    """

    mean: float
    std: float
    folds: tuple[float, ...]
    fold_key: str
    test_share: float
    published_folds: bool
    independent: bool
    settings: dict[str, Any]
    records: tuple[Path, ...]
    members: int | None = None

    @property
    def seeds(self) -> int:
        """How many seeds it averages."""
        return len(self.records)

    def __str__(self) -> str:
        seeds = f" ×{self.seeds}{'' if self.independent else '°'}" if self.seeds > 1 else ""
        few = "" if self.members is None else f" ({self.members} members)"
        return f"{self.mean:.1f} ± {self.std:.1f}{seeds}{few}{'' if self.published_folds else ' ‡'}"


def groups(runs: Iterable[Run]) -> list[list[Run]]:
    """Runs of the same settings on the same folds, which differ in nothing but the seed."""
    found: dict[tuple[object, ...], list[Run]] = defaultdict(list)
    for run in runs:
        settings = json.dumps(run.settings, sort_keys=True)
        key = (run.model, run.dataset, settings, run.folds, run.independent_seeds, run.members)
        found[key].append(run)
    return list(found.values())


def chosen_group(runs: Sequence[Run], *, published_folds: bool | None = None) -> list[Run]:
    """The runs that make a cell, of all runs of one row on one set (see :data:`CHOICE`).

    Args:
        runs: Runs of one row and one data set.
        published_folds: Only groups on GIN's published folds, or only on others.
    """
    fitting = [
        group for group in groups(runs) if published_folds in (None, group[0].published_folds)
    ]
    return max(fitting, key=_rank, default=[])


def measure(group: Sequence[Run], rule: str) -> Cell | None:
    """What a group says by one rule; ``None`` where none of its runs can be read by it."""
    newest: dict[int, Run] = {}
    for run in sorted(group, key=lambda run: run.time):
        if rule in run.results:
            newest[run.seed] = run
    if not newest:
        return None
    runs = [newest[seed] for seed in sorted(newest)]
    by_seed = [[100 * share for share in run.results[rule]] for run in runs]
    folds = tuple(fmean(values) for values in zip(*by_seed, strict=True))
    members = runs[0].members
    return Cell(
        mean=fmean(folds),
        std=fmean(pstdev(values) for values in by_seed),
        folds=folds,
        fold_key=runs[0].folds,
        test_share=runs[0].inner_share if rule in ("fair", "bagged") else runs[0].test_share,
        published_folds=runs[0].published_folds,
        independent=all(run.independent_seeds for run in runs),
        settings=runs[0].settings,
        records=tuple(run.path for run in runs),
        members=members if rule == "bagged" and 0 < members < len(folds) - 1 else None,
    )


def measure_rule(runs: Sequence[Run], rule: str, *, kernel: bool) -> Cell | None:
    """What all runs of one row on one set say by a rule.

    Of ``bagged`` only runs with members say something; a kernel chooses inside the training part as
    it is, so that its figures are those of ``fair``.
    """
    if rule == "bagged" and kernel:
        rule = "fair"
    elif rule == "bagged":
        runs = [run for run in runs if rule in run.results]
    return measure(chosen_group(runs), rule)


def beside(cell: Cell | None, other: Cell | None) -> str:
    """A figure, and its difference in points to another on the same folds."""
    if cell is None:
        return NOT_RUN
    if other is None or other is cell or cell.fold_key != other.fold_key:
        return str(cell)
    marked = mark(cell.folds, other.folds, cell.test_share)
    return f"{cell} [{cell.mean - other.mean:+.1f}]{marked}"


def _rank(group: list[Run]) -> tuple[bool, bool, bool, int, int, str, str]:
    first = group[0]
    newest = max(run.time for run in group)
    name = max(run.path.name for run in group)  # two runs of one moment: by name, always the same
    return (
        first.published_folds,
        _is_default(first),
        first.independent_seeds,
        len({run.seed for run in group}),
        first.members,
        newest,
        name,
    )


def _is_default(run: Run) -> bool:
    if run.model not in MODELS or run.dataset not in DATASETS:
        return False
    code = run.settings.get("pair_code")
    if "pair_code" in MODELS[run.model].defaults:
        code = None  # the code is part of what was searched for
    wanted = _default(run.model, run.dataset, None if code is None else str(code))
    return all(run.settings[key] == value for key, value in wanted.items() if key in run.settings)


_default = cache(default_settings)

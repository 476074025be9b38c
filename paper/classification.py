"""The paper's Table 1 from our records, beside the published figures."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from lgan.experiment import settings_for
from lgan.train.selection import RULES
from lgan.zoo import MODELS, KernelSpec, NetworkSpec
from paper.ablation import changes_of
from paper.cells import CHOICE, NOT_RUN, Cell, chosen_group, measure, measure_rule
from paper.published import ACCURACY, PEERS, SETS, published
from paper.records import Run, default_settings
from paper.render import Grid
from paper.significance import TEST, mark

CSV_COLUMNS = ["model", "dataset", "rule", "mean", "std", "published", "record"]
# The table's PTC has explicit hydrogens; the usual one is shown beside it.
COLUMNS = (*SETS, "PTC_MR")
# Of the rule that measures what `lgan train` does, there is a set of more molecules too.
LARGER = {"bagged": ("Mutagenicity",)}
# Hours of ten folds from which the time is a reason to leave a cell empty.
LONG = 1.0
SHORT = {"PTC_GIN": "PTC", "IMDB-BINARY": "IMDB-B", "IMDB-MULTI": "IMDB-M"}

OPTIMISM = {
    "gin": "The rule `gin` chooses the epoch where the mean over the very folds it reports is "
    "best, and settings tuned by it were chosen on these folds too: it is optimistic.",
    "fair": "The rule `fair` chooses the epoch on an inner hold-out and reads the test fold once; "
    "but the default settings were searched for on these very folds, so that it is optimistic too.",
    "bagged": "The rule `bagged` is strict nesting with members: for every test fold, models that "
    "each hold out another inner fold choose one epoch together, and their averaged predictions "
    "read the test fold once; default settings that were searched for on these very folds make it "
    "optimistic too. Kernels choose inside the training part: theirs are the figures of `fair`.",
    "fold-max": "The rule `fold-max` reads every fold at its own best epoch: it flatters most, and "
    "is here to compare with papers that use it.",
}
NOTES = [
    "In parentheses: the published figure. Those of the baselines are quoted in the paper's "
    "Table 1 from papers with protocols of their own.",
    CHOICE,
]
# Settings that make a training cheaper, as notes name them.
BUDGET = {"hidden": "width", "epochs": "epochs", "batch_size": "batches of"}
MEANING = {
    "gin": "one epoch for all folds, the best on their mean",
    "fair": "the epoch chosen on an inner hold-out, the settings on these folds",
    "fold-max": "each fold at its own best epoch",
    "bagged": "models with different inner hold-outs, averaged",
}


@dataclass(frozen=True)
class Classification:
    """Accuracies of all models on all sets by every rule.

    Attributes:
        runs: The records, see :func:`paper.records.read_runs`.
        refusals: Why a model cannot do a set, by model and set.
    """

    runs: Sequence[Run]
    refusals: Mapping[tuple[str, str], str]

    @cached_property
    def rows(self) -> list[str]:
        """All models of the zoo, then what the records add; LGAN and its variants last."""
        known = [name for name in ACCURACY if name in MODELS]
        known += [name for name in MODELS if name not in known]
        base = {run.row: run.model for run in self.runs}
        known += sorted(set(base.values()) - set(known))
        extra = sorted(set(base) - set(known))
        rows = [row for name in known for row in (name, *(e for e in extra if base[e] == name))]
        return sorted(rows, key=lambda row: row.startswith("lgan"))

    @cached_property
    def _groups(self) -> dict[tuple[str, str], list[Run]]:
        found: dict[tuple[str, str], list[Run]] = defaultdict(list)
        for run in self.runs:
            found[run.row, run.dataset].append(run)
        return found

    @cached_property
    def _cells(self) -> dict[tuple[str, str, str], Cell | None]:
        cells = {}
        for key, runs in self._groups.items():
            kernel = isinstance(MODELS.get(runs[0].model), KernelSpec)
            for rule in RULES:
                cells[(*key, rule)] = measure_rule(runs, rule, kernel=kernel)
        return cells

    def cell(self, row: str, dataset: str, rule: str) -> Cell | None:
        """What was measured, or ``None``."""
        return self._cells.get((row, dataset, rule))

    def why_missing(self, row: str, dataset: str, rule: str) -> str:
        """Why there is no figure."""
        if (row, dataset) in self._groups:
            return NOT_RUN if rule == "bagged" else "no inner hold-out"
        return self.refusals.get((row, dataset), NOT_RUN)

    def best_lgan(self, dataset: str, rule: str, fold_key: str | None = None) -> str | None:
        """The variant of LGAN with the best mean, on given folds where that matters; by another
        recipe than the tables' under the rule ``bagged`` alone.
        """
        rows = [row for row in self.rows if rule == "bagged" or "recipe" not in row]
        variants = {row: self.cell(row, dataset, rule) for row in rows if row[:4] == "lgan"}
        means = {
            row: cell.mean
            for row, cell in variants.items()
            if cell is not None and fold_key in (None, cell.fold_key)
        }
        return max(means, key=lambda row: means[row], default=None)

    def rival(self, row: str, dataset: str, rule: str) -> Cell | None:
        """The best LGAN on the same folds; ``None`` where there is none but the row itself."""
        mine = self.cell(row, dataset, rule)
        best = None if mine is None else self.best_lgan(dataset, rule, mine.fold_key)
        return None if best is None or best == row else self.cell(best, dataset, rule)

    def csv_rows(self) -> list[list[str]]:
        """A row for every cell and rule; ``record`` says why where there is no figure."""
        keys = [(row, name, rule) for row in self.rows for rule in RULES for name in _sets(rule)]
        keys.sort(key=lambda key: (self.rows.index(key[0]), _sets("bagged").index(key[1])))
        return [self._csv_row(*key) for key in keys]

    def _csv_row(self, row: str, dataset: str, rule: str) -> list[str]:
        cell, figure = self.cell(row, dataset, rule), published(row, dataset, rule)
        told = "" if figure is None else f"{figure.mean:.1f}"
        if cell is None:
            return [row, dataset, rule, "", "", told, f"({self.why_missing(row, dataset, rule)})"]
        records = ";".join(path.as_posix() for path in cell.records)
        return [row, dataset, rule, f"{cell.mean:.2f}", f"{cell.std:.2f}", told, records]

    def grids(self) -> list[Grid]:
        """A table for every rule that was measured, and one for other folds than GIN's where there
        are records.
        """
        members = ["bagged"] if any("bagged" in run.results for run in self.runs) else []
        tables = [self._grid(rule) for rule in ("gin", *members, "fair", "fold-max")]
        own = [run for run in self.runs if not run.published_folds and run.dataset in COLUMNS]
        return tables + ([self._second_opinion()] if own else [])

    def _grid(self, rule: str) -> Grid:
        sets = _sets(rule)
        known = [row for row in self.rows if any(self.cell(row, name, rule) for name in sets)]
        rows = [
            [row, *(self._text(row, name, rule) for name in sets)]
            for row in (known if rule == "bagged" else self.rows)
        ]
        if rule == "gin":
            for name, figures in PEERS.items():
                told = (f"({figures[s]})" if s in figures else "" for s in COLUMNS)
                rows.append([f"{name}, as published", *told])
        best = {name: self.best_lgan(name, rule) for name in sets}
        listed = ", ".join(f"{row} on {name}" for name, row in best.items() if row is not None)
        compared = f"▼ below, ▲ above the best LGAN of the column ({listed or 'none measured'})"
        notes = [OPTIMISM[rule], f"{compared}; the test is that of the rule `gin`."]
        if rule == "gin":
            notes = [OPTIMISM[rule], *NOTES, f"{compared} on the same folds: {TEST}."]
            notes += self._variants()
        reasons = enumerate(self._reasons(), 1)
        notes += [f"[{i}] `lgan table runtime`: {reason}" for i, reason in reasons]
        title = f"Accuracy in percent, rule {rule}: {MEANING[rule]}"
        return Grid(title, _headings(sets), rows, notes)

    def _reasons(self) -> list[str]:
        """What keeps models from sets they have no record of, each once."""
        missing = ((row, name) for row in self.rows for name in COLUMNS)
        missing = (key for key in missing if key in self.refusals and key not in self._groups)
        return list(dict.fromkeys(self.refusals[key] for key in missing))

    def _text(self, row: str, dataset: str, rule: str) -> str:
        cell, figure = self.cell(row, dataset, rule), published(row, dataset, rule)
        told = "" if figure is None else f" ({figure.mean:.1f})"
        if cell is None:
            why = self.why_missing(row, dataset, rule)
            reasons = self._reasons()
            return f"not done [{reasons.index(why) + 1}]{told}" if why in reasons else why + told
        rival = self.rival(row, dataset, rule)
        marked = "" if rival is None else mark(cell.folds, rival.folds, cell.test_share)
        return f"{cell}{marked}{told}"

    def _variants(self) -> list[str]:
        """What the rows measured with where their names leave it open."""
        cells = {(row, name): self.cell(row, name, "gin") for row in self.rows for name in COLUMNS}
        told = [
            f"{row} on {name}: {cell.settings['pair_code']}"
            for (row, name), cell in cells.items()
            if cell is not None and row in MODELS and "pair_code" in MODELS[row].defaults
        ]
        notes = [f"Pair codes: {', '.join(told)}."] if told else []
        changes: dict[str, list[str]] = {}
        for (row, name), cell in cells.items():
            if cell is not None and row.startswith("lgan"):
                named = ["pair_code"] if row == "lgan" else ["pair_code", "residual"]
                for change in changes_of(cell.settings, named):
                    changes.setdefault(change, []).append(f"{row} on {name}")
        if changes:
            told = [f"{change}: {', '.join(where)}" for change, where in changes.items()]
            notes.append(f"Settings that change the paper's layer: {'; '.join(told)}.")
        return notes + self._smaller(cells)

    @staticmethod
    def _smaller(cells: Mapping[tuple[str, str], Cell | None]) -> list[str]:
        """Which cells of other networks had less width or fewer epochs than the network has by
        default.
        """
        told = []
        for (row, name), cell in cells.items():
            network = isinstance(MODELS.get(row), NetworkSpec)
            if cell is None or not network or row.startswith("lgan"):
                continue
            usual = default_settings(row, name)
            if any(cell.settings.get(key, 0) < usual.get(key, 0) for key in ("hidden", "epochs")):
                own = (f"{word} {cell.settings[key]}" for key, word in BUDGET.items())
                told.append(f"{row} on {name}: {', '.join(own)}")
        return [f"Smaller budgets than the model's own: {'; '.join(told)}."] if told else []

    def _second_opinion(self) -> Grid:
        rows = []
        for row in self.rows:
            runs = [self._groups.get((row, name), []) for name in COLUMNS]
            cells = [measure(chosen_group(r, published_folds=False), "gin") for r in runs]
            if any(cells):
                rows.append([row, *("" if c is None else str(c).replace(" ‡", "") for c in cells)])
        notes = ["Stratified folds drawn by this library, a second opinion on the partition."]
        return Grid("Accuracy in percent on other folds, rule gin", _headings(COLUMNS), rows, notes)


def read_refusals(folder: Path | str) -> dict[tuple[str, str], str]:
    """What models said of sets they cannot do, from the records of ``lgan table runtime``, and
    how long those would take that can.

    Returns:
        The reason by model and data set.
    """
    refusals = {}
    for path in sorted(Path(folder).glob("*.json")):
        for cell in json.loads(path.read_text()).get("cells", []):
            reason = str(cell.get("refused") or _duration(cell))
            if reason:
                refusals[cell["model"], cell["dataset"]] = reason
    return refusals


def _duration(cell: dict[str, Any]) -> str:
    """What ten folds would take, where that is long and an epoch is one pass."""
    if not isinstance(MODELS.get(cell["model"]), NetworkSpec):
        return ""
    training, seconds = settings_for(cell["model"], cell["dataset"]).training, cell["epoch"]
    hours = 10 * training.epochs * seconds / 3600
    if training.iterations > 0 or hours < LONG:
        return ""
    return (
        f"an epoch of one {cell['model']} took {seconds:.0f} s, which makes {hours:.0f} h for ten "
        f"folds of {training.epochs} epochs, and nobody has run them."
    )


def _sets(rule: str) -> tuple[str, ...]:
    return (*COLUMNS, *LARGER.get(rule, ()))


def _headings(sets: Sequence[str]) -> list[str]:
    return ["model", *(SHORT.get(name, name) for name in sets)]

"""The outcome of a cross-validation: every fold's curve, and the rules to read them by."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from torch import Tensor

from lgan.data.cache import save_record
from lgan.task import METRICS
from lgan.train.selection import RULES, Selected, select

# Format 1 holds right answers only, no task and no predictions; format 2 no averaged members, and
# records without any are still written in it.
FORMAT = 3
CURVES = {
    "test": "fold_sizes",
    "inner_test": "fold_sizes",
    "inner_validation": "inner_sizes",
    "bagged_test": "fold_sizes",
}


@dataclass(frozen=True)
class CVResult:
    """Curves of every fold, and how they came about.

    Attributes:
        dataset: Name of the data set.
        model: Name of the model and its options.
        config: Settings of the training.
        fold_sizes: Graphs in every test fold.
        test: The metric on the test fold ``[folds, epochs]``.
        loss: Training loss ``[folds, epochs]``.
        inner_sizes: Graphs in every inner hold-out; empty if there was none.
        inner_test: The metric on the test fold of the models with an inner hold-out.
        inner_validation: The metric of these models on their hold-out.
        seconds: Time of every epoch, all models together ``[epochs]``.
        info: Folds, environment, memory: whatever a reader of the record needs.
        metric: Name of the metric.
        task: The task as JSON; empty where classes have no names.
        predictions: By rule, ``gin``, ``fair`` and ``bagged``: what the models, or their average,
            said of the graphs of their test fold at the epoch that the rule selects ``[G, C]`` or
            ``[G, T]``, NaN for a graph in none. Probabilities, or numbers in the units of the
            targets.
        pooled: By rule: the metric of these predictions of all folds at once, which the mean over
            folds is not where a metric is no mean over graphs.
        bagged_members: Models of every fold that were averaged; 0 if there were none.
        bagged_test: The metric of their averaged predictions on the test fold ``[folds, epochs]``.
        bagged_validation: The mean of their metrics on their inner folds ``[folds, epochs]``.
    """

    dataset: str
    model: dict[str, Any]
    config: dict[str, Any]
    fold_sizes: list[int]
    test: Tensor
    loss: Tensor
    inner_sizes: list[int]
    inner_test: Tensor
    inner_validation: Tensor
    seconds: Tensor
    info: dict[str, Any] = field(default_factory=dict)
    metric: str = "accuracy"
    task: dict[str, Any] = field(default_factory=dict)
    predictions: dict[str, Tensor] = field(default_factory=dict)
    pooled: dict[str, float | None] = field(default_factory=dict)
    bagged_members: int = 0
    bagged_test: Tensor = field(default_factory=lambda: torch.empty(0, 0, dtype=torch.float64))
    bagged_validation: Tensor = field(
        default_factory=lambda: torch.empty(0, 0, dtype=torch.float64)
    )

    @property
    def rules(self) -> tuple[str, ...]:
        """The selection rules this run can be read by."""
        return RULES[: 4 if self.bagged_members else 3 if self.inner_sizes else 2]

    def selected(self, rule: str = "gin") -> Selected:
        """The result by one of the rules ``gin``, ``fold-max``, ``fair`` and ``bagged``."""
        if rule not in RULES:
            raise ValueError(f"`rule` must be one of {', '.join(RULES)}, got {rule!r}.")
        if rule not in self.rules:
            raise ValueError(
                f"The rule {rule!r} needs models with an inner hold-out, and this run has none for "
                f"it. Run again with `{rule}=True` (`--{rule}`)."
            )
        nested = {
            "fair": (self.inner_test, self.inner_validation),
            "bagged": (self.bagged_test, self.bagged_validation),
        }
        curves = nested.get(rule, (self.test, self.test))
        higher, window = METRICS[self.metric].higher_is_better, int(self.config.get("window", 1))
        return select(rule, *curves, higher=higher, window=window)

    def to_json(self) -> dict[str, Any]:
        """Plain values, with the results by every rule beside the curves they come from."""
        plain: dict[str, Any] = {"format": FORMAT if self.bagged_members else 2}
        plain["results"] = {rule: self.selected(rule).to_json() for rule in self.rules}
        plain |= {k: v.tolist() if isinstance(v, Tensor) else v for k, v in self.__dict__.items()}
        counts = {name: _right_answers(getattr(self, name), getattr(self, sizes))
                  for name, sizes in CURVES.items()}  # fmt: skip
        whole = {name: curve for name, curve in counts.items() if curve is not None}
        plain["unit"] = "right answers" if len(whole) == len(CURVES) else "metric"
        for name in CURVES:
            rows = whole[name] if plain["unit"] == "right answers" else plain[name]
            plain[name] = [rounded(row, 9) for row in rows]
        plain["bagged_validation"] = [rounded(row, 9) for row in plain["bagged_validation"]]
        plain["loss"] = [rounded(row, 5) for row in plain["loss"]]
        plain["seconds"] = rounded(plain["seconds"], 4)
        plain["predictions"] = {
            rule: [rounded(row, 6) for row in rows.tolist()]
            for rule, rows in self.predictions.items()
        }
        if not self.bagged_members:
            plain = {key: value for key, value in plain.items() if not key.startswith("bagged_")}
        return plain

    @staticmethod
    def from_json(plain: dict[str, Any]) -> "CVResult":
        """The result back from :meth:`to_json`."""
        if plain.get("format") not in (1, 2, FORMAT):
            raise ValueError(
                f"Expected a record of format 1 to {FORMAT}, got {plain.get('format')}. "
                "Read it with the version of lgan that wrote it, or run it again."
            )
        values = {k: v for k, v in plain.items() if k not in ("format", "results", "unit")}
        epochs = len(values["seconds"])
        values = {"bagged_test": [], "bagged_validation": [], **values}  # of older records too
        for name, sizes in CURVES.items():
            curve = _matrix(values[name]).reshape(-1, epochs)  # [0, E] where there is none
            if plain.get("unit", "right answers") == "right answers":
                size = values[sizes][: curve.size(0)]
                curve = curve / torch.tensor(size, dtype=torch.float64)[:, None]
            values[name] = curve
        values["bagged_validation"] = _matrix(values["bagged_validation"]).reshape(-1, epochs)
        values["loss"] = _matrix(values["loss"]).float()
        values["seconds"] = torch.tensor(values["seconds"])
        predictions = values.get("predictions", {})
        values["predictions"] = {rule: _matrix(rows).float() for rule, rows in predictions.items()}
        return CVResult(**values)

    def save(self, path: Path | str) -> None:
        """Write the record as JSON, whole or not at all."""
        save_record(path, self.to_json(), indent=None)

    @staticmethod
    def load(path: Path | str) -> "CVResult":
        """Read a record."""
        return CVResult.from_json(json.loads(Path(path).read_text()))


def over_seeds(results: Sequence[CVResult]) -> dict[str, dict[str, float]]:
    """By rule: the mean over results that differ in the seed, and the mean deviation over folds."""
    read = {rule: [result.selected(rule) for result in results] for rule in results[0].rules}
    return {
        rule: {"mean": fmean(s.mean for s in each), "std": fmean(s.std for s in each)}
        for rule, each in read.items()
    }


def rounded(values: Sequence[float], digits: int) -> list[float | None]:
    """Numbers for a record; JSON has no word for those that are not finite but ``null``."""
    return [round(value, digits) if math.isfinite(value) else None for value in values]


def _right_answers(share: Tensor, sizes: list[int]) -> list[list[float]] | None:
    """A curve as whole numbers of right answers, which are short and exact, where it is that."""
    size = torch.tensor(sizes[: share.size(0)], dtype=torch.float64)[:, None]
    whole = (share * size).round()
    return whole.long().tolist() if torch.equal(whole / size, share.double()) else None


def _matrix(rows: list[list[float | None]]) -> Tensor:
    known = [[math.nan if value is None else value for value in row] for row in rows]
    return torch.tensor(known, dtype=torch.float64)

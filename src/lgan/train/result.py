"""The outcome of a cross-validation: every fold's curve, and the rules to read them by."""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from torch import Tensor

from lgan.data.cache import replaced
from lgan.train import selection
from lgan.train.selection import RULES, Selected

__all__ = ["CVResult", "over_seeds", "rounded"]

FORMAT = 1


@dataclass(frozen=True)
class CVResult:
    """Curves of every fold, and how they came about.

    Attributes:
        dataset: Name of the data set.
        model: Name of the model and its options.
        config: Settings of the training.
        fold_sizes: Graphs in every test fold.
        test: Right answers on the test fold ``[folds, epochs]``.
        loss: Training loss ``[folds, epochs]``.
        inner_sizes: Graphs in every inner hold-out; empty if there was none.
        inner_test: Right answers on the test fold of the models with an inner hold-out.
        inner_validation: Right answers of these models on their hold-out.
        seconds: Time of every epoch, all models together ``[epochs]``.
        info: Folds, environment, memory: whatever a reader of the record needs.
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

    @property
    def rules(self) -> tuple[str, ...]:
        """The selection rules this run can be read by."""
        return RULES if self.inner_sizes else RULES[:2]

    def selected(self, rule: str = "gin") -> Selected:
        """The result by one of the rules ``gin``, ``fold-max`` and ``fair``."""
        if rule not in RULES:
            raise ValueError(f"`rule` must be one of {', '.join(RULES)}, got {rule!r}.")
        if rule not in self.rules:
            raise ValueError(
                "The rule 'fair' needs an inner hold-out, and this run has none. "
                "Run again with `fair=True` (`--fair`)."
            )
        if rule == "fair":
            return selection.fair(
                _share(self.inner_test, self.fold_sizes),
                _share(self.inner_validation, self.inner_sizes),
            )
        test = _share(self.test, self.fold_sizes)
        return selection.gin(test) if rule == "gin" else selection.fold_max(test)

    def to_json(self) -> dict[str, Any]:
        """Plain values, with the results by every rule beside the curves they come from."""
        plain: dict[str, Any] = {"format": FORMAT}
        plain["results"] = {rule: asdict(self.selected(rule)) for rule in self.rules}
        for name, value in self.__dict__.items():
            plain[name] = value.tolist() if isinstance(value, Tensor) else value
        plain["loss"] = [rounded(row, 5) for row in plain["loss"]]
        plain["seconds"] = rounded(plain["seconds"], 4)
        return plain

    @staticmethod
    def from_json(plain: dict[str, Any]) -> "CVResult":
        """The result back from :meth:`to_json`."""
        if plain.get("format") != FORMAT:
            raise ValueError(
                f"Expected a record of format {FORMAT}, got {plain.get('format')}. "
                "Read it with the version of lgan that wrote it, or run it again."
            )
        values = {k: v for k, v in plain.items() if k not in ("format", "results")}
        for name in ("test", "inner_test", "inner_validation"):
            curve = torch.tensor(values[name], dtype=torch.int64)
            values[name] = curve.reshape(-1, len(values["seconds"]))  # [0, E] where there is none
        loss = [[math.nan if v is None else v for v in row] for row in values["loss"]]
        values["loss"], values["seconds"] = torch.tensor(loss), torch.tensor(values["seconds"])
        return CVResult(**values)

    def save(self, path: Path | str) -> None:
        """Write the record as JSON, whole or not at all."""
        with replaced(Path(path)) as temporary:
            temporary.write_text(json.dumps(self.to_json(), allow_nan=False) + "\n")

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


def rounded(values: list[float], digits: int) -> list[float | None]:
    """Numbers for a record; JSON has no word for those that are not finite but ``null``."""
    return [round(value, digits) if math.isfinite(value) else None for value in values]


def _share(right: Tensor, sizes: list[int]) -> Tensor:
    return right.double() / torch.tensor(sizes, dtype=torch.float64)[:, None]

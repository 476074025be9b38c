"""How an integral along the path from the baseline to the graph is taken."""

from dataclasses import dataclass
from functools import cache
from typing import Literal, get_args

import numpy as np
import torch
from torch import Tensor

Baseline = Literal["empty", "drawn"]
gauss_legendre = cache(np.polynomial.legendre.leggauss)


@dataclass(frozen=True)
class Path:
    """Settings of the integral.

    The path is cut into panels, each with its own Gauss-Legendre points. Clipping makes gradients
    jump along the path, so that the error sits in the few panels where much is clipped. What a
    panel should add up to is known, the outputs at its ends; the worst panels are cut in two
    until the scores add up as a whole.

    Attributes:
        steps: Points of the first attempt.
        max_steps: Points at which no further panel is cut.
        tolerance: Gap that is good enough, as a share of the difference to explain.
        order: Points of one panel. ``order=steps`` is the plain rule on the whole path.
        baseline: Where paths begin: ``"empty"``, the graph without edges; ``"drawn"``, several
            graphs that have half of the edges each, drawn in pairs, the second with the edges that
            the first lacks. Scores are then the mean over these, and so is what they start from.
        baselines: How many are drawn.
    """

    steps: int = 32
    max_steps: int = 2048
    tolerance: float = 0.01
    order: int = 2
    baseline: Baseline = "empty"
    baselines: int = 8

    def __post_init__(self) -> None:
        if self.order < 1 or self.steps < self.order or self.steps % self.order:
            raise ValueError(
                f"`steps` must be a multiple of `order`, 1 or more, got steps={self.steps} and "
                f"order={self.order}. Use steps=32 and order=2."
            )
        if self.max_steps < self.steps:
            raise ValueError(
                f"`max_steps` must be `steps` or more, got {self.max_steps} and {self.steps}."
            )
        if not self.tolerance > 0:
            raise ValueError(f"`tolerance` must be positive, got {self.tolerance}.")
        if self.baseline not in get_args(Baseline):
            known = ", ".join(get_args(Baseline))
            raise ValueError(f"`baseline` must be one of {known}, got {self.baseline!r}.")
        if self.baselines < 2 or self.baselines % 2:
            raise ValueError(
                f"`baselines` must be an even number, 2 or more, got {self.baselines}: they are "
                "drawn in pairs."
            )

    def starts(self, pairs: int, draw: torch.Generator) -> list[Tensor]:
        """Masks ``[P]`` at which paths begin.

        Example:
            >>> first, second = Path(baseline="drawn", baselines=2).starts(4, torch.Generator())
            >>> (first + second).tolist()
            [1.0, 1.0, 1.0, 1.0]
        """
        if self.baseline == "empty":
            return [torch.zeros(pairs)]
        kept = [
            (torch.rand(pairs, generator=draw) < 0.5).float() for _ in range(self.baselines // 2)
        ]
        return [mask for one in kept for mask in (one, 1 - one)]

    @property
    def fixed(self) -> bool:
        """Whether there is no room to cut any panel, so that nobody asks which is worst."""
        return self.max_steps < self.steps + 2 * self.order

    def first(self) -> list[tuple[float, float]]:
        """The panels of the first attempt."""
        count = self.steps // self.order
        return [(k / count, (k + 1) / count) for k in range(count)]

    def rule(self) -> tuple[Tensor, Tensor]:
        """Points and weights of a panel from 0 to 1.

        Example:
            >>> points, weights = Path(steps=4, order=1).rule()
            >>> points.tolist(), weights.tolist()
            ([0.5], [1.0])
        """
        points, weights = gauss_legendre(self.order)
        return torch.from_numpy((points + 1) / 2), torch.from_numpy(weights / 2)

    def points(self, panels: list[tuple[float, float]]) -> list[float]:
        """The points of several panels."""
        rule = self.rule()[0].tolist()
        return [low + (high - low) * x for low, high in panels for x in rule]


@dataclass(frozen=True, eq=False)
class Panel:
    """A part of the path and what was found on it.

    Attributes:
        low: Where it begins, between 0 and 1.
        high: Where it ends.
        scores: What it adds to the score of every pair ``[P]``.
        sides: What it adds to that of every triangle entry ``[M]``.
        gap: Sum of the scores minus the rise of the output.
    """

    low: float
    high: float
    scores: Tensor
    sides: Tensor
    gap: float

    def halves(self) -> list[tuple[float, float]]:
        """The two panels it is cut into."""
        middle = (self.low + self.high) / 2
        return [(self.low, middle), (middle, self.high)]


def worst(panels: list[Panel], most: int) -> list[Panel]:
    """The panels that hold two thirds of all gaps, at least one, at most so many, worst first."""
    ranked = sorted(panels, key=lambda panel: -abs(panel.gap))
    total = sum(abs(panel.gap) for panel in panels)
    chosen: list[Panel] = []
    held = 0.0
    for panel in ranked[:most]:
        chosen.append(panel)
        held += abs(panel.gap)
        if held >= total * 2 / 3:
            break
    return chosen

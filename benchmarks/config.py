"""Settings of a benchmark run."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import torch


@dataclass(frozen=True)
class BenchConfig:
    """Where, on what and how thoroughly to measure.

    Attributes:
        device: Where to compute.
        quick: Tiny generated inputs, to see that everything runs; the figures mean nothing.
        full: The largest sizes and the slowest peers too.
        root: Folder for downloads and prepared data.
        mirror: Folder or address that holds ``NAME.zip``.
        seed: Fixes generated graphs, samples and weights.
        progress: Told what is being measured.
    """

    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    quick: bool = False
    full: bool = False
    root: Path = Path("data")
    mirror: str | None = None
    seed: int = 0
    progress: Callable[[str], None] = lambda _: None

    def __post_init__(self) -> None:
        if self.quick and self.full:
            raise ValueError("`quick` and `full` exclude each other. Choose one, or neither.")

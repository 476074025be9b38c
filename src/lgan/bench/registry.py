"""The benchmarks by name."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch

from lgan.bench.codes import codes
from lgan.bench.config import BenchConfig
from lgan.bench.cross_validation import cross_validation
from lgan.bench.epoch import epoch
from lgan.bench.explain import explain
from lgan.bench.import_time import import_time
from lgan.bench.large import large
from lgan.bench.paper import paper
from lgan.bench.prepare import prepare
from lgan.bench.product import product
from lgan.bench.row import Row
from lgan.bench.scaling import scaling
from lgan.bench.triangles import triangles

__all__ = ["BENCHMARKS", "BenchmarkSpec"]


@dataclass(frozen=True)
class BenchmarkSpec:
    """A benchmark.

    Attributes:
        run: Measures and returns its rows.
        description: One line for people.
        device: Where it makes sense: ``cpu``, ``cuda`` or ``any``.
    """

    run: Callable[[BenchConfig], list[Row]]
    description: str
    device: Literal["cpu", "cuda", "any"]

    def fits(self, device: torch.device) -> bool:
        """Whether it makes sense on this device."""
        return self.device in ("any", device.type)


BENCHMARKS: dict[str, BenchmarkSpec] = {
    "import": BenchmarkSpec(import_time, "`import lgan` beside `import torch_geometric`", "cpu"),
    "triangles": BenchmarkSpec(triangles, "Triangle listing beside igraph and networkx", "cpu"),
    "product": BenchmarkSpec(product, "The product with the incidence matrices, both ways", "any"),
    "epoch": BenchmarkSpec(epoch, "One epoch of one LGAN beside PyG's GIN", "cpu"),
    "cv": BenchmarkSpec(
        cross_validation, "Ten folds side by side beside PyG's GIN, fold after fold", "any"
    ),
    "codes": BenchmarkSpec(codes, "Structural pair codes: their cost, and an epoch's", "cpu"),
    "explain": BenchmarkSpec(explain, "Edge explanations beside PyG's CaptumExplainer", "any"),
    "prepare": BenchmarkSpec(prepare, "COLLAB from its zip, and from the cache", "cpu"),
    "scaling": BenchmarkSpec(scaling, "Time and memory of a layer against size", "any"),
    "large": BenchmarkSpec(large, "One large power-law graph beside scipy and igraph", "cpu"),
    "paper": BenchmarkSpec(paper, "Cross-validation of all six sets of the paper", "cuda"),
}

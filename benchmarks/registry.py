"""The benchmarks by name."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import torch

from benchmarks.blocks import blocks
from benchmarks.codes import codes
from benchmarks.config import BenchConfig
from benchmarks.cross_validation import cross_validation
from benchmarks.edges import edges
from benchmarks.epoch import epoch
from benchmarks.explain import explain
from benchmarks.import_time import import_time
from benchmarks.large import large
from benchmarks.members import members
from benchmarks.molecule_training import molecule_training
from benchmarks.molecules import molecules
from benchmarks.paper import paper
from benchmarks.prepare import prepare
from benchmarks.product import product
from benchmarks.row import Row
from benchmarks.scale import scale
from benchmarks.scaling import scaling
from benchmarks.throughput import throughput
from benchmarks.triangles import triangles


@dataclass(frozen=True)
class BenchmarkSpec:
    """A benchmark.

    Attributes:
        run: Measures and gives its rows, maybe one after the other.
        description: One line for people.
        device: Where it makes sense: ``cpu``, ``cuda`` or ``any``.
    """

    run: Callable[[BenchConfig], Iterable[Row]]
    description: str
    device: Literal["cpu", "cuda", "any"]

    def fits(self, device: torch.device) -> bool:
        """Whether it makes sense on this device."""
        return self.device in ("any", device.type)


BENCHMARKS: dict[str, BenchmarkSpec] = {
    "import": BenchmarkSpec(import_time, "imports beside `import torch_geometric`", "cpu"),
    "triangles": BenchmarkSpec(triangles, "Triangle listing beside igraph and networkx", "cpu"),
    "product": BenchmarkSpec(product, "The product with the incidence matrices, both ways", "any"),
    "epoch": BenchmarkSpec(epoch, "One epoch of one LGAN beside PyG's GIN", "cpu"),
    "cv": BenchmarkSpec(
        cross_validation, "Ten folds side by side beside PyG's GIN, fold after fold", "any"
    ),
    "codes": BenchmarkSpec(codes, "Structural pair codes: their cost, and an epoch's", "cpu"),
    "edges": BenchmarkSpec(
        edges, "Features of edges: an epoch with them, without, and beside PyG's GINE", "any"
    ),
    "explain": BenchmarkSpec(explain, "Edge explanations beside PyG's CaptumExplainer", "any"),
    "prepare": BenchmarkSpec(prepare, "COLLAB from its zip, and from the cache", "cpu"),
    "molecules": BenchmarkSpec(
        molecules,
        "A table of 41,127 molecules as graphs, and from the cache, beside chemprop",
        "cpu",
    ),
    "molecule-training": BenchmarkSpec(
        molecule_training, "Training on molecules and predicting them, beside chemprop", "cpu"
    ),
    "members": BenchmarkSpec(members, "What ten members cost beside one", "cpu"),
    "scale": BenchmarkSpec(
        scale, "Costs of shards and processes at three sizes, beside memory and one process", "any"
    ),
    "throughput": BenchmarkSpec(
        throughput, "Molecules a second of one model, beside PyG's GINE and its loader", "any"
    ),
    "scaling": BenchmarkSpec(scaling, "Time and memory of a layer against size", "any"),
    "large": BenchmarkSpec(large, "One large power-law graph beside scipy and igraph", "cpu"),
    "blocks": BenchmarkSpec(blocks, "One layer on a large graph, block by block", "cpu"),
    "paper": BenchmarkSpec(paper, "Cross-validation of all six sets of the paper", "cuda"),
}

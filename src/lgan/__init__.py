"""Line Graph Aggregation Networks: graph classification beyond 1-WL, fast, exact, explained."""

from importlib import import_module
from typing import Any

from lgan._version import __version__
from lgan.data import EgoLineGraph, load
from lgan.explain import Attribution, attribute
from lgan.graph import EgoLines, GraphUnion, triangles
from lgan.nn import LGAN, LGANConv
from lgan.train import CVResult, TrainConfig, cross_validate, predict

__all__ = [
    "LGAN",
    "Attribution",
    "CVResult",
    "EgoLineGraph",
    "EgoLines",
    "GraphUnion",
    "LGANConv",
    "TrainConfig",
    "__version__",
    "attribute",
    "cross_validate",
    "load",
    "predict",
    "triangles",
]


def __getattr__(name: str) -> Any:
    if name in ("wl", "zoo"):  # read on first use, since they take a while
        return import_module(f"lgan.{name}")
    raise AttributeError(f"module 'lgan' has no attribute {name!r}")

"""Line Graph Aggregation Networks: graph classification beyond 1-WL, fast, exact, explained."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lgan._version import __version__

if TYPE_CHECKING:
    from lgan import wl, zoo
    from lgan._cross_validate import cross_validate
    from lgan.data import EgoLineGraph, load, scaffolds
    from lgan.estimator import LGANClassifier, LGANRegressor
    from lgan.explain.attribute import attribute
    from lgan.explain.attribution import Attribution
    from lgan.graph import EgoLines, GraphUnion, triangles
    from lgan.nn import LGAN, LGANConv
    from lgan.predictor import Predictor, load_model
    from lgan.train import CVResult, TrainConfig, predict

__all__ = [
    "LGAN",
    "Attribution",
    "CVResult",
    "EgoLineGraph",
    "EgoLines",
    "GraphUnion",
    "LGANClassifier",
    "LGANConv",
    "LGANRegressor",
    "Predictor",
    "TrainConfig",
    "__version__",
    "attribute",
    "cross_validate",
    "load",
    "load_model",
    "predict",
    "scaffolds",
    "triangles",
    "wl",
    "zoo",
]

# Everything is read on first use: torch alone takes seconds, and `lgan --help` needs none of it.
_NAMES: dict[str, tuple[str, ...]] = {
    "_cross_validate": ("cross_validate",),
    "data": ("EgoLineGraph", "load", "scaffolds"),
    "estimator": ("LGANClassifier", "LGANRegressor"),
    "explain": ("Attribution", "attribute"),
    "graph": ("EgoLines", "GraphUnion", "triangles"),
    "nn": ("LGAN", "LGANConv"),
    "ops": (),
    "predictor": ("Predictor", "load_model"),
    "train": ("CVResult", "TrainConfig", "predict"),
    "wl": (),
    "zoo": (),
}


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return import_module(f"lgan.{name}")
    for package, names in _NAMES.items():
        if name in names:
            value = globals()[name] = getattr(import_module(f"lgan.{package}"), name)
            return value
    raise AttributeError(f"module 'lgan' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_NAMES})

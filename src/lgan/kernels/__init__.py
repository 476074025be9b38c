"""The hot operations of preparation and of a layer, behind one contract for every backend."""

from lgan.kernels.incidence import Incidence
from lgan.kernels.ops import (
    backend,
    compiled,
    ego_sum,
    linear_sum,
    model_threads,
    norm,
    segment_sum,
)

__all__ = [
    "Incidence",
    "backend",
    "compiled",
    "ego_sum",
    "linear_sum",
    "model_threads",
    "norm",
    "segment_sum",
]

"""The hot operations of preparation and of a layer, behind one contract for every backend."""

from lgan.kernels.incidence import Incidence
from lgan.kernels.ops import (
    backend,
    backend_of,
    compiled,
    ego_sum,
    linear_sum,
    model_threads,
    norm,
    segment_sum,
    stacked_product,
)

__all__ = [
    "Incidence",
    "backend",
    "backend_of",
    "compiled",
    "ego_sum",
    "linear_sum",
    "model_threads",
    "norm",
    "segment_sum",
    "stacked_product",
]

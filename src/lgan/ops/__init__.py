"""The hot operations of preparation and of a layer, behind one contract for every backend."""

from lgan.ops.backends import backend, backend_of, compiled
from lgan.ops.dispatch import (
    dropout,
    ego_sum,
    layer_norm,
    linear_sum,
    norm,
    segment_max,
    segment_sum,
    segment_sum_max,
    stacked_product,
)
from lgan.ops.incidence import Incidence
from lgan.ops.threads import at_most, model_threads, side_by_side

__all__ = [
    "Incidence",
    "at_most",
    "backend",
    "backend_of",
    "compiled",
    "dropout",
    "ego_sum",
    "layer_norm",
    "linear_sum",
    "model_threads",
    "norm",
    "segment_max",
    "segment_sum",
    "segment_sum_max",
    "side_by_side",
    "stacked_product",
]

"""The hot operations of preparation and of a layer, behind one contract for every backend."""

from lgan.kernels.incidence import Incidence
from lgan.kernels.ops import backend, ego_sum, linear_sum, norm, segment_sum

__all__ = ["Incidence", "backend", "ego_sum", "linear_sum", "norm", "segment_sum"]

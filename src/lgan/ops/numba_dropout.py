"""The compiled loop of dropout, on the CPU."""

import numpy as np

from lgan.ops.jit import njit
from lgan.ops.numba_rows import Array

# The finaliser of SplitMix64, see :func:`lgan.ops.torch_any.mixed`, in numbers without a sign.
STEP, FIRST, SECOND = (
    np.uint64(word) for word in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)
BY_30, BY_27, BY_31 = np.uint64(30), np.uint64(27), np.uint64(31)
BITS, UNIT = np.uint64(0xFFFFFF), np.float32(2.0**-24)


@njit(nogil=True, cache=True, error_model="numpy")
def dropped(
    x: Array,
    stream: Array,
    rate: Array,
    first: int,
    out: Array,
    k0: int,
    k1: int,
    c0: int,
    c1: int,
) -> None:
    """Zero what the noise of a plane's stream says, and scale up the rest.

    Planes of ``x [1 or K, n, F]``, ``stream`` and ``rate`` ``[1 or K]`` may be shared.
    """
    for k in range(k0, k1):
        own = x[min(k, x.shape[0] - 1)]
        begin = stream[min(k, stream.size - 1)] + np.uint64(first) + STEP
        share = rate[min(k, rate.size - 1)]
        kept = x.dtype.type(1) - share
        for i in range(own.shape[0]):
            row = begin + np.uint64(i * own.shape[1])
            for j in range(c0, c1):
                word = row + np.uint64(j)
                word = (word ^ (word >> BY_30)) * FIRST
                word = (word ^ (word >> BY_27)) * SECOND
                word = (word ^ (word >> BY_31)) & BITS
                there = x.dtype.type(np.float32(np.int32(word)) * UNIT >= share)
                out[k, i, j] = own[i, j] * there / kept

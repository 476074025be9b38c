"""The compiled layer before it is needed, its two halves in two processes.

Numba compiles one function at a time in a process. Forwards and backwards take about as long, and
what one process has compiled the other reads from the cache.
"""

import subprocess
import sys
from typing import Any

from numba import types
from numba.core.caching import NullCache

from lgan.ops.numba_layer import layer_backward, layer_forward, layer_tested


def _array(kind: Any, dimensions: int) -> Any:
    return types.Array(kind, dimensions, "C")


# What :mod:`lgan.ops.layer` calls the loops with, for models in single precision.
_F2, _F3 = _array(types.float32, 2), _array(types.float32, 3)
_I1, _L1 = _array(types.int32, 1), _array(types.int64, 1)
_FOUR, _SIX = types.UniTuple(_F2, 4), types.UniTuple(_F3, 6)
_LAYER = (
    _F3, _L1, types.Tuple((_F3, _F2, _F3, _F2, _F3, _F3, _F3, _F2, _F3)), _I1, _L1,
    types.Tuple((_array(types.int32, 2), _I1, _L1, _I1, _I1)), types.boolean, types.boolean,
    types.int64,
)  # fmt: skip
_REAL, _RANGE = types.float64, (types.int64, types.int64)
SIGNATURES = {
    layer_forward: (*_LAYER, _F2, _FOUR, _FOUR, _REAL, _REAL, _SIX, _F3, *_RANGE),
    layer_tested: (*_LAYER, _FOUR, _FOUR, _REAL, _F3, *_RANGE),
    layer_backward: (
        _F3, *_LAYER, _F2, types.UniTuple(_F2, 2), _SIX, _F3,
        types.Tuple((_F3, _F3, _F2, _F3, _F2, _F3, _F3, _F3, _F2, _F3, _F3)), *_RANGE,
    ),
}  # fmt: skip


def layer_is_compiled() -> bool:
    """Whether the layer is in the cache, so that its first use takes no time."""
    return all(
        loop._cache.load_overload(signature, loop.targetctx) is not None
        for loop, signature in SIGNATURES.items()
    )


def compile_layer() -> None:
    """Compile the layer, or read it from the cache."""
    other = None
    if not layer_is_compiled() and not isinstance(layer_backward._cache, NullCache):
        code = f"from {__name__} import compile_backward; compile_backward()"
        other = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    try:
        for loop in (layer_forward, layer_tested):
            loop.compile(SIGNATURES[loop])
        if other is not None:
            other.wait()
    except BaseException:
        if other is not None:
            other.kill()
        raise
    compile_backward()


def compile_backward() -> None:
    """Compile the gradient of the layer, or read it from the cache."""
    layer_backward.compile(SIGNATURES[layer_backward])

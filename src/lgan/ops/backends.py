"""Which backend operations run on: chosen by device and dtype, or by a ``with`` block."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal, get_args

import torch
from torch import Tensor

BackendName = Literal["numba", "triton", "torch"]

_chosen: ContextVar[BackendName | None] = ContextVar("lgan_backend", default=None)


@contextmanager
def backend(name: BackendName | None) -> Iterator[None]:
    """Use one backend inside a ``with`` block; ``None`` chooses by device and dtype.

    ``"torch"`` runs anywhere and is differentiable twice; ``"numba"`` is the fast one on the CPU,
    ``"triton"`` on the GPU (and, slowly, on the CPU where ``TRITON_INTERPRET=1``).
    """
    if name not in (*get_args(BackendName), None):
        raise ValueError(f"`name` must be one of {get_args(BackendName)} or None, got {name!r}.")
    token = _chosen.set(name)
    try:
        yield
    finally:
        _chosen.reset(token)


def compiled(x: Tensor) -> bool:
    """Whether operations on a tensor run as compiled loops: floats on the CPU."""
    return backend_of(x) == "numba"


def backend_of(x: Tensor) -> BackendName:
    """The backend that operations on a tensor use."""
    wanted = _chosen.get()
    if wanted == "torch":
        return "torch"
    floats = x.dtype in (torch.float32, torch.float64)
    if wanted is None:
        if x.device.type == "cpu":
            return "numba" if floats else "torch"
        # The kernels sum in float32, so that float64 is left to plain tensor operations.
        able = x.device.type == "cuda" and x.dtype != torch.float64 and _has_triton()
        return "triton" if able else "torch"
    if wanted == "numba" and not (floats and x.device.type == "cpu"):
        raise ValueError(
            "The backend 'numba' needs a float32 or float64 tensor on the CPU, "
            f"got {x.dtype} on {x.device}. Use `lgan.ops.backend('torch')`."
        )
    if wanted == "triton" and not _has_triton():
        raise ImportError("The backend 'triton' needs the package triton. Install it with torch.")
    return wanted


@cache
def _has_triton() -> bool:
    return find_spec("triton") is not None


@cache
def loops(chosen: BackendName) -> Any:
    """The differentiable operations of a compiled backend, imported where they are first used."""
    return import_module(f"lgan.ops.{chosen}_ops")

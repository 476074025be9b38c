"""Modules that run as they are under ``torch.compile`` and refuse to be exported."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

import torch
from torch import Tensor

P = ParamSpec("P")

REFUSAL = (
    "The network cannot be exported (torch.export, ONNX, TorchScript): its compiled loops are no "
    "operations of torch. Save `model.state_dict()` and load it where `lgan` is installed."
)


def eager(forward: Callable[P, Tensor]) -> Callable[P, Tensor]:
    """Keep compilers of torch out of a ``forward`` whose loops are compiled already.

    ``torch.compile`` calls it as it is; exporters are told why they cannot write it down.
    """

    @wraps(forward)
    def checked(*args: P.args, **kwargs: P.kwargs) -> Tensor:
        tracing = torch.jit.is_tracing()  # type: ignore[attr-defined]
        if tracing or torch.compiler.is_exporting():
            raise RuntimeError(REFUSAL)
        return forward(*args, **kwargs)

    untraced: Callable[P, Tensor] = torch.compiler.disable(checked, reason=REFUSAL)
    return untraced

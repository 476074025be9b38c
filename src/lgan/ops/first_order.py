"""Backward passes that are compiled, and so have no derivative of their own."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch


def first_order(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Refuse to be differentiated again, instead of giving an incomplete second derivative."""

    @wraps(backward)
    def checked(ctx: Any, *grads: Any) -> Any:
        if torch.is_grad_enabled():  # only where the caller asked for `create_graph=True`
            raise RuntimeError(
                "The compiled kernels are differentiable once, but a second derivative was asked "
                "for (`create_graph=True`). Compute inside `with lgan.ops.backend('torch'):`."
            )
        return backward(ctx, *grads)

    return checked

"""A whole layer of stacked models as one differentiable function, on the CPU.

On small graphs a step waits for the interpreter: a layer is then seven operations forward and
fifteen backward, each a few microseconds of arithmetic for every model. As one function it keeps
no intermediate graph, and threads can take models apart: each runs the layer from end to end on
its own planes, which stay in its cache.
"""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lgan.kernels import numba_cpu
from lgan.kernels.first_order import first_order
from lgan.kernels.incidence import Incidence
from lgan.kernels.numba_products import (
    add_products,
    column_sums,
    inner_products,
    products,
    turned_products,
)
from lgan.kernels.threads import by_planes

__all__ = ["LayerSettings", "StackedLayer"]

# Stand for "no structural codes", by bytes of a number.
NO_TABLE = {4: np.empty((1, 1, 1), np.float32), 8: np.empty((1, 1, 1), np.float64)}
NO_CODE = np.empty(0, np.int32)
NO_BIAS = {4: np.empty((0, 0), np.float32), 8: np.empty((0, 0), np.float64)}


@dataclass(frozen=True)
class LayerSettings:
    """What a layer needs beside tensors to differentiate.

    Attributes:
        incidence: The ego line graphs.
        node_weight: How often each node counts in the statistics ``[1 or K, n]``.
        running: Running mean and variance of both normalisations, changed in place.
        momentum: How far they move.
        eps: Added to variances.
        relu: Clip what a pair sends; the linear pair encoder does not.
        code: Row of the table of codes for every pair, where there is a table ``[P]``.
    """

    incidence: Incidence
    node_weight: Tensor
    running: tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]
    momentum: float
    eps: float
    relu: bool
    code: Tensor | None = None

    def norm(
        self, which: int, x: Any, scale: Tensor, shift: Tensor, y: Any, stats: Any, k0: int, k1: int
    ) -> None:
        """The first or second normalisation of some planes."""
        mean, var = (running.numpy() for running in self.running[which])
        numba_cpu.norm_forward(
            x, self.node_weight.numpy(), scale.numpy(), shift.numpy(), self.eps, True, y, stats[0],
            stats[1], mean, var, self.momentum, k0, k1, 0, x.shape[2],
        )  # fmt: skip

    def norm_back(
        self, grad: Any, x: Any, y: Any, scale: Tensor, stats: Any, to: Any, norms: Any,
        k0: int, k1: int,
    ) -> None:  # fmt: skip
        """Its gradients."""
        numba_cpu.norm_backward(
            grad, x, y, self.node_weight.numpy(), scale.numpy(), stats[0], stats[1], True, to,
            norms[0], norms[1], k0, k1, 0, x.shape[2],
        )  # fmt: skip


class StackedLayer(torch.autograd.Function):
    """``norm(norm(ego_sum(x W_p + b) W_f + x W_r) W_o)`` for ``K`` models side by side.

    Shapes:
        ``x``: ``[K, n, in]`` or ``[n]`` categories; ``pair``: ``[K, in, F or 2 F]``; ``fuse``:
        ``[K, F or 2 F, F]``; ``residual``: ``[K, in, F]`` or none; ``table``: offsets by
        structural code ``[K, U, F or 2 F]`` or none; ``out``: ``[K, F, F]``; the result:
        ``[K, n, F]``.
    """

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        pair: Tensor,
        bias: Tensor,
        fuse: Tensor,
        residual: Tensor | None,
        table: Tensor | None,
        scale1: Tensor,
        shift1: Tensor,
        out: Tensor,
        scale2: Tensor,
        shift2: Tensor,
        settings: LayerSettings,
    ) -> Tensor:
        """Run the layer on all planes."""
        tensors = (x, pair, bias, fuse, scale1, shift1, out, scale2, shift2)
        x, pair, bias, fuse, scale1, shift1, out, scale2, shift2 = (t.detach() for t in tensors)
        residual = None if residual is None else residual.detach()
        codes = _Codes.of(table, settings, pair)
        models, nodes, width = pair.size(0), settings.incidence.multiplicity.numel(), out.size(-1)
        a = pair.new_empty((models, nodes, pair.size(-1)))
        both = a.new_empty(a.shape)
        hidden, normed, last, result = a.new_empty((4, models, nodes, width)).unbind()
        statistics = a.new_empty((4, models, width))  # mean and reciprocal deviation, twice
        at = _Arrays(a=a, both=both, hidden=hidden, normed=normed, last=last, result=result,
                     pair=pair, bias=bias, fuse=fuse, out=out, stats=statistics)  # fmt: skip
        rows, more = _rows(x), None if residual is None else residual.numpy()

        def planes(k0: int, k1: int) -> None:
            _product(rows, at.pair, at.bias, at.a, k0, k1)
            _aggregate(at.a, at.both, codes, settings, width, k0, k1)
            products(at.both, at.fuse, at.none, at.hidden, k0, k1)
            if more is not None:
                _add_product(rows, more, at.hidden, k0, k1)
            settings.norm(0, at.hidden, scale1, shift1, at.normed, at.stats[:2], k0, k1)
            products(at.normed, at.out, at.none, at.last, k0, k1)
            settings.norm(1, at.last, scale2, shift2, at.result, at.stats[2:], k0, k1)

        by_planes(planes, models, a.numel())
        ctx.save_for_backward(
            x, pair, fuse, scale1, out, scale2, a, both, hidden, normed, last, result, statistics,
            residual,
        )  # fmt: skip
        ctx.settings, ctx.codes = settings, codes
        return result

    @staticmethod
    @first_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients of the input and of all parameters."""
        saved: list[Tensor] = [t.detach() for t in ctx.saved_tensors[:-1]]
        x, pair, fuse, scale1, out, scale2, a, both, hidden, normed, last, result, statistics = (
            saved
        )
        residual: Tensor | None = ctx.saved_tensors[-1]
        settings: LayerSettings = ctx.settings
        codes: _Codes = ctx.codes
        grad_table = torch.zeros(codes.table.shape, dtype=pair.dtype)
        models, nodes, width = result.shape
        grad = grad.detach().contiguous()
        grad_x = torch.empty_like(x) if ctx.needs_input_grad[0] else None
        grad_fuse, grad_out = (w.new_empty(w.shape) for w in (fuse, out))
        grad_pair = pair.new_empty(pair.shape)
        grad_residual = None if residual is None else residual.new_empty(residual.shape)
        grad_bias = pair.new_empty((models, pair.size(-1)))
        grad_norms = scale1.new_empty((4, models, width))  # scale and shift, twice
        at_hidden, at_normed = a.new_empty((2, models, nodes, width)).unbind()
        at_both, at_a = a.new_empty((2, *a.shape)).unbind()
        at = _Arrays(a=a, both=both, hidden=hidden, normed=normed, last=last, result=result,
                     pair=pair, fuse=fuse, out=out, stats=statistics, grad=grad, at_both=at_both,
                     at_hidden=at_hidden, at_normed=at_normed, at_a=at_a, grad_pair=grad_pair,
                     grad_fuse=grad_fuse, grad_out=grad_out, norms=grad_norms, grad_bias=grad_bias,
                     table=grad_table)  # fmt: skip
        rows, more = _rows(x), None if residual is None else residual.detach().numpy()
        to_x = None if grad_x is None else grad_x.numpy()
        to_more = None if grad_residual is None else grad_residual.numpy()

        def planes(k0: int, k1: int) -> None:
            # `at_hidden` first holds the gradient at `last`, which has the same shape.
            settings.norm_back(at.grad, at.last, at.result, scale2, at.stats[2:], at.at_hidden,
                               at.norms[2:], k0, k1)  # fmt: skip
            inner_products(at.normed, at.at_hidden, at.grad_out, k0, k1)
            turned_products(at.at_hidden, at.out, False, at.at_normed, k0, k1)
            settings.norm_back(at.at_normed, at.hidden, at.normed, scale1, at.stats[:2],
                               at.at_hidden, at.norms[:2], k0, k1)  # fmt: skip
            inner_products(at.both, at.at_hidden, at.grad_fuse, k0, k1)
            turned_products(at.at_hidden, at.fuse, False, at.at_both, k0, k1)
            _aggregate_back(at.at_both, at.a, at.at_a, codes, at.table, settings, width, k0, k1)
            _product_back(rows, at.at_a, at.grad_pair, k0, k1)
            column_sums(at.at_a, at.grad_bias, k0, k1)
            if to_x is not None:
                turned_products(at.at_a, at.pair, False, to_x, k0, k1)
            if more is not None and to_more is not None:
                _product_back(rows, at.at_hidden, to_more, k0, k1)
                if to_x is not None:
                    turned_products(at.at_hidden, more, True, to_x, k0, k1)

        by_planes(planes, models, 2 * a.numel())
        return (
            grad_x, grad_pair, grad_bias, grad_fuse, grad_residual,
            grad_table if codes.present else None, grad_norms[0], grad_norms[1],
            grad_out, grad_norms[2], grad_norms[3], None,
        )  # fmt: skip


class _Arrays(SimpleNamespace):
    """Tensors as arrays, by name, and an empty one that stands for no bias."""

    def __init__(self, **tensors: Tensor) -> None:
        super().__init__(**{name: tensor.numpy() for name, tensor in tensors.items()})
        self.none = NO_BIAS[next(iter(tensors.values())).element_size()]


def _rows(x: Tensor) -> Any:
    """The input as an array: categories ``[n]``, or rows ``[1 or K, n, in]``."""
    if not x.is_floating_point():
        return x.numpy()
    return (x if x.dim() == 3 else x.unsqueeze(0)).contiguous().numpy()


def _product(rows: Any, weight: Any, bias: Any, out: Any, k0: int, k1: int) -> None:
    """``out = x W + b`` on some planes; categories take rows of ``W``."""
    if rows.ndim == 1:
        numba_cpu.take_rows(rows, weight, False, out, k0, k1)
        out[k0:k1] += bias[k0:k1, None]
        return
    products(rows, weight, bias, out, k0, k1)


def _add_product(rows: Any, weight: Any, out: Any, k0: int, k1: int) -> None:
    if rows.ndim == 1:
        numba_cpu.take_rows(rows, weight, True, out, k0, k1)
        return
    add_products(rows, weight, out, k0, k1)


def _product_back(rows: Any, grad: Any, grad_weight: Any, k0: int, k1: int) -> None:
    if rows.ndim == 1:
        grad_weight[k0:k1] = 0
        numba_cpu.add_rows(rows, grad, grad_weight, k0, k1)
        return
    inner_products(rows, grad, grad_weight, k0, k1)


@dataclass(frozen=True)
class _Codes:
    """Structural codes as arrays; empty ones where there are none."""

    table: Any
    rows: Any

    @property
    def present(self) -> bool:
        return bool(self.rows.size)

    @staticmethod
    def of(table: Tensor | None, settings: LayerSettings, like: Tensor) -> "_Codes":
        if table is None:
            return _Codes(NO_TABLE[like.element_size()], NO_CODE)
        rows = settings.code
        if rows is None:
            rows = torch.arange(table.size(1), dtype=torch.int32)
        return _Codes(table.detach().contiguous().numpy(), rows.numpy())


def _aggregate(
    a: Any, both: Any, codes: _Codes, settings: LayerSettings, width: int, k0: int, k1: int
) -> None:
    pairs, multiplicity, ptr, opposite, triangles = settings.incidence.arrays
    if not settings.relu and not codes.present:
        numba_cpu.linear_sum(
            a, pairs, multiplicity, triangles, width, False, both, k0, k1, 0, width
        )
        return
    numba_cpu.ego_sum_forward(
        a, codes.table, codes.rows, pairs, multiplicity, ptr, opposite, width, settings.relu,
        both, k0, k1, 0, width,
    )  # fmt: skip


def _aggregate_back(
    grad: Any,
    a: Any,
    grad_a: Any,
    codes: _Codes,
    grad_table: Any,
    settings: LayerSettings,
    width: int,
    k0: int,
    k1: int,
) -> None:
    pairs, multiplicity, ptr, opposite, triangles = settings.incidence.arrays
    if not settings.relu and not codes.present:
        numba_cpu.linear_sum(
            grad, pairs, multiplicity, triangles, width, True, grad_a, k0, k1, 0, width
        )
        return
    numba_cpu.ego_sum_backward(
        grad, a, codes.table, codes.rows, pairs, multiplicity, ptr, opposite, width,
        settings.relu, grad_a, grad_table, k0, k1, 0, width,
    )  # fmt: skip

"""A whole layer of stacked models as one differentiable function, on the CPU.

On small graphs a step waits for the interpreter: a layer is then seven operations forward and
fifteen backward, each a few microseconds of arithmetic for every model. As one function it keeps
no intermediate graph, and threads can take models apart: each runs the layer from end to end on
its own planes, which stay in its cache.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lgan.kernels import numba_cpu
from lgan.kernels.first_order import first_order
from lgan.kernels.incidence import Incidence
from lgan.kernels.threads import by_planes

__all__ = ["LayerSettings", "StackedLayer"]

# Stand for "no structural codes", by bytes of a number.
NO_TABLE = {4: np.empty((1, 1, 1), np.float32), 8: np.empty((1, 1, 1), np.float64)}
NO_CODE = np.empty(0, np.int32)


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
        both = a.new_zeros(a.shape)
        hidden, normed, last, result = a.new_empty((4, models, nodes, width)).unbind()
        statistics = a.new_empty((4, models, width))  # mean and reciprocal deviation, twice
        arrays = {name: t.numpy() for name, t in (("a", a), ("both", both), ("hidden", hidden),
                  ("normed", normed), ("last", last), ("result", result))}  # fmt: skip
        stats = statistics.numpy()

        def planes(k0: int, k1: int) -> None:
            cut = _cutter(k0, k1, models)
            _product(x, pair, k0, k1, a, bias=bias)
            _aggregate(arrays["a"], arrays["both"], codes, settings, width, k0, k1)
            torch.bmm(cut(both), cut(fuse), out=cut(hidden))
            if residual is not None:
                _product(x, residual, k0, k1, hidden, add=True)
            settings.norm(0, arrays["hidden"], scale1, shift1, arrays["normed"], stats[:2], k0, k1)
            torch.bmm(cut(normed), cut(out), out=cut(last))
            settings.norm(1, arrays["last"], scale2, shift2, arrays["result"], stats[2:], k0, k1)

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
        grad_pair, grad_fuse, grad_out = (w.new_zeros(w.shape) for w in (pair, fuse, out))
        grad_residual = None if residual is None else residual.new_zeros(residual.shape)
        grad_bias = pair.new_empty((models, pair.size(-1)))
        grad_norms = scale1.new_empty((4, models, width))  # scale and shift, twice
        at_hidden, at_normed = a.new_empty((2, models, nodes, width)).unbind()
        at_both, at_a = a.new_empty(a.shape), a.new_zeros(a.shape)
        stats, norms = statistics.numpy(), grad_norms.numpy()
        turned_residual = pair if residual is None else residual.detach().mT.contiguous()
        turned = {name: w.mT.contiguous() for name, w in (
            ("pair", pair), ("fuse", fuse), ("out", out))}  # fmt: skip
        arrays = {name: t.numpy() for name, t in (("grad", grad), ("a", a), ("hidden", hidden),
                  ("normed", normed), ("last", last), ("result", result), ("at_both", at_both),
                  ("at_hidden", at_hidden), ("at_normed", at_normed), ("at_a", at_a))}  # fmt: skip

        def planes(k0: int, k1: int) -> None:
            cut = _cutter(k0, k1, models)
            # `at_hidden` first holds the gradient at `last`, which has the same shape.
            settings.norm_back(arrays["grad"], arrays["last"], arrays["result"], scale2, stats[2:],
                               arrays["at_hidden"], norms[2:], k0, k1)  # fmt: skip
            torch.bmm(cut(normed).mT, cut(at_hidden), out=cut(grad_out))
            torch.bmm(cut(at_hidden), cut(turned["out"]), out=cut(at_normed))
            settings.norm_back(arrays["at_normed"], arrays["hidden"], arrays["normed"], scale1,
                               stats[:2], arrays["at_hidden"], norms[:2], k0, k1)  # fmt: skip
            torch.bmm(cut(both).mT, cut(at_hidden), out=cut(grad_fuse))
            torch.bmm(cut(at_hidden), cut(turned["fuse"]), out=cut(at_both))
            _aggregate_back(arrays["at_both"], arrays["a"], arrays["at_a"], codes,
                            grad_table.numpy(), settings, width, k0, k1)  # fmt: skip
            _product_back(x, at_a, grad_pair, k0, k1)
            torch.sum(cut(at_a), 1, out=cut(grad_bias))
            if grad_x is not None:
                torch.bmm(cut(at_a), cut(turned["pair"]), out=cut(grad_x))
            if grad_residual is not None:
                _product_back(x, at_hidden, grad_residual, k0, k1)
                if grad_x is not None:
                    cut(grad_x).baddbmm_(cut(at_hidden), cut(turned_residual))

        by_planes(planes, models, 2 * a.numel())
        return (
            grad_x, grad_pair, grad_bias, grad_fuse, grad_residual,
            grad_table if codes.present else None, grad_norms[0], grad_norms[1],
            grad_out, grad_norms[2], grad_norms[3], None,
        )  # fmt: skip


def _cutter(k0: int, k1: int, models: int) -> Callable[[Tensor], Tensor]:
    """Takes the planes of one thread; the interpreter's cost of a slice is saved where it can."""
    return (lambda t: t) if k1 - k0 == models else (lambda t: t[k0:k1])


def _product(
    x: Tensor,
    weight: Tensor,
    k0: int,
    k1: int,
    out: Tensor,
    *,
    bias: Tensor | None = None,
    add: bool = False,
) -> None:
    """``out = x W + b`` or ``out += x W`` on some planes; categories take rows of ``W``."""
    if not x.is_floating_point():
        numba_cpu.take_rows(x.numpy(), weight.numpy(), add, out.numpy(), k0, k1)
        if bias is not None:
            out[k0:k1] += bias[k0:k1].unsqueeze(1)
        return
    cut = _cutter(k0, k1, weight.size(0))
    planes = cut(x) if x.dim() == 3 else x.expand(k1 - k0, -1, -1)
    if bias is not None:
        torch.baddbmm(cut(bias).unsqueeze(1), planes, cut(weight), out=cut(out))
    else:
        cut(out).baddbmm_(planes, cut(weight), beta=float(add))


def _product_back(x: Tensor, grad: Tensor, grad_weight: Tensor, k0: int, k1: int) -> None:
    if not x.is_floating_point():
        numba_cpu.add_rows(x.numpy(), grad.numpy(), grad_weight.numpy(), k0, k1)
        return
    cut = _cutter(k0, k1, grad.size(0))
    planes = cut(x) if x.dim() == 3 else x.expand(k1 - k0, -1, -1)
    torch.bmm(planes.mT, cut(grad), out=cut(grad_weight))


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

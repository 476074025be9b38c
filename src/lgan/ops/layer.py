"""A whole layer of stacked models as one differentiable function, on the CPU.

On small graphs a step waits for the interpreter: a layer is then seven operations forward and
fifteen backward, each a few microseconds of arithmetic for every model. As one function it keeps
no intermediate graph, and threads can take models apart: each runs the layer from end to end on
its own models (:mod:`lgan.ops.numba_layer`).
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from lgan.ops.first_order import first_order
from lgan.ops.incidence import Incidence
from lgan.ops.numba_layer import layer_backward, layer_forward, layer_tested
from lgan.ops.numba_norm import BATCH, LAYER, NONE
from lgan.ops.threads import by_planes

# Stand for what a layer does not have, by bytes of a number.
NOTHING = {size: np.empty((0, 0, 0), kind) for size, kind in ((4, np.float32), (8, np.float64))}
NO_BIAS = {size: np.empty((0, 0), kind) for size, kind in ((4, np.float32), (8, np.float64))}
NO_INDEX = np.empty(0, np.int32)
NO_CATEGORY = np.empty(0, np.int64)
NORMS = {"batch": BATCH, "layer": LAYER, "none": NONE}


@dataclass(frozen=True)
class LayerSettings:
    """What a layer needs beside tensors to differentiate.

    Attributes:
        incidence: The ego line graphs.
        node_weight: How often each node counts in the statistics ``[1 or K, n]``.
        norm: What normalises.
        running: Running mean and variance of both batch normalisations, changed in place; empty
            for other normalisations.
        momentum: How far they move.
        eps: Added to variances.
        relu: Clip what a pair sends; the linear pair encoder does not.
        squash: Fuse ``asinh`` of the sums.
        code: Row of the table of codes for every pair, where there is a table ``[P]``.
        corners: Nodes that receive something more ``[m]`` int64, where there are any.
    """

    incidence: Incidence
    node_weight: Tensor
    norm: Literal["batch", "layer", "none"]
    running: tuple[Tensor, ...]
    momentum: float
    eps: float
    relu: bool
    squash: bool = False
    code: Tensor | None = None
    corners: Tensor | None = None

    def statistics(self, size: int) -> tuple[Any, ...]:
        """The running statistics as arrays ``[K, F]``, of numbers of some bytes."""
        if not self.running:
            return (NO_BIAS[size],) * 4
        return tuple((t if t.dim() == 2 else t.unsqueeze(0)).numpy() for t in self.running)


@dataclass(frozen=True)
class LayerWeights:
    """The parameters of a layer, models along the first axis.

    Attributes:
        pair: Map of the pair encoder ``[K, in, F or 2 F]``.
        bias: Its bias ``[K, F or 2 F]``.
        fuse: Map of what the branches received ``[K, F or 2 F, F]``.
        fuse_bias: Its bias ``[K, F]``, or none.
        residual: Map of the input itself ``[K, in, F]``, or none.
        table: Offsets by structural code ``[K, U, F or 2 F]``, or none.
        scale1: Scale of the first normalisation ``[K, F]``, or none.
        shift1: Its shift.
        out: The second map ``[K, F, F]``.
        out_bias: Its bias ``[K, F]``, or none.
        scale2: Scale of the second normalisation.
        shift2: Its shift.
        more: What the corners receive beside it, mapped already ``[K, m, F]``, or none.
    """

    pair: Tensor
    bias: Tensor
    fuse: Tensor
    fuse_bias: Tensor | None
    residual: Tensor | None
    table: Tensor | None
    scale1: Tensor | None
    shift1: Tensor | None
    out: Tensor
    out_bias: Tensor | None
    scale2: Tensor | None
    shift2: Tensor | None
    more: Tensor | None = None

    def check(self, settings: "LayerSettings") -> None:
        """Raise an error unless all shapes fit together, which the compiled loops trust."""
        models, channels, both = self.pair.shape
        width, rows = self.out.size(-1), settings.node_weight.size(0)
        pairs, table = settings.incidence.pair_index.size(1), self.table
        table_rows = 0 if table is None else table.size(1)
        norms = (self.scale1, self.shift1, self.scale2, self.shift2)
        running = (t if t.dim() == 2 else t[None] for t in settings.running)
        columns = (self.fuse_bias, self.out_bias, *norms, *running)
        expected = (
            (self.bias, (models, both)), (self.fuse, (models, both, width)),
            (self.residual, (models, channels, width)), (table, (models, table_rows, both)),
            (self.out, (models, width, width)), *((t, (models, width)) for t in columns),
            (self.more, (models, len(_corners(settings)), width)),
        )  # fmt: skip
        fits = all(t is None or (t.shape == s and t.dtype == self.pair.dtype) for t, s in expected)
        fits &= len(settings.running) == (4 if settings.norm == "batch" else 0)
        fits &= all((t is None) == (settings.norm == "none") for t in norms)
        listed = table is None or settings.code is not None or table_rows == pairs
        listed &= (self.more is None) == (settings.corners is None)
        if not fits or not listed or both not in (width, 2 * width) or rows not in (1, models):
            raise ValueError(
                "The parameters of the layer do not fit together. Build it anew and load its state."
            )

    def arrays(self) -> tuple[Any, ...]:
        """The maps and their biases as the compiled loops take them."""
        return (
            _array(self.pair), _array(self.bias), _array(self.fuse), self._row(self.fuse_bias),
            *(NOTHING[self.size] if m is None else _array(m) for m in (self.residual, self.table)),
            _array(self.out), self._row(self.out_bias),
            NOTHING[self.size] if self.more is None else _array(self.more),
        )  # fmt: skip

    def norms(self) -> tuple[Any, ...]:
        """Scales and shifts as arrays."""
        return tuple(self._row(t) for t in (self.scale1, self.shift1, self.scale2, self.shift2))

    @property
    def size(self) -> int:
        """Bytes of a number."""
        return self.pair.element_size()

    def _row(self, x: Tensor | None) -> Any:
        return NO_BIAS[self.size] if x is None else _array(x)


class StackedLayer(torch.autograd.Function):
    """``norm(norm(ego_sum(x W_p + b) W_f + b_f + x W_r) W_o + b_o)`` for ``K`` models side by side;
    where corners receive something more, it is added before the first ``norm``.

    Takes the input ``[K, n, in]`` or ``[n]`` categories, the settings, and the fields of
    :class:`LayerWeights` in order; returns ``[K, n, F]``.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, settings: LayerSettings, *parameters: Tensor | None) -> Tensor:
        """Run the layer on all models."""
        weights = LayerWeights(*parameters)  # type: ignore[arg-type]
        weights.check(settings)
        pair, out = weights.pair, weights.out
        models, nodes, width = pair.size(0), settings.node_weight.size(1), out.size(-1)
        a, both = pair.new_empty((2, models, nodes, pair.size(-1))).unbind()
        hidden, normed, last, result = pair.new_empty((4, models, nodes, width)).unbind()
        # Mean and reciprocal deviation, twice: of every column, or of every row.
        statistics = pair.new_empty((4, models, width if settings.norm == "batch" else nodes))
        kept = (a, both, hidden, normed, last, result)
        arguments = (
            *_input(x, pair), weights.arrays(), _codes(weights, settings), _corners(settings),
            settings.incidence.arrays, settings.relu, settings.squash, NORMS[settings.norm],
            settings.node_weight.numpy(), weights.norms(), settings.statistics(weights.size),
            settings.momentum, settings.eps, tuple(t.numpy() for t in kept), statistics.numpy(),
        )  # fmt: skip
        if nodes:  # BLAS takes no empty matrices
            by_planes(lambda k0, k1: layer_forward(*arguments, k0, k1), models, a.numel())
        ctx.save_for_backward(x, *kept, statistics, *parameters)
        ctx.settings = settings
        return result

    @staticmethod
    @first_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients of the input and of all parameters."""
        x, *kept, statistics = ctx.saved_tensors[:8]
        weights = LayerWeights(*ctx.saved_tensors[8:])
        settings: LayerSettings = ctx.settings
        pair, a, result = weights.pair, kept[0], kept[-1]
        if not result.numel():
            given = zip((x, None, *ctx.saved_tensors[8:]), ctx.needs_input_grad, strict=True)
            return tuple(torch.zeros_like(t) if needed else None for t, needed in given)
        to_x = pair.new_empty(x.shape if ctx.needs_input_grad[0] else (0, 0, 0))
        to_pair, to_bias, to_fuse, to_out = (
            torch.empty_like(w, memory_format=torch.contiguous_format)
            for w in (pair, weights.bias, weights.fuse, weights.out)
        )
        to_residual, to_table = (
            pair.new_zeros((0, 0, 0)) if w is None else w.new_zeros(w.shape)
            for w in (weights.residual, weights.table)
        )
        to_fuse_bias, to_out_bias = (
            pair.new_empty((0, 0)) if w is None else w.new_empty(w.shape)
            for w in (weights.fuse_bias, weights.out_bias)
        )
        to_norms = pair.new_empty((4, pair.size(0), result.size(-1)))  # scale and shift, twice
        more = weights.more
        to_more = pair.new_empty((0, 0, 0)) if more is None else more.new_empty(more.shape)
        grads = (
            to_x, to_pair, to_bias, to_fuse, to_fuse_bias, to_residual, to_table, to_out,
            to_out_bias, to_norms, to_more,
        )  # fmt: skip
        scale1, _, scale2, _ = weights.norms()
        arguments = (
            _array(grad), *_input(x, pair), weights.arrays(), _codes(weights, settings),
            _corners(settings), settings.incidence.arrays, settings.relu, settings.squash,
            NORMS[settings.norm], settings.node_weight.numpy(), (scale1, scale2),
            tuple(t.detach().numpy() for t in kept), statistics.numpy(),
            tuple(t.numpy() for t in grads),
        )  # fmt: skip
        by_planes(lambda k0, k1: layer_backward(*arguments, k0, k1), a.size(0), 2 * a.numel())
        found = (
            to_pair, to_bias, to_fuse, to_fuse_bias, to_residual, to_table, to_norms[0],
            to_norms[1], to_out, to_out_bias, to_norms[2], to_norms[3], to_more,
        )  # fmt: skip
        given = zip(found, ctx.saved_tensors[8:], strict=True)
        return (
            to_x if ctx.needs_input_grad[0] else None, None,
            *(None if weight is None else gradient for gradient, weight in given),
        )  # fmt: skip


class WithRows(torch.autograd.Function):
    """``x`` itself ``[K, n, F]`` and some of its rows ``[K, m, F]``.

    Autograd would fill an array of the size of ``x`` with the gradient of the few rows, and add all
    of it. Here the rows are added to the gradient of ``x``, in place: it must go to a
    :class:`StackedLayer` and nowhere else.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Take rows, none of them twice."""
        ctx.save_for_backward(rows)
        return x.view_as(x), x.index_select(-2, rows)

    @staticmethod
    @first_order
    def backward(ctx: Any, grad: Tensor, grad_rows: Tensor) -> tuple[Tensor | None, ...]:
        """The gradient of both."""
        (rows,) = ctx.saved_tensors
        return grad.index_add_(-2, rows, grad_rows), None


def layer_inference(x: Tensor, settings: LayerSettings, weights: LayerWeights) -> Tensor:
    """The layer without gradients, normalised by its running statistics where it has them
    ``[K, n, F]``.
    """
    weights.check(settings)
    shape = (weights.pair.size(0), settings.incidence.num_nodes, weights.out.size(-1))
    result = weights.pair.new_empty(shape)
    if not result.numel():  # BLAS takes no empty matrices
        return result
    arguments = (
        *_input(x, weights.pair), weights.arrays(), _codes(weights, settings), _corners(settings),
        settings.incidence.arrays, settings.relu, settings.squash, NORMS[settings.norm],
        weights.norms(), settings.statistics(weights.size), settings.eps, result.numpy(),
    )  # fmt: skip
    by_planes(lambda k0, k1: layer_tested(*arguments, k0, k1), shape[0], 2 * result.numel())
    return result


def _array(x: Tensor) -> Any:
    return x.detach().contiguous().numpy()


def _input(x: Tensor, like: Tensor) -> tuple[Any, Any]:
    """Rows ``[1 or K, n, in]`` and categories ``[n]``, one of them empty."""
    if not x.is_floating_point():
        return NOTHING[like.element_size()], x.long().numpy()
    return _array(x if x.dim() == 3 else x.unsqueeze(0)), NO_CATEGORY


def _corners(settings: LayerSettings) -> Any:
    return NO_CATEGORY if settings.corners is None else settings.corners.numpy()


def _codes(weights: LayerWeights, settings: LayerSettings) -> Any:
    """Row of the table for every pair; without a list the rows are those of the pairs."""
    if weights.table is None:
        return NO_INDEX
    if settings.code is None:
        return np.arange(weights.table.size(1), dtype=np.int32)
    return settings.code.numpy()

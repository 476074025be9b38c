"""Weighted batch normalisation on the GPU, three launches forward and two backward, and layer
normalisation, one forward and two backward.

In plain tensor operations it takes eight passes over the rows forward and twice as many backward,
each a launch. Here the rows are cut into slabs; every program sums its own slab, and whoever needs
the total adds up the slabs in the same order: no atomics, and two runs give the same bits.
"""

# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from lgan.ops.first_order import first_order

ROWS = 32
MOST_SLABS = 64


@triton.jit
def _rows(x, k, n, width, start, offsets, columns, inside):
    """A block of rows of one model, and which of them there are."""
    row = start + offsets
    there = (row < n)[:, None] & inside[None, :]
    place = (k * n + row)[:, None] * width + columns[None, :]
    return tl.load(x + place, mask=there, other=0.0).to(tl.float32), place, there


@triton.jit
def _passed(grad, x, y, k, n, width, start, offsets, columns, inside):
    """A block of the gradient that the clipping passes, and the same block of rows."""
    g, place, there = _rows(grad, k, n, width, start, offsets, columns, inside)
    out = tl.load(y + place, mask=there, other=0.0)
    value = tl.load(x + place, mask=there, other=0.0).to(tl.float32)
    return tl.where(out > 0, g, 0.0), value, place, there


@triton.jit
def _total(partial, k, slabs, width, columns, inside, SLABS: tl.constexpr):
    """The sum over all slabs of one model, in order."""
    slab = tl.arange(0, SLABS)
    place = (k * slabs + slab)[:, None] * width + columns[None, :]
    there = (slab < slabs)[:, None] & inside[None, :]
    return tl.sum(tl.load(partial + place, mask=there, other=0.0), 0)


@triton.jit
def _sum_kernel(
    x, weight, partial, mass, n, width, slab_rows, slabs, weight_rows,
    COLUMNS: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Σ w x and Σ w of every slab."""
    slab, k = tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64)
    columns = tl.program_id(2) * COLUMNS + tl.arange(0, COLUMNS)
    inside, offsets = columns < width, tl.arange(0, ROWS)
    w_row = weight + tl.minimum(k, weight_rows - 1) * n
    end = tl.minimum((slab + 1) * slab_rows, n)
    total = tl.zeros((COLUMNS,), dtype=tl.float32)
    count = tl.zeros((ROWS,), dtype=tl.float32)
    for start in range(slab * slab_rows, end, ROWS):
        value, _, _ = _rows(x, k, n, width, start, offsets, columns, inside)
        w = tl.load(w_row + start + offsets, mask=start + offsets < n, other=0.0)
        total += tl.sum(w[:, None] * value, 0)
        count += w
    tl.store(partial + (k * slabs + slab) * width + columns, total, mask=inside)
    tl.store(mass + k * slabs + slab, tl.sum(count, 0))


@triton.jit
def _count(mass, k, slabs, SLABS: tl.constexpr):
    slab = tl.arange(0, SLABS)
    return tl.sum(tl.load(mass + k * slabs + slab, mask=slab < slabs, other=0.0), 0)


@triton.jit
def _square_kernel(
    x, weight, partial, mass, squares, n, width, slab_rows, slabs, weight_rows,
    COLUMNS: tl.constexpr, ROWS: tl.constexpr, SLABS: tl.constexpr,
):  # fmt: skip
    """Σ w (x - mean)² of every slab."""
    slab, k = tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64)
    columns = tl.program_id(2) * COLUMNS + tl.arange(0, COLUMNS)
    inside, offsets = columns < width, tl.arange(0, ROWS)
    w_row = weight + tl.minimum(k, weight_rows - 1) * n
    count = tl.maximum(_count(mass, k, slabs, SLABS), 1.0)
    mean = _total(partial, k, slabs, width, columns, inside, SLABS) / count
    end = tl.minimum((slab + 1) * slab_rows, n)
    total = tl.zeros((COLUMNS,), dtype=tl.float32)
    for start in range(slab * slab_rows, end, ROWS):
        value, _, _ = _rows(x, k, n, width, start, offsets, columns, inside)
        w = tl.load(w_row + start + offsets, mask=start + offsets < n, other=0.0)
        centred = value - mean[None, :]
        total += tl.sum(w[:, None] * centred * centred, 0)
    tl.store(squares + (k * slabs + slab) * width + columns, total, mask=inside)


@triton.jit
def _normalise_kernel(
    x, partial, mass, squares, scale, shift, y, statistics, running_mean, running_var,
    n, width, slab_rows, slabs, models, eps, momentum,
    COLUMNS: tl.constexpr, ROWS: tl.constexpr, SLABS: tl.constexpr,
):  # fmt: skip
    """y = relu((x - mean) rstd scale + shift); the first slab also writes the statistics."""
    slab, k = tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64)
    columns = tl.program_id(2) * COLUMNS + tl.arange(0, COLUMNS)
    inside, offsets = columns < width, tl.arange(0, ROWS)
    mass_k = _count(mass, k, slabs, SLABS)
    count = tl.maximum(mass_k, 1.0)
    mean = _total(partial, k, slabs, width, columns, inside, SLABS) / count
    square = _total(squares, k, slabs, width, columns, inside, SLABS)
    rstd = 1.0 / tl.sqrt(square / count + eps)
    place = k * width + columns
    factor = rstd * tl.load(scale + place, mask=inside, other=0.0)
    offset = tl.load(shift + place, mask=inside, other=0.0)
    if slab == 0:
        share = tl.where(mass_k > 0, momentum, 0.0)
        before = tl.load(running_mean + place, mask=inside, other=0.0)
        tl.store(running_mean + place, before + share * (mean - before), mask=inside)
        before = tl.load(running_var + place, mask=inside, other=0.0)
        unbiased = square / tl.maximum(mass_k - 1.0, 1.0)
        tl.store(running_var + place, before + share * (unbiased - before), mask=inside)
        tl.store(statistics + place, mean, mask=inside)
        tl.store(statistics + models * width + place, rstd, mask=inside)
    end = tl.minimum((slab + 1) * slab_rows, n)
    for start in range(slab * slab_rows, end, ROWS):
        value, at, there = _rows(x, k, n, width, start, offsets, columns, inside)
        value = (value - mean[None, :]) * factor[None, :] + offset[None, :]
        tl.store(y + at, tl.maximum(value, 0.0).to(y.dtype.element_ty), mask=there)


@triton.jit
def _back_sum_kernel(
    grad, x, y, statistics, by_shift, by_unit, n, width, slab_rows, slabs, models,
    COLUMNS: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Σ g and Σ g (x - mean) rstd of every slab, of the gradient g that the clipping passes."""
    slab, k = tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64)
    columns = tl.program_id(2) * COLUMNS + tl.arange(0, COLUMNS)
    inside, offsets = columns < width, tl.arange(0, ROWS)
    place = k * width + columns
    mean = tl.load(statistics + place, mask=inside, other=0.0)
    rstd = tl.load(statistics + models * width + place, mask=inside, other=0.0)
    end = tl.minimum((slab + 1) * slab_rows, n)
    shifted = tl.zeros((COLUMNS,), dtype=tl.float32)
    unit = tl.zeros((COLUMNS,), dtype=tl.float32)
    for start in range(slab * slab_rows, end, ROWS):
        g, value, _, _ = _passed(grad, x, y, k, n, width, start, offsets, columns, inside)
        shifted += tl.sum(g, 0)
        unit += tl.sum(g * (value - mean[None, :]) * rstd[None, :], 0)
    at_slab = (k * slabs + slab) * width + columns
    tl.store(by_shift + at_slab, shifted, mask=inside)
    tl.store(by_unit + at_slab, unit, mask=inside)


@triton.jit
def _back_kernel(
    grad, x, y, weight, mass, statistics, scale, by_shift, by_unit, grad_x, grad_scale, grad_shift,
    n, width, slab_rows, slabs, models, weight_rows,
    COLUMNS: tl.constexpr, ROWS: tl.constexpr, SLABS: tl.constexpr,
):  # fmt: skip
    """dx = scale rstd (g - w / W (Σ g + x̂ Σ g x̂)); the first slab writes the other gradients."""
    slab, k = tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64)
    columns = tl.program_id(2) * COLUMNS + tl.arange(0, COLUMNS)
    inside, offsets = columns < width, tl.arange(0, ROWS)
    w_row = weight + tl.minimum(k, weight_rows - 1) * n
    place = k * width + columns
    mean = tl.load(statistics + place, mask=inside, other=0.0)
    rstd = tl.load(statistics + models * width + place, mask=inside, other=0.0)
    factor = rstd * tl.load(scale + place, mask=inside, other=0.0)
    shifted = _total(by_shift, k, slabs, width, columns, inside, SLABS)
    unit = _total(by_unit, k, slabs, width, columns, inside, SLABS)
    if slab == 0:
        tl.store(grad_shift + place, shifted, mask=inside)
        tl.store(grad_scale + place, unit, mask=inside)
    count = tl.maximum(_count(mass, k, slabs, SLABS), 1.0)
    shifted, unit = shifted / count, unit / count
    end = tl.minimum((slab + 1) * slab_rows, n)
    for start in range(slab * slab_rows, end, ROWS):
        g, value, at, there = _passed(grad, x, y, k, n, width, start, offsets, columns, inside)
        w = tl.load(w_row + start + offsets, mask=start + offsets < n, other=0.0)
        centred = (value - mean[None, :]) * rstd[None, :]
        g = factor[None, :] * (g - w[:, None] * (shifted[None, :] + centred * unit[None, :]))
        tl.store(grad_x + at, g.to(grad_x.dtype.element_ty), mask=there)


class Norm(torch.autograd.Function):
    """See :func:`lgan.ops.norm`; planes ``[K, n, F]``, weights ``[1 or K, n]`` float32."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        scale: Tensor,
        shift: Tensor,
        running: tuple[Tensor, Tensor],
        momentum: float,
        eps: float,
    ) -> Tensor:
        """Normalise, clip, and move the running statistics."""
        x, weight = x.contiguous(), weight.contiguous()
        models, n, width = x.shape
        cut = _Cut(models, n, width)
        y = torch.empty_like(x)
        partial, squares = scale.new_empty((2, models, cut.slabs, width))
        mass = scale.new_empty((models, cut.slabs))
        statistics = scale.new_empty((2, models, width))
        common = {"COLUMNS": cut.columns, "ROWS": ROWS}
        slabs = {**common, "SLABS": triton.next_power_of_2(cut.slabs)}
        sizes = (n, width, cut.rows, cut.slabs)
        _sum_kernel[cut.grid](x, weight, partial, mass, *sizes, weight.size(0), **common)
        _square_kernel[cut.grid](x, weight, partial, mass, squares, *sizes, weight.size(0), **slabs)
        _normalise_kernel[cut.grid](
            *(x, partial, mass, squares, scale.contiguous(), shift.contiguous(), y, statistics),
            *(running[0], running[1], *sizes, models, eps, momentum),
            **slabs,
        )
        ctx.save_for_backward(x, y, weight, mass, scale, statistics)
        ctx.cut = cut
        return y

    @staticmethod
    @first_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients of the rows, the scale and the shift."""
        x, y, weight, mass, scale, statistics = ctx.saved_tensors
        cut: _Cut = ctx.cut
        models, n, width = x.shape
        grad, grad_x = grad.contiguous(), torch.empty_like(x)
        by_shift, by_unit = scale.new_empty((2, models, cut.slabs, width))
        grad_scale, grad_shift = scale.new_empty((2, models, width))
        common = {"COLUMNS": cut.columns, "ROWS": ROWS}
        sizes = (n, width, cut.rows, cut.slabs, models)
        _back_sum_kernel[cut.grid](grad, x, y, statistics, by_shift, by_unit, *sizes, **common)
        _back_kernel[cut.grid](
            *(grad, x, y, weight, mass, statistics, scale.contiguous(), by_shift, by_unit),
            *(grad_x, grad_scale, grad_shift, *sizes, weight.size(0)),
            SLABS=triton.next_power_of_2(cut.slabs),
            **common,
        )
        return grad_x, None, grad_scale, grad_shift, None, None, None


@triton.jit
def _unit_rows(value, inside, width, eps):
    """Rows less their mean over their deviation, and its reciprocal."""
    mean = tl.sum(value, 1) / width
    centred = tl.where(inside[None, :], value - mean[:, None], 0.0)
    rstd = 1.0 / tl.sqrt(tl.sum(centred * centred, 1) / width + eps)
    return centred * rstd[:, None], rstd


@triton.jit
def _layer_kernel(
    x, scale, shift, y, n, width, slab_rows, eps,
    COLUMNS: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """y = relu(x̂ scale + shift) for a slab of rows."""
    slab, k = tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64)
    columns, offsets = tl.arange(0, COLUMNS), tl.arange(0, ROWS)
    inside = columns < width
    factor = tl.load(scale + k * width + columns, mask=inside, other=0.0)
    offset = tl.load(shift + k * width + columns, mask=inside, other=0.0)
    end = tl.minimum((slab + 1) * slab_rows, n)
    for start in range(slab * slab_rows, end, ROWS):
        value, at, there = _rows(x, k, n, width, start, offsets, columns, inside)
        unit, _ = _unit_rows(value, inside, width, eps)
        value = unit * factor[None, :] + offset[None, :]
        tl.store(y + at, tl.maximum(value, 0.0).to(y.dtype.element_ty), mask=there)


@triton.jit
def _layer_back_kernel(
    grad, x, y, scale, grad_x, partial, n, width, slab_rows, slabs, models, eps,
    COLUMNS: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """dx = rstd (h - mean h - x̂ mean h x̂) with h = g scale; and Σ g x̂, Σ g of a slab of rows."""
    slab, k = tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64)
    columns, offsets = tl.arange(0, COLUMNS), tl.arange(0, ROWS)
    inside = columns < width
    factor = tl.load(scale + k * width + columns, mask=inside, other=0.0)
    end = tl.minimum((slab + 1) * slab_rows, n)
    by_scale = tl.zeros((COLUMNS,), dtype=tl.float32)
    by_shift = tl.zeros((COLUMNS,), dtype=tl.float32)
    for start in range(slab * slab_rows, end, ROWS):
        g, value, at, there = _passed(grad, x, y, k, n, width, start, offsets, columns, inside)
        unit, rstd = _unit_rows(value, inside, width, eps)
        by_scale += tl.sum(g * unit, 0)
        by_shift += tl.sum(g, 0)
        h = g * factor[None, :]
        along = tl.sum(h * unit, 1) / width
        h = rstd[:, None] * (h - (tl.sum(h, 1) / width)[:, None] - unit * along[:, None])
        tl.store(grad_x + at, h.to(grad_x.dtype.element_ty), mask=there)
    place = (k * slabs + slab) * width + columns
    tl.store(partial + place, by_scale, mask=inside)
    tl.store(partial + models * slabs * width + place, by_shift, mask=inside)


class LayerNorm(torch.autograd.Function):
    """See :func:`lgan.ops.layer_norm`; planes ``[K, n, F]``."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor, shift: Tensor, eps: float) -> Tensor:
        """Normalise and clip."""
        x, scale = x.contiguous(), scale.contiguous()
        models, n, width = x.shape
        cut, y = _Cut(models, n, width), torch.empty_like(x)
        _layer_kernel[cut.slabs, models](
            *(x, scale, shift.contiguous(), y, n, width, cut.rows, eps),
            **_whole_rows(width),
        )
        ctx.save_for_backward(x, y, scale)
        ctx.eps, ctx.cut = eps, cut
        return y

    @staticmethod
    @first_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients of the rows, the scale and the shift; means and deviations anew."""
        x, y, scale = ctx.saved_tensors
        cut: _Cut = ctx.cut
        models, n, width = x.shape
        grad, grad_x = grad.contiguous(), torch.empty_like(x)
        partial = scale.new_empty((2, models, cut.slabs, width))
        _layer_back_kernel[cut.slabs, models](
            *(grad, x, y, scale, grad_x, partial, n, width, cut.rows, cut.slabs, models, ctx.eps),
            **_whole_rows(width),
        )
        grad_scale, grad_shift = partial.sum(2)
        return grad_x, grad_scale, grad_shift, None


def _whole_rows(width: int) -> dict[str, int]:
    """Blocks that hold rows from end to end, fewer of them the wider they are."""
    columns = triton.next_power_of_2(width)
    return {"COLUMNS": columns, "ROWS": max(1, min(ROWS, 2048 // columns))}


class _Cut:
    """How the rows are cut: slabs of some blocks of rows, and blocks of columns."""

    def __init__(self, models: int, n: int, width: int) -> None:
        blocks = triton.cdiv(max(n, 1), ROWS)
        # Enough programs to fill the GPU, few enough slabs to be added up by every program.
        wanted = max(1, min(MOST_SLABS, blocks, triton.cdiv(2048, models)))
        self.rows = triton.cdiv(blocks, wanted) * ROWS
        self.slabs = triton.cdiv(max(n, 1), self.rows)
        self.columns = min(triton.next_power_of_2(width), 64)
        self.grid = (self.slabs, models, triton.cdiv(width, self.columns))

"""Kernels of the layer on the GPU.

Every output row is computed by one program that gathers what it needs, in a fixed order: no
atomics, so two runs give the same bits. A forward pass encodes the pairs once and then gathers
them by node; a backward pass gathers by pair and then by node.
"""

# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def _gather_kernel(
    ptr, col, weight, x, y,
    width, x_rows, x_stride, x_offset, y_rows, y_stride, y_offset,
    HAS_COL: tl.constexpr, HAS_WEIGHT: tl.constexpr,
    ENTRIES: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """y[k, row] = Σ_e weight[e] x[k, col[e]] over the entries e of the row."""
    row, k = tl.program_id(0), tl.program_id(1)
    columns = tl.program_id(2) * COLUMNS + tl.arange(0, COLUMNS)
    inside = columns < width
    begin, end = tl.load(ptr + row), tl.load(ptr + row + 1)
    x += k.to(tl.int64) * x_rows * x_stride + x_offset
    total = tl.zeros((COLUMNS,), dtype=tl.float32)
    for start in range(begin, end, ENTRIES):
        entry = start + tl.arange(0, ENTRIES)
        there = entry < end
        source = entry
        if HAS_COL:
            source = tl.load(col + entry, mask=there, other=0)
        mask = there[:, None] & inside[None, :]
        value = tl.load(
            x + source.to(tl.int64)[:, None] * x_stride + columns[None, :], mask=mask, other=0.0
        ).to(tl.float32)
        if HAS_WEIGHT:
            value *= tl.load(weight + entry, mask=there, other=0.0)[:, None]
        total += tl.sum(value, 0)
    y += k.to(tl.int64) * y_rows * y_stride + row.to(tl.int64) * y_stride + y_offset
    tl.store(y + columns, total.to(y.dtype.element_ty), mask=inside)


@triton.jit
def _pair_kernel(
    a, table, code, u, v, z, nodes, pairs, codes, width,
    RELU: tl.constexpr, CODED: tl.constexpr, OWN: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """z[k, p] = relu(a[k, u] + a[k, v] + table[k, code]), or with a row of its own for every p."""
    p, k = tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64)
    columns = tl.program_id(2) * COLUMNS + tl.arange(0, COLUMNS)
    inside = columns < width
    a += k * nodes * width
    at_u = tl.load(a + tl.load(u + p).to(tl.int64) * width + columns, mask=inside, other=0.0)
    at_v = tl.load(a + tl.load(v + p).to(tl.int64) * width + columns, mask=inside, other=0.0)
    total = at_u.to(tl.float32) + at_v.to(tl.float32)
    if CODED:
        row = k * codes + (p if OWN else tl.load(code + p).to(tl.int64))
        total += tl.load(table + row * width + columns, mask=inside, other=0.0).to(tl.float32)
    if RELU:
        total = tl.maximum(total, 0.0)
    tl.store(z + (k * pairs + p) * width + columns, total.to(z.dtype.element_ty), mask=inside)


@triton.jit
def _pair_back_kernel(
    grad, z, u, v, at_u, at_v, next_u, next_v, across, ptr, opposite, out,
    nodes, pairs, total_width, width,
    RELU: tl.constexpr, SIDE: tl.constexpr, ENTRIES: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Gradient of one branch of the pairs: what the nodes that see a pair send back, masked."""
    p, k = tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64)
    columns = tl.program_id(2) * COLUMNS + tl.arange(0, COLUMNS)
    inside = columns < width
    offset = width if SIDE else 0
    grad += k * nodes * total_width + offset
    node_u, node_v = tl.load(u + p).to(tl.int64), tl.load(v + p).to(tl.int64)
    wu = tl.load((next_u if SIDE else at_u) + p)
    wv = tl.load((next_v if SIDE else at_v) + p)
    from_u = tl.load(grad + node_u * total_width + columns, mask=inside, other=0.0)
    from_v = tl.load(grad + node_v * total_width + columns, mask=inside, other=0.0)
    total = wu * from_u.to(tl.float32) + wv * from_v.to(tl.float32)
    if SIDE:
        begin, end = tl.load(ptr + p), tl.load(ptr + p + 1)
        side = tl.zeros((COLUMNS,), dtype=tl.float32)
        for start in range(begin, end, ENTRIES):
            entry = start + tl.arange(0, ENTRIES)
            there = entry < end
            t = tl.load(opposite + entry, mask=there, other=0).to(tl.int64)
            mask = there[:, None] & inside[None, :]
            value = tl.load(
                grad + t[:, None] * total_width + columns[None, :], mask=mask, other=0.0
            )
            side += tl.sum(value.to(tl.float32), 0)
        total += tl.load(across + p) * side
    place = (k * pairs + p) * total_width + offset + columns
    if RELU:
        passed = tl.load(z + place, mask=inside, other=0.0)
        total = tl.where(passed > 0, total, 0.0)
    tl.store(out + place, total.to(out.dtype.element_ty), mask=inside)


def gather_rows(
    ptr: Tensor,
    col: Tensor | None,
    weight: Tensor | None,
    x: Tensor,
    out: Tensor,
    *,
    width: int,
    x_offset: int = 0,
    out_offset: int = 0,
) -> None:
    """``out[k, r] = Σ weight · x[k, col]`` over a CSR pattern, ``width`` columns from an offset.

    Args:
        ptr: Row offsets ``[R + 1]``.
        col: Rows of ``x`` to take; ``None`` for consecutive ones.
        weight: One weight an entry, or ``None`` for ones.
        x: ``[K, n, F]`` contiguous.
        out: ``[K, R, F']`` contiguous; rows beyond ``R`` are left alone.
        width: Columns to take.
        x_offset: First column of ``x``.
        out_offset: First column of ``out``.
    """
    rows = ptr.numel() - 1
    if rows == 0 or width == 0:
        return
    entries = 1 if col is None else col.numel() // max(rows, 1)
    columns = _block(width)
    nothing = ptr
    _gather_kernel[(rows, x.size(0), triton.cdiv(width, columns))](
        ptr,
        nothing if col is None else col,
        nothing if weight is None else weight,
        x,
        out,
        width,
        *(x.size(1), x.size(2), x_offset, out.size(1), out.size(2), out_offset),
        HAS_COL=col is not None,
        HAS_WEIGHT=weight is not None,
        ENTRIES=_entries(entries if col is not None else 16),
        COLUMNS=columns,
    )


def pair_forward(
    a: Tensor, u: Tensor, v: Tensor, table: Tensor | None, code: Tensor | None, *, relu: bool
) -> Tensor:
    """``z[k, p] = relu(a_u + a_v + table[code])``, ``[K, n, F]`` to ``[K, P, F]``."""
    z = a.new_empty((a.size(0), u.numel(), a.size(2)))
    if z.numel() == 0:
        return z
    columns = _block(a.size(2))
    _pair_kernel[(u.numel(), a.size(0), triton.cdiv(a.size(2), columns))](
        a,
        a if table is None else table,
        u if code is None else code,
        *(u, v, z, a.size(1), u.numel(), 1 if table is None else table.size(1), a.size(2)),
        RELU=relu,
        CODED=table is not None,
        OWN=code is None,
        COLUMNS=columns,
    )
    return z


def pair_backward(
    grad: Tensor,
    z: Tensor,
    u: Tensor,
    v: Tensor,
    weights: tuple[Tensor, ...],
    ptr: Tensor,
    opposite: Tensor,
    *,
    width: int,
    relu: bool,
) -> Tensor:
    """Gradient of the pairs, ``[K, n, F]`` to ``[K, P, F]``, both branches, masked by ``z``."""
    out = torch.empty_like(z)
    if out.numel() == 0:
        return out
    columns = _block(width)
    grid = (u.numel(), grad.size(0), triton.cdiv(width, columns))
    entries = _entries(opposite.numel() // max(u.numel(), 1))
    for side in range(z.size(2) // width):
        _pair_back_kernel[grid](
            *(grad, z, u, v, *weights, ptr, opposite, out),
            *(grad.size(1), u.numel(), z.size(2), width),
            RELU=relu,
            SIDE=bool(side),
            ENTRIES=entries,
            COLUMNS=columns,
        )
    return out


def _block(width: int) -> Any:
    return min(triton.next_power_of_2(width), 128)


def _entries(mean: int) -> Any:
    """Entries gathered at a time: about the mean length of a row."""
    return max(4, min(32, triton.next_power_of_2(max(mean, 1))))

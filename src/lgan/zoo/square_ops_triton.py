"""The operations of PPGN on the GPU: rows graph after graph, channels last, nothing padded.

Every program writes entries that no other writes, in a fixed order: two runs give the same bits.
"""

# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from lgan.graph.segments import lengths_to_ptr
from lgan.ops.first_order import first_order
from lgan.zoo.squares import Squares

COLUMNS = 64  # channels of a program, at most
SIDE = 16  # entries of a row that it sums at a time
ROWS = 32  # entries that it looks through for a maximum at a time
PIECE = 2048  # entries of a graph that one program looks through


@triton.jit
def _product_kernel(
    x, y, out, first, size, node_ptr, graph, rows, width,
    X_BACK: tl.constexpr, Y_BACK: tl.constexpr, SIDE: tl.constexpr, COLUMNS: tl.constexpr,
    LARGE: tl.constexpr,
):  # fmt: skip
    """out[i, j] = Σ_s x[i, s] y[s, j] for one row i of a small graph; BACK transposes a factor."""
    node, k = tl.program_id(0), tl.program_id(1).to(tl.int64)
    columns = tl.program_id(2) * COLUMNS + tl.arange(0, COLUMNS)
    inside = columns < width
    g = tl.load(graph + node)
    n = tl.load(size + g)
    n = tl.where(n < LARGE, n, 0)
    i = node - tl.load(node_ptr + g)
    base = (k * rows + tl.load(first + g)) * width
    x += base
    y += base
    out += base
    for begin in range(0, n, SIDE):
        j = begin + tl.arange(0, SIDE)
        mask = (j < n)[:, None] & inside[None, :]
        total = tl.zeros((SIDE, COLUMNS), dtype=tl.float32)
        for s in range(0, n):
            at_x = s * n + i if X_BACK else i * n + s
            at_y = j * n + s if Y_BACK else s * n + j
            left = tl.load(x + at_x * width + columns, mask=inside, other=0.0)
            right = tl.load(y + at_y[:, None] * width + columns[None, :], mask=mask, other=0.0)
            total += left.to(tl.float32)[None, :] * right.to(tl.float32)
        place = (i * n + j)[:, None] * width + columns[None, :]
        tl.store(out + place, total.to(out.dtype.element_ty), mask=mask)


@triton.jit
def _max_kernel(
    h, best, at, first, size, graph, start, rows, pieces, width,
    PIECE: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """The greatest diagonal and other entry of a piece of a graph, and the row of each, or -1.

    A column with a NaN has it for its maximum.
    """
    q, k = tl.program_id(0), tl.program_id(1).to(tl.int64)
    columns = tl.program_id(2) * COLUMNS + tl.arange(0, COLUMNS)
    inside = columns < width
    g = tl.load(graph + q)
    n, begin, from_row = tl.load(size + g), tl.load(first + g), tl.load(start + q)
    h += (k * rows + begin) * width
    for kind in tl.static_range(2):
        greatest = tl.full((COLUMNS,), float("-inf"), dtype=tl.float32)
        found = tl.full((COLUMNS,), -1, dtype=tl.int32)
        broken = tl.zeros((COLUMNS,), dtype=tl.int32)
        for add in range(0, PIECE, ROWS):
            row = from_row + add + tl.arange(0, ROWS)
            counts = (row < n * n) & ((row % (n + 1) == 0) == (kind == 0))
            mask = counts[:, None] & inside[None, :]
            value = tl.load(
                h + row[:, None] * width + columns[None, :], mask=mask, other=float("-inf")
            ).to(tl.float32)
            broken |= tl.max((value != value).to(tl.int32), 0)
            top, place = tl.max(value, 0, return_indices=True)
            better = top > greatest
            greatest = tl.where(better, top, greatest)
            found = tl.where(better, (begin + from_row + add).to(tl.int32) + place, found)
        to = ((k * pieces + q) * 2 + kind) * width + columns
        tl.store(best + to, tl.where(broken > 0, float("nan"), greatest), mask=inside)
        tl.store(at + to, found, mask=inside)


@triton.jit
def _max_join_kernel(
    best, at, out, where, piece_ptr, size, pieces, graphs, width, COLUMNS: tl.constexpr
):
    """The greatest of the pieces of a graph, the first of them where they are equal; 0 of none."""
    g, k = tl.program_id(0), tl.program_id(1).to(tl.int64)
    columns = tl.program_id(2) * COLUMNS + tl.arange(0, COLUMNS)
    inside = columns < width
    n, first, last = tl.load(size + g), tl.load(piece_ptr + g), tl.load(piece_ptr + g + 1)
    for kind in tl.static_range(2):
        greatest = tl.full((COLUMNS,), float("-inf"), dtype=tl.float32)
        found = tl.full((COLUMNS,), -1, dtype=tl.int32)
        broken = tl.zeros((COLUMNS,), dtype=tl.int32)
        for q in range(first, last):
            place = ((k * pieces + q) * 2 + kind) * width + columns
            value = tl.load(best + place, mask=inside, other=float("-inf"))
            broken |= (value != value).to(tl.int32)
            better = value > greatest
            greatest = tl.where(better, value, greatest)
            found = tl.where(better, tl.load(at + place, mask=inside, other=-1), found)
        to = ((k * graphs + g) * 2 + kind) * width + columns
        greatest = tl.where(broken > 0, float("nan"), greatest)
        greatest = tl.where(n > kind, greatest, 0.0)  # a graph of one node has no other entries
        tl.store(out + to, greatest.to(out.dtype.element_ty), mask=inside)
        tl.store(where + to, found, mask=inside)


@triton.jit
def _max_back_kernel(grad, where, out, rows, graphs, width, COLUMNS: tl.constexpr):
    """Every maximum's gradient goes to the row it came from."""
    part, k = tl.program_id(0), tl.program_id(1).to(tl.int64)
    columns = tl.program_id(2) * COLUMNS + tl.arange(0, COLUMNS)
    inside = columns < width
    place = (k * graphs * 2 + part) * width + columns
    at = tl.load(where + place, mask=inside, other=-1)
    value = tl.load(grad + place, mask=inside, other=0.0)
    tl.store(out + (k * rows + at) * width + columns, value, mask=inside & (at >= 0))


class Product(torch.autograd.Function):
    """See :func:`lgan.zoo.square_ops.matrix_product`; planes ``[K, R, F]``."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, squares: Squares) -> Tensor:
        """The products."""
        a, b = a.contiguous(), b.contiguous()
        ctx.save_for_backward(a, b)
        ctx.squares = squares
        return _product(a, b, squares)

    @staticmethod
    @first_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """With the transpose of the other factor."""
        a, b = ctx.saved_tensors
        grad = grad.contiguous()
        grad_a = _product(grad, b, ctx.squares, y_back=True)
        return grad_a, _product(a, grad, ctx.squares, x_back=True), None


class Max(torch.autograd.Function):
    """Maxima over diagonal and other entries, ``[K, R, F]`` to ``[K, B, 2 F]``."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, squares: Squares) -> Tensor:
        """The maxima."""
        models, rows, width = h.shape
        graphs = len(squares.sizes)
        out = h.new_empty((models, graphs, 2, width))
        where = torch.empty(out.shape, dtype=torch.int32, device=h.device)
        if out.numel():
            piece_ptr = lengths_to_ptr((squares.size**2 + PIECE - 1) // PIECE)
            pieces = sum(triton.cdiv(n * n, PIECE) for n in squares.sizes)
            graph = torch.repeat_interleave(torch.diff(piece_ptr), output_size=pieces)
            start = (torch.arange(pieces, device=h.device) - piece_ptr[graph]) * PIECE
            best = torch.empty((models, pieces, 2, width), device=h.device)
            at = torch.empty(best.shape, dtype=torch.int32, device=h.device)
            columns = _columns(width)
            planes = (models, triton.cdiv(width, columns))
            if pieces:
                _max_kernel[(pieces, *planes)](
                    h.contiguous(), best, at, squares.ptr, squares.size, graph, start, rows,
                    pieces, width, PIECE=PIECE, ROWS=ROWS, COLUMNS=columns,
                )  # fmt: skip
            _max_join_kernel[(graphs, *planes)](
                best, at, out, where, piece_ptr, squares.size, pieces, graphs, width,
                COLUMNS=columns,
            )  # fmt: skip
        ctx.save_for_backward(where)
        ctx.rows = rows
        return out.flatten(-2)

    @staticmethod
    @first_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """To where they were found."""
        (where,) = ctx.saved_tensors
        models, graphs, _, width = where.shape
        out = grad.new_zeros((models, ctx.rows, width))
        if grad.numel():
            columns = _columns(width)
            _max_back_kernel[(2 * graphs, models, triton.cdiv(width, columns))](
                grad.contiguous(), where, out, ctx.rows, graphs, width, COLUMNS=columns
            )
        return out, None


def _product(
    x: Tensor, y: Tensor, squares: Squares, *, x_back: bool = False, y_back: bool = False
) -> Tensor:
    out = torch.empty_like(x)
    models, rows, width = x.shape
    if out.numel():
        graph, node_ptr = squares.of_node
        columns = _columns(width)
        _product_kernel[(graph.numel(), models, triton.cdiv(width, columns))](
            x, y, out, squares.ptr, squares.size, node_ptr, graph, rows, width,
            X_BACK=x_back, Y_BACK=y_back, SIDE=SIDE, COLUMNS=columns, LARGE=Squares.LARGE,
        )  # fmt: skip
    of = f"k{'sif' if x_back else 'isf'},k{'jsf' if y_back else 'sjf'}->kijf"
    squares.multiply_large(of, x, y, out)
    return out


def _columns(width: int) -> int:
    """Channels of a program, so that few of its lanes have none."""
    return int(min(COLUMNS, max(16, triton.next_power_of_2(width))))

"""The operations of PPGN that mix the entries of a graph: product of matrices and read-out."""

from typing import Any

import torch
from torch import Tensor

from lgan import ops
from lgan.graph.segments import lengths_to_ptr
from lgan.nn.readout import Readout
from lgan.ops.first_order import first_order
from lgan.ops.threads import by_planes, in_threads
from lgan.ops.torch_any import grouped_max
from lgan.zoo.squares import Squares


def matrix_product(a: Tensor, b: Tensor, squares: Squares) -> Tensor:
    """For every graph and channel the product of two matrices, ``[*, R, F]``."""
    backend = ops.backend_of(a)
    if backend == "torch":
        return _plain_product(a, b, squares)
    one = a.dim() == 2
    a, b = (a.unsqueeze(0), b.unsqueeze(0)) if one else (a, b)
    product, _ = _functions(backend)
    out: Tensor = product.apply(a, b, squares)
    return out.squeeze(0) if one else out


def square_readout(h: Tensor, squares: Squares, reduce: Readout) -> Tensor:
    """Read-outs over diagonal and other entries, ``[*, R, F]`` to ``[*, B, 2 F]``; 0 for none."""
    if reduce == "max":
        backend = ops.backend_of(h)
        if backend == "torch":
            return _plain_max(h, squares)
        _, maximum = _functions(backend)
        out: Tensor = maximum.apply(h if h.dim() == 3 else h.unsqueeze(0), squares)
        return out if h.dim() == 3 else out.squeeze(0)
    size = squares.size[:, None]
    on = _sum(h.index_select(-2, squares.diagonal), lengths_to_ptr(squares.size))
    off = _sum(h, squares.ptr) - on
    if reduce == "mean":
        on, off = on / size.clamp(min=1), off / (size * (size - 1)).clamp(min=1)
    return torch.cat([on, off], -1)


def _sum(h: Tensor, ptr: Tensor) -> Tensor:
    return ops.segment_sum(h, torch.ones(h.size(-2), device=h.device), ptr)


def _functions(backend: str) -> tuple[Any, Any]:
    """Product and maximum as a backend has them."""
    if backend == "numba":
        return _CompiledProduct, _CompiledMax
    from lgan.zoo.square_ops_triton import Max, Product

    return Product, Max


def _plain_product(a: Tensor, b: Tensor, squares: Squares) -> Tensor:
    if not squares.sizes:
        return a * b  # no rows
    lengths = [n * n for n in squares.sizes]
    factors = zip(a.split(lengths, -2), b.split(lengths, -2), squares.sizes, strict=True)
    products = [
        torch.einsum("...isf,...sjf->...ijf", x.unflatten(-2, (n, n)), y.unflatten(-2, (n, n)))
        for x, y, n in factors
    ]
    return torch.cat([product.flatten(-3, -2) for product in products], -2)


def _plain_max(h: Tensor, squares: Squares) -> Tensor:
    graphs = squares.size.numel()
    graph = torch.arange(graphs, device=h.device)
    row = torch.repeat_interleave(graph, squares.size**2, output_size=h.size(-2))
    other = row.index_fill(0, squares.diagonal, graphs)  # the diagonal goes to a spare graph
    parts = []
    for x, index in ((h.index_select(-2, squares.diagonal), row[squares.diagonal]), (h, other)):
        parts.append(grouped_max(x, index, graphs + 1)[..., :-1, :])
    return torch.cat(parts, -1)


class _CompiledProduct(torch.autograd.Function):
    """Products of planes ``[K, R, F]``, on the CPU."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, squares: Squares) -> Tensor:
        from lgan.zoo.square_ops_numba import product_forward

        ctx.save_for_backward(a, b)
        ctx.squares = squares
        out = torch.zeros_like(a, memory_format=torch.contiguous_format)
        arrays = (_array(a), _array(b), squares.size.numpy(), Squares.LARGE, out.numpy())
        in_threads(product_forward, a.size(0), a.size(2), a.numel(), *arrays)
        _large_by_planes("kisf,ksjf->kijf", a, b, squares, out)
        return out

    @staticmethod
    @first_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        from lgan.zoo.square_ops_numba import product_backward

        a, b = ctx.saved_tensors
        grads = [torch.zeros_like(x, memory_format=torch.contiguous_format) for x in (a, b)]
        arrays = (_array(grad), _array(a), _array(b), ctx.squares.size.numpy(), Squares.LARGE)
        places = (g.numpy() for g in grads)
        in_threads(product_backward, a.size(0), a.size(2), a.numel(), *arrays, *places)
        _large_by_planes("kijf,ksjf->kisf", grad, b, ctx.squares, grads[0])
        _large_by_planes("kisf,kijf->ksjf", a, grad, ctx.squares, grads[1])
        return *grads, None


def _large_by_planes(of: str, x: Tensor, y: Tensor, squares: Squares, out: Tensor) -> None:
    """:meth:`Squares.multiply_large`, whose threads take models apart."""
    x, y = x.detach(), y.detach()

    def some(k0: int, k1: int) -> None:
        squares.multiply_large(of, x[k0:k1], y[k0:k1], out[k0:k1])

    by_planes(some, x.size(0), x.numel())


class _CompiledMax(torch.autograd.Function):
    """Maxima of planes ``[K, R, F]``, on the CPU."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, squares: Squares) -> Tensor:
        from lgan.zoo.square_ops_numba import max_forward

        models, rows, width = h.shape
        out = h.new_zeros((models, squares.size.numel(), 2, width))
        ctx.where = torch.full(out.shape, -1, dtype=torch.int32)
        ctx.rows = rows
        arrays = (_array(h), squares.size.numpy(), out.numpy(), ctx.where.numpy())
        in_threads(max_forward, models, width, h.numel(), *arrays)
        return out.flatten(-2)

    @staticmethod
    @first_order
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        from lgan.zoo.square_ops_numba import max_backward

        models, _, _, width = ctx.where.shape
        out = grad.new_zeros((models, ctx.rows, width))
        arrays = (_array(grad.reshape(ctx.where.shape)), ctx.where.numpy(), out.numpy())
        in_threads(max_backward, models, width, out.numel(), *arrays)
        return out, None


def _array(x: Tensor) -> Any:
    return x.detach().contiguous().numpy()

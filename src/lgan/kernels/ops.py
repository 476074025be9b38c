"""Public entry to the hot operations: one contract, the backend chosen by device and dtype."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from lgan.kernels import torch_any
from lgan.kernels.incidence import Incidence

__all__ = ["backend", "ego_sum", "linear_sum", "norm", "segment_sum"]

BackendName = Literal["numba", "torch"]

_chosen: ContextVar[BackendName | None] = ContextVar("lgan_backend", default=None)


@contextmanager
def backend(name: BackendName | None) -> Iterator[None]:
    """Use one backend inside a ``with`` block; ``None`` chooses by device and dtype.

    ``"torch"`` runs anywhere and is differentiable twice; ``"numba"`` is the fast one on the CPU.
    """
    if name not in ("numba", "torch", None):
        raise ValueError(f"`name` must be 'numba', 'torch' or None, got {name!r}.")
    token = _chosen.set(name)
    try:
        yield
    finally:
        _chosen.reset(token)


def _compiled(x: Tensor) -> bool:
    name = _chosen.get()
    able = x.device.type == "cpu" and x.dtype in (torch.float32, torch.float64)
    if name == "numba" and not able:
        raise ValueError(
            "The backend 'numba' needs a float32 or float64 tensor on the CPU, "
            f"got {x.dtype} on {x.device}. Use `lgan.kernels.backend('torch')`."
        )
    return able and name != "torch"


def ego_sum(
    a: Tensor,
    incidence: Incidence,
    width: int,
    *,
    table: Tensor | None = None,
    code: Tensor | None = None,
    relu: bool = True,
) -> Tensor:
    r"""Both aggregations of a layer: :math:`(B_t Z_t \,\|\, B_n Z_n)`.

    A pair ``{u, v}`` sends ``relu(a_u + a_v + table[code])`` to the nodes that see it.

    Args:
        a: Node values, the columns of the target branch and then those of the neighbour branch.
        incidence: The pairs and what lies opposite them.
        width: Columns of one branch. Where ``a`` has only these, so has the result: the
            neighbour branch of a graph without triangles is silent.
        table: Offsets by structural code, the same columns as ``a``.
        code: Row of ``table`` for every pair ``[P]``.
        relu: Clip what a pair sends; without it see also :func:`linear_sum`.

    Shapes:
        ``a``: ``[*, n, 2 · width]``, ``table``: ``[*, C, 2 · width]``, result as ``a``.
    """
    _check_rows(a, incidence.multiplicity.numel())
    if not _compiled(a):
        return torch_any.ego_sum(a, incidence, width, table, code, relu)
    if table is None or code is None:
        table, code = a.new_zeros((*a.shape[:-2], 1, 1)), incidence.pairs.new_empty(0)
    return _EgoSum.apply(a, table, code, incidence, width, relu)  # type: ignore[no-any-return]


def linear_sum(a: Tensor, incidence: Incidence, width: int) -> Tensor:
    """:func:`ego_sum` without clipping, at the cost of one sparse product: no triangle is read."""
    _check_rows(a, incidence.multiplicity.numel())
    if not _compiled(a):
        return torch_any.linear_sum(a, incidence, width)
    return _LinearSum.apply(a, incidence, width, False)  # type: ignore[no-any-return]


def norm(
    x: Tensor, weight: Tensor, scale: Tensor, shift: Tensor, eps: float, *, relu: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Batch normalisation over rows that count ``weight`` times, then clipping.

    Returns the result, the mean and the reciprocal standard deviation used.

    Shapes:
        ``x``: ``[*, n, F]``, ``weight``: ``[n]`` or ``[*, n]``, ``scale``, ``shift``: ``[*, F]``.
    """
    _check_rows(x, weight.size(-1))
    for name, part in (("weight", weight), ("scale", scale), ("shift", shift)):
        shared = name == "weight" and part.dim() == 1
        if not shared and part.shape[:-1] != x.shape[:-2]:
            raise ValueError(
                f"`{name}` must have the leading axes {list(x.shape[:-2])} of `x`, got "
                f"{list(part.shape)}. Stack the parameters of all models, or pass one model's `x`."
            )
    if not _compiled(x):
        return torch_any.norm(x, weight.to(x.dtype), scale, shift, eps, relu)
    return _Norm.apply(x, weight.to(x.dtype), scale, shift, eps, relu)  # type: ignore[no-any-return]


def segment_sum(x: Tensor, weight: Tensor, ptr: Tensor) -> Tensor:
    """Sums over consecutive rows that count ``weight`` times, ``[*, n, F]`` to ``[*, S, F]``."""
    _check_rows(x, weight.numel())
    if not _compiled(x):
        return torch_any.segment_sum(x, weight.to(x.dtype), ptr)
    return _SegmentSum.apply(x, weight.to(x.dtype), ptr)  # type: ignore[no-any-return]


def _check_rows(x: Tensor, num_nodes: int) -> None:
    """Compiled loops trust their indices, so that a wrong number of rows must not reach them."""
    if x.dim() < 2 or x.size(-2) != num_nodes:
        raise ValueError(
            f"`x` must have one row for each of {num_nodes} nodes, got shape {list(x.shape)}. "
            "Rebuild the line graphs after changing the graph."
        )


def _planes(x: Tensor) -> Any:
    """``[*, n, F]`` as a contiguous array of planes ``[K, n, F]``."""
    return x.detach().contiguous().view(x.shape[:-2].numel(), *x.shape[-2:]).numpy()


def _rows(x: Tensor) -> Any:
    """``[*, F]`` as a contiguous array ``[K, F]``."""
    return x.detach().contiguous().view(x.shape[:-1].numel(), x.size(-1)).numpy()


def _arrays(incidence: Incidence) -> tuple[Any, ...]:
    return tuple(part.numpy() for part in incidence)


class _EgoSum(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        a: Tensor,
        table: Tensor,
        code: Tensor,
        incidence: Incidence,
        width: int,
        relu: bool,
    ) -> Tensor:
        from lgan.kernels import numba_cpu

        ctx.save_for_backward(a, table)
        ctx.rest = (code, incidence, width, relu)
        out = torch.zeros_like(a, memory_format=torch.contiguous_format)
        pairs, multiplicity, ptr, opposite, _ = _arrays(incidence)
        planes = _planes(a)
        numba_cpu.in_threads(
            numba_cpu.ego_sum_forward,
            len(planes),
            width,
            len(planes) * (pairs.shape[1] + opposite.size) * width,
            *(planes, _planes(table), code.numpy(), pairs, multiplicity, ptr, opposite),
            *(width, relu, _planes(out)),
        )
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        from lgan.kernels import numba_cpu

        a, table = ctx.saved_tensors
        code, incidence, width, relu = ctx.rest
        grad_a = torch.zeros_like(a, memory_format=torch.contiguous_format)
        grad_table = torch.zeros_like(table, memory_format=torch.contiguous_format)
        pairs, multiplicity, ptr, opposite, _ = _arrays(incidence)
        planes = _planes(a)
        numba_cpu.in_threads(
            numba_cpu.ego_sum_backward,
            len(planes),
            width,
            len(planes) * (pairs.shape[1] + opposite.size) * width,
            *(_planes(grad), planes, _planes(table), code.numpy()),
            *(pairs, multiplicity, ptr, opposite),
            *(width, relu, _planes(grad_a), _planes(grad_table)),
        )
        return grad_a, grad_table, None, None, None, None


class _LinearSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, incidence: Incidence, width: int, transposed: bool) -> Tensor:
        ctx.rest = (incidence, width, transposed)
        return _linear_sum(a, incidence, width, transposed=transposed)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        incidence, width, transposed = ctx.rest
        return _LinearSum.apply(grad, incidence, width, not transposed), None, None, None


def _linear_sum(a: Tensor, incidence: Incidence, width: int, *, transposed: bool) -> Tensor:
    from lgan.kernels import numba_cpu

    out = torch.zeros_like(a, memory_format=torch.contiguous_format)
    planes = _planes(a)
    pairs, multiplicity, _, _, triangles = _arrays(incidence)
    numba_cpu.in_threads(
        numba_cpu.linear_sum,
        len(planes),
        width,
        len(planes) * pairs.shape[1] * width,
        *(planes, pairs, multiplicity, triangles, width, transposed, _planes(out)),
    )
    return out


class _Norm(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, scale: Tensor, shift: Tensor, eps: float, relu: bool
    ) -> tuple[Tensor, Tensor, Tensor]:
        from lgan.kernels import numba_cpu

        y = torch.empty_like(x, memory_format=torch.contiguous_format)
        mean, rstd = scale.new_empty(scale.shape), scale.new_empty(scale.shape)
        planes = _planes(x)
        numba_cpu.in_threads(
            numba_cpu.norm_forward,
            len(planes),
            planes.shape[2],
            planes.size,
            *(planes, _rows(weight), _rows(scale), _rows(shift), eps, relu),
            *(_planes(y), _rows(mean), _rows(rstd)),
        )
        ctx.save_for_backward(x, y, weight, scale, mean, rstd)
        ctx.relu = relu
        ctx.mark_non_differentiable(mean, rstd)
        return y, mean, rstd

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        from lgan.kernels import numba_cpu

        x, y, weight, scale, mean, rstd = ctx.saved_tensors
        grad_x = torch.empty_like(x, memory_format=torch.contiguous_format)
        grad_scale, grad_shift = scale.new_empty(scale.shape), scale.new_empty(scale.shape)
        planes = _planes(x)
        numba_cpu.in_threads(
            numba_cpu.norm_backward,
            len(planes),
            planes.shape[2],
            planes.size,
            *(_planes(grad), planes, _planes(y), _rows(weight), _rows(scale)),
            *(_rows(mean), _rows(rstd), ctx.relu),
            *(_planes(grad_x), _rows(grad_scale), _rows(grad_shift)),
        )
        return grad_x, None, grad_scale, grad_shift, None, None


class _SegmentSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, ptr: Tensor) -> Tensor:
        ctx.save_for_backward(weight, ptr)
        out = x.new_zeros((*x.shape[:-2], ptr.numel() - 1, x.size(-1)))
        return _by_segment("segment_sum", x, weight, ptr, out)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        weight, ptr = ctx.saved_tensors
        out = grad.new_zeros((*grad.shape[:-2], weight.numel(), grad.size(-1)))
        return _by_segment("segment_spread", grad, weight, ptr, out), None, None


def _by_segment(loop: str, source: Tensor, weight: Tensor, ptr: Tensor, out: Tensor) -> Tensor:
    from lgan.kernels import numba_cpu

    planes = _planes(source)
    numba_cpu.in_threads(
        getattr(numba_cpu, loop),
        len(planes),
        planes.shape[2],
        len(planes) * weight.numel() * planes.shape[2],
        *(planes, weight.numpy(), ptr.numpy(), _planes(out)),
    )
    return out

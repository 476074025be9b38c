"""Public entry to the hot operations: one contract, for every backend."""

import torch
from torch import Tensor

from lgan.ops import torch_any
from lgan.ops.backends import backend_of, loops
from lgan.ops.incidence import Incidence
from lgan.ops.together import workers

# Multiplications of a product below which a second thread costs more than it saves (measured).
PRODUCT = 1 << 22


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
        code: Row of ``table`` for every pair ``[P]``; ``None`` where it has one for each.
        relu: Clip what a pair sends; without it see also :func:`linear_sum`.

    Shapes:
        ``a``: ``[*, n, 2 · width]``, ``table``: ``[*, C, 2 · width]``, result as ``a``.
    """
    _check_values(a, incidence, width)
    if table is not None and (
        table.dtype != a.dtype
        or table.size(-1) != a.size(-1)
        or table.shape[:-2] not in ((), a.shape[:-2])
    ):
        raise ValueError(
            f"`table` must have the columns, models and type of `a`, {a.dtype} {list(a.shape)}, "
            f"got {table.dtype} {list(table.shape)}. Map the codes to as many channels."
        )
    chosen = backend_of(a)
    if table is not None and code is None and (chosen != "triton" or incidence.mask is not None):
        pairs = incidence.pair_index
        code = torch.arange(pairs.size(1), dtype=pairs.dtype, device=pairs.device)
    if incidence.mask is not None:
        if chosen != "numba" or incidence.mask.dim() > 2:
            return torch_any.masked_ego_sum(a, incidence, width, table, code, relu)
        return _masked_ego_sum(a, incidence, width, table, code, relu)
    if chosen == "torch":
        return torch_any.ego_sum(a, incidence, width, table, code, relu)
    planes = planes_of(a)
    if table is not None and table.dim() == 2:
        table = table.expand(planes.size(0), -1, -1).contiguous()
    if chosen == "numba":
        if table is None or code is None:
            table, code = a.new_empty((planes.size(0), 1, 1)), incidence.pair_index.new_empty(0)
        else:
            _check_code(code, table, incidence)
    out: Tensor = loops(chosen).EgoSum.apply(planes, table, code, incidence, width, relu)
    return out if a.dim() == 3 else out.squeeze(0)


def _masked_ego_sum(
    a: Tensor,
    incidence: Incidence,
    width: int,
    table: Tensor | None,
    code: Tensor | None,
    relu: bool,
) -> Tensor:
    """:func:`ego_sum` of masked pairs by compiled loops; masks ``[P]`` or ``[K, P]``."""
    assert incidence.mask is not None
    assert incidence.side_mask is not None
    alone = a.dim() == 2 and incidence.mask.dim() == 1
    planes, count = planes_of(a), incidence.mask.shape[:-1].numel()
    mask, side = (
        m.to(a.dtype).expand(max(count, planes.size(0)), -1)
        for m in (incidence.mask, incidence.side_mask)
    )
    if table is None or code is None:
        table, code = a.new_empty((1, 1, 0)), incidence.pair_index.new_empty(0)
    else:
        table = table if table.dim() == 3 else table.unsqueeze(0)
        code = code.int()
        _check_code(code, table, incidence)
    given = (planes, table, mask, side, code, incidence, width, relu)
    out: Tensor = loops("numba").MaskedEgoSum.apply(*given)
    return out.squeeze(0) if alone else out


def _check_code(code: Tensor, table: Tensor, incidence: Incidence) -> None:
    """Compiled loops trust the rows of a table ``[K, C, F]`` that the pairs name."""
    from lgan.ops.numba_rows import within

    if (
        code.dtype != torch.int32
        or code.shape != incidence.pair_index.shape[1:]
        or not within(code.numpy(), table.size(1))
    ):
        raise ValueError(
            f"`code` must hold int32 rows of the table, 0 to {table.size(1) - 1}, one for each "
            f"of {incidence.pair_index.size(1)} pairs, got {code.dtype} {list(code.shape)}."
        )


def linear_sum(a: Tensor, incidence: Incidence, width: int) -> Tensor:
    """:func:`ego_sum` without clipping, at the cost of one sparse product: no triangle is read."""
    _check_values(a, incidence, width)
    if incidence.mask is not None:
        return torch_any.masked_linear_sum(a, incidence, width)
    chosen = backend_of(a)
    if chosen == "torch":
        return torch_any.linear_sum(a, incidence, width)
    planes = planes_of(a)
    out: Tensor = loops(chosen).LinearSum.apply(planes, incidence, width, False)
    return out if a.dim() == 3 else out.squeeze(0)


def norm(
    x: Tensor,
    weight: Tensor,
    scale: Tensor,
    shift: Tensor,
    *,
    running: tuple[Tensor, Tensor],
    momentum: float,
    eps: float,
) -> Tensor:
    """Batch normalisation over rows that count ``weight`` times, then clipping at zero.

    Args:
        x: Rows.
        weight: How often each row counts.
        scale: Factor of every column.
        shift: Offset of every column.
        running: Running mean and variance, moved towards those of the batch in place.
        momentum: How far they move.
        eps: Added to the variance.

    Shapes:
        ``x``: ``[*, n, F]``, ``weight``: ``[n]`` or ``[*, n]``, ``scale``, ``shift`` and the
        running statistics: ``[*, F]``.
    """
    _check_rows(x, weight.size(-1))
    columns = (*x.shape[:-2], x.size(-1))
    given = (scale, shift, *running)
    if any(t.shape != columns for t in given) or weight.shape[:-1] not in ((), x.shape[:-2]):
        raise ValueError(
            f"`scale` {list(scale.shape)}, `shift` {list(shift.shape)}, `running` and `weight` "
            f"{list(weight.shape)} must have the leading axes and columns {list(columns)} of `x`. "
            "Stack the parameters of all models, or pass one model's `x`."
        )
    chosen = backend_of(x) if workers() == 1 else "torch"  # whose sums are those of all processes
    out: Tensor
    if chosen == "torch":
        weight = weight.to(scale.dtype)
        out = torch_any.norm(x.to(scale.dtype), weight, scale, shift, running, momentum, eps)
        return out.to(x.dtype)
    # Numbers of twins are exact in float32, not in half precision.
    weight = weight.to(torch.float32 if chosen == "triton" else x.dtype)
    weight = weight if weight.dim() == 2 else weight.unsqueeze(0)
    alone = x.dim() == 2
    if alone:
        x, scale, shift = x.unsqueeze(0), scale.unsqueeze(0), shift.unsqueeze(0)
        running = (running[0].unsqueeze(0), running[1].unsqueeze(0))
    out = loops(chosen).Norm.apply(x, weight, scale, shift, running, momentum, eps)
    return out.squeeze(0) if alone else out


def layer_norm(x: Tensor, scale: Tensor, shift: Tensor, *, eps: float) -> Tensor:
    """Normalisation of every row over its columns, then clipping at zero.

    Args:
        x: Rows.
        scale: Factor of every column.
        shift: Offset of every column.
        eps: Added to the variance.

    Shapes:
        ``x``: ``[*, n, F]``, ``scale`` and ``shift``: ``[F]``, or ``[K, F]`` where ``x`` has an
        axis of models before its rows.
    """
    models = () if scale.dim() == 1 else x.shape[-3:-2]
    if x.dim() < 2 or scale.shape != (*models, x.size(-1)) or shift.shape != scale.shape:
        raise ValueError(
            f"`scale` {list(scale.shape)} and `shift` {list(shift.shape)} must have the columns, "
            f"and the models where they are stacked, of `x` {list(x.shape)}. "
            "Stack the parameters of all models, or pass one model's `x`."
        )
    chosen = backend_of(x)
    out: Tensor
    if chosen == "torch" or (models and x.dim() > 3) or not x.numel():
        out = torch_any.layer_norm(x.to(scale.dtype), scale, shift, eps)
        return out.to(x.dtype)
    planes = x
    if not models:  # rows do not know each other
        planes = x.reshape(1, -1, x.size(-1))
        scale, shift = scale.unsqueeze(0), shift.unsqueeze(0)
    out = loops(chosen).LayerNorm.apply(planes, scale, shift, eps)
    return out if models else out.view(x.shape)


def dropout(x: Tensor, seed: Tensor, passes: Tensor, rate: Tensor, *, first: int = 0) -> Tensor:
    """Zero a share of the elements and scale up the rest, by noise that depends on the seed, the
    number of passes and the position alone.

    Args:
        x: Rows.
        seed: The seed of every model.
        passes: How often it has drawn before.
        rate: Probability of an element to be zeroed.
        first: The position of the first element.

    Shapes:
        ``x``: ``[*, n, F]``, ``seed``, ``passes`` and ``rate``: ``[*]``.
    """
    words = {seed.dtype, passes.dtype} == {torch.int64}
    if not (words and seed.shape == passes.shape == rate.shape):
        raise ValueError(
            "`seed`, `passes` and `rate` must have one shape, the first two int64, got "
            f"{[(t.dtype, list(t.shape)) for t in (seed, passes, rate)]}. Give one for each model."
        )
    stream = torch_any.mixed(seed + torch_any.mixed(passes))
    planes = max(stream.numel(), 1 if x.dim() == 2 else x.size(0))
    plain = x.dim() in (2, 3) and stream.dim() < 2
    shared = {1, planes} >= {stream.numel(), *x.shape[:-2]}
    if not (plain and shared) or backend_of(x) != "numba":
        return torch_any.dropout(x, stream, rate, first)
    out: Tensor = loops("numba").Dropout.apply(
        x.expand(planes, -1, -1), stream.reshape(-1), rate.reshape(-1).to(x.dtype), first
    )
    return out if x.dim() == 3 or stream.dim() == 1 else out.squeeze(0)


def planes_of(x: Tensor) -> Tensor:
    """Rows with one leading axis, which is what compiled loops take, ``[K, n, F]``."""
    return x.unsqueeze(0) if x.dim() == 2 else x.flatten(0, -3)


def segment_sum(x: Tensor, weight: Tensor, ptr: Tensor) -> Tensor:
    """Sums over consecutive rows that count ``weight`` times, ``[*, n, F]`` to ``[*, S, F]``."""
    _check_rows(x, weight.numel())
    chosen = backend_of(x)
    if chosen == "torch":
        return torch_any.segment_sum(x, weight.to(x.dtype), ptr)
    if chosen == "numba":
        _check_ptr(ptr, weight.numel())
    weight = weight.to(torch.float32 if chosen == "triton" else x.dtype)
    out: Tensor = loops(chosen).SegmentSum.apply(planes_of(x), weight, ptr)
    return out.view(*x.shape[:-2], *out.shape[-2:])


def segment_sum_max(x: Tensor, weight: Tensor, ptr: Tensor) -> tuple[Tensor, Tensor]:
    """:func:`segment_sum` and :func:`segment_max`, at once where that is faster."""
    _check_rows(x, weight.numel())
    if backend_of(x) != "numba":
        return segment_sum(x, weight, ptr), torch_any.segment_max(x, ptr)
    _check_ptr(ptr, x.size(-2))
    total, most = loops("numba").SegmentSumMax.apply(planes_of(x), weight.to(x.dtype), ptr)
    shape = (*x.shape[:-2], *total.shape[-2:])
    return total.view(shape), most.view(shape)


def segment_max(x: Tensor, ptr: Tensor) -> Tensor:
    """The largest of consecutive rows, 0 of none, ``[*, n, F]`` to ``[*, S, F]``."""
    if backend_of(x) != "numba":
        return torch_any.segment_max(x, ptr)
    return segment_sum_max(x, x.new_ones(x.size(-2)), ptr)[1]


def _check_ptr(ptr: Tensor, rows: int) -> None:
    """Compiled loops trust the pointers of segments."""
    from lgan.ops.numba_rows import rising

    if ptr.dtype != torch.int64 or ptr.dim() != 1 or not rising(ptr.numpy(), rows):
        raise ValueError(
            f"`ptr` must rise within the {rows} rows, [S + 1] int64, got {ptr.dtype} "
            f"{list(ptr.shape)}. Let PyG or `GraphUnion.batch` batch the graphs."
        )


def stacked_product(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """``x W + b`` for many models on the CPU, whose products share the threads out by models.

    Args:
        x: Rows of every model, or of all of them.
        weight: One matrix a model.
        bias: One row a model.

    Shapes:
        ``x``: ``[K, n, in]`` or ``[n, in]``, ``weight``: ``[K, in, out]``, ``bias``: ``[K, out]``,
        result: ``[K, n, out]``.
    """
    models, size, width = weight.shape
    fits = x.dim() in (2, 3) and x.size(-1) == size and (x.dim() == 2 or x.size(0) in (1, models))
    if not fits or (bias is not None and bias.shape != (models, width)):
        raise ValueError(
            f"`x` must have shape [{models}, n, {size}] or [n, {size}], and `bias` [{models}, "
            f"{width}], got {list(x.shape)} and {None if bias is None else list(bias.shape)}. "
            "Give rows for every model of the stack, or for all of them."
        )
    if weight.dtype != x.dtype:
        raise ValueError(
            f"`x` must have the dtype {weight.dtype} of the weights, got {x.dtype}. Convert it."
        )
    if x.size(-2) * weight.numel() < PRODUCT:
        x = x.expand(models, -1, -1)
        return torch.bmm(x, weight) if bias is None else torch.baddbmm(bias.unsqueeze(1), x, weight)
    out: Tensor = loops("numba").StackedProduct.apply(planes_of(x), weight, bias)
    return out


def _check_values(a: Tensor, incidence: Incidence, width: int) -> None:
    _check_rows(a, incidence.num_nodes)
    if a.dim() > 3 or a.size(-1) not in (width, 2 * width):
        raise ValueError(
            f"`a` must have {width} columns for every branch, one or both, got {list(a.shape)}."
        )


def _check_rows(x: Tensor, num_nodes: int) -> None:
    """Compiled loops trust their indices, so that a wrong number of rows must not reach them."""
    if x.dim() < 2 or x.size(-2) != num_nodes:
        raise ValueError(
            f"`x` must have one row for each of {num_nodes} nodes, got shape {list(x.shape)}. "
            "Rebuild the line graphs after changing the graph."
        )

"""The hot operations in plain tensor operations: any device, any dtype, differentiable twice.

Slow, short and the meaning of the other backends.
"""

import torch
from torch import Tensor

from lgan.ops.incidence import Incidence
from lgan.ops.together import total


def ego_sum(
    a: Tensor,
    incidence: Incidence,
    width: int,
    table: Tensor | None,
    code: Tensor | None,
    relu: bool,
) -> Tensor:
    """See :func:`lgan.ops.ego_sum`."""
    u, v = incidence.pair_index.long()
    z = _sent(a, incidence, table, code, relu)
    at_u, at_v, next_u, next_v, across = (w.to(a.dtype)[:, None] for w in incidence.weights())
    zero = a.new_zeros((*a.shape[:-1], width))
    target = z[..., :width]
    branches = [zero.index_add(-2, u, at_u * target).index_add(-2, v, at_v * target)]
    if z.size(-1) > width:
        z = z[..., width:]
        opposite, pair = incidence.opposite_index.long(), incidence.opposite_pair()
        side = zero.index_add(-2, u, next_u * z).index_add(-2, v, next_v * z)
        branches.append(side.index_add(-2, opposite, (across * z).index_select(-2, pair)))
    return torch.cat(branches, -1)


def _sent(
    a: Tensor, incidence: Incidence, table: Tensor | None, code: Tensor | None, relu: bool
) -> Tensor:
    u, v = incidence.pair_index.long()
    z = a.index_select(-2, u) + a.index_select(-2, v)
    if table is not None and code is not None:
        z = z + table.index_select(-2, code.long())
    return z.relu() if relu else z


def linear_sum(a: Tensor, incidence: Incidence, width: int) -> Tensor:
    """See :func:`lgan.ops.linear_sum`."""
    u, v = incidence.pair_index.long()
    at_u, at_v = (w.to(a.dtype)[:, None] for w in incidence.weights()[:2])
    zero = a.new_zeros((*a.shape[:-1], width))
    a_u, a_v = a.index_select(-2, u), a.index_select(-2, v)
    both = a_u[..., :width] + a_v[..., :width]
    branches = [zero.index_add(-2, u, at_u * both).index_add(-2, v, at_v * both)]
    if a.size(-1) > width:
        c = incidence.pair_triangles.to(a.dtype)[:, None]
        side = zero.index_add(-2, u, at_u * c * a_v[..., width:])
        branches.append(side.index_add(-2, v, at_v * c * a_u[..., width:]))
    return torch.cat(branches, -1)


def masked_ego_sum(
    a: Tensor,
    incidence: Incidence,
    width: int,
    table: Tensor | None,
    code: Tensor | None,
    relu: bool,
) -> Tensor:
    """:func:`lgan.ops.ego_sum` of masked pairs, differentiable in the mask too.

    A pair sends its mask times ``z`` to its ends and, through every triangle, the product of the
    three masks times ``z`` to the opposite node. Twins must not be merged. The mask may have
    leading axes that ``a`` lacks, as long as they broadcast.
    """
    mask, side_mask = _masks(incidence)
    u, v = incidence.pair_index.long()
    z = _sent(a, incidence, table, code, relu)
    target = mask * z[..., :width]
    zero = a.new_zeros((*target.shape[:-2], a.size(-2), width))
    branches = [zero.index_add(-2, u, target).index_add(-2, v, target)]
    if z.size(-1) > width:
        side = side_mask * z[..., width:].index_select(-2, incidence.opposite_pair())
        branches.append(zero.index_add(-2, incidence.opposite_index.long(), side))
    return torch.cat(branches, -1)


def masked_linear_sum(a: Tensor, incidence: Incidence, width: int) -> Tensor:
    """:func:`lgan.ops.linear_sum` of masked pairs, see :func:`masked_ego_sum`."""
    mask, side_mask = _masks(incidence)
    u, v = incidence.pair_index.long()
    a_u, a_v = a.index_select(-2, u), a.index_select(-2, v)
    both = mask * (a_u + a_v)[..., :width]
    zero = a.new_zeros((*both.shape[:-2], a.size(-2), width))
    branches = [zero.index_add(-2, u, both).index_add(-2, v, both)]
    if a.size(-1) > width:
        count = torch.zeros_like(mask).index_add(-2, incidence.opposite_pair(), side_mask)
        side = zero.index_add(-2, u, count * a_v[..., width:])
        branches.append(side.index_add(-2, v, count * a_u[..., width:]))
    return torch.cat(branches, -1)


def _masks(incidence: Incidence) -> tuple[Tensor, Tensor]:
    assert incidence.mask is not None
    assert incidence.side_mask is not None
    return incidence.mask.unsqueeze(-1), incidence.side_mask.unsqueeze(-1)


def norm(
    x: Tensor,
    weight: Tensor,
    scale: Tensor,
    shift: Tensor,
    running: tuple[Tensor, Tensor],
    momentum: float,
    eps: float,
) -> Tensor:
    """See :func:`lgan.ops.norm`."""
    w = weight[..., None]
    summed = (w * x).sum(-2, keepdim=True)
    rows = w.sum(-2, keepdim=True).to(x.dtype).expand(*summed.shape[:-1], 1)
    both = total(torch.cat([summed, rows], -1))
    rows = both[..., -1:]
    count = rows.clamp(min=1)
    mean = both[..., :-1] / count
    centred = x - mean
    var = total((w * centred.square()).sum(-2, keepdim=True)) / count
    with torch.no_grad():
        share = momentum * (rows > 0).to(x.dtype).squeeze(-2)
        unbiased = (var * count / (rows - 1).clamp(min=1)).squeeze(-2)
        running[0].add_(share * (mean.squeeze(-2) - running[0]))
        running[1].add_(share * (unbiased - running[1]))
    y = centred * ((var + eps).rsqrt() * scale[..., None, :]) + shift[..., None, :]
    return y.relu()


def layer_norm(x: Tensor, scale: Tensor, shift: Tensor, eps: float) -> Tensor:
    """See :func:`lgan.ops.layer_norm`."""
    unit = torch.nn.functional.layer_norm(x, x.shape[-1:], eps=eps)
    return (unit * scale.unsqueeze(-2) + shift.unsqueeze(-2)).relu()


def segment_sum(x: Tensor, weight: Tensor, ptr: Tensor) -> Tensor:
    """See :func:`lgan.ops.segment_sum`."""
    zero = x.new_zeros((*x.shape[:-2], ptr.numel() + 1, x.size(-1)))
    return zero.index_add(-2, _segment_ids(x, ptr), weight[:, None] * x)[..., 1:-1, :]


def segment_max(x: Tensor, ptr: Tensor) -> Tensor:
    """See :func:`lgan.ops.segment_max`."""
    return grouped_max(x, _segment_ids(x, ptr), ptr.numel() + 1)[..., 1:-1, :]


def _segment_ids(x: Tensor, ptr: Tensor) -> Tensor:
    """The segment of every row, counted from 1: the first and the last are for rows in none."""
    place = torch.arange(x.size(-2), device=x.device)
    return torch.searchsorted(ptr, place, right=True)


def grouped_max(x: Tensor, group: Tensor, groups: int) -> Tensor:
    """The maximum over the rows of every group, 0 where there are none.

    Shapes:
        ``x``: ``[*, n, F]``; ``group``: ``[n]``; result: ``[*, groups, F]``.
    """
    # From -inf, which is the largest of nothing: torch would take a 0 for one more row.
    least = x.new_full((*x.shape[:-2], groups, x.size(-1)), -torch.inf)
    most = least.scatter_reduce(-2, group[:, None].expand_as(x), x, "amax")
    empty = torch.ones(groups, dtype=torch.bool, device=x.device).index_fill(0, group, False)
    return most.masked_fill(empty[:, None], 0)


def dropout(x: Tensor, stream: Tensor, rate: Tensor, first: int) -> Tensor:
    """See :func:`lgan.ops.dropout`; every model has a ``stream`` of noise."""
    position = torch.arange(first, first + x.shape[-2:].numel(), device=x.device)
    words = mixed(stream[..., None, None] + position.view(x.shape[-2:]))
    # 24 random bits: exact in float32, so that every dtype draws the same mask.
    uniform = (words & 0xFFFFFF).to(torch.float32) / 2**24
    rate = rate[..., None, None].to(x.dtype)
    return x * (uniform >= rate) / (1 - rate)


def mixed(word: Tensor) -> Tensor:
    """The finaliser of SplitMix64 on int64: every bit of the result depends on every bit given."""
    word = word + -0x61C8864680B583EB
    word = (word ^ ((word >> 30) & 0x3FFFFFFFF)) * -0x40A7B892E31B1A47
    word = (word ^ ((word >> 27) & 0x1FFFFFFFFF)) * -0x6B2FB644ECCEEE15
    return word ^ ((word >> 31) & 0x1FFFFFFFF)

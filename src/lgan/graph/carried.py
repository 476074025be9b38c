"""What the pairs of a PyG graph carry: structural codes, features of edges, direction."""

from functools import reduce
from typing import Any

import torch
from torch import Tensor

from lgan.graph.checks import check_direction, check_table
from lgan.graph.edge_features import check_edge_attr


def carried_fields(data: Any) -> dict[str, Any]:
    """What the pairs of a PyG graph carry, side by side, as fields of
    :class:`lgan.EgoLines`.
    """
    fields = (getattr(data, name, None) for name in ("pair_code", "pair_attr", "pair_direction"))
    codes, edges, direction = fields
    if edges is None and direction is None:
        return {"pair_table": codes}
    pairs = data.pair_index.size(-1) if isinstance(data.pair_index, Tensor) else 0
    parts, categories = [], False
    if codes is not None:
        check_table(codes, None, pairs)
        parts.append(codes)
    if edges is not None:
        edges = check_edge_attr(edges, pairs, "pair_attr")
        edges = edges[:, None] if edges.dim() == 1 else edges
        categories = not edges.is_floating_point()
        parts.append(edges)
    if direction is not None:
        check_direction(direction, pairs)
        parts.append(direction[:, None])
    real = [part.dtype for part in parts if part.is_floating_point()] or [torch.float32]
    dtype = reduce(torch.promote_types, real)
    return {
        "pair_table": torch.cat([part.to(dtype) for part in parts], 1),
        "edge_columns": 0 if edges is None else edges.size(1),
        "edge_categories": categories,
        "edge_directed": direction is not None,
    }

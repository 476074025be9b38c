"""The pairs of some graphs, cut out of those of a data set."""

from typing import Any

import torch
from torch import Tensor

from lgan.graph.ego_lines import EgoLines
from lgan.graph.segments import concat_ranges

_CUT = ("pair_index", "opposite_index", "opposite_count", "pair_triangles")


def cut_pairs(
    lines: EgoLines, pair_ptr: Tensor, opposite_ptr: Tensor, ids: Tensor, shift: Tensor
) -> dict[str, Any]:
    """What the pairs of some graphs are, as fields of :class:`EgoLines` without their nodes.

    One compiled pass on the CPU.

    Args:
        lines: The pairs of all graphs.
        pair_ptr: The pairs of graph ``g`` are ``pair_ptr[g]:pair_ptr[g + 1]``.
        opposite_ptr: Likewise what lies opposite them.
        ids: Graphs ``[B]``.
        shift: What is added to the nodes of each ``[B]`` int32.
    """
    start = pair_ptr[ids]
    length = pair_ptr[ids + 1] - start
    if ids.device.type == "cpu":
        from lgan.ops.listing_numba import cut_ranges

        whole = (*(getattr(lines, name) for name in _CUT), pair_ptr, opposite_ptr, ids, shift)
        cut = cut_ranges(*(tensor.numpy() for tensor in whole))
        found = dict(zip(_CUT, map(torch.from_numpy, cut), strict=True))
        if lines.pair_table is None:
            return found
        return {**found, **lines.table_of(concat_ranges(start, length))}
    pairs = concat_ranges(start, length)
    opposite_start = opposite_ptr[ids]
    opposite_length = opposite_ptr[ids + 1] - opposite_start
    opposite = lines.opposite_index[concat_ranges(opposite_start, opposite_length)]
    return {
        "pair_index": lines.pair_index[:, pairs] + torch.repeat_interleave(shift, length),
        "opposite_index": opposite + torch.repeat_interleave(shift, opposite_length),
        "opposite_count": lines.opposite_count[pairs],
        "pair_triangles": lines.pair_triangles[pairs],
        **lines.table_of(pairs),
    }

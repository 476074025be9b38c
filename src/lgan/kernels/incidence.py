"""What a kernel needs to know of the ego line graphs."""

from typing import NamedTuple

import torch
from torch import Tensor

__all__ = ["Incidence"]


class Incidence(NamedTuple):
    """The two incidence matrices in the form the kernels read them.

    Attributes:
        pairs: Ends of every pair ``[2, P]`` int32.
        multiplicity: Nodes every node stands for ``[n]`` int32.
        ptr: Where the opposite nodes of each pair begin ``[P + 1]`` int64.
        opposite: Opposite nodes ``[M]`` int32.
        triangles: Triangles on an edge of the pair ``[P]`` int32.
    """

    pairs: Tensor
    multiplicity: Tensor
    ptr: Tensor
    opposite: Tensor
    triangles: Tensor

    def weights(self) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Per pair: entries of ``B_t`` at u and v, of ``B_n`` at u and v, and at the opposite."""
        k = self.multiplicity.long()
        u, v = self.pairs.long()
        own, ku, kv = u == v, k[u], k[v]
        return (
            torch.where(own, ku - 1, kv),
            torch.where(own, 0, ku),
            torch.where(own, (ku - 1) * (ku - 2) // 2, (ku - 1) * kv),
            torch.where(own, 0, (kv - 1) * ku),
            torch.where(own, ku * (ku - 1) // 2, ku * kv),
        )

    def opposite_pair(self) -> Tensor:
        """The pair of every entry of ``opposite``."""
        ids = torch.arange(self.pairs.size(1), device=self.pairs.device)
        return torch.repeat_interleave(ids, self.ptr[1:] - self.ptr[:-1])

"""Arithmetic on concatenated ranges: the vectorised form of a loop over graphs."""

import torch
from torch import Tensor


def lengths_to_ptr(lengths: Tensor) -> Tensor:
    """Offsets of consecutive segments, ``[S + 1]`` int64, from their lengths ``[S]``.

    Example:
        >>> lengths_to_ptr(torch.tensor([2, 0, 3]))
        tensor([0, 2, 2, 5])
    """
    ptr = lengths.new_zeros(lengths.numel() + 1, dtype=torch.int64)
    torch.cumsum(lengths, 0, out=ptr[1:])
    return ptr


def segment_ids(ptr: Tensor) -> Tensor:
    """The segment each element lies in, ``[ptr[-1]]`` int64.

    Example:
        >>> segment_ids(torch.tensor([0, 2, 2, 5]))
        tensor([0, 0, 2, 2, 2])
    """
    segments = torch.arange(ptr.numel() - 1, device=ptr.device)
    return torch.repeat_interleave(segments, ptr[1:] - ptr[:-1])


def concat_ranges(start: Tensor, length: Tensor) -> Tensor:
    """The integers ``start[i] … start[i] + length[i] - 1`` of all ranges, one after another.

    Example:
        >>> concat_ranges(torch.tensor([7, 0]), torch.tensor([2, 3]))
        tensor([7, 8, 0, 1, 2])
    """
    ptr = lengths_to_ptr(length)
    shift = torch.repeat_interleave(start - ptr[:-1], length)
    return shift + torch.arange(shift.numel(), device=start.device)


def group_by(key: Tensor, value: Tensor, num_groups: int) -> tuple[Tensor, Tensor]:
    """Values in the order of their keys, and how many each of ``num_groups`` keys has.

    The order within a group is that of the input. O(n) on the CPU, one sort elsewhere.

    Example:
        >>> group_by(torch.tensor([2, 0, 2]), torch.tensor([5, 6, 7]), 3)
        (tensor([6, 5, 7]), tensor([1, 0, 2]))
    """
    if key.device.type == "cpu":
        from lgan.ops.listing_numba import counting_sort

        grouped, count = counting_sort(key.numpy(), value.numpy(), num_groups)
        return torch.from_numpy(grouped), torch.from_numpy(count)
    order = torch.argsort(key, stable=True)
    return value[order], torch.bincount(key, minlength=num_groups)

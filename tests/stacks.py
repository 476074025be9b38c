"""Stacks of models for tests."""

from collections.abc import Callable, Sequence

from torch import nn

from lgan.train.stack import drawn, stack


def build_stack(factory: Callable[[], nn.Module], seeds: Sequence[int]) -> nn.Module:
    """Models drawn with the given seeds, stacked."""
    return stack([drawn(factory, seed) for seed in seeds])

"""The models by name."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from torch import nn

from lgan.nn import LGAN
from lgan.zoo.gin import GIN

__all__ = ["MODELS", "ModelSpec", "model_spec"]


@dataclass(frozen=True)
class ModelSpec:
    """A model of the zoo.

    Attributes:
        build: Called with ``(in_channels, hidden_channels, out_channels, **options)``.
        compress: Whether the model reads a graph of twin classes as it reads the graph itself.
        power: Its place in the Weisfeiler-Leman hierarchy.
        reference: Where it comes from.
    """

    build: Callable[..., nn.Module]
    compress: bool
    power: str
    reference: str


MODELS: dict[str, ModelSpec] = {
    "lgan": ModelSpec(
        build=LGAN,
        compress=True,
        power="above 1-WL on unlabelled graphs; incomparable with it on labelled ones",
        reference="Du et al., LGAN, AAAI 2026",
    ),
    "lgan-res": ModelSpec(
        build=partial(LGAN, residual=True),
        compress=True,
        power="above 1-WL, below 3-WL",
        reference="Du et al., LGAN, AAAI 2026",
    ),
    "gin": ModelSpec(
        build=GIN,
        compress=False,
        power="1-WL",
        reference="Xu et al., How Powerful are Graph Neural Networks?, ICLR 2019",
    ),
}


def model_spec(name: str) -> ModelSpec:
    """The entry of a model, or an error that lists the names."""
    if name not in MODELS:
        raise ValueError(f"Unknown model {name!r}. Choose one of: {', '.join(MODELS)}.")
    return MODELS[name]

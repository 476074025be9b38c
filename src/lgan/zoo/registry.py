"""The models by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from torch import Tensor, nn

from lgan.graph import GraphUnion, Lift
from lgan.nn import LGAN
from lgan.zoo.gin import GIN

__all__ = ["MODELS", "KernelSpec", "ModelSpec", "NetworkSpec", "model_spec"]

Options = Mapping[str, Any]


@dataclass(frozen=True)
class NetworkSpec:
    """A network of the zoo.

    Attributes:
        build: Called with ``(in_channels, hidden_channels, out_channels, **options)``.
        power: Its place in the Weisfeiler-Leman hierarchy.
        reference: Where it comes from.
        compress: Whether it reads a graph of twin classes as it reads the graph itself.
        captured: Whether a step never asks the host, so that a GPU can replay it.
        lift: The transform it needs for given options.
        rows: Rows of its largest activations for every graph ``[G]``; by default the nodes.
        check: Raises an error, before any training, for a data set it cannot do.
        defaults: Settings of its own paper that differ from :data:`lgan.experiment.BASE`.
        source: Where these settings are from.
    """

    build: Callable[..., nn.Module]
    power: str
    reference: str
    compress: bool = False
    captured: bool = False
    lift: Callable[[Options], Lift] | None = None
    rows: Callable[[GraphUnion], Tensor] | None = None
    check: Callable[[GraphUnion, Options], None] | None = None
    defaults: Options = field(default_factory=dict)
    source: str = "the protocol of Xu et al., 2019"


@dataclass(frozen=True)
class KernelSpec:
    """A graph kernel of the zoo, fitted with a support vector machine.

    Attributes:
        grams: Called with the raw graphs, a category for every node, the options, and a progress
            callback; returns the Gram matrices to choose from inside the training part
            (:class:`lgan.zoo.kernels.Grams`).
        power: Its place in the Weisfeiler-Leman hierarchy.
        reference: Where it comes from.
        defaults: Options of its own paper.
        source: Where these options are from.
    """

    grams: Callable[..., Any]
    power: str
    reference: str
    defaults: Options = field(default_factory=dict)
    source: str = ""


ModelSpec = NetworkSpec | KernelSpec

MODELS: dict[str, ModelSpec] = {
    "lgan": NetworkSpec(
        build=LGAN,
        power="above 1-WL on unlabelled graphs; incomparable with it on labelled ones",
        reference="Du et al., LGAN, AAAI 2026",
        compress=True,
        captured=True,
    ),
    "lgan-res": NetworkSpec(
        build=partial(LGAN, residual=True),
        power="above 1-WL, below 3-WL",
        reference="Du et al., LGAN, AAAI 2026",
        compress=True,
        captured=True,
    ),
    "gin": NetworkSpec(
        build=GIN,
        power="1-WL",
        reference="Xu et al., How Powerful are Graph Neural Networks?, ICLR 2019",
        captured=True,
    ),
}


def model_spec(name: str) -> ModelSpec:
    """The entry of a model, or an error that lists the names."""
    if name not in MODELS:
        raise ValueError(f"Unknown model {name!r}. Choose one of: {', '.join(MODELS)}.")
    return MODELS[name]

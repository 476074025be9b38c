"""Explanations by a stored model: from its checkpoint to scores, and to a report."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from lgan._version import __version__
from lgan.data import RawGraphs, dataset_spec, feature_names
from lgan.experiment.run import network_spec
from lgan.experiment.settings import Settings, settings_for
from lgan.explain import Explainer, GalleryItem, Report
from lgan.explain.explainer import model_input
from lgan.explain.methods import method_spec
from lgan.train.checkpoint import Checkpoint
from lgan.train.environment import typed_command


def settings_of(stored: Checkpoint, dataset: str) -> Settings:
    """The settings of a stored model on a data set."""
    return settings_for(
        stored.model, dataset, features=stored.features, hidden=stored.hidden_channels,
        compress=stored.compress, **stored.options,
    )  # fmt: skip


def explainer_of(
    stored: Checkpoint,
    dataset: str,
    *,
    device: torch.device | str = "cpu",
    seed: int = 0,
    **asked: Any,
) -> Explainer:
    """A stored model, ready to explain graphs of a data set.

    Args:
        stored: The checkpoint.
        dataset: The data set of the graphs.
        device: Where to compute.
        seed: Seed of generated sets and of methods that draw random numbers.
        asked: Other fields of :class:`lgan.explain.Explainer`.
    """
    read = partial(
        model_input,
        features=stored.features,
        num_features=stored.in_channels,
        pair_code=settings_of(stored, dataset).pair_code,
    )
    model = stored.restore(network_spec(stored.model).build).to(device)
    held_out = stored.held_out(dataset, seed)
    return Explainer(model, read, seed=seed, held_out=held_out, **asked)


def check_fits(stored: Checkpoint, raw: RawGraphs) -> None:
    """Refuse a set with other features or classes than the model was trained for."""
    stored.check_meaning(raw.name, feature_names(raw, stored.features), raw.classes)


def report_of(
    stored: Checkpoint,
    dataset: str,
    explainer: Explainer,
    items: Sequence[GalleryItem],
    confusions: Mapping[str, Tensor] | None = None,
) -> Report:
    """Everything that is known of some explained graphs."""
    about = dataset_spec(dataset)
    options = (f"{key} {value}" for key, value in stored.options.items())
    training = (f"{key} {value}" for key, value in stored.info.get("config", {}).items())
    return Report(
        title=f"Why {stored.model} decides as it does",
        lead=f"A model trained on {stored.dataset}: {about.description}. Each card shows one "
        "graph, what the model says of it, and which edges made it say so.",
        items=items,
        confusions=confusions or {},
        facts={
            "command": typed_command(),
            "version": f"lgan {__version__}",
            "data set": f"{dataset}: {about.description}",
            "model": ", ".join([stored.model, f"width {stored.hidden_channels}", *options]),
            "node features": f"{stored.features} ({stored.in_channels})",
            "training": ", ".join(training),
            "method": f"{explainer.method}: {method_spec(explainer.method).reference}",
            "seed": str(explainer.seed),
        },
    )

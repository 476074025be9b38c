"""A source read for a network: its graphs, what encodes them, and their union."""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from lgan.catalogue import DATASETS
from lgan.data import Encoder, RawGraphs, feature_names, fit_encoder
from lgan.data.load import UnionOptions, cached_union, encoded, with_target
from lgan.experiment.reading import Reading
from lgan.experiment.run import checked_and_placed, network_spec
from lgan.experiment.settings import Settings
from lgan.graph import GraphUnion
from lgan.predictor.graph_keys import graph_keys
from lgan.train import Trained
from lgan.train.checkpoint import Checkpoint

__all__ = ["ReadSource", "stored_model"]


@dataclass(frozen=True, eq=False)
class ReadSource:
    """A source as a network reads it.

    Attributes:
        raw: The graphs that have a target.
        encoder: What encodes them, and later sources.
        union: The graphs, encoded, on the device to train on.
        unlabelled: Graphs that were left out, since they have no target.
    """

    raw: RawGraphs
    encoder: Encoder
    union: GraphUnion
    unlabelled: int = 0

    @staticmethod
    def of(
        settings: Settings,
        source: str,
        reading: Reading,
        *,
        device: torch.device | str = "cpu",
        progress: Callable[[float], None] | None = None,
    ) -> "ReadSource":
        """Read a source for the network of some settings."""
        raw = reading.raw(source, progress)
        targets = None if reading.targets in (None, ("all",)) else reading.targets
        encoder = fit_encoder(
            raw, features=settings.features, edge_features=settings.edge_features,
            targets=targets, task=reading.task,
        )  # fmt: skip
        if encoder.task is None and reading.targets != ():
            raise ValueError(
                f"{raw.name} has nothing to predict: no targets were found. Name a column or an "
                "attribute of the graphs (`--target`)."
            )
        labelled, spec = with_target(raw, encoder.task), network_spec(settings.model)
        options = UnionOptions(
            settings.features,
            settings.edge_features,
            settings.compress,
            spec.triangles,
            settings.pair_code,
            None if spec.lift is None else spec.lift(settings.options),
        )
        union = cached_union(
            source,
            options,
            lambda: encoded(labelled, encoder, options, progress),
            given={**reading.given, "task": reading.task, "columns": None},
            root=reading.root,
            mirror=reading.mirror,
        )
        union = checked_and_placed(union, settings, device)
        return ReadSource(labelled, encoder, union, raw.num_graphs - labelled.num_graphs)


def stored_model(settings: Settings, source: ReadSource, trained: Trained) -> Checkpoint:
    """A trained network as it is kept in a file, with all that a prediction needs."""
    raw, held_out = source.raw, set(trained.info["held_out_graphs"])
    seen = [graph for graph in range(raw.num_graphs) if graph not in held_out]
    return Checkpoint(
        model=settings.model,
        options=settings.options,
        in_channels=source.union.num_features,
        hidden_channels=settings.hidden,
        out_channels=source.union.num_classes,
        dataset=raw.name,
        features=settings.features,
        state=trained.state,
        info={**trained.info, "compress": settings.compress},
        feature_names=feature_names(raw, settings.features) if raw.name in DATASETS else (),
        classes=source.encoder.task.classes if source.encoder.task is not None else (),
        encoder=source.encoder.to_json(),
        target_scale=trained.scale,
        trained_on=graph_keys(raw)[seen],
    )

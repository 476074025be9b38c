"""A source read for a network: its graphs, what encodes them, and their union."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from lgan.catalogue import DATASETS
from lgan.data import Encoder, RawGraphs, feature_names, fit_encoder, load_raw
from lgan.data.molecule_features import MoleculeFeatures
from lgan.experiment.run import checked_and_placed, network_spec, prepare
from lgan.experiment.settings import Settings
from lgan.graph import GraphUnion
from lgan.predictor.graph_keys import graph_keys
from lgan.train import Trained
from lgan.train.checkpoint import Checkpoint

__all__ = ["ReadSource", "Reading", "stored_model"]


@dataclass(frozen=True)
class Reading:
    """What a user says of a source beyond its name or path; see :func:`lgan.data.load_raw`.

    Attributes:
        targets: Columns to predict; by default the only one there is.
        task: Kind of task, where the values would suggest another.
        columns: Further columns, for groups or splits.
        smiles_column: The column that holds molecules.
        molecules: How molecules become graphs.
        root: Folder for downloads and caches.
        mirror: Folder or address that holds archives.
        seed: Seed of generated sets.
    """

    targets: tuple[str, ...] | None = None
    task: str | None = None
    columns: tuple[str, ...] = ()
    smiles_column: str | None = None
    molecules: MoleculeFeatures | None = None
    root: str | Path = "data"
    mirror: str | Path | None = None
    seed: int = 0

    @property
    def says_nothing(self) -> bool:
        """Whether the source is read as it always is."""
        plain = Reading(root=self.root, mirror=self.mirror, seed=self.seed)
        return self == plain

    def raw(self, source: str, progress: Callable[[float], None] | None = None) -> RawGraphs:
        """The graphs of a source."""
        own: dict[str, Any] = {}
        if not self.says_nothing:
            own = {
                "targets": None if self.targets is None else list(self.targets),
                "columns": self.columns,
                "smiles_column": self.smiles_column,
                "molecules": self.molecules,
            }
        return load_raw(
            source, root=self.root, mirror=self.mirror, seed=self.seed, progress=progress, **own
        )


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
        encoder = fit_encoder(
            raw, features=settings.features, targets=reading.targets, task=reading.task
        )
        if source in DATASETS and reading.says_nothing:
            union = prepare(
                settings, root=reading.root, mirror=reading.mirror, seed=reading.seed, device=device
            )
            return ReadSource(raw, encoder, union)
        if encoder.task is None:
            raise ValueError(
                f"{raw.name} has nothing to predict: no targets were found. Name a column or an "
                "attribute of the graphs (`--target`)."
            )
        there = encoder.task.present(encoder.task.encode(raw.targets)).any(1)
        left_out = int((~there).sum())
        raw = raw if not left_out else raw.select(there.nonzero()[:, 0])
        spec = network_spec(settings.model)
        lift = None if spec.lift is None else spec.lift(settings.options)
        if lift is not None and lift.refuse is not None:
            lift.refuse(raw.name, raw.pair_index, raw.node_ptr)
        union = encoder.encode(
            raw,
            compress=settings.compress,
            triangles=spec.triangles,
            pair_code=settings.pair_code,
        )
        union = union if lift is None else union.lifted(lift, progress)
        return ReadSource(raw, encoder, checked_and_placed(union, settings, device), left_out)


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

"""A trained model and all that turns a source into predictions."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from lgan.catalogue import DATASETS
from lgan.data import Encoder, RawGraphs, feature_names, load_raw
from lgan.data.molecule_features import MoleculeFeatures
from lgan.explain.attribution import Attribution
from lgan.graph import GraphUnion
from lgan.predictor.graph_keys import graph_keys
from lgan.task import TargetScale, Task
from lgan.train import predict as outputs_of
from lgan.train.checkpoint import Checkpoint
from lgan.zoo import MODELS, NetworkSpec

__all__ = ["Predictor", "load_model"]


@dataclass(frozen=True, eq=False)
class Predictor:
    """A trained network that reads whatever :func:`lgan.load` reads.

    Answers are aligned with the rows of the source: a molecule that cannot be read gets ``None``
    (``NaN`` among numbers) and a warning, and never stops the others.

    Attributes:
        network: The network, in evaluation mode.
        checkpoint: Its settings, and what it was trained on.
        encoder: What turns graphs of a source into what the network reads.
        scale: The scale of numeric targets.
        trained_on: Keys of the graphs it was trained on, see :func:`graph_keys` ``[n]``.
    """

    network: nn.Module
    checkpoint: Checkpoint
    encoder: Encoder
    scale: TargetScale | None
    trained_on: Tensor

    @property
    def task(self) -> Task:
        """What it predicts."""
        assert self.encoder.task is not None  # `load_model` asks for one
        return self.encoder.task

    def predict(self, source: Any, **reading: Any) -> NDArray[Any]:
        """The class of every row, by its name, or its numbers.

        Args:
            source: A list of SMILES or of graphs, a table, a path, a name.
            reading: Options of :func:`lgan.data.load_raw`.

        Returns:
            ``[n]`` class names, ``[n, T]`` names for several labels, or numbers ``[n]`` or
            ``[n, T]``.
        """
        values = self.predict_proba(source, **reading) if self.task.classes else None
        if values is None:
            numbers = self._aligned(source, reading)
            return numbers[:, 0] if numbers.shape[1] == 1 else numbers
        names = np.array([*self.task.classes, None], dtype=object)
        known = ~np.isnan(values)
        if self.task.has_classes:
            places = np.where(known.all(1), np.nan_to_num(values).argmax(1), -1)
        else:
            places = np.where(known, values > 0.5, -1)
        return np.asarray(names[places.astype(int)])

    def predict_proba(self, source: Any, **reading: Any) -> NDArray[np.float64]:
        """Probabilities of the classes ``[n, C]``, or of the second class of every label
        ``[n, T]``.
        """
        if not self.task.classes:
            raise ValueError(
                f"Probabilities need classes, got a model of the numbers "
                f"{', '.join(self.task.targets)}. Call `predict`."
            )
        return self._aligned(source, reading)

    def embed(self, source: Any, **reading: Any) -> NDArray[np.float64]:
        """What the last layer reads of every graph ``[n, D]``."""
        head = getattr(self.network, "head", None)
        if not isinstance(head, nn.Module):
            raise ValueError(
                f"The model {self.checkpoint.model!r} has no single layer behind its read-out. "
                "Take an LGAN or GIN for embeddings."
            )
        seen: list[Tensor] = []
        hook = head.register_forward_pre_hook(lambda _, given: seen.append(given[0].cpu()))
        try:
            raw = _told(self.read(source, **reading))
            outputs_of(self.network, self.union(raw))
        finally:
            hook.remove()
        return _placed(raw, torch.cat(seen).double())

    def explain(
        self, source: Any, *, reading: Mapping[str, Any] | None = None, **asked: Any
    ) -> list[Attribution | None]:
        """Which edges, nodes and fragments made the model say what it says of every row.

        Args:
            source: A list of SMILES or of graphs, a table, a path, a name.
            reading: Options of :func:`lgan.data.load_raw`.
            asked: ``target``, ``method``, ``over``, ``fragments`` and further options, see
                :func:`lgan.predictor.explaining.explain_graphs`.
        """
        from lgan.predictor.explaining import explain_graphs  # which needs this class

        raw = _told(self.read(source, **(reading or {})))
        placed: list[Attribution | None] = [None] * (raw.num_graphs + len(raw.errors))
        for row, found in zip(raw.rows.tolist(), explain_graphs(self, raw, **asked), strict=True):
            placed[row] = found
        return placed

    def read(self, source: Any, **reading: Any) -> RawGraphs:
        """The graphs of a source, with the features the model was trained with."""
        how: dict[str, Any] = {"targets": [], **reading}
        if self.encoder.featuriser is not None:
            how["molecules"] = MoleculeFeatures.from_json(self.encoder.featuriser)
        raw = load_raw(source, **how)
        if raw.name in DATASETS:  # whose labels are numbers that mean something there alone
            stored = self.checkpoint
            names = feature_names(raw, stored.features)
            stored.check_meaning(raw.name, names, raw.classes if raw.targets else stored.classes)
        return raw

    def union(self, raw: RawGraphs, *, compress: bool | None = None) -> GraphUnion:
        """Graphs as the network reads them; their targets are not looked at.

        Args:
            raw: The graphs.
            compress: Merge true twins; as in training unless given.
        """
        spec = MODELS[self.checkpoint.model]
        assert isinstance(spec, NetworkSpec)
        options = self.checkpoint.options
        union = self.encoder.encode(
            raw,
            compress=self.checkpoint.compress if compress is None else compress,
            triangles=spec.triangles,
            pair_code=str(options.get("pair_code", "none")),
            labelled=False,
        )
        return union if spec.lift is None else union.lifted(spec.lift(options))

    def answers(self, raw: RawGraphs) -> Tensor:
        """Probabilities or numbers for every graph ``[G, C]`` or ``[G, T]``."""
        if raw.num_graphs == 0:
            return torch.zeros(0, self.task.num_outputs, dtype=torch.float64)
        return self.task.link(outputs_of(self.network, self.union(raw)).cpu().double(), self.scale)

    def seen(self, raw: RawGraphs) -> Tensor:
        """Whether every graph was among those the model was trained on ``[G]``."""
        return torch.isin(graph_keys(raw), self.trained_on)

    def to(self, device: torch.device | str) -> "Predictor":
        """The same model on another device."""
        return replace(self, network=self.network.to(device))

    def _aligned(self, source: Any, reading: Mapping[str, Any]) -> NDArray[np.float64]:
        raw = _told(self.read(source, **reading))
        return _placed(raw, self.answers(raw))


def load_model(path: Path | str) -> Predictor:
    """The model that ``lgan train`` wrote to a file.

    Example:
        >>> load_model("model.safetensors")  # doctest: +SKIP
    """
    stored = Checkpoint.load(path)
    spec = MODELS.get(stored.model)
    if not isinstance(spec, NetworkSpec):
        known = ", ".join(name for name, one in MODELS.items() if isinstance(one, NetworkSpec))
        raise ValueError(
            f"{path} must hold one of the networks {known}, got {stored.model!r}. Use it with the "
            "version of lgan that wrote it."
        )
    try:
        encoder = Encoder.from_json(stored.encoder)
        if encoder.task is None or encoder.task.num_outputs != stored.out_channels:
            raise ValueError(f"its task must have {stored.out_channels} outputs")
        if encoder.num_features != stored.in_channels:
            raise ValueError(
                f"its encoder gives {encoder.num_features} features, the network reads "
                f"{stored.in_channels}"
            )
        if encoder.num_edge_features != stored.options.get("edge_dim", 0):
            raise ValueError(
                f"its encoder gives {encoder.num_edge_features} features of an edge, the network "
                f"reads {stored.options.get('edge_dim', 0)}"
            )
        scale = stored.target_scale
        if not encoder.task.classes and (
            scale is None or scale.mean.numel() != stored.out_channels
        ):
            raise ValueError("the scale of its targets is missing")
    except ValueError as error:
        raise ValueError(f"{path} is not a whole model of lgan: {error}") from error
    return Predictor(stored.restore(spec.build), stored, encoder, scale, stored.trained_on)


def _told(raw: RawGraphs) -> RawGraphs:
    """The graphs, with a warning where some rows are not among them."""
    if raw.errors:
        row, reason = raw.errors[0]
        warnings.warn(
            f"{len(raw.errors)} of {raw.num_graphs + len(raw.errors)} rows cannot be read and have "
            f"no prediction, the first of them row {row}: {reason}",
            stacklevel=4,
        )
    return raw


def _placed(raw: RawGraphs, values: Tensor) -> NDArray[np.float64]:
    """Values of graphs at the rows they come from, NaN at those that could not be read."""
    rows = raw.num_graphs + len(raw.errors)
    placed = np.full((rows, values.size(1)), np.nan)
    placed[raw.rows.numpy()] = values.numpy()
    return placed

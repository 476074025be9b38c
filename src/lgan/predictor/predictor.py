"""A trained model and all that turns a source into predictions."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import get_ident
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from lgan.data import Encoder, RawGraphs
from lgan.data.encoder import unseen_words
from lgan.data.graph_keys import graph_keys
from lgan.explain.attribution import Attribution
from lgan.graph import GraphUnion
from lgan.predictor.conformal import prediction_intervals, prediction_sets
from lgan.predictor.decision import (
    best_threshold,
    check_two_classes,
    decided,
    fitted_sharpness,
    given_threshold,
    sharpened,
)
from lgan.predictor.explaining import explain_graphs
from lgan.predictor.neighbours import Neighbour, are_of, fingerprints, labels_of, nearest_of
from lgan.predictor.reading import read_as_trained
from lgan.task import TargetScale, Task
from lgan.train import predict as outputs_of
from lgan.train.checkpoint import Checkpoint
from lgan.train.out_of_fold import OutOfFold
from lgan.train.training_molecules import TrainingMolecules
from lgan.zoo import MODELS, NetworkSpec

# Similarities are quotients of small whole numbers; the quantile between two is rounded.
ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class Predictor:
    """A trained network, or several side by side whose answers are averaged, that reads whatever
    :func:`lgan.load` reads.

    Answers are aligned with the rows of the source: a molecule or graph that cannot be read gets
    ``None`` (``NaN`` among numbers) and a warning, and never stops the others. Another warning
    names values that the model was not trained on.

    Attributes:
        network: The network, in evaluation mode; the members as one stacked module.
        checkpoint: Its settings, and what it was trained on.
        encoder: What turns graphs of a source into what the network reads.
        scale: The scale of numeric targets, ``[K, T]`` where there are several members.
        trained_on: Keys of the graphs it was trained on, see :func:`graph_keys` ``[n]``.
        sharpness: What :meth:`calibrated` found, ``[1]`` or one for every label ``[T]``.
        threshold: From which probability on the second class is said, ``[1]`` or ``[T]``; the
            likeliest class unless :meth:`deciding` was asked.
    """

    network: nn.Module
    checkpoint: Checkpoint
    encoder: Encoder
    scale: TargetScale | None
    trained_on: Tensor
    sharpness: Tensor | None = None
    threshold: Tensor | None = None

    @staticmethod
    def of(stored: Checkpoint) -> "Predictor":
        """The model of a checkpoint, or an error where a part does not fit the others."""
        spec = MODELS.get(stored.model)
        if not isinstance(spec, NetworkSpec):
            names = ", ".join(name for name, one in MODELS.items() if isinstance(one, NetworkSpec))
            raise ValueError(
                f"it must hold one of the networks {names}, got {stored.model!r}. Use it with the "
                "version of lgan that wrote it."
            )
        encoder = Encoder.from_json(stored.encoder)
        outputs, members, scale = stored.out_channels, stored.members, stored.target_scale
        if encoder.task is None or encoder.task.num_outputs != outputs:
            raise ValueError(f"its task must have {outputs} outputs")
        option = stored.options.get
        for what, gives, reads in (
            ("features", encoder.num_features, stored.in_channels),
            ("features of an edge", encoder.num_edge_features, option("edge_dim", 0)),
            ("directions", int(encoder.directed), int(option("directed", False))),
            ("features of a whole graph", encoder.num_graph_features, option("graph_dim", 0)),
        ):
            if gives != reads:
                raise ValueError(f"its encoder gives {gives} {what}, the network reads {reads}")
        shape = (outputs,) if members == 1 else (members, outputs)
        if not encoder.task.classes and (scale is None or tuple(scale.mean.shape) != shape):
            raise ValueError("the scale of its targets is missing")
        known = stored.out_of_fold
        if known is not None and not known.is_of(encoder.task, members):
            raise ValueError("its out-of-fold predictions are those of another model")
        if stored.molecules is not None and not are_of(stored.molecules, encoder.task):
            raise ValueError("what it keeps of molecules is of another model")
        beside = stored.companion
        if beside and not beside.fits(members, outputs, encoder.num_graph_features):
            raise ValueError("its companion is that of another model")
        return Predictor(stored.restore(spec.build), stored, encoder, scale, stored.trained_on)

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
        if not self.task.classes:
            numbers = self._aligned(source, reading)
            return numbers[:, 0] if numbers.shape[1] == 1 else numbers
        values = self.predict_proba(source, **reading)
        names = np.array([*self.task.classes, None], dtype=object)
        known = ~np.isnan(values)
        places = self.decide(torch.from_numpy(values).nan_to_num()).numpy()
        return names[np.where(known.all(1) if places.ndim == 1 else known, places, -1)]

    def decide(self, answers: Tensor) -> Tensor:
        """The places of the classes that probabilities stand for ``[n]``, or ``[n, T]``."""
        return decided(answers, self.task, self.threshold)

    def calibrated(self) -> "Predictor":
        """The same model with probabilities that come true as often as they say, as far as its
        out-of-fold predictions tell: their odds are raised to a power (temperature scaling).
        """
        if not self.task.classes:
            raise ValueError(f"Calibration needs probabilities, got numbers ({self.task}).")
        return replace(self, sharpness=fitted_sharpness(self._known(), self.task))

    def deciding(self, threshold: float | str) -> "Predictor":
        """The same model, which says the second class from a probability on.

        Args:
            threshold: The probability, or the metric by which the best one on out-of-fold
                predictions is taken: ``accuracy`` or ``balanced-accuracy``. Calibrate before.
        """
        check_two_classes(self.task)
        if isinstance(threshold, str):
            found = best_threshold(self._known(), self.task, threshold, self.sharpness)
            return replace(self, threshold=found)
        return replace(self, threshold=given_threshold(threshold, self.task))

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

    def predict_std(self, source: Any, **reading: Any) -> NDArray[np.float64]:
        """How far the members are apart, as a standard deviation, in the shape of the answers; NaN
        where one speaks alone.
        """
        raw = self._told_of(source, reading)
        answers = self.member_answers(raw)
        alone = torch.full_like(answers[0], torch.nan)
        apart = len(answers) > 1 and raw.num_graphs > 0  # torch warns of the spread of nothing
        return _placed(raw, answers.std(0) if apart else alone)

    def predict_interval(
        self, source: Any, alpha: float = 0.1, **reading: Any
    ) -> NDArray[np.float64]:
        """Intervals that miss the truth of a share ``alpha`` of new graphs like those of the
        training.

        Args:
            source: A list of SMILES or of graphs, a table, a path, a name.
            alpha: Share of misses.
            reading: Options of :func:`lgan.data.load_raw`.

        Returns:
            Lower and upper ends ``[n, 2]``, or ``[n, T, 2]`` for several targets.
        """
        if self.task.classes:
            raise ValueError(
                "Intervals are for numbers, got a model of classes. Call `predict_set`."
            )
        raw = self._told_of(source, reading)
        ends = self.intervals(self.member_answers(raw), alpha)
        placed = _placed(raw, ends.flatten(1)).reshape(-1, len(self.task.targets), 2)
        return placed[:, 0] if placed.shape[1] == 1 else placed

    def predict_set(self, source: Any, alpha: float = 0.1, **reading: Any) -> NDArray[np.bool_]:
        """The classes that may be true, so that a share ``alpha`` of new graphs like those of the
        training have another; no class where a row cannot be read.

        Returns:
            ``[n, C]``, or ``[n, T, 2]`` for several labels.
        """
        if not self.task.classes:
            raise ValueError(
                "Sets are for classes, got a model of numbers. Call `predict_interval`."
            )
        raw = self._told_of(source, reading)
        found = prediction_sets(self.member_answers(raw), self._known(), alpha, self.task)
        placed: NDArray[np.bool_] = _placed(raw, found.flatten(1).double()) == 1
        return placed.reshape(-1, *found.shape[1:])

    def intervals(self, answers: Tensor, alpha: float = 0.1) -> Tensor:
        """The intervals of what the members say of some graphs, ``[K, G, T]`` to ``[G, T, 2]``."""
        return prediction_intervals(answers, self._known(), alpha)

    def nearest(self, source: Any, count: int = 3, **reading: Any) -> list[list[Neighbour] | None]:
        """The training molecules that every molecule is most like, the nearest first.

        Args:
            source: A list of SMILES, a table, a path.
            count: How many.
            reading: Options of :func:`lgan.data.load_raw`.
        """
        if not isinstance(count, int | np.integer) or count < 1:
            raise ValueError(f"`count` must be a whole number of 1 or more, got {count!r}.")
        self._molecules()  # before the source is read
        raw = self._read_told(source, reading)
        return raw.by_row(self.neighbours(raw, count))

    def neighbours(self, raw: RawGraphs, count: int) -> list[list[Neighbour]]:
        """The training molecules that molecules which were read are most like."""
        known = self._molecules()
        near = nearest_of(fingerprints(raw), known.vectors, count)
        return [
            [
                Neighbour(value, known.smiles[k] if known.smiles else None,
                          labels_of(known, k, self.task))
                for value, k in zip(values, places, strict=True)
            ]
            for values, places in zip(*(t.tolist() for t in near), strict=True)
        ]  # fmt: skip

    def is_unlike(self, near: Sequence[Neighbour]) -> bool:
        """Whether a molecule is unlike all of the training, by those it is most like."""
        return near[0].similarity < self._molecules().unlike_below - ROUNDING

    def unlike(self, source: Any, **reading: Any) -> NDArray[np.bool_]:
        """Whether every molecule is unlike all of the training ``[n]``: less similar to the nearest
        than all but 5 % of these are to theirs. So is one that cannot be read.
        """
        known, raw = self._molecules(), self._read_told(source, reading)
        largest, _ = nearest_of(fingerprints(raw), known.vectors, 1)
        return ~(_placed(raw, largest.double())[:, 0] >= known.unlike_below - ROUNDING)

    def embed(self, source: Any, **reading: Any) -> NDArray[np.float64]:
        """What the last layer reads of every graph ``[n, D]``; that of all members side by side."""
        head = getattr(self.network, "head", None)
        if not isinstance(head, nn.Module):
            raise ValueError(
                f"The model {self.checkpoint.model!r} has no single layer behind its read-out. "
                "Take an LGAN or GIN for embeddings."
            )
        seen: list[Tensor] = []
        own = get_ident()

        def keep(_: nn.Module, given: tuple[Tensor, ...]) -> None:
            if get_ident() == own:  # other threads may ask the same network
                seen.append(given[0].cpu())

        hook = head.register_forward_pre_hook(keep)
        try:
            raw = self._told_of(source, reading)
            outputs_of(self.network, self.union(raw))
        finally:
            hook.remove()
        found = torch.cat(seen, -2).double()  # [*, G, D], members beside each other
        return _placed(raw, found if found.dim() == 2 else found.transpose(0, 1).flatten(1))

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
        raw = self._told_of(source, reading or {})
        return raw.by_row(explain_graphs(self, raw, **asked))

    def read(self, source: Any, **reading: Any) -> RawGraphs:
        """The graphs of a source, with the features the model was trained with."""
        return read_as_trained(self.checkpoint, self.encoder, source, reading)

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
        """Probabilities or numbers for every graph ``[G, C]`` or ``[G, T]``: the mean over the
        members.
        """
        return self.joint(self.member_answers(raw))

    def joint(self, answers: Tensor) -> Tensor:
        """What members say together, ``[K, G, O]`` to ``[G, O]``; calibrated where asked."""
        mean = answers.mean(0)
        return mean if self.sharpness is None else sharpened(mean, self.sharpness, self.task)

    def member_answers(self, raw: RawGraphs) -> Tensor:
        """What each member says of every graph ``[K, G, C]`` or ``[K, G, T]``."""
        members = self.checkpoint.members
        if raw.num_graphs == 0:
            return torch.zeros(members, 0, self.task.num_outputs, dtype=torch.float64)
        union = self.union(raw)
        out = outputs_of(self.network, union).cpu().double()
        said = self.task.link(out, self.scale).view(members, raw.num_graphs, -1)
        beside = self.checkpoint.companion
        if beside is None or union.graph_x is None:
            return said
        return beside.beside(said, union.graph_x, self.task)

    def seen(self, raw: RawGraphs) -> Tensor:
        """Whether every graph was among those the model was trained on ``[G]``."""
        found = torch.isin(graph_keys(raw), self.trained_on)
        if self.encoder.num_edge_features == 0:  # it was told of none, or of those it did not read
            found |= torch.isin(graph_keys(raw, edges=False), self.trained_on)
        return found

    def _known(self) -> OutOfFold:
        known = self.checkpoint.out_of_fold
        if known is None:
            raise ValueError(
                "The model has no out-of-fold predictions, which intervals, sets and calibration "
                "come from: an older version of lgan wrote it. Train it again."
            )
        return known

    def _molecules(self) -> TrainingMolecules:
        known = self.checkpoint.molecules
        if known is None:
            raise ValueError(
                "The model keeps no molecules to compare with: it was trained on other graphs, or "
                "by an older version of lgan. Train it on molecules."
            )
        return known

    def to(self, device: torch.device | str) -> "Predictor":
        """The same model on another device."""
        return replace(self, network=self.network.to(device))

    def _read_told(self, source: Any, reading: Mapping[str, Any]) -> RawGraphs:
        """The graphs of a source, with a warning where some rows are not among them."""
        raw = self.read(source, **reading)
        raw.warn_unread("have no prediction", stacklevel=4)
        return raw

    def _told_of(self, source: Any, reading: Mapping[str, Any]) -> RawGraphs:
        """The same for what the network is asked about, with a warning also where it was not
        trained on some of their values.
        """
        raw = self._read_told(source, reading)
        if unseen := self.encoder.unseen(raw):
            warnings.warn(unseen_words(unseen), stacklevel=4)
        return raw

    def _aligned(self, source: Any, reading: Mapping[str, Any]) -> NDArray[np.float64]:
        raw = self._told_of(source, reading)
        return _placed(raw, self.answers(raw))


def load_model(path: Path | str) -> Predictor:
    """The model that ``lgan train`` wrote to a file.

    Example:
        >>> load_model("model.safetensors")  # doctest: +SKIP
    """
    stored = Checkpoint.load(path)
    try:
        return Predictor.of(stored)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is not a whole model of lgan: {error}") from error


def _placed(raw: RawGraphs, values: Tensor) -> NDArray[np.float64]:
    """Values of graphs at the rows they come from, NaN at those that could not be read."""
    placed = np.full((raw.num_rows, values.size(1)), np.nan)
    placed[raw.rows.numpy()] = values.numpy()
    return placed

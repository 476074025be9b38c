"""Explained graphs of a data set, as a command or a report shows them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from lgan.data import RawGraphs, node_features
from lgan.explain.atoms import MOLECULES
from lgan.explain.attribution import Attribution
from lgan.explain.molecule import Molecule, molecule_from_graph
from lgan.explain.picture import Picture, graph_picture, molecule_picture
from lgan.graph import GraphUnion

__all__ = ["Entry", "class_names", "explained", "select_graphs", "uncompressed"]


@dataclass(frozen=True, eq=False)
class Entry:
    """An explained graph.

    Attributes:
        name: What to call it.
        attribution: Its scores.
        picture: Its picture.
        truth: Its class, where that is known.
        held_out: Whether the model was trained without it, where that is known.
    """

    name: str
    attribution: Attribution
    picture: Picture
    truth: int | None = None
    held_out: bool | None = None

    @property
    def notes(self) -> list[str]:
        """What a reader of the scores should know."""
        notes, gap = [], self.attribution.relative_gap
        if not self.attribution.complete and not math.isnan(gap):
            notes.append(f"scores do not add up: gap {gap:.1%}")
        if self.picture.hidden:
            notes.append(f"the weakest {self.picture.hidden:,} edges are not drawn")
        return notes

    @property
    def probability(self) -> float:
        """How sure the model is of its prediction."""
        return float(self.attribution.prediction.max())

    @property
    def mistaken(self) -> bool:
        """Whether the prediction is known to be wrong."""
        return self.truth is not None and self.attribution.predicted != self.truth

    def to_json(self, classes: Sequence[str]) -> dict[str, Any]:
        """Plain values: the scores, and what they are scores of."""
        plain = {"name": self.name, "classes": list(classes), "class": self.truth}
        plain |= {"predicted": self.attribution.predicted, "held_out": self.held_out}
        return {**plain, "node_labels": list(self.picture.labels), **self.attribution.to_json()}


def explained(
    attribution: Attribution,
    raw: RawGraphs,
    graph: int,
    *,
    name: str,
    truth: int | None = None,
    held_out: bool | None = None,
    drawn: Molecule | None = None,
) -> Entry:
    """A graph of a set with its scores and its picture.

    Molecules are drawn as such where RDKit is installed, and as graphs elsewhere.

    Args:
        attribution: The scores.
        raw: The set the graph is from.
        graph: Which of its graphs it is.
        name: What to call it.
        truth: Its class, where that is known.
        held_out: Whether the model was trained without it, where that is known.
        drawn: The molecule, where it is at hand.
    """
    classes = class_names(raw)
    sure = float(attribution.prediction[attribution.predicted])
    caption = f"predicted {classes[attribution.predicted]} ({sure:.0%})"
    if truth is not None:
        caption += f", is {classes[truth]}"
    if attribution.target != attribution.predicted:
        caption += f"; scores for {classes[attribution.target]}"
    if raw.name in MOLECULES and find_spec("rdkit") is not None:
        shown = drawn or molecule_from_graph(raw, graph)
        picture = molecule_picture(attribution, shown, title=name, caption=caption)
    else:
        picture = graph_picture(attribution, title=name, caption=caption)
    return Entry(name, attribution, picture, truth, held_out)


def class_names(raw: RawGraphs) -> tuple[str, ...]:
    """What the classes of a set mean, or else how its files spell them."""
    known = MOLECULES.get(raw.name)
    return raw.classes if known is None else known.classes


def select_graphs(raw: RawGraphs, ids: Sequence[int]) -> RawGraphs:
    """Some graphs of a set, in the order given.

    Example:
        >>> from lgan.data import load_raw
        >>> select_graphs(load_raw("triangles"), [3, 0]).y.tolist()
        [1, 0]
    """
    return raw.select(ids)


def uncompressed(
    raw: RawGraphs, features: str, *, num_features: int, pair_code: str = "none"
) -> GraphUnion:
    """A few graphs as a model reads them, nodes numbered as in the files.

    Args:
        raw: The graphs.
        features: Kind of node features the model reads.
        num_features: How many of them it reads.
        pair_code: Structural code of the pairs the model reads.
    """
    x, there = node_features(raw, features)
    if there > num_features or (x.is_floating_point() and there != num_features):
        raise ValueError(
            f"The model reads {num_features} node features ({features}), but these graphs of "
            f"{raw.name} have {there}. Train a model on graphs like these."
        )
    return GraphUnion.build(
        x,
        raw.pair_index,
        raw.y,
        raw.node_ptr,
        num_features=num_features,
        num_classes=raw.num_classes,
        compress=False,
        pair_code=pair_code,
        name=raw.name,
    )

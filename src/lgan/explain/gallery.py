"""Explained graphs as a command or a report shows them, and which to show."""

import math
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from lgan.explain.attribution import Attribution
from lgan.explain.molecule import Molecule
from lgan.explain.picture import Picture


@dataclass(frozen=True, eq=False)
class GalleryItem:
    """An explained graph.

    Attributes:
        name: What to call it.
        classes: What the classes are called.
        attribution: Its scores.
        picture: Its picture.
        truth: Its class, where that is known.
        held_out: Whether the model was trained without it, where that is known.
        interval: Ends of the 90 % interval of a number, where they are known.
    """

    name: str
    classes: tuple[str, ...]
    attribution: Attribution
    picture: Picture
    truth: int | None = None
    held_out: bool | None = None
    interval: tuple[float, float] | None = None

    @staticmethod
    def of(
        attribution: Attribution,
        classes: tuple[str, ...],
        *,
        name: str,
        truth: int | None = None,
        held_out: bool | None = None,
        molecule: Molecule | None = None,
        interval: tuple[float, float] | None = None,
    ) -> "GalleryItem":
        """An explained graph with its picture, drawn as a molecule where that is given."""
        picture = Picture.of(attribution, classes=classes, molecule=molecule, title=name)
        item = GalleryItem(name, classes, attribution, picture, truth, held_out, interval)
        caption = f"predicted {item.said}"
        if truth is not None:
            caption += f", is {classes[truth]}"
        picture = replace(picture, caption=f"{caption}\n{item.change}", numbers=True)
        return replace(item, picture=picture)

    @property
    def notes(self) -> list[str]:
        """What a reader of the scores should know."""
        notes, gap = [], self.attribution.relative_gap
        if not self.attribution.complete and not math.isnan(gap):
            notes.append(f"scores do not add up: gap {gap:.1%}")
        if self.attribution.withheld:
            notes.append("by the structure alone, without what is told of the whole graph")
        if self.picture.hidden:
            notes.append(f"the weakest {self.picture.hidden:,} edges are not drawn")
        return notes

    @property
    def change(self) -> str:
        """What all edges together do: red ones may be too few to turn a prediction."""
        start, end = self.attribution.baseline_output, self.attribution.output
        start, end = round(start, 2), round(end, 2)  # so that what is shown adds up
        nodes, edges = ("nodes", "edges") if self.picture.molecule is None else ("atoms", "bonds")
        names = {"log-odds": f"log-odds {self.picture.red}"}
        if self.is_number:
            names["number"] = self.classes[self.attribution.target]
        if self.attribution.against is not None:
            names["log-odds"] += f" against {self.classes[self.attribution.against]}"
        of = names.get(self.attribution.of, "output")
        sign = "−" if end < start else "+"
        said = f"{start:+.2f} by {nodes} {sign} {abs(end - start):.2f} by {edges}"
        return f"{of}: {f'{said} = {end:+.2f}'.replace('-', '−')}"

    @property
    def is_number(self) -> bool:
        """Whether what is predicted is a number and no class."""
        return self.attribution.of == "number"

    @property
    def predicted(self) -> str:
        """The class with the largest probability."""
        return self.classes[self.attribution.predicted]

    @property
    def probability(self) -> float:
        """How sure the model is of its prediction."""
        return float(self.attribution.prediction.max())

    @property
    def said(self) -> str:
        """What is predicted, in words: the likeliest class, or what is said of the target."""
        scores = self.attribution
        own = float(scores.prediction[scores.target])
        if self.is_number:
            said = f"{own:.4g}"
            if self.interval is not None:
                low, high = (f"{end:.4g}" for end in self.interval)
                said += f" (90 % interval {low} to {high})"
            return said.replace("-", "−")
        if len(scores.prediction) == 1 or scores.of == "logit":
            return f"{self.classes[scores.target]} {own:.0%}"
        return f"{self.predicted} ({self.probability:.0%})"

    @property
    def mistaken(self) -> bool:
        """Whether the prediction is known to be wrong."""
        return self.truth is not None and self.attribution.predicted != self.truth

    def to_json(self) -> dict[str, Any]:
        """Plain values: the scores, and what they are scores of."""
        plain = {"name": self.name, "classes": list(self.classes), "class": self.truth}
        plain |= {"predicted": self.attribution.predicted, "held_out": self.held_out}
        return {**plain, "node_labels": list(self.picture.labels), **self.attribution.to_json()}


def choose_for_gallery(
    probability: Tensor, y: Tensor, count: int, *, among: Tensor | None = None
) -> list[int]:
    """Graphs worth looking at: confident mistakes, then what was right, class by class.

    Up to half of them are mistakes, the most confident first; the others are right, the most
    confident of every class in turn.

    Args:
        probability: Probabilities of the classes ``[G, C]``.
        y: True classes ``[G]``.
        count: How many to choose, if there are as many.
        among: Graphs to choose from, by default all.

    Example:
        >>> p = torch.tensor([[0.9, 0.1], [0.8, 0.2], [0.4, 0.6], [0.3, 0.7]])
        >>> choose_for_gallery(p, torch.tensor([0, 1, 1, 1]), 3)
        [1, 0, 3]
    """
    ids = torch.arange(y.numel()) if among is None else among
    sure = probability[ids].max(1).values
    ids = ids[torch.argsort(sure, descending=True, stable=True)]
    right = probability[ids].argmax(1) == y[ids]
    wrong = ids[~right].tolist()
    by_class = [ids[right & (y[ids] == c)].tolist() for c in torch.unique(y).tolist()]
    longest = max((len(part) for part in by_class), default=0)
    turns = [part[i] for i in range(longest) for part in by_class if i < len(part)]
    chosen = wrong[: max(count // 2, count - len(turns))]
    return (chosen + turns)[:count]

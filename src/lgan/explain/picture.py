"""What a picture of an explanation shows, as plain data; :mod:`lgan.explain.draw` draws it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lgan.explain.attribution import Attribution
from lgan.explain.molecule import Molecule
from lgan.explain.scale import Scale

# Edges that are drawn at most: more would be a blot.
DRAWN = 2000
# Edges whose scores are written beside them at most, and the least share of the scale they have.
NUMBERS, WRITTEN = 8, 0.15


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture of an explained graph, or of a molecule as chemists draw it.

    Attributes:
        labels: A word for every node ``[n]``.
        pairs: Every edge once ``[P]``.
        scores: Its score ``[P]``.
        scale: How scores become colours.
        red: What red means, in words that name the class.
        blue: What blue means.
        title: A line above.
        caption: A line below.
        molecule: The molecule, where there is one.
        node_scores: The score of every node ``[n]``, where nodes are coloured too.
        numbers: Write scores beside the bonds of a molecule.
        spread: The deviation of every score over the members of an ensemble ``[P]``; none known
            where it is empty.
    """

    labels: tuple[str, ...]
    pairs: tuple[tuple[int, int], ...]
    scores: tuple[float, ...]
    scale: Scale
    red: str
    blue: str
    title: str = ""
    caption: str = ""
    molecule: Molecule | None = None
    node_scores: tuple[float, ...] = ()
    numbers: bool = False
    spread: tuple[float, ...] = ()

    @staticmethod
    def of(
        attribution: Attribution,
        *,
        classes: Sequence[str] | None = None,
        labels: Sequence[str] | None = None,
        molecule: Molecule | None = None,
        title: str = "",
        caption: str = "",
    ) -> "Picture":
        """The picture of an explained graph, on a scale that just holds its scores.

        Args:
            attribution: The scores.
            classes: What the classes are called, by default ``class 0`` and so on.
            labels: A word for every node, by default its number, or its atom and number.
            molecule: The molecule to draw; its atoms are the nodes.
            title: A line above.
            caption: A line below.
        """
        nodes = attribution.num_nodes
        if molecule is not None and len(molecule.symbols) != nodes:
            raise ValueError(
                f"The scores must be those of the molecule's {len(molecule.symbols)} atoms, got "
                f"{nodes}. Explain the graph of this very molecule."
            )
        if labels is None:
            symbols = [""] * nodes if molecule is None else molecule.symbols
            labels = [f"{symbol}{node}" for node, symbol in enumerate(symbols)]
        if len(labels) != nodes:
            raise ValueError(f"`labels` must name {nodes} nodes, got {len(labels)}. Give one each.")
        index, scores = attribution.undirected()
        if not bool(scores.isfinite().all()):
            raise ValueError(
                "Scores to be drawn must be finite, got NaN or infinite ones. Check the weights of "
                "the model and the features of the graph."
            )
        red, blue = _meanings(attribution, classes)
        spread: tuple[float, ...] = ()
        if attribution.members > 1 and attribution.edge_spread.numel():
            spread = tuple(attribution.undirected(attribution.edge_spread)[1].tolist())
        return Picture(
            labels=tuple(labels),
            pairs=tuple((u, v) for u, v in index.t().tolist()),
            scores=tuple(scores.tolist()),
            scale=Scale.of(scores.tolist()),
            red=red,
            blue=blue,
            title=title,
            caption=caption,
            molecule=molecule,
            spread=spread,
        )

    def unsure(self, edge: int) -> bool:
        """Whether members disagree so much that even the sign of a score is open."""
        return bool(self.spread) and self.spread[edge] > abs(self.scores[edge]) > 0

    @property
    def notes(self) -> dict[int, str]:
        """What is written beside the strongest edges, so that a picture reads without colours.

        A question mark says that members disagree on the sign. All have as many decimals, two
        digits of the largest score of the scale.
        """
        best = [i for i in self.drawing_order[::-1][:NUMBERS]
                if self.scale.weight(self.scores[i]) >= WRITTEN]  # fmt: skip
        decimals = max(0, 1 - math.floor(math.log10(self.scale.limit))) if best else 0
        return {i: f"{self.scores[i]:+.{decimals}f}" + "?" * self.unsure(i) for i in best}

    @property
    def remark(self) -> str:
        """What question marks beside edges mean, where there are any."""
        asked = self.numbers and any(map(self.unsure, self.notes))
        return "?: members disagree on the sign" if asked else ""

    @property
    def drawing_order(self) -> list[int]:
        """Edges from the least to the most important, so that nothing covers the latter.

        Of a graph with very many edges these are the strongest.
        """
        order = sorted(range(len(self.pairs)), key=lambda i: abs(self.scores[i]))
        return order[-DRAWN:]

    @property
    def hidden(self) -> int:
        """Number of edges that are not drawn."""
        return max(len(self.pairs) - DRAWN, 0)

    def top(self, count: int) -> list[tuple[str, float]]:
        """The edges with the largest scores by size, in words, the largest first."""
        best = self.drawing_order[::-1][:count]
        ends = [(*self.pairs[i], self.scores[i]) for i in best]
        return [(f"{self.labels[u]}–{self.labels[v]}", score) for u, v, score in ends]

    def on_scale(self, scale: Scale) -> "Picture":
        """The same picture in the colours of another scale."""
        return replace(self, scale=scale)


def _meanings(attribution: Attribution, classes: Sequence[str] | None) -> tuple[str, str]:
    """What red and blue mean. What speaks against one of two classes speaks for the other."""
    count, target = attribution.prediction.numel(), attribution.target
    if attribution.of == "number" and classes is not None:
        return f"raises {classes[target]}", f"lowers {classes[target]}"
    if count == 1:
        return "raises the output", "lowers the output"
    names = [f"class {c}" for c in range(count)] if classes is None else list(classes)
    if len(names) != count:
        raise ValueError(f"`classes` must name {count} classes, got {len(names)}.")
    if attribution.against is not None:
        return f"for {names[target]}", f"for {names[attribution.against]}"
    if count == 2 and attribution.of == "log-odds":
        return f"for {names[target]}", f"for {names[1 - target]}"
    return f"for {names[target]}", f"against {names[target]}"

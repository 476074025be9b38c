"""What a picture of an explanation shows: places, colours, widths and words, nothing drawn."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lgan.explain.attribution import Attribution
from lgan.explain.layout import layout
from lgan.explain.molecule import Molecule
from lgan.explain.scale import Scale

__all__ = ["Picture", "graph_picture", "molecule_picture"]

# Edges that are drawn at most.
DRAWN = 2000


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture of an explained graph, or of a molecule coloured behind its atoms and bonds.

    Attributes:
        labels: A word for every node ``[n]``.
        pairs: Every edge once ``[P]``.
        edge_scores: Its score ``[P]``.
        node_scores: Scores of the nodes ``[n]``.
        position: The place of every node; an edge is about 1 long ``[n, 2]``.
        scale: What the colours stand for.
        title: A line above.
        caption: A line below.
        molecule: The molecule, where it is drawn as chemists draw it.
    """

    labels: tuple[str, ...]
    pairs: tuple[tuple[int, int], ...]
    edge_scores: tuple[float, ...]
    node_scores: tuple[float, ...]
    position: NDArray[np.float64]
    scale: Scale
    title: str = ""
    caption: str = ""
    molecule: Molecule | None = None

    @property
    def edge_colours(self) -> list[str]:
        """The colour of every edge."""
        return [self.scale.colour(score) for score in self.edge_scores]

    @property
    def edge_widths(self) -> list[float]:
        """The width of every edge in points."""
        return [self.scale.width(score) for score in self.edge_scores]

    @property
    def edge_names(self) -> list[str]:
        """Every edge in words."""
        return [f"{self.labels[u]}–{self.labels[v]}" for u, v in self.pairs]

    @property
    def drawing_order(self) -> list[int]:
        """Edges from the least to the most important, so that nothing covers the latter.

        Of a graph with very many edges these are the strongest: more would be a blot.
        """
        order = sorted(range(len(self.pairs)), key=lambda i: abs(self.edge_scores[i]))
        return order[-DRAWN:]

    @property
    def hidden(self) -> int:
        """Number of edges that are not drawn."""
        return max(len(self.pairs) - DRAWN, 0)

    def top(self, count: int) -> list[tuple[str, float]]:
        """The edges with the largest scores by size, in words, the largest first."""
        best = self.drawing_order[::-1][:count]
        return [(self.edge_names[i], self.edge_scores[i]) for i in best]

    def with_scale(self, scale: Scale) -> "Picture":
        """The same picture in the colours of another scale."""
        return replace(self, scale=scale)

    def svg(self, width: int = 360, height: int = 280) -> str:
        """The drawing alone, as an SVG element that names scores under the pointer."""
        from lgan.explain.svg import graph_svg, molecule_svg

        return (graph_svg if self.molecule is None else molecule_svg)(self, width, height)

    def plot(self, ax: Any = None) -> Any:
        """Draw with matplotlib, on ``ax`` or a new one, and return the axes."""
        from lgan.explain.draw import plot

        return plot(self, ax)


def graph_picture(
    attribution: Attribution,
    *,
    labels: Sequence[str] | None = None,
    title: str = "",
    caption: str = "",
    scale: Scale | None = None,
    seed: int = 0,
) -> Picture:
    """The picture of an explained graph.

    Args:
        attribution: The scores.
        labels: A word for every node, by default its number.
        title: A line above.
        caption: A line below.
        scale: What the colours stand for, by default a scale that just holds the edge scores.
        seed: Fixes the layout of large graphs.
    """
    names = [str(node) for node in range(attribution.num_nodes)] if labels is None else labels
    if len(names) != attribution.num_nodes:
        raise ValueError(
            f"`labels` must name {attribution.num_nodes} nodes, got {len(names)}. Give one each."
        )
    pairs, scores = _edges(attribution)
    return Picture(
        labels=tuple(names),
        pairs=pairs,
        edge_scores=scores,
        node_scores=tuple(attribution.node_scores.tolist()),
        position=layout(attribution.num_nodes, pairs, seed=seed),
        scale=scale or Scale.of(scores),
        title=title,
        caption=caption,
    )


def molecule_picture(
    attribution: Attribution,
    molecule: Molecule,
    *,
    title: str = "",
    caption: str = "",
    scale: Scale | None = None,
) -> Picture:
    """The picture of an explained molecule.

    Args:
        attribution: The scores; its nodes are the atoms.
        molecule: The molecule.
        title: A line above.
        caption: A line below.
        scale: What the colours stand for, by default a scale that just holds the edge scores.
    """
    symbols = molecule.symbols
    if len(symbols) != attribution.num_nodes:
        raise ValueError(
            f"The scores must be those of the molecule's {len(symbols)} atoms, got "
            f"{attribution.num_nodes}. Explain the graph of this very molecule."
        )
    pairs, scores = _edges(attribution)
    return Picture(
        labels=tuple(f"{symbol}{atom}" for atom, symbol in enumerate(symbols)),
        pairs=pairs,
        edge_scores=scores,
        node_scores=tuple(attribution.node_scores.tolist()),
        position=molecule.position(),
        scale=scale or Scale.of(scores),
        title=title,
        caption=caption,
        molecule=molecule,
    )


def _edges(attribution: Attribution) -> tuple[tuple[tuple[int, int], ...], tuple[float, ...]]:
    index, scores = attribution.undirected()
    if not bool(scores.isfinite().all()):
        raise ValueError(
            "Scores to be drawn must be finite, got NaN or infinite ones. Check the weights of the "
            "model and the features of the graph."
        )
    return tuple((u, v) for u, v in index.t().tolist()), tuple(scores.tolist())

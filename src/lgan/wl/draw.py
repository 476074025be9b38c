"""A picture of two graphs with their stable colours."""

from pathlib import Path
from typing import Any

import networkx as nx

from lgan._optional import require
from lgan.wl.compare import refine


def draw_pair(a: nx.Graph, b: nx.Graph, path: Path, *, test: str, names: Any = ("", "")) -> int:
    """Draw two graphs side by side, nodes in the stable colours of a test.

    Returns:
        How many colours there are.
    """
    require("matplotlib").use("Agg")
    plot = require("matplotlib.pyplot")
    result = refine([a, b], test=test)
    verdict = "separates" if result.separates(0, 1) else "does not separate"
    kinds = {colour: i for i, colour in enumerate(dict.fromkeys(result.node_colours.tolist()))}
    shades = plot.get_cmap("tab20" if len(kinds) <= 20 else "turbo")
    figure, axes = plot.subplots(1, 2, figsize=(9, 4.6), layout="constrained")
    for i, (graph, axis) in enumerate(zip((a, b), axes, strict=True)):
        scale = 19 if len(kinds) <= 20 else max(len(kinds) - 1, 1)
        shade = [shades(kinds[colour] / scale) for colour in result.colours_of(i).tolist()]
        nx.draw_networkx(
            graph, _layout(graph), ax=axis, node_color=shade, node_size=160, edge_color="0.6",
            with_labels=False, edgecolors="0.2",
        )  # fmt: skip
        axis.set_title(f"{names[i]}: {graph.number_of_nodes()} nodes, {graph.size()} edges")
        axis.set_axis_off()
    figure.suptitle(f"{test} {verdict} them ({len(kinds)} colours, {result.rounds} rounds)")
    figure.savefig(path, dpi=150)
    plot.close(figure)
    return len(kinds)


def _layout(graph: nx.Graph) -> dict[Any, Any]:
    """Components side by side, each by its distances."""
    place: dict[Any, Any] = {}
    shift = 0.0
    for part in sorted(nx.connected_components(graph), key=len, reverse=True):
        piece = graph.subgraph(part)
        # From a plane drawing, where there is one, the springs need not cross edges.
        planar = nx.check_planarity(piece)[0]
        first = nx.planar_layout(piece) if planar else None
        spot = nx.kamada_kawai_layout(piece, pos=first)
        left = min(x for x, _ in spot.values())
        place |= {node: (x - left + shift, y) for node, (x, y) in spot.items()}
        shift += max(x for x, _ in spot.values()) - left + 0.6
    return place

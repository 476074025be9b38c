"""Pictures drawn with matplotlib, and files of pictures."""

import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lgan._optional import require
from lgan.data import replaced
from lgan.explain.picture import Picture
from lgan.explain.svg import band, draw_molecule, node_radius, sheet_svg

__all__ = ["plot", "save"]

# Pixels of a panel, which the drawings of RDKit are made for, and points per pixel.
WIDTH, HEIGHT, POINTS = 360, 280, 0.75


def save(pictures: Sequence[Picture], path: Path | str, *, columns: int | None = None) -> None:
    """Write one picture or a grid of several; the ending of ``path`` is .svg or .png.

    SVG needs no package but RDKit for molecules; PNG needs matplotlib.
    """
    path = Path(path)
    check_ending(path)
    if not pictures:
        raise ValueError("A file of pictures needs one or more, got none.")
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix.lower() == ".svg":
        with replaced(path) as temporary:
            temporary.write_text(sheet_svg(pictures, columns=columns), encoding="utf-8")
        return
    drawn = figure(pictures, columns=columns)
    with replaced(path) as temporary:
        drawn.savefig(temporary, format="png", dpi=160)


def check_ending(path: Path) -> None:
    """Refuse a file that is neither SVG nor PNG."""
    if path.suffix.lower() not in (".svg", ".png"):
        raise ValueError(
            f"A picture must end with .svg or .png, got {path.name!r}. Choose one of the two."
        )


def figure(pictures: Sequence[Picture], *, columns: int | None = None) -> Any:
    """Several pictures in a grid, each with its colour bar, as a figure of matplotlib."""
    canvas = require("matplotlib.backends.backend_agg").FigureCanvasAgg
    columns = columns or min(len(pictures), math.ceil(math.sqrt(len(pictures))), 4)
    rows = math.ceil(len(pictures) / columns)
    drawn = require("matplotlib.figure").Figure(layout="constrained")
    drawn.set_size_inches(columns * 4.0, rows * 4.0)
    drawn.get_layout_engine().set(h_pad=0.12, w_pad=0.12, hspace=0.04)
    canvas(drawn)
    grid = drawn.subplots(rows, columns, squeeze=False).ravel()
    for ax, picture in zip(grid, pictures, strict=False):
        picture.plot(ax)
    for ax in grid[len(pictures) :]:
        ax.axis("off")
    return drawn


def plot(picture: Picture, ax: Any = None) -> Any:
    """Draw a picture on axes of matplotlib, or on new ones, which are returned."""
    if ax is None:
        ax = require("matplotlib.pyplot").figure(figsize=(4.0, 4.0), layout="constrained").gca()
    (_plot_graph if picture.molecule is None else _plot_molecule)(picture, ax)
    ax.set_title(picture.title, fontsize=10, fontweight="bold")
    ax.text(0.5, -0.02, picture.caption, transform=ax.transAxes, ha="center", va="top",
            fontsize=8, color="#444")  # fmt: skip
    ax.set_aspect("equal")
    ax.axis("off")
    _colour_bar(picture, ax)
    return ax


def _plot_graph(picture: Picture, ax: Any) -> None:
    lines = require("matplotlib.collections").LineCollection
    position = picture.position
    order = picture.drawing_order
    colours, widths = picture.edge_colours, picture.edge_widths
    ax.add_collection(
        lines(
            [position[list(picture.pairs[i])] for i in order],
            colors=[colours[i] for i in order],
            linewidths=[POINTS * widths[i] for i in order],
            capstyle="round",
            zorder=1,
        )
    )
    if len(position) == 0:
        return
    size = np.maximum(np.ptp(position, axis=0), 1e-9)
    unit = float(min(((WIDTH - 32) / size[0], (HEIGHT - 32) / size[1], 70.0)))
    radius = node_radius(position * unit)
    ax.scatter(*position.T, s=(2 * POINTS * radius) ** 2, zorder=2, edgecolors="#444",
               linewidths=0.8, c=[picture.scale.tint(s) for s in picture.node_scores])  # fmt: skip
    if radius >= 5:
        for (x, y), label in zip(position, picture.labels, strict=True):
            ax.annotate(label, (x, y), ha="center", va="center", fontsize=0.9 * radius, zorder=3)
    middle, half = position.min(0) + size / 2, np.array([WIDTH, HEIGHT]) / unit / 2
    ax.set_xlim(middle[0] - half[0], middle[0] + half[0])
    ax.set_ylim(middle[1] - half[1], middle[1] + half[1])


def _plot_molecule(picture: Picture, ax: Any) -> None:
    tools = require("rdkit.Chem.Draw.rdMolDraw2D")
    sharp = 3
    drawer = tools.MolDraw2DCairo(sharp * WIDTH, sharp * HEIGHT)
    place = draw_molecule(picture, drawer, sharp=sharp)
    image = require("matplotlib.image").imread(io.BytesIO(drawer.GetDrawingText()), format="png")
    for i in picture.drawing_order:
        colour, thick = band(picture, i, place)
        ends = place[list(picture.pairs[i])]
        ax.plot(*ends.T, color=colour, linewidth=POINTS * thick / sharp, solid_capstyle="round",
                zorder=1)  # fmt: skip
    ax.imshow(image, zorder=2, interpolation="antialiased")
    ax.set_xlim(0, sharp * WIDTH)
    ax.set_ylim(sharp * HEIGHT, 0)


def _colour_bar(picture: Picture, ax: Any) -> None:
    scale = picture.scale
    if scale.limit == 0:
        return
    colours = require("matplotlib.colors")
    low = -scale.limit if scale.signed else 0.0
    scores = np.linspace(low, scale.limit, 101)
    shade = scale.tint if picture.molecule is not None else scale.colour
    shown = require("matplotlib.cm").ScalarMappable(
        colours.Normalize(low, scale.limit), colours.ListedColormap([shade(s) for s in scores])
    )
    bar = ax.figure.colorbar(shown, ax=ax, orientation="horizontal", shrink=0.6, aspect=28,
                             pad=0.08)  # fmt: skip
    bar.outline.set_visible(False)
    bar.set_ticks(list(scale.ticks), labels=[f"{tick:.3g}" for tick in scale.ticks], fontsize=8)

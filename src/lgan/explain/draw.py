"""Pictures drawn by matplotlib, with RDKit for molecules, and files of pictures."""

import io
import math
import re
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lgan._optional import require
from lgan.data import replaced
from lgan.explain.draw_molecule import SEEN, molecule_png, molecule_svg
from lgan.explain.layout import layout
from lgan.explain.picture import Picture

# Pixels of a drawing, 96 to the inch, and points per pixel.
WIDTH, HEIGHT, POINTS = 360, 280, 0.75
MARGIN = 16
# Inches of a picture with its words.
CELL = (4.0, 4.5)
# Letters that fit into a line above a drawing, below it, and at an end of the colour bar, which
# has more between its ends where bonds may stay white.
WORDS, CAPTION = 36, 66
MEANING, MEANING_OF_BONDS = 26, 20
# Labels in smaller circles are dust.
READABLE = 5.0
# Pixels of a letter and a line of the scores beside edges, the parts of an edge at which they
# are tried, the middle first, and how far from it.
LETTER, LINE = 5.8, 10.0
ALONG, BESIDE = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74), (0.0, 7.0, -7.0, 14.0, -14.0)
# Text stays text, and the same picture is the same file.
SVG_STYLE = {"svg.fonttype": "none", "svg.hashsalt": "lgan", "font.family": "sans-serif"}


def check_ending(path: Path) -> None:
    """Refuse a file that is neither SVG nor PNG."""
    if path.suffix.lower() not in (".svg", ".png"):
        raise ValueError(
            f"A picture must end with .svg or .png, got {path.name!r}. Choose one of the two."
        )


def save(pictures: Sequence[Picture], path: Path | str, *, columns: int | None = None) -> None:
    """Write one picture or a grid of several; the ending of ``path`` is .svg or .png.

    Each has its words, and a colour bar that says what the colours mean. Needs matplotlib, and
    RDKit for molecules.
    """
    path = Path(path)
    check_ending(path)
    if not pictures:
        raise ValueError("A file of pictures needs one or more, got none.")
    vector = path.suffix.lower() == ".svg"
    sheet, axes = _sheet(pictures, columns, vector=vector)
    with replaced(path) as temporary:
        if vector:
            temporary.write_text(_with_molecules(figure_svg(sheet), sheet, axes, pictures), "utf-8")
        else:
            sheet.savefig(temporary, format="png", dpi=160)


def plot(picture: Picture, ax: Any = None) -> Any:
    """Draw a picture on axes of matplotlib, or on new ones, which are returned."""
    if ax is None:
        ax = require("matplotlib.pyplot").figure(figsize=(4.0, 4.0), layout="constrained").gca()
    _draw(picture, ax)
    _add_words(picture, ax)
    return ax


def picture_svg(picture: Picture) -> str:
    """The drawing alone, without words and colour bar, as an SVG element."""
    if picture.molecule is None:
        figure = new_figure(WIDTH / 96, HEIGHT / 96)
        ax = figure.add_axes((0, 0, 1, 1))
        _plot_graph(picture, ax)
        ax.axis("off")
        document = figure_svg(figure)
    else:
        document = molecule_svg(picture, WIDTH, HEIGHT)
    return document[document.index("<svg") :]


def _sheet(
    pictures: Sequence[Picture], columns: int | None, *, vector: bool
) -> tuple[Any, list[Any]]:
    """A figure with axes for every picture; those of molecules stay empty for vectors."""
    columns = columns or min(len(pictures), math.ceil(math.sqrt(len(pictures))), 4)
    rows = math.ceil(len(pictures) / columns)
    wide, high = columns * CELL[0], rows * CELL[1]
    figure, axes = new_figure(wide, high), []

    def place(i: int, x: float, y: float, width: float, height: float) -> Any:
        left, bottom = i % columns * CELL[0] + x, high - (i // columns + 1) * CELL[1] + y
        return figure.add_axes((left / wide, bottom / high, width / wide, height / high))

    for i, picture in enumerate(pictures):
        axes.append(place(i, 0.15, 1.1, 3.7, 3.7 * HEIGHT / WIDTH))
        axes[i].set(xlim=(0, WIDTH), ylim=(HEIGHT, 0))
        if picture.molecule is None or not vector:
            _draw(picture, axes[i])
        bar = place(i, 0.9, 0.48, 2.2, 0.1) if picture.scale.limit > 0 else None
        _add_words(picture, axes[i], bar)
    return figure, axes


def new_figure(width: float, height: float, layout: str | None = None) -> Any:
    """A figure that no window knows of."""
    figure = require("matplotlib.figure").Figure((width, height), dpi=72, layout=layout)
    require("matplotlib.backends.backend_agg").FigureCanvasAgg(figure)
    return figure


def figure_svg(figure: Any) -> str:
    """A figure as an SVG document."""
    text = io.StringIO()
    with require("matplotlib").rc_context(SVG_STYLE):
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return text.getvalue()


def _with_molecules(document: str, figure: Any, axes: Any, pictures: Sequence[Picture]) -> str:
    """A drawn sheet with the drawings of RDKit put into their places."""
    drawings = []
    _, _, _, height = figure.bbox.bounds
    for ax, picture in zip(axes, pictures, strict=False):
        if picture.molecule is None:
            continue
        x, y, wide, high = ax.get_window_extent().bounds
        place = f'<svg x="{x:.2f}" y="{height - y - high:.2f}" '
        place += f'width="{wide:.2f}" height="{high:.2f}" '
        drawing = re.sub(r"(width|height)='[0-9]+px' ", "", picture_svg(picture), count=2)
        drawings.append(drawing.replace("<svg ", place, 1))
    end = document.rindex("</svg>")
    return document[:end] + "\n".join(drawings) + document[end:]


def _add_words(picture: Picture, ax: Any, bar: Any = None) -> None:
    """Title, caption and colour bar, the latter on axes of its own where they are given."""
    ax.set_title(
        fill(picture.title, WORDS, max_lines=2, placeholder="…"), fontsize=10, fontweight="bold"
    )
    lines = [*picture.caption.splitlines(), picture.remark]
    words = "\n".join(fill(line, CAPTION) for line in lines if line)
    ax.text(0.5, -0.02, words, transform=ax.transAxes, ha="center", va="top",
            fontsize=8, color="#444")  # fmt: skip
    ax.set_aspect("equal")
    ax.axis("off")
    _add_colour_bar(picture, ax, bar)


def _draw(picture: Picture, ax: Any) -> None:
    if picture.molecule is None:
        _plot_graph(picture, ax)
        return
    image = io.BytesIO(molecule_png(picture, WIDTH, HEIGHT))
    shown = require("matplotlib.image").imread(image, format="png")
    ax.imshow(shown, extent=(0, WIDTH, HEIGHT, 0))


def _plot_graph(picture: Picture, ax: Any) -> None:
    position = layout(len(picture.labels), picture.pairs)
    if len(position) == 0:
        return
    order, scale = picture.drawing_order, picture.scale
    lines = require("matplotlib.collections").LineCollection(
        [position[list(picture.pairs[i])] for i in order],
        # Without scores the lines themselves are what is to be seen.
        colors=[scale.colour(picture.scores[i]) for i in order] if scale.limit > 0 else "#777",
        linewidths=[POINTS * scale.width(picture.scores[i]) for i in order],
        # What speaks against is dashed, so that the picture reads without colours.
        linestyles=["--" if picture.scores[i] < 0 else "-" for i in order],
        zorder=1,
    )
    ax.add_collection(lines)
    size = np.maximum(np.ptp(position, axis=0), 1e-9)
    unit = float(min(*((np.array([WIDTH, HEIGHT]) - 2 * MARGIN) / size), 70.0))
    radius = _node_radius(position * unit)
    fill_colours = [scale.colour(score) for score in picture.node_scores] or "white"
    ax.scatter(*position.T, s=(2 * POINTS * radius) ** 2, zorder=2, edgecolors="#555",
               linewidths=0.8, c=fill_colours)  # fmt: skip
    if radius >= READABLE:
        for (x, y), label in zip(position, picture.labels, strict=True):
            ax.annotate(label, (x, y), ha="center", va="center", fontsize=0.8 * radius, zorder=3)
    ground = {"facecolor": "white", "alpha": 0.75, "edgecolor": "none", "pad": 0.5}
    for i, spot in _note_places(picture, position * unit, radius).items():
        ax.annotate(picture.notes[i], spot / unit, ha="center", va="center", fontsize=7, zorder=4,
                    bbox=ground)  # fmt: skip
    middle, half = position.min(0) + size / 2, np.array([WIDTH, HEIGHT]) / unit / 2
    ax.set_xlim(middle[0] - half[0], middle[0] + half[0])
    ax.set_ylim(middle[1] - half[1], middle[1] + half[1])


def _note_places(
    picture: Picture, place: NDArray[np.float64], radius: float
) -> dict[int, NDArray[np.float64]]:
    """Where scores are written, the strongest first, in pixels: on their edge or close beside it,
    over no node and no other score. One for which there is no room is left out.
    """
    found: dict[int, NDArray[np.float64]] = {}
    taken: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []
    for i, note in picture.notes.items() if picture.numbers else ():
        half = np.array([LETTER * len(note), LINE]) / 2
        u, v = place[list(picture.pairs[i])]
        across = np.array([u[1] - v[1], v[0] - u[0]]) / max(float(np.hypot(*(v - u))), 1e-9)
        for spot in (u + part * (v - u) + far * across for far in BESIDE for part in ALONG):
            beyond = np.hypot(*np.maximum(np.abs(place - spot) - half, 0).T)
            apart = (np.any(np.abs(spot - other) >= half + size) for other, size in taken)
            if beyond.min() > radius + 1 and all(apart):
                found[i] = spot
                taken.append((spot, half))
                break
    return found


def _node_radius(place: NDArray[np.float64]) -> float:
    """A radius in pixels at which hardly any two nodes overlap."""
    if len(place) < 2:
        return 11.0
    from scipy.spatial import cKDTree

    nearest = cKDTree(place).query(place, k=2)[0][:, 1]
    return float(np.clip(0.47 * np.quantile(nearest, 0.05), 1.5, 11.0))


def _add_colour_bar(picture: Picture, ax: Any, bar_ax: Any = None) -> None:
    """The colours of the edges from the least to the largest score, and what they mean."""
    limit = picture.scale.limit
    if limit == 0:
        return
    colours = require("matplotlib.colors")
    # Where bonds are coloured behind their lines, those of almost no score are left white.
    least = 0.0 if picture.molecule is None else SEEN * limit
    shades = [
        picture.scale.colour(score) if abs(score) >= least else "white"
        for score in np.linspace(-limit, limit, 101)
    ]
    shown = require("matplotlib.cm").ScalarMappable(
        colours.Normalize(-limit, limit), colours.ListedColormap(shades)
    )
    place = {"ax": ax, "shrink": 0.55, "aspect": 24, "pad": 0.09}
    place = place if bar_ax is None else {"cax": bar_ax}
    bar = ax.figure.colorbar(shown, orientation="horizontal", **place)
    bar.outline.set_visible(False)
    dashed = "" if picture.molecule is not None else ", dashed"
    zero = "0" if picture.molecule is None else f"0\nwhite: below {least:.1g}"
    room = MEANING if picture.molecule is None else MEANING_OF_BONDS
    blue, red = (
        fill(meaning, room, max_lines=2, placeholder="…")
        for meaning in (f"{picture.blue}{dashed}", picture.red)
    )
    words = (f"−{limit:.3g}\n{blue}", zero, f"+{limit:.3g}\n{red}")
    spacing = 1.0 if "\n" in blue + red else 1.2  # a third line has to fit above the end
    bar.set_ticks([-limit, 0, limit], labels=words, fontsize=8, linespacing=spacing)

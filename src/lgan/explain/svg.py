"""Pictures as SVG: small text, sharp at every size, and scores under the pointer."""

import math
import re
from collections.abc import Sequence
from typing import Any
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import NDArray

from lgan._optional import require
from lgan.explain.picture import Picture
from lgan.explain.scale import Scale

__all__ = ["colour_bar_svg", "graph_svg", "molecule_svg", "sheet_svg"]

NAMESPACE = "http://www.w3.org/2000/svg"
FONT = "Helvetica Neue, Helvetica, Arial, sans-serif"
# Labels in smaller circles are dust.
READABLE = 5.0
# Wider invisible lines help the pointer on thin edges, and double the size of the file.
HELPED = 300
# Scores below this share of the limit are not seen behind a molecule.
SEEN = 0.02


def graph_svg(picture: Picture, width: int, height: int) -> str:
    """A graph as an SVG element: edges, then nodes, each with its score as a title."""
    place = _fit(picture.position, width, height, margin=16)
    radius = node_radius(place)
    parts = [f'<g stroke-linecap="round" fill="none">{_edges(picture, place)}</g>']
    fill = [_rgb(picture.scale.tint(score)) for score in picture.node_scores]
    for node, (x, y) in enumerate(place):
        told = f"node {picture.labels[node]}: {picture.node_scores[node]:+.4g}"
        text = ""
        if radius >= READABLE:
            size = min(11.0, 1.15 * radius)
            text = (
                f'<text x="{x:.1f}" y="{y + 0.35 * size:.1f}" font-size="{size:.1f}" '
                f'text-anchor="middle" fill="#222">{escape(picture.labels[node])}</text>'
            )
        parts.append(
            f"<g><title>{escape(told)}</title>"
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{fill[node]}" '
            f'stroke="#444"/>{text}</g>'
        )
    return _element("".join(parts), width, height, picture.title)


def node_radius(place: NDArray[np.float64]) -> float:
    """A radius in pixels at which hardly any two nodes overlap."""
    if len(place) < 2:
        return 11.0
    from scipy.spatial import cKDTree

    nearest = cKDTree(place).query(place, k=2)[0][:, 1]
    return float(np.clip(0.47 * np.quantile(nearest, 0.05), 1.5, 11.0))


def molecule_svg(picture: Picture, width: int, height: int) -> str:
    """A molecule as RDKit draws it, in black, on bands in the colours of its scores."""
    assert picture.molecule is not None
    drawer = require("rdkit.Chem.Draw.rdMolDraw2D").MolDraw2DSVG(width, height)
    place = draw_molecule(picture, drawer)
    lines = re.sub(
        r"\A.*?<!-- END OF HEADER -->|</svg>\s*\Z", "", drawer.GetDrawingText(), flags=re.S
    )
    # RDKit repeats the style of a line on every line; most of it is the default.
    lines = re.sub(
        r"fill-rule:evenodd;|stroke-(linecap:butt|miterlimit:10|opacity:1);| class='[^']*'",
        "",
        lines,
    )
    bands = []
    for i in picture.drawing_order:
        told = f"{picture.edge_names[i]}: {picture.edge_scores[i]:+.4g}"
        u, v = (place[node] for node in picture.pairs[i])
        line = f'x1="{u[0]:.1f}" y1="{u[1]:.1f}" x2="{v[0]:.1f}" y2="{v[1]:.1f}"'
        colour, thick = band(picture, i, place)
        bands.append(
            f'<g><title>{escape(told)}</title><line {line} stroke="#fff" stroke-opacity="0" '
            f'stroke-width="{max(thick, 12.0):.1f}"/>'
            f'<line {line} stroke="{colour}" stroke-width="{thick:.1f}"/></g>'
        )
    body = f'<g stroke-linecap="round">{"".join(bands)}</g><g pointer-events="none">{lines}</g>'
    return _element(body, width, height, picture.title)


def draw_molecule(picture: Picture, drawer: Any, *, sharp: int = 1) -> NDArray[np.float64]:
    """Draw a molecule in black with a drawer of RDKit; where its atoms came to lie ``[n, 2]``.

    Args:
        picture: What to draw.
        drawer: A fresh drawer.
        sharp: How many pixels of the drawer one of ours has.
    """
    assert picture.molecule is not None
    chem, tools = require("rdkit.Chem"), require("rdkit.Chem.Draw.rdMolDraw2D")
    options = drawer.drawOptions()
    options.useBWAtomPalette()  # colour is for scores alone
    options.clearBackground = False
    options.padding = 0.08
    options.bondLineWidth = 1.6 * sharp
    options.fixedBondLength = 42 * sharp
    mol = chem.Mol(picture.molecule.mol)
    clean = picture.molecule.status == "clean"
    try:
        mol = tools.PrepareMolForDrawing(mol, kekulize=clean, addChiralHs=False)
    except (ValueError, RuntimeError):  # drawn as it is rather than not at all
        options.prepareMolsBeforeDrawing = False
    drawer.DrawMolecule(mol)
    drawer.FinishDrawing()
    points = [drawer.GetDrawCoords(i) for i in range(mol.GetNumAtoms())]
    return np.array([(point.x, point.y) for point in points]).reshape(-1, 2)


def band(picture: Picture, pair: int, place: NDArray[np.float64]) -> tuple[str, float]:
    """The colour and width of what lies behind a bond."""
    u, v = picture.pairs[pair]
    length = float(np.linalg.norm(place[u] - place[v]))
    score = picture.edge_scores[pair]
    if picture.scale.weight(score) < SEEN:
        return "#ffffff", 0.0
    return _rgb(picture.scale.tint(score)), length * picture.scale.width(score, 0.12, 0.5)


def colour_bar_svg(
    scale: Scale, width: int = 200, *, x: float = 0, y: float = 0, tints: bool = False
) -> str:
    """A bar with the colours of a scale, or its tints, and the scores at its ends and at 0."""
    low = -scale.limit if scale.signed else 0.0
    steps = 40
    cells = []
    for i in range(steps):
        score = low + (scale.limit - low) * (i + 0.5) / steps
        cells.append(
            f'<rect x="{x + i * width / steps:.1f}" y="{y:.1f}" width="{width / steps + 0.5:.1f}" '
            f'height="8" fill="{_rgb(scale.tint(score)) if tints else scale.colour(score)}"/>'
        )
    words = []
    for score in scale.ticks:
        share = (score - low) / (scale.limit - low) if scale.limit > 0 else 0.5
        anchor = "start" if share == 0 else "end" if share == 1 else "middle"
        words.append(
            f'<text x="{x + share * width:.1f}" y="{y + 21:.1f}" font-size="11" fill="#444" '
            f'text-anchor="{anchor}">{_number(score)}</text>'
        )
    return f"<g>{''.join(cells)}{''.join(words if scale.limit > 0 else words[:1])}</g>"


def sheet_svg(pictures: Sequence[Picture], *, columns: int | None = None) -> str:
    """Several pictures in a grid, with their words and colour bars, as a whole SVG file.

    Pictures of one scale share one colour bar at the foot; others have their own.
    """
    if not pictures:
        raise ValueError("A sheet needs one picture or more, got none.")
    columns = columns or min(len(pictures), math.ceil(math.sqrt(len(pictures))), 4)
    rows = math.ceil(len(pictures) / columns)
    shared = len({(p.scale, p.molecule is None) for p in pictures}) == 1
    width, height, head, foot, gap = 360, 280, 30, 22 if shared else 62, 20
    cell, line = width + gap, height + head + foot
    total = (columns * cell + gap, rows * line + gap + (50 if shared else 0))
    parts = [f'<rect width="{total[0]}" height="{total[1]}" fill="#fff"/>']
    for i, picture in enumerate(pictures):
        x, y = gap + i % columns * cell, gap + i // columns * line
        middle = x + width / 2
        drawing = picture.svg(width, height).replace("<svg ", f'<svg x="{x}" y="{y + head}" ', 1)
        parts += [
            _text(picture.title, middle, y + 14, 14, "#111", width, bold=True),
            drawing,
            _text(picture.caption, middle, y + head + height + 14, 11.5, "#444", width),
        ]
        if not shared:
            bar = y + head + height + 24
            tints = picture.molecule is not None
            parts.append(colour_bar_svg(picture.scale, 200, x=middle - 100, y=bar, tints=tints))
    if shared:
        parts.append(colour_bar_svg(pictures[0].scale, 240, x=total[0] / 2 - 120, y=total[1] - 50))
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<svg xmlns="{NAMESPACE}" width="{total[0]}" height="{total[1]}" '
        f'viewBox="0 0 {total[0]} {total[1]}" font-family="{FONT}">{"".join(parts)}</svg>\n'
    )


def _edges(picture: Picture, place: NDArray[np.float64]) -> str:
    colours, widths, names = picture.edge_colours, picture.edge_widths, picture.edge_names
    parts = []
    for i in picture.drawing_order:
        u, v = (place[node] for node in picture.pairs[i])
        line = f'x1="{u[0]:.1f}" y1="{u[1]:.1f}" x2="{v[0]:.1f}" y2="{v[1]:.1f}"'
        told = f"<title>{escape(names[i])}: {picture.edge_scores[i]:+.4g}</title>"
        helped = ""
        if len(picture.pairs) <= HELPED:
            helped = f'<line {line} stroke="#fff" stroke-opacity="0" stroke-width="12"/>'
        shown = f'<line {line} stroke="{colours[i]}" stroke-width="{widths[i]:.1f}"/>'
        parts.append(f"<g>{told}{helped}{shown}</g>")
    return "".join(parts)


def _fit(
    position: NDArray[np.float64], width: int, height: int, *, margin: float
) -> NDArray[np.float64]:
    """Places in pixels, in the middle of the drawing."""
    if len(position) == 0:
        return position
    low, size = position.min(0), np.ptp(position, axis=0)
    room = np.array([width, height]) - 2 * margin
    unit = float(min((room / np.maximum(size, 1e-9)).min(), 70.0))
    return np.asarray((position - low - size / 2) * (unit, -unit) + np.array([width, height]) / 2)


def _element(body: str, width: int, height: int, title: str) -> str:
    label = escape(title, {'"': "&quot;"})
    return (
        f'<svg xmlns="{NAMESPACE}" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label="{label}">{body}</svg>'
    )


def _text(
    text: str, x: float, y: float, size: float, fill: str, room: float, *, bold: bool = False
) -> str:
    if not text:
        return ""
    # Half an em is about the width of a letter; a long line is set smaller, a very long one cut.
    size = max(min(size, room / (0.54 * len(text))), 8.0)
    most = int(room / (0.54 * size))
    text = text if len(text) <= most else text[: most - 1] + "…"
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:.3g}" fill="{fill}" '
        f'text-anchor="middle"{weight}>{escape(text)}</text>'
    )


def _rgb(colour: tuple[float, float, float]) -> str:
    return "#" + "".join(f"{round(255 * part):02x}" for part in colour)


def _number(score: float) -> str:
    return f"{score:+.3g}".replace("-", "−") if score else "0"

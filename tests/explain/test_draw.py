import io
import itertools
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import numpy as np
import pytest

from lgan.explain import draw
from lgan.explain.draw import picture_svg, plot, save
from lgan.explain.draw_molecule import molecule_png
from lgan.explain.molecule import molecule_from_smiles
from lgan.explain.picture import Picture
from lgan.explain.scale import Scale
from made_scores import made

Figure = pytest.importorskip("matplotlib.figure").Figure
colors = pytest.importorskip("matplotlib.colors")
imread = pytest.importorskip("matplotlib.image").imread

PAW = [(0, 1), (0, 2), (1, 2), (2, 3)]
CLASSES = ("not mutagenic", "mutagenic")


def paw(scores=(2.0, -1.0, 0.0, 1.0), **options):
    return Picture.of(made(4, PAW, list(scores)), title="paw & tail", **options)


def molecule(smiles="Nc1ccccc1", scores=None, **options):
    pytest.importorskip("rdkit")
    read = molecule_from_smiles(smiles, "MUTAG")
    pairs = [(u, v) for u, v in read.pair_index.t().tolist()]
    scores = [0.5] * len(pairs) if scores is None else scores
    attribution = made(len(read.symbols), pairs, scores)
    return Picture.of(attribution, molecule=read, classes=CLASSES, title=smiles, **options)


def words(ax) -> list[str]:
    bar = next(other for other in ax.figure.axes if other is not ax)
    return [text.get_text() for text in bar.get_xticklabels()]


def fills(picture) -> set[str]:
    """The colours of an SVG but for black and white."""
    found = re.findall(r"#[0-9A-Fa-f]{6}", picture_svg(picture))
    return {colour.upper() for colour in found} - {"#000000", "#FFFFFF"}


def near(colour: str, rgb) -> bool:
    """Whether two colours are the same but for rounding."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return max(abs(a - b) for a, b in zip(parts, rgb, strict=True)) < 0.005


def test_plot_draws_what_the_picture_holds():
    picture = paw()
    drawn = Figure()
    ax = plot(picture, drawn.add_subplot())
    lines = ax.collections[0]
    assert len(lines.get_segments()) == 4
    assert lines.get_linewidths()[-1] == max(lines.get_linewidths())
    assert colors.to_hex(lines.get_colors()[-1]) == picture.scale.colour(2.0)
    assert ax.get_title() == "paw & tail"


def test_scores_beside_edges_lie_over_no_node_and_no_other_score():
    pairs = [*itertools.combinations(range(9), 2), (8, 9)]
    picture = Picture.of(made(10, pairs, [1.0 + 0.01 * i for i in range(len(pairs))]))
    figure = Figure((4, 3), dpi=96)
    ax = figure.add_axes((0, 0, 1, 1))
    draw._plot_graph(replace(picture, numbers=True), ax)
    figure.canvas.draw()
    notes = [text.get_window_extent() for text in ax.texts if text.get_text()[0] in "+-"]
    assert 4 <= len(notes) <= 8
    assert not any(a.overlaps(b) for a, b in itertools.combinations(notes, 2))
    nodes = ax.transData.transform(ax.collections[1].get_offsets())
    assert not any(note.contains(*node) for note in notes for node in nodes)
    names = [text.get_window_extent() for text in ax.texts if text.get_text()[0] not in "+-"]
    assert not any(note.overlaps(name) for note in notes for name in names)


@pytest.mark.parametrize("picture", [paw(classes=CLASSES), molecule()], ids=["graph", "molecule"])
def test_every_picture_names_the_class_and_what_each_colour_means(picture):
    ax = plot(picture, Figure().add_subplot())
    blue, zero, red = words(ax)
    assert zero.startswith("0")
    dashed = ", dashed" if picture.molecule is None else ""
    assert blue == f"−{picture.scale.limit:.3g}\nfor not mutagenic{dashed}"
    assert red == f"+{picture.scale.limit:.3g}\nfor mutagenic"


def test_the_colour_bar_has_the_colours_of_the_bonds():
    picture = molecule("CC", [-1.0])
    bar = plot(picture, Figure().add_subplot()).figure.axes[1]
    shades = bar.collections[-1].cmap.colors
    assert (shades[0], shades[-1]) == (picture.scale.colour(-1.0), picture.scale.colour(1.0))
    assert [near(fill, picture.scale.rgb(-1.0)) for fill in fills(picture)] == [True]
    pixels = imread(io.BytesIO(molecule_png(picture, 360, 280)), format="png")[..., :3]
    assert (np.abs(pixels - picture.scale.rgb(-1.0)).max(-1) < 0.01).sum() > 1000


def test_bonds_without_a_score_stay_white():
    shown = fills(molecule("CCO", [1.0, 0.0]))
    assert len(shown) == 1
    assert near(shown.pop(), Scale(1.0).rgb(1.0))


def test_a_picture_without_scores_has_no_colour_bar():
    drawn = Figure()
    plot(Picture.of(made(2, [], [])), drawn.add_subplot())
    assert len(drawn.axes) == 1


@pytest.mark.parametrize("nodes", [0, 1, 2])
def test_graphs_with_hardly_anything_are_drawn(nodes, tmp_path):
    picture = Picture.of(made(nodes, [(0, 1)][: nodes // 2], [0.0][: nodes // 2]))
    ElementTree.fromstring(picture_svg(picture))
    save([picture], tmp_path / "out.svg")


def test_a_drawing_for_a_page_is_one_element_that_repeats_itself():
    for picture in (paw(), molecule()):
        shown = picture_svg(picture)
        root = ElementTree.fromstring(shown)
        assert root.tag.endswith("svg")
        assert picture_svg(picture) == shown


def test_an_svg_of_molecules_holds_their_lines_inside_the_sheet(tmp_path):
    path = tmp_path / "out.svg"
    save([paw(), molecule(), molecule("CCO")], path)
    root = ElementTree.parse(path).getroot()
    _, _, width, height = map(float, root.get("viewBox").split())
    inner = [e for e in root if e.tag.endswith("}svg")]
    assert len(inner) == 2
    for each in inner:
        x, y, w, h = (float(each.get(name)) for name in ("x", "y", "width", "height"))
        assert 0 <= x < x + w <= width
        assert 0 <= y < y + h <= height
        assert w / h == pytest.approx(360 / 280, rel=0.01)
        assert any(e.tag.endswith("path") for e in each.iter())
    text = path.read_text()
    assert "paw &amp; tail" in text
    assert len(re.findall(">for mutagenic<", text)) == 2


def test_a_molecule_fills_its_place_in_a_sheet():
    _, axes = draw._sheet([molecule(), paw()], None, vector=False)
    image = axes[0].images[0]
    assert list(image.get_extent()) == [*axes[0].get_xlim(), *axes[0].get_ylim()]


LONG = ("small-world network, Watts-Strogatz", "scale-free network, Barabasi-Albert")


@pytest.mark.parametrize("vector", [True, False])
def test_all_words_lie_inside_the_sheet(vector):
    caption = f"two\nlog-odds for {LONG[0]}: −20.97 by nodes + 26.83 by edges = +5.86"
    scores = made(4, PAW, [1.0] * 4)
    long = Picture.of(scores, title="C" * 120, caption=caption, classes=LONG)
    sheet, _ = draw._sheet([long, paw(classes=("a b " * 20, "x" * 60))], None, vector=vector)
    sheet.draw_without_rendering()
    assert len(sheet.axes) == 4
    for ax in sheet.axes:
        ends = [label.get_window_extent() for label in ax.get_xticklabels() if ax.axison]
        assert all(a.x1 <= b.x0 for a, b in itertools.pairwise(ends))
        for text in (ax.title, *ax.texts, *(ax.get_xticklabels() if ax.axison else [])):
            box = text.get_window_extent()
            assert sheet.bbox.x0 <= box.x0 <= box.x1 <= sheet.bbox.x1
            assert sheet.bbox.y0 <= box.y0 <= box.y1 <= sheet.bbox.y1


@pytest.mark.parametrize("ending", ["svg", "png", "SVG"])
def test_the_ending_gives_the_format(ending, tmp_path):
    path = tmp_path / "new" / f"out.{ending}"
    save([paw(), molecule()], path)
    head = path.read_bytes()[:8]
    assert head.startswith(b"\x89PNG" if ending == "png" else b"<?xml")
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_other_endings_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"must end with .svg or .png, got 'out.gif'"):
        save([paw()], tmp_path / "out.gif")
    with pytest.raises(ValueError, match="needs one or more, got none"):
        save([], tmp_path / "out.svg")

"""The report as a person sees it: opened in headless Chromium."""

import pytest
import torch

from browser import asked, chromium
from lgan.data import load_raw
from lgan.explain.gallery import GalleryItem
from lgan.explain.molecule import molecule_from_smiles
from lgan.explain.report import Report
from made_scores import made

pytestmark = pytest.mark.browser

CLASSES = ("not mutagenic at all", "mutagenic")


@pytest.fixture(scope="module")
def page() -> str:
    """A report with wide tables, long words, graphs and a molecule."""
    pytest.importorskip("rdkit")
    raw = load_raw("triangles")
    items = []
    for graph in range(6):
        one = raw.select([graph])
        pairs = [(u, v) for u, v in one.pair_index.t().tolist()]
        sure = 0.55 + 0.07 * graph
        scores = made(one.num_nodes, pairs, [0.1 * i - 1 for i in range(len(pairs))],
                      prediction=(sure, 1 - sure), target=0)  # fmt: skip
        items.append(GalleryItem.of(scores, CLASSES, name=f"triangles {graph}", truth=graph % 2))
    text = "COc1ccccc1[N+](=O)[O-]"
    drawn = molecule_from_smiles(text, "Mutagenicity")
    pairs = [(u, v) for u, v in drawn.pair_index.t().tolist()]
    scores = made(len(drawn.symbols), pairs, [0.1] * len(pairs))
    items.append(GalleryItem.of(scores, CLASSES, name=3 * text, molecule=drawn))
    return Report(
        title="A report with a rather long title that has to be broken somewhere",
        lead="Seven graphs.",
        items=items,
        confusions={"held-out graphs": torch.tensor([[8, 2], [0, 1000]])},
        facts={"command": "lgan explain " + 10 * "a-very-long-name/", "seed": "0"},
    ).html()


FACTS = """
var wide = Array.from(d.querySelectorAll('main *')).filter(function (e) {
  return e.getBoundingClientRect().right > d.documentElement.clientWidth + 1
    && !e.closest('.panel') && !e.closest('svg'); });
return {width: d.documentElement.clientWidth, scroll: d.documentElement.scrollWidth,
  wide: wide.map(function (e) { return e.outerHTML.slice(0, 80); }),
  cards: d.querySelectorAll('#gallery .card').length,
  columns: w.getComputedStyle(d.querySelector('.gallery')).gridTemplateColumns.split(' ').length,
  drawn: Array.from(d.querySelectorAll('img.picture')).filter(function (e) {
    return e.complete && e.naturalWidth > 0; }).length,
  requests: w.performance.getEntriesByType('resource').length};
"""


@pytest.mark.parametrize(("width", "columns"), [(1200, 3), (400, 1), (320, 1)])
def test_report_fits_the_window_and_asks_for_nothing(width, columns, browser, page, tmp_path):
    found = asked(browser, tmp_path, page, FACTS, width)
    assert found["width"] == width
    assert found["scroll"] == width, "the page must not scroll sideways"
    assert found["wide"] == []
    assert found["cards"] == 7
    assert found["columns"] == columns
    assert found["drawn"] == 7
    assert found["requests"] == 0


def test_sorting_moves_the_cards(browser, page, tmp_path):
    script = """
    function names() { return Array.from(d.querySelectorAll('.card')).map(function (card) {
      return card.querySelector('h3').textContent.slice(0, 11); }); }
    var found = {confidence: names()};
    ['mistake', 'number', 'confidence'].forEach(function (key) {
      var input = d.querySelector('input[value=' + key + ']'); input.click();
      found['by ' + key] = names(); });
    return found;"""
    found = asked(browser, tmp_path, page, script, 1000)
    order = found["by number"]
    assert order[:6] == [f"triangles {i}" for i in range(6)]
    assert found["by mistake"][:3] == ["triangles 5", "triangles 3", "triangles 1"]
    assert found["confidence"] == found["by confidence"]
    assert found["confidence"][:2] == ["triangles 5", "triangles 4"]


@pytest.mark.parametrize("width", [1200, 500])
def test_screenshot_shows_colours_on_a_light_ground(width, browser, page, tmp_path):
    image = pytest.importorskip("matplotlib.image")
    shot = tmp_path / "shot.png"
    chromium(browser, tmp_path, page, "--hide-scrollbars", f"--window-size={width},2400",
             f"--screenshot={shot}")  # fmt: skip
    pixels = image.imread(shot)[..., :3]
    assert pixels.shape[1] == width
    assert pixels.mean() > 0.85
    red, green, blue = pixels[..., 0], pixels[..., 1], pixels[..., 2]
    assert ((red > 0.7) & (green < 0.45)).mean() > 0.0005
    assert ((blue > 0.8) & (red < 0.5)).mean() > 0.0005

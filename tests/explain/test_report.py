import re
from html.parser import HTMLParser

import pytest
import torch

from lgan.explain.gallery import GalleryItem
from lgan.explain.report import Report, confusion_tables
from lgan.explain.scale import Scale
from made_scores import made

PAW = [(0, 1), (0, 2), (1, 2), (2, 3)]
CLASSES = ("hexagons", "tri<angles>")


def item(name: str, prediction: tuple[float, float], truth: int | None, most=2.0) -> GalleryItem:
    scores = made(4, PAW, [most, -1.0, 0.0, 1.0], prediction=prediction)
    return GalleryItem.of(scores, CLASSES, name=name, truth=truth, held_out=True)


@pytest.fixture(scope="module")
def report() -> Report:
    return Report(
        title="A & B",
        lead="Some graphs.",
        items=[
            item("sure", (0.01, 0.99), 1, most=4.0),
            item("wrong", (0.2, 0.8), 0),
            item("<odd>", (0.4, 0.6), None),
        ],
        confusions={"held-out graphs": torch.tensor([[8, 2], [0, 10]])},
        facts={"command": "lgan explain x", "seed": "0"},
    )


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.cards: list[dict[str, str | None]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag, attributes):
        if tag == "article":
            self.cards.append(dict(attributes))
        if tag not in ("meta", "input", "br", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in self.open:
            assert self.open.pop() == tag


def test_report_is_whole_and_well_nested(report):
    parsed = _Tags()
    parsed.feed(report.html())
    assert parsed.open == []
    assert len(parsed.cards) == 3


def test_cards_stand_by_confidence_and_know_their_place_by_mistake(report):
    parsed = _Tags()
    parsed.feed(report.html())
    assert [card["data-confidence"] for card in parsed.cards] == ["0", "1", "2"]
    assert [card["data-mistake"] for card in parsed.cards] == ["1", "0", "2"]
    assert [card["data-number"] for card in parsed.cards] == ["0", "1", "2"]


def test_report_loads_nothing_from_elsewhere(report):
    html = report.html()
    assert len(re.findall(r'src="data:image/svg\+xml;base64,', html)) == 3
    without_pictures = re.sub(r'src="data:image/svg\+xml;base64,[^"]*"', "", html)
    assert not re.search(r"https?:|//[a-z]|\bsrc=|<link|@import|url\(", without_pictures)
    assert "default-src 'none'" in html


def test_every_card_names_the_class_and_what_each_colour_means(report):
    html = report.html()
    assert "Red edges speak for tri&lt;angles&gt;, blue ones for hexagons" in html
    scale = Scale(4.0)  # one for the page: the strongest edge of all graphs
    shades = ",".join(scale.colour(score) for score in (-4.0, 0.0, 4.0))
    legend = (
        f'<div class="legend"><i style="background:linear-gradient(90deg,{shades})"></i>'
        "<span>−4<br>for hexagons</span><span>0</span><span>+4<br>for tri&lt;angles&gt;</span>"
    )
    assert html.count(legend) == 3


def test_a_page_of_several_classes_says_that_each_card_names_its_own():
    scores = [made(4, PAW, [1.0] * 4, prediction=(0.2, 0.3, 0.5), target=t) for t in (0, 2)]
    items = [GalleryItem.of(s, ("a", "b", "c"), name="x") for s in scores]
    html = Report("t", "l", items).html()
    assert "Red edges speak for the class named below it, blue ones against" in html
    assert "against a</span>" in html
    assert "for c</span>" in html


def test_report_tells_accuracy_counts_scores_and_how_it_was_made(report):
    html = report.html()
    assert "90.0% <small>of 20</small>" in html
    assert "<small>1 mistake</small>" in html
    assert html.count("✗ wrong") == 1
    assert html.count("✓ right") == 1
    assert '<th scope="row">0–1</th><td>+4.0000</td>' in html
    assert "log-odds for tri&lt;angles&gt;: +0.00 by nodes + 4.00 by edges = +4.00" in html
    assert "<code>lgan explain x</code>" in html
    assert "<td>0.10%</td><td>32</td><td>0–1</td><td>+4.0000</td>" in html
    assert ">10</td>" in html


def test_names_are_escaped(report):
    html = report.html()
    assert "<odd>" not in html
    assert "&lt;odd&gt;" in html
    assert "tri<angles>" not in html
    assert "A &amp; B" in html


def test_report_is_written_whole(report, tmp_path):
    path = tmp_path / "deep" / "report.html"
    report.save(path)
    assert path.read_text(encoding="utf-8") == report.html()
    assert [p.name for p in path.parent.iterdir()] == ["report.html"]


def test_graph_without_edges_has_a_card(tmp_path):
    lonely = GalleryItem.of(made(1, [], []), CLASSES, name="lonely")
    html = Report("t", "l", [lonely]).html()
    assert "No edges, hence nothing to score." in html
    assert "Right and wrong" not in html


def test_confusions_count_the_held_out_graphs_and_all():
    probability = torch.tensor([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]])
    y = torch.tensor([0, 1, 1])
    tables = confusion_tables(probability, y, "set", {0, 2})
    assert tables["held-out graphs"].tolist() == [[1, 0], [1, 0]]
    assert tables["all graphs of set"].tolist() == [[1, 0], [1, 1]]
    assert list(confusion_tables(probability, y, "set", None)) == ["all graphs of set"]

import re
from html.parser import HTMLParser

import pytest
import torch

from lgan.data import load_raw
from lgan.explain.entry import Entry, explained
from lgan.explain.report import Report, choose_for_gallery
from made_scores import made

PAW = [(0, 1), (0, 2), (1, 2), (2, 3)]
CLASSES = ("hexagons", "tri<angles>")


def entry(name: str, prediction: tuple[float, float], truth: int | None) -> Entry:
    scores = made(4, PAW, [2.0, -1.0, 0.0, 1.0], prediction=prediction)
    return explained(scores, load_raw("triangles"), 0, name=name, truth=truth, held_out=True)


@pytest.fixture(scope="module")
def report() -> Report:
    return Report(
        title="A & B",
        lead="Some graphs.",
        classes=CLASSES,
        entries=[
            entry("sure", (0.01, 0.99), 1),
            entry("wrong", (0.2, 0.8), 0),
            entry("<odd>", (0.4, 0.6), None),
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
        if tag not in ("meta", "input", "br", "line", "circle", "rect", "path"):
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
    without_namespaces = html.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not re.search(r"https?:|//[a-z]|\bsrc=|<link|@import|url\(", without_namespaces)
    assert "default-src 'none'" in html


def test_report_tells_accuracy_counts_scores_and_how_it_was_made(report):
    html = report.html()
    assert "90.0% <small>of 20</small>" in html
    assert "<small>1 mistake</small>" in html
    assert html.count("✗ wrong") == 1
    assert html.count("✓ right") == 1
    assert "<title>0–1: +2</title>" in html
    assert "<code>lgan explain x</code>" in html
    assert "<td>0.10%</td><td>32</td><td>0–1</td><td>+2.0000</td>" in html
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
    scores = made(1, [], [])
    lonely = explained(scores, load_raw("triangles"), 0, name="lonely")
    html = Report("t", "l", CLASSES, [lonely]).html()
    assert "No edges, hence nothing to score." in html
    assert "Right and wrong" not in html


def test_gallery_has_confident_mistakes_then_both_classes_in_turn():
    p = torch.tensor([0.9, 0.8, 0.7, 0.6, 0.95, 0.85, 0.75])
    probability = torch.stack([p, 1 - p], 1)  # all predicted 0
    probability[4:6] = probability[4:6].flip(1)  # but these
    y = torch.tensor([0, 1, 0, 1, 1, 1, 0])
    assert choose_for_gallery(probability, y, 4) == [1, 3, 0, 4]
    assert choose_for_gallery(probability, y, 2) == [1, 0]
    assert choose_for_gallery(probability, y, 99) == [1, 3, 0, 4, 6, 5, 2]
    assert choose_for_gallery(probability, y, 9, among=torch.tensor([2, 3])) == [3, 2]

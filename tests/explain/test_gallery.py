from dataclasses import replace

import pytest
import torch

from lgan.explain.gallery import GalleryItem, choose_for_gallery
from made_scores import made

CLASSES = ("hexagons", "triangles")


def item(**options) -> GalleryItem:
    return GalleryItem.of(made(12, [(0, 1)], [1.0], **options), CLASSES, name="x", truth=0)


def test_caption_tells_prediction_truth_and_what_all_edges_do():
    shown = item(prediction=(0.1, 0.9), target=0)
    assert shown.picture.title == "x"
    assert shown.picture.caption == (
        "predicted triangles (90%), is hexagons\n"
        "log-odds for hexagons: +0.00 by nodes + 1.00 by edges = +1.00"
    )
    assert shown.mistaken
    assert shown.probability == pytest.approx(0.9)
    assert not GalleryItem.of(shown.attribution, CLASSES, name="x").mistaken


def test_a_number_comes_with_its_interval_and_its_name():
    scores = replace(made(3, [(0, 1)], [1.0], prediction=(-0.5,), target=0), of="number")
    shown = GalleryItem.of(scores, ("logS",), name="x", interval=(-1.0, 0.25))
    assert shown.picture.caption == (
        "predicted −0.5 (90 % interval −1 to 0.25)\nlogS: +0.00 by nodes + 1.00 by edges = +1.00"
    )


def test_notes_name_a_gap_only_where_the_method_has_one():
    assert item().notes == []
    assert item(complete=False, relative_gap=0.25).notes == ["scores do not add up: gap 25.0%"]
    assert item(complete=False, relative_gap=float("nan")).notes == []


def test_plain_values_of_an_item_hold_everything():
    plain = item().to_json()
    assert plain["class"] == 0
    assert plain["predicted"] == 1
    assert plain["edge_scores"] == [1.0, 1.0]
    assert plain["node_labels"][:2] == ["0", "1"]
    assert plain["classes"] == ["hexagons", "triangles"]


def test_gallery_has_confident_mistakes_then_both_classes_in_turn():
    p = torch.tensor([0.9, 0.8, 0.7, 0.6, 0.95, 0.85, 0.75])
    probability = torch.stack([p, 1 - p], 1)  # all predicted 0
    probability[4:6] = probability[4:6].flip(1)  # but these
    y = torch.tensor([0, 1, 0, 1, 1, 1, 0])
    assert choose_for_gallery(probability, y, 4) == [1, 3, 0, 4]
    assert choose_for_gallery(probability, y, 2) == [1, 0]
    assert choose_for_gallery(probability, y, 99) == [1, 3, 0, 4, 6, 5, 2]
    assert choose_for_gallery(probability, y, 9, among=torch.tensor([2, 3])) == [3, 2]

from dataclasses import replace

import pytest
import torch

from lgan.explain import picture as module
from lgan.explain.molecule import molecule_from_smiles
from lgan.explain.picture import Picture
from lgan.explain.scale import Scale
from made_scores import made

PAW = [(0, 1), (0, 2), (1, 2), (2, 3)]


def test_picture_holds_every_edge_once_with_its_score():
    picture = Picture.of(made(4, PAW, [2.0, -1.0, 0.0, 1.0]), title="paw")
    assert picture.pairs == tuple(PAW)
    assert picture.scores == (2.0, -1.0, 0.0, 1.0)
    assert picture.scale == Scale(2.0)
    assert picture.labels == ("0", "1", "2", "3")


def test_colours_of_two_classes_speak_for_one_or_for_the_other():
    scores = made(4, PAW, [1.0] * 4, target=0)
    picture = Picture.of(scores, classes=("hexagons", "triangles"))
    assert (picture.red, picture.blue) == ("for hexagons", "for triangles")
    logit = Picture.of(replace(scores, of="logit"), classes=("hexagons", "triangles"))
    assert (logit.red, logit.blue) == ("for hexagons", "against hexagons")


def test_colours_of_more_classes_and_of_a_number_are_named_too():
    many = made(4, PAW, [1.0] * 4, prediction=(0.2, 0.3, 0.5), target=2)
    assert (Picture.of(many).red, Picture.of(many).blue) == ("for class 2", "against class 2")
    number = replace(many, prediction=torch.ones(1), target=0, of="logit")
    assert (Picture.of(number).red, Picture.of(number).blue) == (
        "raises the output", "lowers the output",
    )  # fmt: skip
    with pytest.raises(ValueError, match="`classes` must name 3 classes, got 2"):
        Picture.of(many, classes=("a", "b"))


def test_the_strongest_edge_is_drawn_last_and_named_first():
    picture = Picture.of(made(4, PAW, [2.0, -3.0, 0.0, 1.0]), labels="abcd")
    assert picture.drawing_order == [2, 3, 0, 1]
    assert picture.top(2) == [("a–c", -3.0), ("a–b", 2.0)]


def test_edges_beyond_the_limit_are_hidden_weakest_first(monkeypatch):
    monkeypatch.setattr(module, "DRAWN", 3)
    picture = Picture.of(made(4, PAW, [2.0, -3.0, 0.0, 1.0]))
    assert picture.drawing_order == [3, 0, 1]
    assert picture.hidden == 1


def test_picture_of_a_graph_without_edges_is_neutral():
    picture = Picture.of(made(2, [], []))
    assert picture.pairs == ()
    assert picture.scale.limit == 0
    assert picture.top(3) == []


def test_another_scale_changes_colours_only():
    picture = Picture.of(made(4, PAW, [2.0, -1.0, 0.0, 1.0]))
    wider = picture.on_scale(Scale(4.0))
    assert wider.scores == picture.scores
    assert wider.scale == Scale(4.0)


def test_labels_must_name_every_node():
    with pytest.raises(ValueError, match="`labels` must name 4 nodes, got 2"):
        Picture.of(made(4, PAW, [0.0] * 4), labels=["a", "b"])


def test_scores_that_are_not_finite_are_refused():
    with pytest.raises(ValueError, match="must be finite, got NaN"):
        Picture.of(made(4, PAW, [float("nan"), 0.0, 0.0, 0.0]))


def test_atoms_of_a_molecule_are_named_by_symbol_and_number():
    pytest.importorskip("rdkit")
    phenol = molecule_from_smiles("Oc1ccccc1", "MUTAG")
    pairs = [(u, v) for u, v in phenol.pair_index.t().tolist()]
    picture = Picture.of(made(7, pairs, [1.0] * len(pairs)), molecule=phenol)
    assert picture.labels == ("O0", "C1", "C2", "C3", "C4", "C5", "C6")
    assert ("O0–C1", 1.0) in picture.top(99)


def test_scores_of_another_molecule_are_refused():
    pytest.importorskip("rdkit")
    with pytest.raises(ValueError, match="must be those of the molecule's 1 atoms, got 4"):
        Picture.of(made(4, PAW, [0.0] * 4), molecule=molecule_from_smiles("C", "MUTAG"))


def test_numbers_stand_beside_the_strongest_edges_and_members_that_disagree_are_told():
    scores = replace(
        made(4, PAW, [2.0, -1.0, 0.0, 0.1]), members=3,
        edge_spread=torch.tensor([0.5, 1.5, 0.0, 0.0]).repeat(2),
    )  # fmt: skip
    picture = Picture.of(scores)
    assert picture.spread == (0.5, 1.5, 0.0, 0.0)
    assert picture.notes == {0: "+2.0", 1: "-1.0?"}  # the last is too weak to be written
    assert replace(picture, numbers=True).remark == "?: members disagree on the sign"
    assert replace(picture, numbers=True).on_scale(Scale(9.0)).remark == ""
    assert not Picture.of(replace(scores, members=1)).unsure(1)


def test_colours_of_a_contrast_name_both_classes():
    scores = replace(made(4, PAW, [1.0] * 4, prediction=(0.2, 0.3, 0.5), target=2), against=0)
    picture = Picture.of(scores, classes=("a", "b", "c"))
    assert (picture.red, picture.blue) == ("for c", "for a")

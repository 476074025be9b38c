import pytest

from lgan.explain import picture as module
from lgan.explain.molecule import molecule_from_smiles
from lgan.explain.picture import graph_picture, molecule_picture
from lgan.explain.scale import Scale
from made_scores import made

PAW = [(0, 1), (0, 2), (1, 2), (2, 3)]


def test_picture_holds_every_edge_once_with_its_score_colour_and_width():
    picture = graph_picture(made(4, PAW, [2.0, -1.0, 0.0, 1.0]), title="paw")
    assert picture.pairs == tuple(PAW)
    assert picture.edge_scores == (2.0, -1.0, 0.0, 1.0)
    assert picture.scale == Scale(2.0, signed=True)
    assert picture.edge_colours == [picture.scale.colour(s) for s in (2.0, -1.0, 0.0, 1.0)]
    assert picture.edge_widths == [7.0, 4.25, 1.5, 4.25]
    assert picture.edge_names == ["0–1", "0–2", "1–2", "2–3"]
    assert picture.node_scores == (0.5, 1.0, 0.0, 0.5)
    assert picture.position.shape == (4, 2)


def test_the_strongest_edge_is_drawn_last_and_named_first():
    picture = graph_picture(made(4, PAW, [2.0, -3.0, 0.0, 1.0]), labels="abcd")
    assert picture.drawing_order == [2, 3, 0, 1]
    assert picture.top(2) == [("a–c", -3.0), ("a–b", 2.0)]


def test_edges_beyond_the_limit_are_hidden_weakest_first(monkeypatch):
    monkeypatch.setattr(module, "DRAWN", 3)
    picture = graph_picture(made(4, PAW, [2.0, -3.0, 0.0, 1.0]))
    assert picture.drawing_order == [3, 0, 1]
    assert picture.hidden == 1


def test_picture_of_a_graph_without_edges_is_neutral():
    picture = graph_picture(made(2, [], []))
    assert picture.pairs == ()
    assert picture.scale.limit == 0
    assert picture.top(3) == []


def test_another_scale_changes_colours_only():
    picture = graph_picture(made(4, PAW, [2.0, -1.0, 0.0, 1.0]))
    wider = picture.with_scale(Scale(4.0))
    assert wider.edge_scores == picture.edge_scores
    assert wider.edge_widths[0] == 4.25


def test_labels_must_name_every_node():
    with pytest.raises(ValueError, match="`labels` must name 4 nodes, got 2"):
        graph_picture(made(4, PAW, [0.0] * 4), labels=["a", "b"])


def test_scores_that_are_not_finite_are_refused():
    with pytest.raises(ValueError, match="must be finite, got NaN"):
        graph_picture(made(4, PAW, [float("nan"), 0.0, 0.0, 0.0]))


def test_atoms_of_a_molecule_are_named_by_symbol_and_number():
    pytest.importorskip("rdkit")
    phenol = molecule_from_smiles("Oc1ccccc1", "MUTAG")
    pairs = [(u, v) for u, v in phenol.pair_index.t().tolist()]
    picture = molecule_picture(made(7, pairs, [1.0] * len(pairs)), phenol)
    assert picture.labels == ("O0", "C1", "C2", "C3", "C4", "C5", "C6")
    assert picture.edge_names[0] == "O0–C1"
    assert picture.position.shape == (7, 2)


def test_scores_of_another_molecule_are_refused():
    pytest.importorskip("rdkit")
    with pytest.raises(ValueError, match="must be those of the molecule's 1 atoms, got 4"):
        molecule_picture(made(4, PAW, [0.0] * 4), molecule_from_smiles("C", "MUTAG"))

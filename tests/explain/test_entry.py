import pytest
import torch

from lgan.data import load_raw
from lgan.explain import entry as module
from lgan.explain.entry import class_names, explained, select_graphs, uncompressed
from lgan.explain.molecule import molecule_from_smiles
from made_scores import made


def test_selected_graphs_keep_their_edges_labels_and_truth():
    raw = load_raw("triangles")
    chosen = select_graphs(raw, [5, 2])
    assert chosen.y.tolist() == [1, 0]
    start, end = raw.node_ptr[5:7].tolist()
    inside = (raw.pair_index[0] >= start) & (raw.pair_index[0] < end)
    own = chosen.pair_index[0] < chosen.node_ptr[1]
    assert torch.equal(chosen.pair_index[:, own], raw.pair_index[:, inside] - start)
    assert torch.equal(chosen.ground_truth[own], raw.ground_truth[inside])
    assert select_graphs(raw, []).num_graphs == 0


def test_uncompressed_graphs_keep_the_numbers_of_their_nodes():
    raw = molecule_from_smiles("c1ccccc1", "MUTAG").graph("MUTAG")
    union = uncompressed(raw, "labels", num_features=7)
    assert (union.num_features, union.lines.num_nodes) == (7, 6)
    assert torch.equal(union.lines.pair_index.long(), raw.pair_index)


def test_graphs_with_more_features_than_the_model_reads_are_refused():
    with pytest.raises(ValueError, match=r"reads 3 node features \(degree\).* have 5"):
        uncompressed(load_raw("csl"), "degree", num_features=3)


def test_caption_tells_prediction_truth_and_another_target():
    raw = load_raw("triangles")
    scores = made(12, [(0, 1)], [1.0], prediction=(0.1, 0.9), target=0)
    entry = explained(scores, raw, 0, name="triangles 0", truth=0)
    assert entry.picture.title == "triangles 0"
    assert entry.picture.caption == ("predicted triangles (90%), is hexagons; scores for hexagons")
    assert entry.mistaken
    assert entry.probability == pytest.approx(0.9)
    assert not explained(scores, raw, 0, name="x").mistaken


def test_notes_name_a_gap_only_where_the_method_has_one():
    raw = load_raw("triangles")

    def notes(**options):
        return explained(made(12, [(0, 1)], [1.0], **options), raw, 0, name="x").notes

    assert notes() == []
    assert notes(complete=False, relative_gap=0.25) == ["scores do not add up: gap 25.0%"]
    assert notes(complete=False, relative_gap=float("nan")) == []


def test_molecules_are_drawn_as_graphs_without_rdkit(monkeypatch):
    methane = molecule_from_smiles("CC", "MUTAG")
    raw, scores = methane.graph("MUTAG"), made(2, [(0, 1)], [1.0])
    assert explained(scores, raw, 0, name="x", drawn=methane).picture.molecule is methane
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    plain = explained(scores, raw, 0, name="x").picture
    assert plain.molecule is None
    assert plain.labels == ("0", "1")


def test_classes_have_names_where_they_are_known():
    assert class_names(load_raw("csl"))[:2] == load_raw("csl").classes[:2]
    raw = molecule_from_smiles("C", "Mutagenicity").graph("Mutagenicity")
    assert class_names(raw) == ("mutagen", "non-mutagen")


def test_plain_values_of_an_entry_hold_everything():
    entry = explained(made(12, [(0, 1)], [1.0]), load_raw("triangles"), 0, name="x", truth=1)
    plain = entry.to_json(("hexagons", "triangles"))
    assert plain["class"] == 1
    assert plain["predicted"] == 1
    assert plain["edge_scores"] == [1.0, 1.0]
    assert plain["node_labels"][:2] == ["0", "1"]

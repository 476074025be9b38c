from functools import partial

import pytest
import torch

import lgan
from lgan.data import load_raw
from lgan.explain import Explainer
from lgan.explain import explainer as module
from lgan.explain.explainer import class_names, colour_class, model_input
from lgan.explain.molecule import molecule_from_smiles

TRIANGLES = partial(model_input, features="constant", num_features=1)
MUTAG = partial(model_input, features="labels", num_features=7)


def model(num_features: int) -> lgan.LGAN:
    torch.manual_seed(0)
    return lgan.LGAN(num_features, 8, 2, num_layers=2).eval()


def test_graphs_are_explained_for_one_class_whatever_is_predicted():
    raw, told = load_raw("triangles"), []
    explainer = Explainer(model(1), TRIANGLES, held_out={3}, progress=told.append)
    items = explainer.graphs(raw, [3, 0])
    assert [item.name for item in items] == ["triangles 3", "triangles 0"]
    assert [item.truth for item in items] == [1, 0]
    assert [item.held_out for item in items] == [True, False]
    assert {item.picture.red for item in items} == {"for triangles"}
    assert told == ["explaining 1 of 2", "explaining 2 of 2"]
    other = Explainer(model(1), TRIANGLES, target=0).graphs(raw, [3])[0]
    torch.testing.assert_close(other.attribution.edge_scores, -items[0].attribution.edge_scores)


def test_colours_speak_for_the_active_class_and_of_many_for_the_predicted_one():
    pytest.importorskip("rdkit")
    for name in ("MUTAG", "Mutagenicity"):
        raw = molecule_from_smiles("CO", name).graph(name)
        assert class_names(raw)[colour_class(raw)] in ("mutagenic", "mutagen")
    assert colour_class(load_raw("triangles")) == 1
    assert colour_class(load_raw("csl")) is None


def test_molecules_are_drawn_as_graphs_without_rdkit(monkeypatch):
    pytest.importorskip("rdkit")
    raw = molecule_from_smiles("CC", "MUTAG").graph("MUTAG")
    explainer = Explainer(model(7), MUTAG)
    assert explainer.graphs(raw, [0])[0].picture.molecule is not None
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    plain = explainer.graphs(raw, [0])[0].picture
    assert plain.molecule is None
    assert plain.labels == ("0", "1")


def test_molecules_are_all_read_before_one_is_explained():
    pytest.importorskip("rdkit")
    told = []
    explainer = Explainer(model(7), MUTAG, progress=told.append)
    with pytest.raises(ValueError, match="Expected a molecule as SMILES"):
        explainer.molecules(["CC", "C(("], "MUTAG")
    assert told == []
    assert explainer.molecules(["CCO"], "MUTAG")[0].picture.labels == ("C0", "C1", "O2")


def test_a_model_reads_graphs_with_the_numbers_of_their_nodes():
    pytest.importorskip("rdkit")
    raw = molecule_from_smiles("c1ccccc1", "MUTAG").graph("MUTAG")
    union = MUTAG(raw)
    assert (union.num_features, union.lines.num_nodes) == (7, 6)
    assert torch.equal(union.lines.pair_index.long(), raw.pair_index)


def test_graphs_with_more_features_than_the_model_reads_are_refused():
    with pytest.raises(ValueError, match=r"reads 3 node features \(degree\).* have 5"):
        model_input(load_raw("csl"), "degree", num_features=3)


def test_classes_have_names_where_they_are_known():
    assert class_names(load_raw("csl"))[:2] == load_raw("csl").classes[:2]


@pytest.mark.gpu
def test_a_set_in_main_memory_is_explained_by_a_model_on_the_gpu():
    raw = load_raw("triangles")
    here = Explainer(model(1), TRIANGLES).graphs(raw, [3])[0].attribution
    there = Explainer(model(1).cuda(), TRIANGLES).graphs(raw, [3])[0].attribution
    torch.testing.assert_close(there.edge_scores, here.edge_scores, rtol=1e-3, atol=1e-4)

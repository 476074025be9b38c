import numpy as np
import pytest
import torch

from lgan.data import GraphFeatures, load_raw
from lgan.data.molecules import descriptors
from lgan.data.molecules.graphs import graph_molecule

pytest.importorskip("rdkit", reason="fingerprints and descriptors need rdkit")
SMILES = ["CCO", "CCN", "c1ccccc1", "CC(=O)O"]


def test_descriptors_are_those_that_rdkit_computes_one_by_one():
    from rdkit.Chem import Descriptors

    made = load_raw(SMILES)
    mols = [graph_molecule(made, graph) for graph in range(made.num_graphs)]
    expected = [[function(mol) for _, function in Descriptors.descList] for mol in mols]
    np.testing.assert_array_equal(descriptors.descriptors(made), expected)


def test_descriptors_are_the_same_by_several_processes_and_computed_once(monkeypatch):
    made = load_raw(SMILES)
    monkeypatch.setattr(descriptors, "_KNOWN", {})
    alone = descriptors.descriptors(made)
    monkeypatch.setattr(descriptors, "_KNOWN", {})
    monkeypatch.setattr(descriptors, "CHUNK", 1)
    monkeypatch.setattr(descriptors, "MANY", 1)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    np.testing.assert_array_equal(descriptors.descriptors(made), alone)
    monkeypatch.setattr(descriptors, "_descriptors", None)
    monkeypatch.setattr(descriptors, "MOST_KNOWN", 2)
    np.testing.assert_array_equal(descriptors.descriptors(made), alone)
    assert len(descriptors._KNOWN) == 2


def test_descriptors_come_from_their_file_in_later_runs(monkeypatch, tmp_path):
    made = load_raw(SMILES)
    monkeypatch.setattr(descriptors, "_KNOWN", {})
    first = descriptors.descriptors(made, cache=tmp_path)
    [file] = tmp_path.glob("*.safetensors")
    monkeypatch.setattr(descriptors, "_KNOWN", {})
    with monkeypatch.context() as without:
        without.setattr(descriptors, "_descriptors", None)
        np.testing.assert_array_equal(descriptors.descriptors(made, cache=tmp_path), first)
    monkeypatch.setattr(descriptors, "_KNOWN", {})
    other = descriptors.descriptors(load_raw(SMILES[:2]), cache=tmp_path)
    np.testing.assert_array_equal(other, first[:2])
    files = set(tmp_path.glob("*.safetensors"))
    assert file in files
    assert len(files) == 2


def test_a_molecule_with_more_atoms_than_most_has_no_descriptors(monkeypatch):
    monkeypatch.setattr(descriptors, "MOST_ATOMS", 5)
    found = descriptors.descriptors(load_raw(["CCCCC[Si]", "CCC[Si]C"]))
    assert np.isnan(found[0]).all()
    assert np.isfinite(found[1]).sum() > 100


def test_the_fraction_of_descriptors_that_is_computed_is_told(monkeypatch):
    monkeypatch.setattr(descriptors, "CHUNK", 2)
    monkeypatch.setattr(descriptors, "_KNOWN", {})
    told = []
    GraphFeatures.fit(load_raw(SMILES), ("rdkit2d",), told.append)
    assert told == [0.5, 1.0]

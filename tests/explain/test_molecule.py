from collections import Counter

import pytest
import torch

from lgan.data import RawGraphs, load_raw
from lgan.explain.atoms import MOLECULES, molecule_spec
from lgan.explain.draw import picture_svg
from lgan.explain.molecule import molecule_from_graph, molecule_from_smiles
from lgan.explain.picture import Picture

Chem = pytest.importorskip("rdkit.Chem")


def graph_of(name: str, atoms: str, bonds: list[tuple[int, int, str]]) -> RawGraphs:
    """A molecule in the labels of a set."""
    spec = MOLECULES[name]
    bonds = sorted(bonds)
    return RawGraphs.numbered(
        name=name,
        node_ptr=torch.tensor([0, len(atoms.split())]),
        pair_index=torch.tensor([bond[:2] for bond in bonds]).view(-1, 2).t().contiguous(),
        y=torch.tensor([0]),
        classes=("0",),
        node_labels=torch.tensor([spec.atoms.index(a) for a in atoms.split()]),
        pair_labels=torch.tensor([spec.bonds.index(b[2]) for b in bonds]),
    )


def smiles(made) -> str:
    return Chem.MolToSmiles(Chem.RemoveHs(made.mol))


def ring(size: int) -> list[tuple[int, int, str]]:
    return [(min(i, (i + 1) % size), max(i, (i + 1) % size), "aromatic") for i in range(size)]


FORK = [(0, 1, "single"), (1, 2, "double"), (1, 3, "single")]


@pytest.mark.parametrize(
    ("name", "atoms", "bonds", "expected"),
    [
        ("MUTAG", "C N O O", FORK, "C[N+](=O)[O-]"),  # a nitro group has charges
        ("MUTAG", "C C C C C C", ring(6), "c1ccccc1"),
        ("MUTAG", "N C C C C", ring(5), "c1cc[nH]c1"),  # pyrrole has a hydrogen
        ("MUTAG", "O C C C C", ring(5), "c1ccoc1"),  # furan has no charge
        ("Mutagenicity", "H C O O Na", FORK, "O=C[O-].[Na+]"),  # a salt is of ions
    ],
)
def test_charges_and_hydrogens_that_the_files_left_out_are_found(name, atoms, bonds, expected):
    made = molecule_from_graph(graph_of(name, atoms, bonds), 0)
    assert (made.status, smiles(made)) == ("clean", expected)


def test_carbon_with_five_bonds_is_drawn_all_the_same():
    raw = graph_of("MUTAG", "C C C", [(0, 1, "double"), (1, 2, "triple")])
    made = molecule_from_graph(raw, 0)
    assert made.status == "partial"
    assert [b.GetBondTypeAsDouble() for b in made.mol.GetBonds()] == [2.0, 3.0]
    _draw(made)


def test_aromatic_chain_without_a_ring_is_drawn_all_the_same():
    made = molecule_from_graph(
        graph_of("MUTAG", "C C C", [(0, 1, "aromatic"), (1, 2, "aromatic")]), 0
    )
    assert made.status != "clean"
    _draw(made)


def _draw(made) -> None:
    from made_scores import made as scores

    pairs = [(u, v) for u, v in made.pair_index.t().tolist()]
    attribution = scores(len(made.symbols), pairs, [1.0] * len(pairs))
    assert "<path" in picture_svg(Picture.of(attribution, molecule=made)) or len(pairs) == 0


def test_smiles_have_hydrogens_where_the_set_has_them():
    methanol = molecule_from_smiles("CO", "Mutagenicity")
    assert methanol.symbols == ["C", "O", "H", "H", "H", "H"]
    assert methanol.labels.tolist() == [0, 1, 3, 3, 3, 3]
    assert methanol.pair_index.tolist() == [[0, 0, 0, 0, 1], [1, 2, 3, 4, 5]]
    assert molecule_from_smiles("[H]OC", "MUTAG").symbols == ["O", "C"]


def test_graph_of_a_molecule_is_a_set_of_one():
    raw = molecule_from_smiles("c1ccccc1", "MUTAG").graph("MUTAG")
    assert (raw.num_graphs, raw.num_nodes, raw.num_pairs) == (1, 6, 6)
    assert raw.targets == {}
    assert raw.pair_labels.tolist() == [0] * 6  # aromatic


@pytest.mark.parametrize("text", ["C((", "", "hello", "c1ccccc", "C=O=C=C(C)(C)(C)(C)C"])
def test_text_that_is_no_smiles_is_refused_quietly(text, capfd):
    with pytest.raises(ValueError, match="Expected a molecule as SMILES, got"):
        molecule_from_smiles(text, "MUTAG")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("text", "dataset", "atom"),
    [("C[Si](C)C", "Mutagenicity", "Si"), ("CS", "MUTAG", "S"), ("C*", "PTC_GIN", r"\*")],
)
def test_atom_that_the_set_does_not_have_is_named(text, dataset, atom):
    with pytest.raises(ValueError, match=f"has the atom {atom}, which no molecule of {dataset}"):
        molecule_from_smiles(text, dataset)


def test_sets_that_are_no_molecules_are_refused():
    with pytest.raises(ValueError, match=r"Expected a set of molecules .* got 'PROTEINS'"):
        molecule_spec("PROTEINS")


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("MUTAG", {"clean": 186, "partial": 2}),  # two have a carbon with five bonds
        ("PTC_MR", {"clean": 344}),
        ("PTC_GIN", {"raw": 344}),  # keeps no bonds
    ],
)
def test_every_molecule_of_a_set_is_read_and_drawn(name, expected, mirror, tmp_path):
    raw = load_raw(name, root=tmp_path, mirror=mirror)
    made = [molecule_from_graph(raw, graph) for graph in range(raw.num_graphs)]
    assert Counter(each.status for each in made) == expected
    odd = [each for each in made if each.status == "partial"]
    for each in odd + made[::40]:
        _draw(each)


@pytest.mark.data
@pytest.mark.slow
def test_every_molecule_of_mutagenicity_is_read(mirror, tmp_path):
    raw = load_raw("Mutagenicity", root=tmp_path, mirror=mirror)
    made = [molecule_from_graph(raw, graph) for graph in range(raw.num_graphs)]
    assert Counter(each.status for each in made) == {"clean": 4337}


@pytest.mark.data
def test_atoms_of_the_sets_have_the_hydrogens_they_need(mirror, tmp_path):
    raw = load_raw("Mutagenicity", root=tmp_path, mirror=mirror)
    for graph in range(0, raw.num_graphs, 40):
        made = molecule_from_graph(raw, graph)
        assert made.status == "clean"
        assert all(atom.GetTotalNumHs(includeNeighbors=False) == 0 for atom in made.mol.GetAtoms())

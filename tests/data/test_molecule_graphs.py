import pytest
import torch

pytest.importorskip("rdkit")

from lgan.data.molecules.features import ATOM_FEATURES, MoleculeFeatures
from lgan.data.molecules.graphs import molecule_graphs
from lgan.data.molecules.parallel import featurise_molecules

ROWS = ["CC(=O)[O-].[Na+]", "C1", "c1ccccc1", "N"]


def test_graphs_know_their_rows_names_and_targets() -> None:
    graphs = molecule_graphs(featurise_molecules(ROWS), name="salts", targets={"y": [1, 5, 0, 1]})
    assert (graphs.name, graphs.num_graphs, graphs.num_nodes, graphs.num_pairs) == (
        "salts",
        3,
        12,
        9,
    )
    assert graphs.rows.tolist() == [0, 2, 3]
    assert [row for row, _ in graphs.errors] == [1]
    assert graphs.ids == ("CC(=O)[O-].[Na+]", "c1ccccc1", "N")
    assert graphs.targets == {"y": [1, 0, 1]}
    assert graphs.featuriser == MoleculeFeatures().to_json()


def test_columns_are_the_features_that_were_chosen() -> None:
    molecules = featurise_molecules(ROWS)
    graphs = molecule_graphs(molecules)
    assert graphs.nodes.names == tuple(ATOM_FEATURES)
    assert graphs.nodes.vocabularies[:2] == (("C", "N", "O", "Na"), ("0", "1", "2", "3"))
    elements = [graphs.nodes.vocabularies[0][i] for i in graphs.nodes.categories[:, 0].tolist()]
    assert elements == ["C", "C", "O", "O", "Na", *"CCCCCC", "N"]
    few = molecule_graphs(molecules, MoleculeFeatures.parse(atoms="charge,element", bonds="none"))
    assert few.nodes.names == ("charge", "element")
    assert torch.equal(few.nodes.categories[:, 1], graphs.nodes.categories[:, 0])
    assert few.pairs.num_columns == 0
    assert few.num_pairs == len(few.pairs) == 9

import networkx as nx
import pytest
import torch
from rdkit import Chem

import lgan
import reference
from lgan.explain import (
    FRAGMENTS,
    MOLECULE_FRAGMENTS,
    Fragment,
    graph_fragments,
    molecule_fragments,
)
from lgan.graph import undirected_pairs

PAW = torch.tensor([[0, 0, 1, 2], [1, 2, 2, 3]])


def named(smiles: str, kind: str) -> list[tuple[str, tuple[int, ...]]]:
    parts = molecule_fragments(Chem.MolFromSmiles(smiles), kind)
    return [(part.name, part.nodes) for part in parts]


def test_edges_and_triangles_are_fragments_of_edges():
    assert [part.edges for part in graph_fragments(PAW, 4, "edges")] == [
        ((0, 1),), ((0, 2),), ((1, 2),), ((2, 3),),
    ]  # fmt: skip
    assert graph_fragments(PAW, 4, "triangles") == (
        Fragment("0-1-2", edges=((0, 1), (0, 2), (1, 2))),
    )


def test_twins_and_communities_are_all_nodes_once():
    assert [part.nodes for part in graph_fragments(PAW, 4, "twins")] == [(0, 1), (2,), (3,)]
    two = nx.disjoint_union(nx.complete_graph(5), nx.complete_graph(4))
    two.add_edge(4, 5)
    pairs = undirected_pairs(reference.edge_index(two), 9)
    found = graph_fragments(pairs, 9, "communities")
    assert [part.nodes for part in found] == [(0, 1, 2, 3, 4), (5, 6, 7, 8)]


@pytest.mark.parametrize("kind", FRAGMENTS)
def test_an_empty_graph_has_no_fragments(kind):
    assert graph_fragments(torch.zeros(2, 0, dtype=torch.int64), 0, kind) == ()


def test_rings_and_ring_systems_of_naphthalene_and_biphenyl():
    assert len(named("c1ccc2ccccc2c1", "rings")) == 2
    assert [nodes for _, nodes in named("c1ccc2ccccc2c1", "ring-systems")] == [tuple(range(10))]
    assert len(named("c1ccccc1-c1ccccc1", "ring-systems")) == 2
    assert named("CCO", "rings") == []


def test_groups_are_functional_groups_then_rings_then_chains():
    assert named("CCc1ccccc1[N+](=O)[O-]", "groups") == [
        ("O=[N+][O-]", (8, 9, 10)),
        ("c1ccccc1", (2, 3, 4, 5, 6, 7)),
        ("CC", (0, 1)),
    ]
    # An aromatic nitrogen belongs to its ring, and two groups that touch are one.
    assert named("c1ccncc1CC(=O)NC#N", "groups") == [
        ("N#CNC=O", (7, 8, 9, 10, 11)),
        ("c1ccncc1", (0, 1, 2, 3, 4, 5)),
        ("C", (6,)),
    ]


@pytest.mark.parametrize("kind", ["groups", "brics"])
@pytest.mark.parametrize(
    "smiles", ["CC(=O)Oc1ccccc1C(=O)O", "CCO", "[Na+].[Cl-]", "C1CCC2(CC1)OCCO2", "CN1CCCC1=O"]
)
def test_groups_and_pieces_of_brics_are_all_atoms_once(smiles, kind):
    parts = named(smiles, kind)
    atoms = sorted(atom for _, nodes in parts for atom in nodes)
    assert atoms == list(range(Chem.MolFromSmiles(smiles).GetNumAtoms()))


def test_brics_cuts_an_ester_of_a_ring():
    assert [name for name, _ in named("CC(=O)Oc1ccccc1", "brics")] == ["CC=O", "O", "c1ccccc1"]


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match=r"'rings'.* edges, triangles, twins, communities"):
        graph_fragments(PAW, 4, "rings")
    with pytest.raises(ValueError, match=f"'edges'.* {', '.join(MOLECULE_FRAGMENTS)}"):
        molecule_fragments(Chem.MolFromSmiles("C"), "edges")


def test_scores_of_a_method_over_edges_are_summed_by_fragment():
    torch.manual_seed(0)
    data = lgan.EgoLineGraph()(reference_data())
    model = lgan.LGAN(1, 8, 2).double()
    twins = lgan.attribute(model, data, 1, fragments="twins")
    torch.testing.assert_close(twins.fragment_scores.sum(), twins.node_scores.sum())
    edges = lgan.attribute(model, data, 1, fragments="edges")
    torch.testing.assert_close(edges.fragment_scores, edges.undirected()[1])


def reference_data():
    from torch_geometric.data import Data

    return Data(x=torch.ones(4, 1).double(), edge_index=PAW, num_nodes=4)


def test_a_table_has_a_row_for_every_node_edge_triangle_and_fragment():
    asked = {"fragments": "twins", "method": "integrated-gradients"}  # which tells of triangles
    found = lgan.attribute(lgan.LGAN(1, 8, 2).double(), reference_data(), 1, **asked)
    table = found.to_dataframe()
    counts = table["kind"].value_counts().to_dict()
    assert counts == {"node": 4, "edge": 4, "triangle": 1, "fragment": 3}
    assert list(table.columns) == ["kind", "name", "nodes", "score", "spread"]
    edges = table[table["kind"] == "edge"]
    assert edges["nodes"].tolist() == ["0-1", "0-2", "1-2", "2-3"]
    assert edges["score"].tolist() == found.undirected()[1].tolist()
    assert found.to_json()["fragments"][0] == {"name": "0-1", "nodes": [0, 1], "edges": []}

"""What labels of edges add, and that a network with edge features adds exactly that."""

import random

import networkx as nx
import pytest
import torch

import lgan
from lgan import wl
from lgan.graph.named import named_graph

# Options of a network, and the test it stands for.
NETWORKS = {
    "lgan": {},
    "lgan-res": {"residual": True},
    "lgan-input": {"include_input": True},
    "lgan-linear": {"comb": "linear"},
    "edge-t": {"residual": True, "pair_code": "triangles"},
    "code": {"residual": True, "pair_code": "full"},
}


def bonded(name: str, kinds: list[int]) -> nx.Graph:
    """A named graph with a label on every edge, in the order of its edges."""
    graph = named_graph(name)
    nx.set_edge_attributes(graph, dict(zip(graph.edges, kinds, strict=True)), "label")
    return graph


def labelled_pairs(number: int) -> list[tuple[nx.Graph, nx.Graph]]:
    """One graph with its labels of edges in two random orders, nodes of two kinds or of one."""
    chance = random.Random(5)
    names = ["prism", "two-triangles", "hexagon", "k33", "cube", "decalin", "c4+c3"]
    pairs = []
    for i in range(number):
        graph = named_graph(chance.choice(names))
        kinds = [chance.choice("-=") for _ in graph.edges]
        nx.set_node_attributes(graph, {v: chance.choice("ab"[: 1 + i % 2]) for v in graph}, "label")
        both = []
        for _ in range(2):
            chance.shuffle(kinds)
            copy = graph.copy()
            nx.set_edge_attributes(copy, dict(zip(graph.edges, kinds, strict=True)), "label")
            both.append(copy)
        pairs.append((both[0], both[1]))
    # Pairs that no test on nodes separates without labels of edges, and some not with them.
    pairs += [(bonded("cube", [0] * 12), bonded("wagner", [0] * 12))]
    rung = [int(u % 4 == v % 4) for u, v in named_graph("cube").edges]
    pairs += [(bonded("cube", rung), bonded("cube", rung[::-1]))]
    path = nx.path_graph(4)
    for kinds in ("-=-", "=-="):
        nx.set_edge_attributes(path, dict(zip(path.edges, kinds, strict=True)), "label")
        pairs.append((path.copy(), nx.relabel_nodes(path, {0: 3, 1: 2, 2: 1, 3: 0})))
    return pairs


@pytest.mark.parametrize("test", NETWORKS)
def test_a_random_network_with_edge_features_separates_what_its_refinement_does(test: str) -> None:
    options = NETWORKS[test]
    pairs = labelled_pairs(24)
    union = wl.LabelledGraphs.of([graph for pair in pairs for graph in pair])
    labels, kinds = int(union.labels.max()) + 1, int(union.edge_labels.max()) + 1
    model = lgan.LGAN(labels, 16, 8, num_layers=5, edge_dim=kinds, **options)
    transform = lgan.EgoLineGraph(pair_code=str(options.get("pair_code", "none")))
    result = wl.check(model, pairs, transform=transform, test=test, seeds=[0, 1])
    expected = tuple(wl.distinguishes(*pair, test=test) for pair in pairs)
    assert result.separated == expected
    assert result.beyond == ()
    assert 0 < sum(expected) < len(expected)


@pytest.mark.parametrize("test", wl.TESTS)
def test_a_ring_shifted_by_one_bond_is_the_same_and_gathered_bonds_are_not(test: str) -> None:
    # The edges of a ring in the order of networkx: 01, 05, 12, 23, 34, 45.
    alternating, shifted = (
        bonded("hexagon", [1, 2, 2, 1, 2, 1]),
        bonded("hexagon", [2, 1, 1, 2, 1, 2]),
    )
    gathered = bonded("hexagon", [1, 2, 1, 1, 2, 2])
    assert not wl.distinguishes(alternating, shifted, test=test)
    assert wl.distinguishes(alternating, gathered, test=test)


@pytest.mark.parametrize("bonds", ["order", "order,stereo"])
def test_cis_and_trans_differ_in_the_stereo_feature_alone(bonds: str) -> None:
    pytest.importorskip("rdkit")
    cis, trans = _molecules(["C/C=C\\C", "C/C=C/C"], atoms="element", bonds=bonds)
    for test in ("1-wl", "lgan", "code-rings", "2-fwl"):
        assert wl.distinguishes(cis, trans, test=test) == ("stereo" in bonds)


@pytest.mark.parametrize("atoms", ["element", "element,chirality"])
def test_mirror_images_differ_in_the_chirality_of_atoms_alone(atoms: str) -> None:
    pytest.importorskip("rdkit")
    left, right = _molecules(["C[C@H](O)N", "C[C@@H](O)N"], atoms=atoms, bonds="all")
    for test in ("1-wl", "lgan-res", "code-rings", "2-fwl"):
        assert wl.distinguishes(left, right, test=test) == ("chirality" in atoms)


def _molecules(smiles: list[str], **features: str) -> list[nx.Graph]:
    """Molecules as the library reads them, with what was asked for as labels."""
    from lgan.data import load_raw
    from lgan.data.molecules.features import MoleculeFeatures

    raw = load_raw(smiles, targets=[], molecules=MoleculeFeatures.parse(**features))
    graphs = []
    for g in range(raw.num_graphs):
        one = raw.select(torch.tensor([g]))
        graph = nx.Graph()
        graph.add_nodes_from(
            (v, {"label": tuple(row)}) for v, row in enumerate(one.nodes.categories.tolist())
        )
        bonds = zip(one.pair_index.t().tolist(), one.pairs.categories.tolist(), strict=True)
        graph.add_edges_from((u, v, {"label": tuple(row)}) for (u, v), row in bonds)
        graphs.append(graph)
    return graphs

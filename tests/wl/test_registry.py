"""Every test of the registry against its definition, and laws all of them obey."""

import itertools
import random
from typing import Literal, get_args

import networkx as nx
import numpy as np
import pytest
import torch

from lgan import wl
from lgan.graph import EdgeFeatures, GraphUnion
from lgan.wl import TESTS, LabelledGraphs
from lgan.wl.registry import refinement_spec
from wl.slow_refinements import NODE_RULES, TUPLE_RULES, signatures

ROUNDS = 3
ON_TRIPLES = [name for name, spec in TESTS.items() if spec.elements == "triples"]


Labelled = Literal["nothing", "nodes", "edges", "both"]
per_labels = pytest.mark.parametrize("labelled", get_args(Labelled))


def random_graphs(n: int, count: int, seed: int, *, labelled: Labelled) -> list[nx.Graph]:
    """Small graphs; every second has the degrees of the one before, with two edges swapped."""
    chance = random.Random(seed)
    graphs: list[nx.Graph] = []
    for i in range(count):
        if i % 2 == 0:
            graph = nx.gnp_random_graph(n, chance.choice([0.3, 0.5, 0.7]), seed=seed + i)
        else:
            graph = _swapped(graphs[-1])
        if labelled in ("nodes", "both"):
            nx.set_node_attributes(graph, {v: chance.choice("ab") for v in graph}, "label")
        if labelled in ("edges", "both"):
            nx.set_edge_attributes(graph, {e: chance.choice("-=") for e in graph.edges}, "label")
        graphs.append(graph)
    return graphs


def _swapped(graph: nx.Graph) -> nx.Graph:
    graph = graph.copy()
    for (u, v), (x, y) in itertools.permutations(graph.edges, 2):
        if len({u, v, x, y}) == 4 and not graph.has_edge(u, x) and not graph.has_edge(v, y):
            graph.remove_edges_from([(u, v), (x, y)])
            graph.add_edges_from([(u, x), (v, y)])
            break
    return graph


def same_partition(a: np.ndarray, b: list[int]) -> bool:
    return len(set(zip(a.tolist(), b, strict=True))) == len(set(a.tolist())) == len(set(b))


@pytest.mark.parametrize("test", [*NODE_RULES, *TUPLE_RULES])
@per_labels
def test_refinement_agrees_with_its_definition(test: str, labelled: Labelled) -> None:
    n = 5 if test in ON_TRIPLES else 7
    graphs = random_graphs(n, 12, seed=3, labelled=labelled)
    graphs += [nx.empty_graph(n), nx.path_graph(n), nx.cycle_graph(n)]
    expected = np.array([signatures(graph, test, ROUNDS) for graph in graphs]).T
    for rounds in range(ROUNDS + 1):
        result = wl.refine(graphs, test=test, rounds=rounds)
        assert same_partition(result.classes, expected[rounds].tolist()), rounds


@pytest.mark.parametrize("test", TESTS)
def test_renaming_nodes_changes_nothing(test: str) -> None:
    n = 6 if test in ON_TRIPLES else 10
    graphs = random_graphs(n, 6, seed=8, labelled="both")
    renamed = []
    for graph in graphs:
        order = list(graph)
        random.Random(1).shuffle(order)
        copy = nx.Graph()
        copy.add_nodes_from((order[v], graph.nodes[v]) for v in reversed(list(graph)))
        copy.add_edges_from((order[u], order[v], d) for u, v, d in graph.edges(data=True))
        renamed.append(copy)
    classes = wl.refine(graphs + renamed, test=test).classes
    assert np.array_equal(classes[:6], classes[6:])


@pytest.mark.parametrize("test", TESTS)
def test_answers_do_not_depend_on_the_other_graphs(test: str) -> None:
    n = 5 if test in ON_TRIPLES else 7
    graphs = random_graphs(n, 8, seed=21, labelled="both")
    together = wl.refine(graphs, test=test)
    for i, j in itertools.combinations(range(len(graphs)), 2):
        alone = wl.refine([graphs[i], graphs[j]], test=test)
        assert alone.separating_round(0, 1) == together.separating_round(i, j)
        assert wl.distinguishes(graphs[i], graphs[j], test=test) == together.separates(i, j)


@pytest.mark.parametrize("test", [t for t in TESTS if t not in ON_TRIPLES])
@per_labels
def test_merging_twins_changes_no_answer(test: str, labelled: Labelled) -> None:
    graphs = random_graphs(9, 10, seed=5, labelled=labelled)
    graphs += [nx.complete_graph(9), nx.lollipop_graph(5, 4), nx.barbell_graph(4, 1)]
    plain = LabelledGraphs.of(graphs)
    merged = GraphUnion.build(
        torch.from_numpy(plain.labels),
        plain.lines.pair_index,
        torch.zeros(len(graphs), dtype=torch.int64),
        torch.from_numpy(plain.node_ptr),
        num_features=int(plain.labels.max()) + 1,
        num_classes=1,
        edges=EdgeFeatures.of(torch.from_numpy(plain.edge_labels)),
    )
    assert merged.lines.num_nodes < plain.num_nodes
    expected, found = wl.refine(plain, test=test), wl.refine(merged, test=test)
    assert np.array_equal(expected.signatures, found.signatures)
    assert expected.rounds == found.rounds


@pytest.mark.parametrize("test", TESTS)
def test_graphs_without_nodes_or_edges_are_handled(test: str) -> None:
    graphs = [nx.empty_graph(0), nx.empty_graph(1), nx.empty_graph(2), nx.path_graph(2)]
    assert wl.refine(graphs, test=test).num_classes == 4
    assert wl.refine([], test=test).num_classes == 0


@pytest.mark.parametrize("name", TESTS)
def test_every_row_describes_itself(name: str) -> None:
    spec = refinement_spec(name)
    assert spec.name == name
    assert spec.description
    assert spec.place


def test_unknown_test_lists_the_names() -> None:
    with pytest.raises(ValueError, match=r"Unknown test '4-wl'\. .*one of: 1-wl, .*2-fwl"):
        wl.distinguishes(nx.path_graph(2), nx.path_graph(3), test="4-wl")


def test_the_promised_names_are_there() -> None:
    promised = "1-wl 2-wl 2-wl-set 3-wl 2-fwl 2-fwl-set lgan lgan-res lgan-input lgan-linear"
    assert set(promised.split()) | {"edge-t", "nest", "code"} <= set(TESTS)

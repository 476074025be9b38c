from collections import Counter
from collections.abc import Hashable
from importlib import import_module
from itertools import product

import networkx as nx
import numpy as np
import pytest

from labelled_graphs import named_pair
from lgan import wl
from lgan.zoo.graph_kernels import local_two_wl

MODULE = import_module("lgan.zoo.graph_kernels.local_two_wl")
ATLAS = [graph for graph in nx.graph_atlas_g() if 1 <= len(graph) <= 6]


def _slow(graphs: list[nx.Graph], rounds: int, plus: bool) -> np.ndarray:
    """The normalised Gram matrix from the definition; colours are numbered by what they say."""
    number: dict[Hashable, int] = {}
    colours, features = [], [Counter[tuple[int, int]]() for _ in graphs]
    for graph in graphs:
        label = {v: graph.nodes[v].get("label", 0) for v in graph}
        colours.append(
            {
                (u, v): ("type", label[u], label[v], u == v, graph.has_edge(u, v))
                for u, v in product(graph, repeat=2)
            }
        )
    for i in range(rounds + 1):
        for g, graph in enumerate(graphs):
            if i > 0:
                colours[g] = _step(graph, colours[g], plus)
            colours[g] = {t: number.setdefault(c, len(number)) for t, c in colours[g].items()}
            features[g] += Counter((i, c) for c in colours[g].values())
    gram = np.array([[sum(f[c] * g[c] for c in f) for g in features] for f in features], float)
    return gram / np.sqrt(np.outer(gram.diagonal(), gram.diagonal()))


def _step(graph: nx.Graph, c: dict, plus: bool) -> dict:
    new = {}
    for u, v in c:
        all_first, all_second = [c[w, v] for w in graph], [c[u, w] for w in graph]
        first, second = [c[w, v] for w in graph[u]], [c[u, w] for w in graph[v]]
        if plus:
            first = [(x, all_first.count(x)) for x in first]
            second = [(x, all_second.count(x)) for x in second]
        new[u, v] = (c[u, v], tuple(sorted(first)), tuple(sorted(second)))
    return new


def _separates(raw_of, a: nx.Graph, b: nx.Graph, **options) -> bool:
    """Whether graphs of one order have different counts."""
    assert len(a) == len(b)
    return bool(local_two_wl(*raw_of([a, b]), **options).matrices[-1][0, 1] < 1 - 1e-12)


def test_edge_and_two_nodes_by_hand(raw_of):
    grams = local_two_wl(*raw_of([nx.path_graph(2), nx.empty_graph(2)]), rounds=1)
    # Equal, adjacent, apart: (2, 2, 0) and (2, 0, 2); only isolated nodes see nothing.
    np.testing.assert_allclose(grams.matrices[:, 0, 1], [4 / 8, 4 / 16])


@pytest.mark.parametrize("plus", [False, True])
@pytest.mark.parametrize("rounds", [0, 1, 3])
def test_agrees_with_the_definition(raw_of, labelled, rounds, plus):
    small = [graph for graph in labelled if len(graph) <= 8]
    ours = local_two_wl(*raw_of(small), rounds=rounds, plus=plus).matrices[-1]
    np.testing.assert_allclose(ours, _slow(small, rounds, plus), rtol=1e-13)


@pytest.mark.parametrize("plus", [False, True])
@pytest.mark.parametrize("rounds", [0, 1, 3])
def test_twins_count_as_often_as_there_are(raw_of, with_twins, rounds, plus):
    ours = local_two_wl(*raw_of(with_twins), rounds=rounds, plus=plus).matrices[-1]
    np.testing.assert_allclose(ours, _slow(with_twins, rounds, plus), rtol=1e-13)


def test_separates_all_graphs_of_up_to_six_nodes_in_one_round(raw_of):
    gram = local_two_wl(*raw_of(ATLAS), rounds=1).matrices[-1]
    order = np.array([len(graph) for graph in ATLAS])
    merged = (gram > 1 - 1e-12) & (order[:, None] == order)
    assert np.array_equal(merged, np.eye(len(ATLAS), dtype=bool))


@pytest.mark.parametrize("plus", [False, True])
def test_stands_between_1_wl_and_2_fwl(raw_of, plus):
    gram = local_two_wl(*raw_of(ATLAS), rounds=6, plus=plus).matrices[-1]
    order = np.array([len(graph) for graph in ATLAS])
    same = order[:, None] == order
    merged = (gram > 1 - 1e-12)[same]
    upper, lower = (wl.refine(ATLAS, test=test).classes for test in ("1-wl", "2-fwl"))
    assert not np.any(merged & ~(upper[:, None] == upper)[same])
    assert not np.any((lower[:, None] == lower)[same] & ~merged)


def test_separates_a_hexagon_from_two_triangles_in_one_round(raw_of):
    pair = named_pair("hexagon", "two-triangles")
    assert not _separates(raw_of, *pair, rounds=0)
    assert _separates(raw_of, *pair, rounds=1)


@pytest.mark.parametrize(
    "names", [("c8", "two-c4"), ("cube", "wagner"), ("decalin", "bicyclopentyl")]
)
def test_separates_what_lgan_does_not(raw_of, names):
    pair = named_pair(*names)
    assert not wl.distinguishes(*pair, test="lgan-res")
    assert _separates(raw_of, *pair)


@pytest.mark.parametrize("plus", [False, True])
def test_merges_strongly_regular_graphs_as_2_fwl_does(raw_of, plus):
    pair = named_pair("rook4x4", "shrikhande")
    assert not wl.distinguishes(*pair, test="2-fwl")
    assert not _separates(raw_of, *pair, plus=plus)


def test_plus_counts_what_is_not_adjacent(raw_of):
    small = nx.disjoint_union(nx.path_graph(2), nx.empty_graph(2))
    pair = raw_of([small, nx.disjoint_union(small, nx.empty_graph(1))])
    plain = local_two_wl(*pair, rounds=1).matrices[1]
    plus = local_two_wl(*pair, rounds=1, plus=True).matrices[1]
    # Round 0, equal, adjacent and apart: (4, 2, 10) and (5, 2, 18). Round 1: the ends u, v of
    # the edge with themselves (2 and 2) and with each other (2 and 2); an end and an isolated
    # node x, two orders (4 and 6 each); isolated nodes (2 and 3), and two of them (2 and 6).
    lengths = np.sqrt((120 + 8 + 32 + 8) * (353 + 8 + 72 + 45))
    np.testing.assert_allclose(plain[0, 1], (204 + 8 + 48 + 18) / lengths)
    # (u, x) sees (v, x), one of as many pairs (·, x) apart as there are nodes beside x.
    np.testing.assert_allclose(plus[0, 1], (204 + 8 + 18) / lengths)


def test_labels_are_names_of_any_sign(raw_of, labelled):
    raw, labels = raw_of(labelled)
    ours, turned = (local_two_wl(raw, each).matrices for each in (labels, 1 - 2 * labels))
    np.testing.assert_allclose(turned, ours, rtol=1e-13)


def test_too_many_pairs_are_refused_with_their_number(raw_of, monkeypatch):
    monkeypatch.setattr(MODULE, "LARGEST", 200)
    with pytest.raises(ValueError, match=r"of 36 node pairs.*limit is 200 of 25"):
        local_two_wl(*raw_of([nx.cycle_graph(6)]))


def test_too_many_neighbours_are_refused_with_their_number(raw_of, monkeypatch):
    monkeypatch.setattr(MODULE, "LARGEST", 10)
    with pytest.raises(ValueError, match=r"would read 108 local neighbours.*limit is 10"):
        local_two_wl(*raw_of([nx.cycle_graph(6)]))

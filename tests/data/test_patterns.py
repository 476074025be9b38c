from hashlib import blake2b

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lgan.data import load_raw
from lgan.data.patterns import PLACES, RADIUS, SHAPE, patterns, shape
from lgan.data.raw import RawGraphs

ALL = (1 << 64) - 1


@st.composite
def labelled(draw, directed=False):
    """Graphs of up to eight nodes with labels on nodes and edges; empty ones among them."""
    made = []
    for seed in draw(st.lists(st.integers(0, 2**16), min_size=1, max_size=4)):
        random = np.random.default_rng(seed)
        graph = nx.gnp_random_graph(int(random.integers(0, 9)), 0.4, seed=seed, directed=directed)
        for node in graph:
            graph.nodes[node].update(kind=f"k{random.integers(3)}", size=int(random.integers(2)))
        for edge in graph.edges:
            graph.edges[edge]["bond"] = f"b{random.integers(2)}"
        made.append(graph)
    return made


def raw_of(graphs, directed=False, node_features=("kind", "size")):
    return load_raw(
        graphs, node_features=list(node_features), edge_features=["bond"], directed=directed
    )


def mixed(word):
    word = (word + 0x9E3779B97F4A7C15) & ALL
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & ALL
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & ALL
    return word ^ (word >> 31)


def word(**labels):
    digests = (blake2b(f"{k}\0{v}".encode(), digest_size=8).digest() for k, v in labels.items())
    return sum(int.from_bytes(digest, "little") for digest in digests) & ALL


def one_by_one(graph):
    """The patterns of a networkx graph, node after node."""
    counts = np.zeros(PLACES)
    colour = {u: word(**graph.nodes[u]) for u in graph}
    for radius in range(RADIUS + 1):
        if radius:
            colour = {
                u: mixed((mixed(colour[u]) + sum(
                    mixed((mixed(colour[v]) + word(**graph.edges[u, v])) & ALL) for v in graph[u]
                )) & ALL)
                for u in graph
            }  # fmt: skip
        for own in colour.values():
            counts[mixed((own + radius) & ALL) % PLACES] += 1
    return counts


@given(labelled())
def test_patterns_are_those_found_node_by_node(graphs):
    np.testing.assert_array_equal(patterns(raw_of(graphs)), [one_by_one(g) for g in graphs])


@given(labelled(), st.randoms(use_true_random=False))
def test_the_order_of_nodes_and_columns_does_not_matter(graphs, random):
    turned = []
    for graph in graphs:
        order = list(graph)
        random.shuffle(order)
        turned.append(nx.relabel_nodes(graph, dict(zip(graph, order, strict=True))))
    first, again = raw_of(graphs), raw_of(turned, node_features=("size", "kind"))
    np.testing.assert_array_equal(patterns(again), patterns(first))
    np.testing.assert_allclose(shape(again), shape(first), atol=1e-12)


@pytest.mark.parametrize("what", ["kind", "bond", "way"])
def test_labels_and_directions_tell_graphs_apart(what):
    def path(kind="k", bond="b", back=False):
        graph = nx.DiGraph()
        graph.add_nodes_from(range(3), kind="k", size=1)
        graph.nodes[2]["kind"] = kind
        graph.add_edge(0, 1, bond="b")
        graph.add_edge(*((2, 1) if back else (1, 2)), bond=bond)
        return graph

    other = {"kind": path(kind="l"), "bond": path(bond="c"), "way": path(back=True)}[what]
    same, first, second = patterns(raw_of([path(), path(), other], directed=True))
    np.testing.assert_array_equal(same, first)
    assert (first != second).any()


def test_patterns_reach_two_edges_far():
    first, second = nx.cycle_graph(9), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(6))
    for graph in (first, second):  # alike to colour refinement
        nx.set_node_attributes(graph, "k", "kind")
        nx.set_edge_attributes(graph, "b", "bond")
    both = raw_of([first, second], node_features=["kind"])
    assert (patterns(both)[0] == patterns(both)[1]).all()
    numbers = dict(zip(SHAPE, shape(both).T.tolist(), strict=True))
    assert numbers["components"] == [1, 2]
    for graph in (first, second):
        graph.nodes[0]["kind"] = "l"
    assert (np.diff(patterns(raw_of([first, second], node_features=["kind"])), axis=0) != 0).any()


@given(labelled())
def test_numbers_of_the_shape_are_those_of_networkx(graphs):
    found = shape(raw_of(graphs))
    for row, graph in zip(found, graphs, strict=True):
        got, n, m = dict(zip(SHAPE, row, strict=True)), len(graph), graph.size()
        degree = np.array([d for _, d in graph.degree()]) if n else np.zeros(1)
        pieces = nx.number_connected_components(graph) if n else 0
        wanted = {
            "log nodes": np.log1p(n), "log edges": np.log1p(m),
            "density": nx.density(graph) if n > 1 else 0.0,
            "mean degree": degree.mean(), "deviation of degrees": degree.std(),
            "largest degree": degree.max(),
            "log triangles": np.log1p(sum(nx.triangles(graph).values()) / 3),
            "mean clustering": nx.average_clustering(graph) if n else 0.0,
            "transitivity": nx.transitivity(graph) if n else 0.0,
            "components": pieces, "cycles": m - n + pieces, "log cycles": np.log1p(m - n + pieces),
            "share of degree 2": (degree == 2).sum() / max(n, 1),
        }  # fmt: skip
        assert got == pytest.approx({**got, **wanted}, abs=1e-9)
        assert sum(v for k, v in got.items() if k.startswith("share")) == pytest.approx(
            float(n > 0)
        )


def test_a_graph_has_the_same_features_alone_and_among_others():
    raw = load_raw("triangles")
    few = raw.select([3, 1])
    np.testing.assert_array_equal(patterns(few), patterns(raw)[[3, 1]])
    np.testing.assert_allclose(shape(few), shape(raw)[[3, 1]], rtol=1e-12)


def test_words_never_change():
    """Saved models read these places."""
    one = RawGraphs("one", torch.tensor([0, 1]), torch.zeros(2, 0, dtype=torch.int64))
    assert np.flatnonzero(patterns(one)).tolist() == [303, 431, 931]

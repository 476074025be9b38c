"""Whitney's theorem on all small graphs, and the root graph of a line graph."""

import networkx as nx
import numpy as np
import pytest

from labelled_graphs import small_graph
from lgan import wl
from lgan.graph.named import named_graph
from lgan.wl.small_graphs import connected_graphs

GRAPHS = [small_graph(int(code), n) for n in range(2, 7) for code in connected_graphs(n)]


def test_line_graphs_are_isomorphic_only_for_isomorphic_graphs_but_for_one_pair() -> None:
    lines = [nx.convert_node_labels_to_integers(nx.line_graph(graph)) for graph in GRAPHS]
    # 2-FWL never separates isomorphic graphs: only what it confuses has to be looked at.
    classes = wl.refine(lines, test="2-fwl").classes
    confused = [
        (i, j)
        for kind in np.unique(classes)
        for members in [np.flatnonzero(classes == kind).tolist()]
        for i in members
        for j in members
        if i < j
    ]
    equal = [(i, j) for i, j in confused if nx.is_isomorphic(lines[i], lines[j])]
    ((i, j),) = equal
    exception = sorted((GRAPHS[i], GRAPHS[j]), key=len)
    assert nx.is_isomorphic(exception[0], named_graph("triangle"))
    assert nx.is_isomorphic(exception[1], named_graph("claw"))


def test_root_graph_is_recovered_from_its_line_graph() -> None:
    for graph in GRAPHS:
        if nx.is_isomorphic(graph, named_graph("triangle")):
            continue
        root = nx.inverse_line_graph(nx.line_graph(graph))
        assert nx.is_isomorphic(root, graph)


def test_root_of_a_triangle_is_ambiguous() -> None:
    root = nx.inverse_line_graph(nx.line_graph(named_graph("triangle")))
    assert nx.is_isomorphic(root, named_graph("claw"))  # networkx chooses this one


@pytest.mark.parametrize("test", ["lgan", "lgan-res", "lgan-linear"])
def test_lgan_tells_the_exception_apart(test: str) -> None:
    assert wl.distinguishes(named_graph("triangle"), named_graph("claw"), test=test)

import itertools

import networkx as nx
import numpy as np
import pytest

from labelled_graphs import labelled_graphs, small_graph
from lgan.wl.small_graphs import all_graphs, connected_graphs, union
from lgan.wl.small_graphs_numba import _canonical

# OEIS A000088 and A001349.
ALL = {1: 1, 2: 2, 3: 4, 4: 11, 5: 34, 6: 156, 7: 1044, 8: 12346}
CONNECTED = {1: 1, 2: 1, 3: 2, 4: 6, 5: 21, 6: 112, 7: 853, 8: 11117}


@pytest.mark.parametrize("n", ALL)
def test_numbers_of_graphs(n: int) -> None:
    assert all_graphs(n).size == ALL[n]
    assert connected_graphs(n).size == CONNECTED[n]


@pytest.mark.slow
def test_number_of_connected_graphs_with_nine_nodes() -> None:
    assert connected_graphs(9).size == 261_080


def code_of(graph: nx.Graph) -> int:
    return sum(1 << (max(e) * (max(e) - 1) // 2 + min(e)) for e in graph.edges)


def test_lists_agree_with_the_atlas() -> None:
    atlas = [graph for graph in nx.graph_atlas_g() if len(graph)]
    for n in range(1, 8):
        forms = [_canonical(code_of(graph), n) for graph in atlas if len(graph) == n]
        assert sorted(forms) == all_graphs(n).tolist()


def test_codes_are_read_back() -> None:
    for n in range(1, 6):
        for code in all_graphs(n).tolist():
            assert code_of(small_graph(code, n)) == code


@pytest.mark.parametrize("n", [5, 7, 9, 10])
def test_canonical_forms_do_not_depend_on_names(n: int) -> None:
    random = np.random.default_rng(n)
    regular = [nx.random_regular_graph(4, n, seed=s) for s in range(10)]
    others = [nx.gnp_random_graph(n, 0.5, seed=s) for s in range(20)]
    special = [nx.complete_graph(n), nx.empty_graph(n), nx.star_graph(n - 1), nx.cycle_graph(n)]
    for graph in (*regular, *others, *special):
        names = [random.permutation(n).tolist() for _ in range(5)]
        copies = [nx.relabel_nodes(graph, dict(enumerate(name))) for name in names]
        forms = {_canonical(code_of(copy), n) for copy in copies}
        assert len(forms) == 1
        assert nx.is_isomorphic(small_graph(forms.pop(), n), graph)


@pytest.mark.parametrize(("n", "count"), [(1, 2), (2, 3), (3, 10), (4, 50), (5, 354)])
def test_numbers_of_labelled_graphs(n: int, count: int) -> None:
    codes, labels = labelled_graphs(n)
    assert codes.size == len(labels) == count


def test_labelled_graphs_are_pairwise_different() -> None:
    codes, labels = labelled_graphs(4)
    graphs = []
    for code, row in zip(codes.tolist(), labels.tolist(), strict=True):
        graph = small_graph(code, 4)
        nx.set_node_attributes(graph, dict(enumerate(row)), "label")
        graphs.append(graph)
    match = nx.isomorphism.categorical_node_match("label", None)
    for a, b in itertools.combinations(graphs, 2):
        assert not nx.is_isomorphic(a, b, node_match=match)


def test_a_union_holds_the_graphs_in_order() -> None:
    codes = all_graphs(4)
    graphs = union(codes, 4, np.arange(4 * codes.size).reshape(-1, 4))
    assert graphs.num_graphs == codes.size
    assert graphs.labels.tolist() == list(range(4 * codes.size))
    sizes = [bin(code).count("1") for code in codes.tolist()]
    assert np.diff(graphs.pair_ptr).tolist() == sizes


@pytest.mark.parametrize("n", [0, 11])
def test_other_orders_are_refused(n: int) -> None:
    with pytest.raises(ValueError, match="from 1 to 10"):
        all_graphs(n)

import networkx as nx
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import laws
from lgan.data import load
from lgan.graph import GraphUnion
from lgan.graph.named import named_graph
from lgan.zoo.cw_lift import EDGE_NODES, EDGES, RING_EDGES, RINGS, cw_lift
from lifted import union_of, varied

Ring = frozenset[frozenset[int]]


def _rings(union: GraphUnion) -> list[Ring]:
    """The rings of a lifted data set as sets of edges, in their order."""
    pairs = [frozenset(pair) for pair in union.lines.pair_index.t().tolist()]
    found: list[list[frozenset[int]]] = [[] for _ in range(union.cells[RINGS].num_cells)]
    members = union.cells[RING_EDGES]
    for ring, edge in zip(members["upper"].tolist(), members["lower"].tolist(), strict=True):
        found[ring].append(pairs[edge])
    assert all(len(set(edges)) == len(edges) for edges in found)
    return [frozenset(edges) for edges in found]


def _slow_rings(graph: nx.Graph, longest: int) -> set[Ring]:
    cycles = (c for c in nx.chordless_cycles(graph, length_bound=longest) if len(c) > 2)
    return {
        frozenset(frozenset(step) for step in zip(c, [*c[1:], c[0]], strict=True)) for c in cycles
    }


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("p4", {}),
        ("triangle", {3: 1}),
        ("diamond", {3: 2}),
        ("c4", {4: 1}),
        ("hexagon", {6: 1}),
        ("c7", {}),
        ("k5", {3: 10}),
        ("k33", {4: 9}),
        ("cube", {4: 6, 6: 4}),
        ("petersen", {5: 12, 6: 10}),
        ("decalin", {6: 2}),
        ("bicyclopentyl", {5: 2}),
    ],
)
def test_named_graphs_have_the_rings_known_by_hand(name, numbers):
    rings = _rings(union_of([named_graph(name)], lift=cw_lift(6)))
    lengths = [len(ring) for ring in rings]
    assert {size: lengths.count(size) for size in set(lengths)} == numbers


@pytest.mark.parametrize("longest", [3, 4, 5, 6, 8])
def test_all_small_graphs_agree_with_networkx(longest):
    graphs = [g for g in nx.graph_atlas_g() if len(g) <= 6]
    union = union_of(graphs, lift=cw_lift(longest))
    rings, ptr = _rings(union), union.cells[RINGS].ptr.tolist()
    for i, graph in enumerate(graphs):
        start = int(union.node_ptr[i])
        shifted = nx.relabel_nodes(graph, {v: v + start for v in graph})
        mine = rings[ptr[i] : ptr[i + 1]]
        assert len(set(mine)) == len(mine), f"a ring twice in graph {i}"
        assert set(mine) == _slow_rings(shifted, longest), f"graph {i}"


@given(laws.graphs(max_nodes=11), st.integers(3, 8))
def test_random_graphs_agree_with_networkx(graph, longest):
    rings = _rings(union_of([graph], lift=cw_lift(longest)))
    assert len(set(rings)) == len(rings)
    assert set(rings) == _slow_rings(graph, longest)


def test_square_with_a_chord_has_two_triangles_and_five_edges():
    graph = nx.from_edgelist([(0, 1), (1, 2), (2, 3), (0, 3), (0, 2)])
    cells = union_of([graph], lift=cw_lift()).cells
    # The edges are 01 02 03 12 23, in this order.
    assert cells[EDGES]["node"].tolist() == [0, 0, 0, 1, 2]
    assert cells[EDGE_NODES]["lower"].view(-1, 2).tolist() == [
        [0, 1],
        [0, 2],
        [0, 3],
        [1, 2],
        [2, 3],
    ]
    assert cells[EDGE_NODES]["upper"].view(-1, 2).tolist() == [[i, i] for i in range(5)]
    assert cells[RINGS]["node"].tolist() == [0, 0]
    triangles = [sorted(edges) for edges in cells[RING_EDGES]["lower"].view(-1, 3).tolist()]
    assert sorted(triangles) == [[0, 1, 3], [1, 2, 4]]


@pytest.mark.parametrize("name", [EDGE_NODES, RING_EDGES])
def test_order_sorts_the_pairs_by_their_lower_cell(name):
    family = union_of(varied(), lift=cw_lift()).cells[name]
    by_lower = family["lower"][family["order"].long()]
    assert bool((by_lower.diff() >= 0).all())
    assert family["order"].unique().numel() == family.num_cells
    assert bool((family["upper"].diff() >= 0).all())


def test_key_names_the_length():
    assert cw_lift(5).key != cw_lift(6).key


def test_too_many_rings_are_refused_with_number_and_limit():
    union = union_of([nx.complete_bipartite_graph(5, 5), nx.cycle_graph(5)])
    with pytest.raises(ValueError, match=r"small has \d+ rings of up to 6 nodes or more, above the "
                       r"limit of 20\. Choose a smaller `max_ring`"):  # fmt: skip
        union.lifted(cw_lift(max_rings=20))


def test_too_many_triangles_are_refused_before_longer_rings_are_looked_for():
    dense = union_of([nx.complete_graph(9)])
    with pytest.raises(ValueError, match=r"small has 84 rings of up to 3 nodes or more, above the "
                       r"limit of 83\. Choose a model that needs no rings"):  # fmt: skip
        dense.lifted(cw_lift(max_rings=83))
    assert dense.lifted(cw_lift(max_rings=84)).cells[RINGS].num_cells == 84


def test_a_data_set_is_refused_by_name():
    with pytest.raises(ValueError, match=r"csl has \d+ rings of up to 3 nodes or more"):
        load("csl", compress=False, lift=cw_lift(max_rings=9))


@pytest.mark.data
def test_mutag_has_the_rings_that_networkx_finds(mirror, tmp_path):
    union = load("MUTAG", root=tmp_path, mirror=mirror, compress=False, lift=cw_lift())
    assert union.cells[RINGS].num_cells == 538
    lengths = torch.bincount(union.cells[RING_EDGES]["upper"])
    assert torch.bincount(lengths).tolist() == [0, 0, 0, 0, 0, 68, 470]
    graph = nx.Graph(union.lines.pair_index.t().tolist())
    assert set(_rings(union)) == _slow_rings(graph, 6)


def test_an_endless_search_is_refused():
    with pytest.raises(ValueError, match=r"small: the search for rings of up to 6 nodes takes more "
                       r"than 10,000 steps\. Choose a smaller `max_ring`"):  # fmt: skip
        union_of([nx.complete_bipartite_graph(12, 12)]).lifted(cw_lift(max_steps=10_000))


def test_rings_have_three_nodes_or_more():
    with pytest.raises(ValueError, match="`max_ring` must be 3 or more, got 2"):
        cw_lift(2)


def _stood_for(union: GraphUnion, dim: str) -> list[int]:
    """How many cells every cell stands for."""
    family = union.cells[dim]
    return family.fields.get("size", torch.ones(family.num_cells, dtype=torch.int64)).tolist()


def test_merged_twins_of_a_clique_with_a_tail_by_hand():
    # Nodes 0, 1, 2 and 3 are all adjacent, and 4 hangs on 3: the classes are {0, 1, 2}, {3}, {4}.
    graph = nx.complete_graph(4)
    graph.add_edge(3, 4)
    cells = union_of([graph], lift=cw_lift(), compress=True).cells
    # The edges are 00 01 12 of these classes.
    assert cells[EDGES]["size"].tolist() == [3, 3, 1]
    ends = cells[EDGE_NODES]
    assert ends["upper"].tolist() == [0, 1, 1, 2, 2]
    assert ends["lower"].tolist() == [0, 0, 1, 1, 2]
    assert ends["lowers"].tolist() == [2, 1, 1, 1, 1]
    assert ends["uppers"].tolist() == [2, 1, 3, 1, 1]
    # Three triangles with two nodes of the class, one with three.
    assert cells[RINGS]["size"].tolist() == [3, 1]
    sides = cells[RING_EDGES]
    assert sides["upper"].tolist() == [0, 0, 1]
    assert sides["lower"].tolist() == [0, 1, 0]
    assert sides["lowers"].tolist() == [1, 2, 3]
    assert sides["uppers"].tolist() == [1, 2, 1]


@given(laws.twin_graphs(), st.integers(3, 7))
def test_cells_of_merged_twins_stand_for_all_cells(drawn, longest):
    graph, classes = drawn
    x = torch.tensor(classes)
    merged, plain = (
        union_of([graph, graph], torch.cat([x, x]), channels=99, lift=cw_lift(longest), compress=c)
        for c in (True, False)
    )
    for name in (EDGES, RINGS):
        assert sum(_stood_for(merged, name)) == plain.cells[name].num_cells
    for name, above, below in ((EDGE_NODES, EDGES, None), (RING_EDGES, RINGS, EDGES)):
        family, sizes = merged.cells[name], torch.tensor(_stood_for(merged, above))
        k = merged.lines.multiplicity if below is None else torch.tensor(_stood_for(merged, below))
        ones = torch.ones(family.num_cells, dtype=torch.int64)
        lowers, uppers = (family.fields.get(each, ones) for each in ("lowers", "uppers"))
        upper, lower = family["upper"].long(), family["lower"].long()
        assert torch.equal(lowers * sizes[upper], uppers * k[lower])
        assert int((lowers * sizes[upper]).sum()) == plain.cells[name].num_cells


def test_graphs_without_edges_have_no_cells():
    for compress in (True, False):
        cells = union_of([nx.empty_graph(3)], lift=cw_lift(), compress=compress).cells
        assert [family.num_cells for family in cells.values()] == [0, 0, 0, 0]

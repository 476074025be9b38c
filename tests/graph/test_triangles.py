import importlib

import networkx as nx
import pytest
import torch
from hypothesis import given

import lgan
import reference
from laws import graphs

# `lgan.graph.triangles` is the function; this is the module around it.
module = importlib.import_module("lgan.graph.triangles")

BACKENDS = ["numba", "torch"]
per_backend = pytest.mark.parametrize("backend", BACKENDS)


def _check(graph: nx.Graph, found: torch.Tensor) -> None:
    assert found.shape[0] == 3
    assert found.dtype == torch.int64
    assert bool((found[0] < found[1]).all())
    assert bool((found[1] < found[2]).all())
    columns = [frozenset(column) for column in found.t().tolist()]
    assert len(columns) == len(set(columns)), "a triangle is listed twice"
    assert set(columns) == reference.triangles(graph)


@per_backend
@pytest.mark.parametrize("name", reference.NAMED)
def test_named_graphs_have_their_number_of_triangles(name, backend):
    graph = reference.NAMED[name]
    found = lgan.triangles(reference.edge_index(graph), len(graph), backend=backend)
    assert found.size(1) == reference.TRIANGLES[name]
    _check(graph, found)


@per_backend
@given(graphs(max_nodes=10))
def test_random_graphs_agree_with_itertools(backend, graph):
    _check(graph, lgan.triangles(reference.edge_index(graph), len(graph), backend=backend))


@per_backend
def test_direction_duplicates_and_loops_are_ignored(backend):
    graph = nx.gnp_random_graph(15, 0.5, seed=0)
    edges = reference.edge_index(graph)
    loops = torch.arange(15).repeat(2, 1)
    expected = sorted(lgan.triangles(edges, 15, backend=backend).t().tolist())
    for variant in (edges.flip(0), torch.cat([edges, edges.flip(0), loops, edges], 1)):
        mixed = variant[:, torch.randperm(variant.size(1))]
        assert sorted(lgan.triangles(mixed, 15, backend=backend).t().tolist()) == expected


@pytest.fixture
def threads():
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@per_backend
@pytest.mark.parametrize("block", [1, 7, 100])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_small_blocks_and_several_threads_list_the_same(
    backend, block, count, threads, monkeypatch
):
    graph = nx.gnp_random_graph(25, 0.4, seed=3)
    graph.add_edges_from((25, node) for node in range(25))  # a hub, longer than a block
    edges = reference.edge_index(graph)
    whole = lgan.triangles(edges, 26, backend=backend)
    threads(count)
    monkeypatch.setattr(module, "BLOCK", block)
    found = lgan.triangles(edges, 26, backend=backend)
    _check(graph, found)
    if count == 1:
        assert torch.equal(found, whole), "the order of columns depends on the block"


@per_backend
def test_blocks_bound_the_memory_of_a_clique(backend, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 50)
    pairs = torch.combinations(torch.arange(30)).t()
    run = {"numba": module._numba_blocks, "torch": module._torch_blocks}[backend]
    blocks = list(run(pairs, 30))
    assert max(block.size(1) for block in blocks) <= 50
    assert sum(block.size(1) for block in blocks) == 30 * 29 * 28 // 6


@per_backend
@pytest.mark.parametrize("count", [1, 2])
def test_triangles_that_do_not_fit_are_refused_before_they_are_listed(
    backend, count, threads, monkeypatch
):
    threads(count)
    monkeypatch.setattr(module, "BLOCK", 50)
    free = 1000 * module.BYTES
    monkeypatch.setattr(module, "free_memory", lambda device: free)
    fits, not_so = (torch.combinations(torch.arange(n)).t() for n in (19, 20))  # 969 and 1,140
    assert module.pair_triangles(fits, 19, backend=backend).size(1) == 969
    with pytest.raises(ValueError, match=r"1,140 triangles .* GiB are free.*`compress=True`"):
        module.pair_triangles(not_so, 20, backend=backend)
    with pytest.raises(ValueError, match="969 triangles"):
        lgan.triangles(fits, 19, backend=backend)  # whose nodes take more
    odd = torch.arange(1, 80, 2)
    bipartite = torch.cartesian_prod(odd, odd - 1).t()  # 20,540 wedges, none of them closed
    assert lgan.triangles(bipartite, 80, backend=backend).size(1) == 0


def test_both_backends_find_the_triangles_of_a_larger_graph():
    graph = nx.powerlaw_cluster_graph(3000, 8, 0.7, seed=0)
    edges = reference.edge_index(graph)
    numba, torch_ = (lgan.triangles(edges, 3000, backend=b) for b in BACKENDS)
    order = [torch.unique(found, dim=1) for found in (numba, torch_)]
    assert torch.equal(*order)
    assert numba.size(1) == order[0].size(1) == sum(nx.triangles(graph).values()) // 3


@per_backend
def test_pair_ids_of_a_triangle_join_its_three_nodes(backend):
    graph = nx.gnp_random_graph(12, 0.6, seed=5)
    pairs = torch.tensor(reference.pairs(graph)).t()
    found = module.pair_triangles(pairs, 12, backend=backend)
    assert found.dtype == torch.int32
    ends = pairs[:, found.long()]  # [2, 3, T]
    nodes = [set(ends[..., i].flatten().tolist()) for i in range(ends.size(2))]
    assert all(len(three) == 3 for three in nodes)
    assert {frozenset(three) for three in nodes} == reference.triangles(graph)
    opposite = torch.stack(module.opposite_nodes(pairs, *found.long()))
    assert bool((opposite + ends.sum(0) == ends.sum((0, 1)) // 2).all())


def test_an_unknown_backend_is_refused():
    with pytest.raises(ValueError, match="`backend` must be 'numba' or 'torch', got 'cuda'"):
        lgan.triangles(torch.tensor([[0], [1]]), 2, backend="cuda")  # type: ignore[arg-type]


def test_a_node_out_of_range_is_refused():
    with pytest.raises(ValueError, match="ids from 0 to 1, got 0 to 2"):
        lgan.triangles(torch.tensor([[0, 1], [1, 2]]), 2)

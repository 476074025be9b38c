from collections.abc import Sequence

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from torch_geometric.data import Data

import reference
from laws import graphs, twin_graphs
from lgan import LGAN, EgoLines
from lgan.graph.triangles import Backend

BACKENDS: list[Backend] = ["numba", "torch"]


def _sparse(lines: EgoLines) -> tuple[torch.Tensor, torch.Tensor]:
    return lines.target_incidence(), lines.neighbour_incidence()


def _matrices(lines: EgoLines) -> list[torch.Tensor]:
    return [matrix.to_dense() for matrix in _sparse(lines)]


def _assert_same(got: torch.Tensor, expected: torch.Tensor) -> None:
    """Sparse matrices are equal; zeros may be stored or not."""
    assert got.shape == expected.shape
    difference = (got.double() - expected.double()).coalesce()
    assert not difference.values().any(), f"at {difference.indices()[:, difference.values() != 0]}"


def _assert_literal(
    graph: nx.Graph, expected: tuple[torch.Tensor, torch.Tensor], backend: Backend
) -> None:
    lines = EgoLines.from_edge_index(reference.edge_index(graph), len(graph), backend=backend)
    assert [tuple(pair) for pair in lines.pair_index.t().tolist()] == reference.pairs(graph)
    for got, literal in zip(_sparse(lines), expected, strict=True):
        _assert_same(got, literal)
    on_pair = expected[1].sum(0).to_dense()
    assert torch.equal(lines.pair_triangles.long(), on_pair)
    assert lines.has_triangles == bool(on_pair.any())


def _assert_sums_over_twins(
    graph: nx.Graph,
    expected: tuple[torch.Tensor, torch.Tensor],
    x: torch.Tensor | None = None,
) -> None:
    """A class sees a pair of classes as often as a member sees pairs of their members."""
    pairs = reference.pair_index(graph)
    lines, node_class = EgoLines.compressed(pairs, len(graph), x)
    assert node_class.tolist() == reference.twin_classes(graph, x)
    assert torch.equal(lines.multiplicity.long(), torch.bincount(node_class))
    column = {tuple(pair): i for i, pair in enumerate(lines.pair_index.t().tolist())}
    assert list(column) == sorted(column), "pairs of classes are not in order"
    merged = [column[tuple(sorted(pair))] for pair in node_class[pairs].t().tolist()]
    for got, literal in zip(_sparse(lines), expected, strict=True):
        row, pair = literal.indices()
        entries = torch.stack([row, torch.tensor(merged, dtype=torch.long)[pair]])
        summed = _coo(entries, literal.values(), (len(graph), len(column)))
        _assert_same(got.index_select(0, node_class), summed)
    # All members of a pair of classes lie on the same number of triangles.
    assert torch.equal(lines.pair_triangles.long()[merged], expected[1].sum(0).to_dense())


def _coo(entries: torch.Tensor, values: torch.Tensor, size: Sequence[int]) -> torch.Tensor:
    return torch.sparse_coo_tensor(entries, values, size, check_invariants=True).coalesce()


def _literal(graph: nx.Graph) -> tuple[torch.Tensor, torch.Tensor]:
    target, neighbour = reference.incidence(graph)
    return target.to_sparse(), neighbour.to_sparse()


def _block_diagonal(blocks: list[torch.Tensor]) -> torch.Tensor:
    size = torch.tensor([block.shape for block in blocks])
    corner = size.cumsum(0) - size
    entries = [b.indices() + at[:, None] for b, at in zip(blocks, corner, strict=True)]
    values = torch.cat([block.values() for block in blocks])
    return _coo(torch.cat(entries, 1), values, size.sum(0).tolist())


@pytest.fixture(scope="module")
def atlas() -> list[tuple[nx.Graph, tuple[torch.Tensor, torch.Tensor]]]:
    graphs = nx.graph_atlas_g()
    assert len(graphs) == 1253
    return [(graph, _literal(graph)) for graph in graphs]


def test_all_graphs_of_the_atlas_equal_their_literal_line_graphs(atlas):
    for graph, expected in atlas:
        _assert_literal(graph, expected, "numba")


def test_the_union_of_the_atlas_equals_its_literal_line_graphs_merged_or_not(atlas):
    union = nx.disjoint_union_all([graph for graph, _ in atlas])
    target, neighbour = zip(*(expected for _, expected in atlas), strict=True)
    expected = _block_diagonal(list(target)), _block_diagonal(list(neighbour))
    for backend in BACKENDS:
        _assert_literal(union, expected, backend)
    _assert_sums_over_twins(union, expected)


def _assert_all(graph: nx.Graph, x: torch.Tensor | None = None) -> None:
    expected = _literal(graph)
    for backend in BACKENDS:
        _assert_literal(graph, expected, backend)
    _assert_sums_over_twins(graph, expected)
    if x is not None:
        _assert_sums_over_twins(graph, expected, x)


@pytest.mark.parametrize("name", reference.NAMED)
def test_named_graphs_equal_their_literal_line_graphs(name):
    _assert_all(reference.NAMED[name])


@given(graphs(max_nodes=10))
def test_random_graphs_equal_their_literal_line_graphs(graph):
    _assert_all(graph)


@settings(max_examples=60)
@given(twin_graphs())
def test_merged_twins_count_as_often_as_they_are(case):
    graph, origin = case
    _assert_all(graph, torch.tensor(origin))


def test_the_matrices_of_a_triangle_with_a_tail_are_those_written_by_hand():
    edge_index = torch.tensor([[0, 1, 0, 2], [1, 2, 2, 3]])
    lines = EgoLines.from_edge_index(edge_index, 4)
    assert lines.pair_index.tolist() == [[0, 0, 1, 2], [1, 2, 2, 3]]
    target, neighbour = _matrices(lines)
    assert target.tolist() == [[1, 1, 0, 0], [1, 0, 1, 0], [0, 1, 1, 1], [0, 0, 0, 1]]
    assert neighbour.tolist() == [[0, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]]
    assert lines.opposite_count.tolist() == [1, 1, 1, 0]
    assert lines.opposite_index.tolist() == [2, 1, 0]


def test_the_classes_of_a_triangle_with_a_tail_are_those_written_by_hand():
    pairs = torch.tensor([[0, 0, 1, 2], [1, 2, 2, 3]])
    lines, node_class = EgoLines.compressed(pairs, 4)
    assert node_class.tolist() == [0, 0, 1, 2]
    assert lines.multiplicity.tolist() == [2, 1, 1]
    assert lines.pair_index.tolist() == [[0, 0, 1], [0, 1, 2]]
    target, neighbour = _matrices(lines)
    # Twin 0 sees its own pair once and {0, 1} once; node 1 sees {0, 1} twice.
    assert target.tolist() == [[1, 1, 0], [0, 2, 1], [0, 0, 1]]
    assert neighbour.tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0]]


def test_a_clique_is_a_single_class():
    lines, _ = EgoLines.compressed(torch.combinations(torch.arange(7)).t(), 7)
    assert lines.pair_index.tolist() == [[0], [0]]
    target, neighbour = _matrices(lines)
    assert (target.item(), neighbour.item()) == (6, 15)
    assert lines.pair_triangles.tolist() == [5]


def test_moving_to_a_device_keeps_everything():
    lines = EgoLines.from_edge_index(reference.edge_index(nx.complete_graph(4)), 4)
    moved = lines.to("cpu")
    assert moved.num_nodes == 4
    for got, expected in zip(_matrices(moved), _matrices(lines), strict=True):
        assert torch.equal(got, expected)


def test_a_graph_without_the_transform_is_refused_with_the_remedy():
    plain = Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0], [1]]))
    for reader in (EgoLines.from_data, LGAN(1, 4, 2)):
        with pytest.raises(ValueError, match=r"no field `pair_index`.*`lgan.EgoLineGraph\(\)`"):
            reader(plain)


def test_a_pair_index_of_wrong_shape_is_refused_with_the_remedy():
    graph = Data(
        pair_index=torch.zeros(3, dtype=torch.long),
        opposite_index=torch.zeros(0),
        opposite_count=torch.zeros(3),
        pair_triangles=torch.zeros(3),
        multiplicity=torch.ones(2),
    )
    with pytest.raises(ValueError, match=r"shape \[2, \*\], got \[3\].*EgoLineGraph"):
        EgoLines.from_data(graph)

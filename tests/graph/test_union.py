import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch

import lgan
import reference
from laws import data, twin_graphs
from lgan import EgoLines, GraphUnion
from lgan.graph import GraphBatch
from lgan.graph.device_union import DeviceUnion
from lgan.graph.ego_lines import FIELDS
from lgan.ops.listing_numba import cut_ranges
from lgan.zoo import GIN

SHAPES = [
    nx.gnp_random_graph(9, 0.5, seed=1),
    nx.complete_graph(6),
    nx.empty_graph(0),
    nx.empty_graph(2),
    nx.disjoint_union(nx.complete_graph(4), nx.path_graph(3)),
    nx.convert_node_labels_to_integers(nx.barbell_graph(4, 1)),
    nx.path_graph(4),
]


@pytest.mark.parametrize("compress", [False, True])
def test_unevenness_is_that_of_edges_and_triangles_node_by_node(compress):
    shapes = [*SHAPES, nx.star_graph(1500)]
    union = _union(shapes, torch.zeros(sum(map(len, shapes)), dtype=torch.int64), compress=compress)
    around = [shape.degree(node) + nx.triangles(shape, node) for shape in shapes for node in shape]
    assert union.unevenness == pytest.approx(
        np.quantile(around, 0.999, method="lower") / np.mean(around)
    )


def test_graphs_without_edges_are_even():
    assert (
        _union([nx.empty_graph(3)], torch.zeros(3, dtype=torch.int64), compress=False).unevenness
        == 1
    )


def _union(shapes: list[nx.Graph], x: torch.Tensor, *, compress: bool) -> GraphUnion:
    together = nx.disjoint_union_all(shapes)
    return GraphUnion.build(
        x,
        reference.pair_index(together),
        torch.arange(len(shapes)),
        torch.tensor([0, *(len(shape) for shape in shapes)]).cumsum(0),
        num_features=3,
        num_classes=len(shapes),
        compress=compress,
        name="shapes",
    )


def _parts(shapes: list[nx.Graph], x: torch.Tensor, *, compress: bool) -> list[Batch]:
    """The same graphs one at a time, by the road of PyG."""
    transform = lgan.EgoLineGraph(compress=compress)
    rows = torch.split(x, [len(shape) for shape in shapes])
    return [transform(data(g, part)) for g, part in zip(shapes, rows, strict=True)]


def _assert_equal(batch: GraphBatch, expected: Batch) -> None:
    assert torch.equal(batch.x, expected.x)
    assert torch.equal(batch.ptr, expected.ptr)
    assert torch.equal(batch.batch, expected.batch)
    assert batch.num_graphs == expected.num_graphs
    assert batch.num_nodes == expected.num_nodes
    got, wanted = EgoLines.from_data(batch), EgoLines.from_data(expected)
    for name in FIELDS:
        if name != "opposite_index":
            assert torch.equal(getattr(got, name).long(), getattr(wanted, name).long()), name
    # Within a pair the order of the opposite nodes is free.
    assert reference.opposite_sets(got) == reference.opposite_sets(wanted)


def _assert_identical(before: GraphBatch, after: GraphBatch) -> None:
    for name in ("x", "y", "ptr"):
        assert torch.equal(getattr(before, name), getattr(after, name)), name
    for name in FIELDS:
        lines = EgoLines.from_data(before), EgoLines.from_data(after)
        assert torch.equal(*(getattr(part, name) for part in lines)), name


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("categories", [False, True])
@pytest.mark.parametrize(
    "ids", [[0, 1, 2, 3, 4, 5, 6], [5, 0, 4], [1], [2], [3, 2], [1, 1, 0, 1], []]
)
def test_a_batch_equals_the_batch_of_pyg_in_every_field(ids, categories, compress):
    n = sum(len(shape) for shape in SHAPES)
    x = torch.randint(2, (n,)) if categories else torch.randint(2, (n, 3)).double()
    batch = _union(SHAPES, x, compress=compress).batch(torch.tensor(ids, dtype=torch.long))
    assert batch.y.tolist() == batch.ids.tolist() == ids
    if ids:
        parts = _parts(SHAPES, x, compress=compress)
        _assert_equal(batch, Batch.from_data_list([parts[i] for i in ids]))
    else:
        assert batch.num_graphs == batch.num_nodes == EgoLines.from_data(batch).num_pairs == 0


@settings(max_examples=40)
@given(st.lists(twin_graphs(max_nodes=4), min_size=1, max_size=4), st.data())
def test_random_batches_equal_the_batches_of_pyg(cases, draw):
    shapes = [graph for graph, _ in cases]
    x = torch.cat([torch.tensor(origin) % 3 for _, origin in cases])
    ids = draw.draw(st.lists(st.integers(0, len(cases) - 1), min_size=1, max_size=6))
    for compress in (False, True):
        batch = _union(shapes, x, compress=compress).batch(torch.tensor(ids))
        parts = _parts(shapes, x, compress=compress)
        _assert_equal(batch, Batch.from_data_list([parts[i] for i in ids]))


def test_both_directions_of_every_edge_are_there_for_layers_of_pyg():
    union = _union(SHAPES, torch.zeros(sum(map(len, SHAPES)), dtype=torch.long), compress=False)
    graph = nx.DiGraph(union.batch(torch.tensor([4])).edge_index.t().tolist())
    assert set(graph.edges) == set(nx.DiGraph(SHAPES[4]).edges)


def test_compression_keeps_count_of_the_original_nodes():
    x = torch.zeros(sum(map(len, SHAPES)), dtype=torch.long)
    union = _union(SHAPES, x, compress=True)
    assert union.original_nodes == len(x) == int(union.lines.multiplicity.sum())
    assert union.lines.num_nodes < len(x)
    assert len(union) == union.num_graphs == len(SHAPES)


def test_a_union_survives_a_trip_to_a_device_and_through_its_tensors():
    union = _union(SHAPES, torch.randn(sum(map(len, SHAPES)), 3), compress=True)
    for other in (union.to("cpu"), GraphUnion.from_tensors(union.tensors(), name="shapes")):
        assert other.device == torch.device("cpu")
        assert (other.name, other.num_features, other.num_classes) == ("shapes", 3, len(SHAPES))
        assert other.original_nodes == union.original_nodes
        ids = torch.tensor([4, 0, 1])
        _assert_identical(union.batch(ids), other.batch(ids))


def test_a_union_without_triangles_is_refused_by_a_model_that_reads_them():
    union = lgan.load("triangles", compress=False, triangles=False)
    batch = union.batch(torch.arange(3))
    assert batch.lines.opposite_index.numel() == 0
    with pytest.raises(
        ValueError, match=r"triangles of this graph were not listed.*triangles=True"
    ):
        lgan.LGAN(union.num_features, 4, 2)(batch)


def test_a_model_that_reads_no_triangles_gives_the_same_without_them():
    model = GIN(lgan.load("triangles").num_features, 4, 2).eval()
    ids = torch.arange(5)
    outputs = [
        model(lgan.load("triangles", compress=False, triangles=listed).batch(ids))
        for listed in (True, False)
    ]
    assert torch.equal(*outputs)


def test_a_union_shows_itself_in_one_line():
    assert repr(lgan.load("csl")) == (
        "GraphUnion('csl', num_graphs=150, num_nodes=6150, num_pairs=12300, num_features=1, "
        "num_classes=10)"
    )


def test_rows_of_a_table_are_the_features_written_out():
    x_table = torch.tensor([[0.5, 1.0], [2.0, 0.0], [1.0, 1.0]])
    x = torch.tensor([2, 0, 0, 1, 1])
    pairs = torch.tensor([[0, 1, 3], [1, 2, 4]])
    options = {
        "pair_index": pairs,
        "y": torch.tensor([0, 1]),
        "node_ptr": torch.tensor([0, 3, 5]),
        "num_features": 2,
        "num_classes": 2,
    }
    dense = GraphUnion.build(x_table[x], **options)
    table = GraphUnion.build(x, x_table=x_table, **options)
    assert table.lines.multiplicity.tolist() == dense.lines.multiplicity.tolist() == [1, 1, 1, 2]
    again = GraphUnion.from_tensors(table.tensors()).to("cpu")
    for union in (table, again):
        assert torch.equal(union.features, dense.features)
        ids = torch.tensor([1, 0, 1])
        assert torch.equal(union.batch(ids).x, dense.batch(ids).x)
    device = DeviceUnion(table)
    capacity = device.capacity(ids[None])
    assert torch.equal(device.batch(ids, capacity).x, DeviceUnion(dense).batch(ids, capacity).x)


def test_a_device_union_takes_the_graphs_of_another_that_fits():
    smiles = ["CCO", "C1CC1", "c1ccccc1Br", "C#N", "CC(C)(C)C", "O"]
    union = lgan.load(smiles * 5, targets={"y": [i / 7 for i in range(30)]})
    parts = [union.select(torch.arange(a, b)) for a, b in ((0, 12), (12, 17), (17, 30))]
    held = DeviceUnion(parts[0]).with_room(1.5)
    for part in parts:
        fresh, ids = DeviceUnion(part), torch.tensor([4, 0, 3])
        assert held.has_room_for(fresh)
        held.fill(fresh)
        room = fresh.capacity(ids[None]).padded(1.2)
        assert held.capacity(ids[None]) == fresh.capacity(ids[None])
        filled = [torch.cat([ids, torch.tensor([end])]) for end in (held.filler, fresh.filler)]
        ours, theirs = (each.batch(i, room) for each, i in zip((held, fresh), filled, strict=True))
        for name in ("x", "y", "ptr"):
            assert torch.equal(getattr(ours, name), getattr(theirs, name)), name
        for name in (*FIELDS, "pair_table", "opposite_ptr"):
            assert torch.equal(getattr(ours.lines, name), getattr(theirs.lines, name)), name
        for name, rows in vars(ours.lines.by_node).items():
            assert torch.equal(rows, getattr(theirs.lines.by_node, name)), name
    assert not DeviceUnion(parts[1]).has_room_for(DeviceUnion(parts[0]))


@pytest.mark.parametrize(
    ("x", "table", "message"),
    [
        ([0, 2], torch.zeros(2, 3), "from 0 to 1, got 0 to 2"),
        ([0, 1], torch.zeros(2, 4), "must be real and have 3 columns"),
        ([0, 1], torch.zeros(2, 3, dtype=torch.int64), "must be real"),
        ([0, 1], torch.full((2, 3), torch.nan), "must be finite"),
    ],
)
def test_tables_that_do_not_fit_are_refused(x, table, message):
    with pytest.raises(ValueError, match=message):
        GraphUnion.build(
            torch.tensor(x),
            torch.tensor([[0], [1]]),
            torch.tensor([0]),
            torch.tensor([0, 2]),
            num_features=3,
            num_classes=2,
            x_table=table,
        )


@pytest.mark.parametrize(
    ("ids", "pairs", "entries", "message"),
    [
        ([2], [0, 2, 3], [0, 0, 1], "outside the data set"),
        ([-1], [0, 2, 3], [0, 0, 1], "outside the data set"),
        ([1], [0, 2, 4], [0, 0, 1], "outside the pairs"),
        ([1], [0, 2, 3], [0, 0, 2], "outside the pairs"),
        ([0], [2, 0, 3], [0, 0, 1], "outside the pairs"),
        ([0, 1], [0, 2, 3], [0, 0, 1], "as many as graphs"),
    ],
)
def test_compiled_cutting_refuses_what_lies_outside(ids, pairs, entries, message):
    whole = (np.zeros((2, 3), np.int32), *(np.zeros(n, np.int32) for n in (1, 3, 3)))
    pointers = (np.array(pairs), np.array(entries), np.array(ids), np.zeros(1, np.int32))
    with pytest.raises(ValueError, match=message):
        cut_ranges(*whole, *pointers)

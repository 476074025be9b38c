from dataclasses import replace

import networkx as nx
import pytest
import torch

from lgan.data import load_tensors, save_tensors
from lgan.graph import Cells, GraphBatch, GraphUnion, Lift
from lgan.graph.cells import NODES, batch_cells, cells_from_tensors, cells_to_tensors
from lgan.graph.segments import lengths_to_ptr, segment_ids
from lifted import union_of, varied


def _stars(union: GraphUnion, progress) -> dict[str, Cells]:
    """For every node the cell of its edges, and for every edge a cell that knows its two stars.

    A star lists its centre and a mate: a node before it in the graph, -1 for the first.
    """
    pairs = union.lines.pair_index.long()
    node_graph = segment_ids(union.node_ptr)
    first = union.node_ptr[node_graph]
    node = torch.arange(union.lines.num_nodes)
    stars = Cells(
        union.node_ptr,
        {
            "centre": node.to(torch.int32),
            "mate": torch.where(node == first, -1, node - 1),
            "degree": torch.bincount(pairs.flatten(), minlength=node.numel()),
        },
        {"centre": NODES, "mate": NODES},
    )
    edges = Cells(union.pair_ptr, {"ends": pairs.T.contiguous()}, {"ends": "stars"})
    progress(1.0)
    return {"stars": stars, "edges": edges}


STARS = Lift("stars", _stars)


def _of_batch(union: GraphUnion, batch: GraphBatch) -> GraphUnion:
    """The graphs of a batch as a data set of their own."""
    return replace(union, x=batch.x, y=batch.y, node_ptr=batch.ptr, lines=batch.lines, cells={})


def _assert_same(got: dict[str, Cells], expected: dict[str, Cells]) -> None:
    assert got.keys() == expected.keys()
    for name, family in expected.items():
        assert torch.equal(got[name].ptr, family.ptr), name
        assert got[name].points == family.points
        assert got[name].fields.keys() == family.fields.keys()
        for key, value in family.fields.items():
            assert torch.equal(got[name][key], value), f"{name}/{key}"
            assert got[name][key].dtype == value.dtype, f"{name}/{key}"


@pytest.mark.parametrize("ids", [[0], [6, 2, 0], [4, 3, 4], [], [7, 6, 5, 4, 3, 2, 1, 0]])
def test_cells_of_a_batch_are_the_lift_of_the_batch(ids):
    union = union_of(varied(), lift=STARS)
    batch = union.batch(torch.tensor(ids, dtype=torch.long))
    _assert_same(batch.cells, _of_batch(union, batch).lifted(STARS).cells)


def test_ids_count_in_the_family_they_point_at():
    # Two graphs of 2 and 3 nodes; rings: none in the first, two in the second.
    node_ptr = torch.tensor([0, 2, 5])
    rings = Cells(torch.tensor([0, 0, 2]), {"of": torch.tensor([[2, 3], [4, -1]])}, {"of": NODES})
    bonds = Cells(
        torch.tensor([0, 1, 3]),
        {"ring": torch.tensor([-1, 0, 1]), "length": torch.tensor([5.0, 6.0, 7.0])},
        {"ring": "rings"},
    )
    batch = batch_cells({"rings": rings, "bonds": bonds}, node_ptr, torch.tensor([1, 0, 1]))
    assert batch["rings"].ptr.tolist() == [0, 2, 2, 4]
    assert batch["rings"]["of"].tolist() == [[0, 1], [2, -1], [5, 6], [7, -1]]
    assert batch["bonds"]["ring"].tolist() == [0, 1, -1, 2, 3]
    assert batch["bonds"]["length"].tolist() == [6.0, 7.0, 5.0, 6.0, 7.0]
    assert batch["bonds"].num_cells == 5


def test_cells_survive_a_file_with_their_targets(tmp_path):
    cells = union_of(varied(), lift=STARS).cells
    path = tmp_path / "cells.safetensors"
    save_tensors(path, cells_to_tensors(cells) | {"x": torch.zeros(2)}, {})
    _assert_same(cells_from_tensors(load_tensors(path)[0]), cells)


def test_a_lifted_union_survives_its_tensors():
    union = union_of(varied(), lift=STARS)
    _assert_same(GraphUnion.from_tensors(union.tensors()).cells, union.cells)


def test_a_second_lift_keeps_the_cells_of_the_first():
    twice = Lift("more", lambda union, _: {"more": Cells(lengths_to_ptr(union.y))})
    union = union_of([nx.path_graph(3)], lift=STARS).lifted(twice)
    assert union.cells.keys() == {"stars", "edges", "more"}


def test_cells_move_with_the_union():
    union = union_of(varied(), lift=STARS).to("meta")
    assert union.cells["stars"]["centre"].device.type == "meta"
    assert union.cells["stars"].ptr.device.type == "meta"
    assert union.cells["stars"].points == {"centre": NODES, "mate": NODES}


def test_a_union_without_cells_has_batches_without():
    assert union_of(varied()).batch(torch.tensor([0, 1])).cells == {}


def test_progress_reaches_the_caller():
    seen: list[float] = []
    union_of(varied()).lifted(STARS, seen.append)
    assert seen == [1.0]

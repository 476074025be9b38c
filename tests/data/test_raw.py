from dataclasses import FrozenInstanceError, replace

import pytest
import torch

from lgan.data import Columns, RawGraphs
from lgan.task import Task


@pytest.fixture
def raw() -> RawGraphs:
    """A triangle, a lone node and an edge."""
    return RawGraphs(
        name="three",
        node_ptr=torch.tensor([0, 3, 4, 6]),
        pair_index=torch.tensor([[0, 0, 1, 4], [1, 2, 2, 5]]),
        nodes=Columns.of_categories({"element": ["C", "C", "C", "N", "O", "O"]}),
        pairs=Columns.of_categories({"order": [1, 1, 2, 1]}),
        targets={"active": ["yes", "no", "yes"], "weight": [1.5, 2, 3]},
        task=Task("binary", ("active",), ("no", "yes")),
        ids=("ccc", "n", "oo"),
        ground_truth=torch.tensor([True, False, False, True]),
    )


def test_sizes(raw: RawGraphs) -> None:
    assert (raw.num_graphs, raw.num_nodes, raw.num_pairs, raw.num_classes) == (3, 6, 4, 2)


def test_no_graphs_and_no_nodes_are_fine() -> None:
    empty = RawGraphs("empty", torch.tensor([0]), torch.zeros(2, 0, dtype=torch.int64))
    assert (empty.num_graphs, empty.num_nodes, empty.num_pairs) == (0, 0, 0)
    assert len(empty.content_sha256()) == 64
    with pytest.raises(ValueError, match="must have targets to learn from, got none"):
        _ = empty.y


def test_fields_cannot_be_reassigned(raw: RawGraphs) -> None:
    with pytest.raises(FrozenInstanceError):
        raw.name = "other"  # type: ignore[misc]


def test_the_task_is_the_source_s_or_found_from_the_values(raw: RawGraphs) -> None:
    assert raw.y.tolist() == [1, 0, 1]
    swapped = replace(raw, task=Task("binary", ("active",), ("yes", "no")))
    assert (swapped.classes, swapped.y.tolist()) == (("yes", "no"), [0, 1, 0])
    found = replace(raw, task=None, targets={"weight": [1.5, 2.25, 3.125]})
    assert (found.known_task.kind, found.classes) == ("regression", ())
    assert found.y.tolist() == [[1.5], [2.25], [3.125]]


def test_first_columns_are_the_labels(raw: RawGraphs) -> None:
    assert raw.node_labels is not None
    assert raw.pair_labels is not None
    assert raw.node_labels.tolist() == [0, 0, 0, 1, 2, 2]
    assert raw.pair_labels.tolist() == [0, 0, 1, 0]
    assert raw.node_attributes is None


def test_selected_graphs_bring_all_that_belongs_to_them(raw: RawGraphs) -> None:
    some = replace(raw, rows=torch.tensor([4, 7, 9])).select([2, 0])
    assert some.node_ptr.tolist() == [0, 2, 5]
    assert some.pair_index.tolist() == [[0, 2, 2, 3], [1, 3, 4, 4]]
    assert some.nodes.categories[:, 0].tolist() == [2, 2, 0, 0, 0]
    assert some.pairs.categories[:, 0].tolist() == [0, 0, 0, 1]
    assert (some.targets["weight"], some.y.tolist()) == ([3, 1.5], [1, 1])
    assert (some.rows.tolist(), some.ids) == ([9, 4], ("oo", "ccc"))
    assert some.ground_truth is not None
    assert some.ground_truth.tolist() == [True, True, False, False]
    assert some.classes == ("no", "yes")
    assert raw.select([]).num_graphs == 0


def test_selection_keeps_the_classes_that_were_found_from_all(raw: RawGraphs) -> None:
    some = replace(raw, task=None, targets={"active": ["yes", "no", "yes"]}).select([0])
    assert (some.classes, some.y.tolist()) == (("no", "yes"), [1])


def test_checksum_goes_by_content(raw: RawGraphs) -> None:
    assert replace(raw, name="other").content_sha256() == raw.content_sha256()
    others = [
        replace(raw, targets={"active": ["no", "no", "yes"]}),
        replace(raw, nodes=Columns.empty(6)),
        replace(raw, pairs=Columns.empty(4)),
        replace(raw, pairs=raw.pairs.with_numbers(torch.zeros(4, 1), ("length",))),
        replace(raw, task=Task("binary", ("active",), ("yes", "no"))),
    ]
    assert len({other.content_sha256() for other in others} | {raw.content_sha256()}) == 6


def test_numbered_classes_and_labels_get_names() -> None:
    raw = RawGraphs.numbered(
        "two",
        torch.tensor([0, 1, 3]),
        torch.tensor([[1], [2]]),
        y=torch.tensor([1, 0]),
        classes=("house", "cycle"),  # not in the order of the alphabet
        node_labels=torch.tensor([0, 2, 2]),
    )
    assert raw.targets == {"class": ["cycle", "house"]}
    assert raw.y.tolist() == [1, 0]
    assert raw.nodes.vocabularies == (("0", "1", "2"),)
    with pytest.raises(ValueError, match="classes from 0 to 0, got values from 0 to 1"):
        RawGraphs.numbered(
            "two", raw.node_ptr, raw.pair_index, y=torch.tensor([1, 0]), classes=("a",)
        )


BAD_FIELDS = {
    "node_ptr from 1": ({"node_ptr": torch.tensor([1, 3, 4, 6])}, "begin with 0"),
    "node_ptr that falls": ({"node_ptr": torch.tensor([0, 3, 2, 6])}, "never decrease"),
    "pairs of wrong shape": ({"pair_index": torch.zeros(3, 4, dtype=torch.int64)}, r"\[2, any\]"),
    "pairs of wrong dtype": ({"pair_index": torch.zeros(2, 4)}, "must be torch.int64"),
    "node out of range": ({"pair_index": torch.tensor([[0], [6]])}, "0 to 5, got 0 to 6"),
    "negative node": ({"pair_index": torch.tensor([[-1], [1]])}, "got -1 to 1"),
    "a loop": ({"pair_index": torch.tensor([[1], [1]])}, "u < v"),
    "pairs out of order": ({"pair_index": torch.tensor([[1, 0], [2, 1]])}, "lexicographic order"),
    "pairs twice": ({"pair_index": torch.tensor([[0, 0], [1, 1]])}, "every edge once"),
    "a pair across graphs": ({"pair_index": torch.tensor([[0, 2], [1, 3]])}, r"\[2, 3\] across"),
    "a target of another length": ({"targets": {"a": [0, 1]}}, r"targets\['a'\].* 3 rows, got 2"),
    "labels of another length": ({"nodes": Columns.empty(2)}, "`nodes` must have 6 rows, got 2"),
    "pair labels missing one": ({"pairs": Columns.empty(3)}, "`pairs` must have 4 rows, got 3"),
    "ids missing one": ({"ids": ("a", "b")}, "`ids` must have 3 rows, got 2"),
    "rows missing one": ({"rows": torch.tensor([0, 1])}, r"`rows` must be .*\[3\]"),
    "ground truth as numbers": ({"ground_truth": torch.zeros(4)}, "must be torch.bool"),
}


@pytest.mark.parametrize("case", BAD_FIELDS)
def test_bad_fields_are_refused(raw: RawGraphs, case: str) -> None:
    changes, message = BAD_FIELDS[case]
    with pytest.raises(ValueError, match=message):
        replace(raw, **changes)

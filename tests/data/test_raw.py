from dataclasses import FrozenInstanceError, replace

import pytest
import torch

from lgan.data import RawGraphs


@pytest.fixture
def raw() -> RawGraphs:
    """A triangle, a lone node and an edge."""
    return RawGraphs(
        name="three",
        node_ptr=torch.tensor([0, 3, 4, 6]),
        pair_index=torch.tensor([[0, 0, 1, 4], [1, 2, 2, 5]]),
        y=torch.tensor([1, 0, 1]),
        classes=("no", "yes"),
        node_labels=torch.tensor([0, 0, 0, 1, 2, 2]),
    )


def test_sizes(raw: RawGraphs) -> None:
    assert (raw.num_graphs, raw.num_nodes, raw.num_pairs, raw.num_classes) == (3, 6, 4, 2)


def test_no_graphs_and_no_nodes_are_fine() -> None:
    nothing = torch.zeros(0, dtype=torch.int64)
    empty = RawGraphs("empty", torch.tensor([0]), nothing.reshape(2, 0), nothing, ())
    assert (empty.num_graphs, empty.num_nodes, empty.num_pairs) == (0, 0, 0)
    assert len(empty.content_sha256()) == 64


def test_fields_cannot_be_reassigned(raw: RawGraphs) -> None:
    with pytest.raises(FrozenInstanceError):
        raw.name = "other"  # type: ignore[misc]


def test_checksum_goes_by_content(raw: RawGraphs) -> None:
    assert replace(raw, name="other").content_sha256() == raw.content_sha256()
    assert replace(raw, y=torch.tensor([0, 0, 1])).content_sha256() != raw.content_sha256()
    assert replace(raw, node_labels=None).content_sha256() != raw.content_sha256()
    assert replace(raw, classes=("0", "1")).content_sha256() != raw.content_sha256()


BAD_FIELDS = {
    "node_ptr from 1": ({"node_ptr": torch.tensor([1, 3, 4, 6])}, "begin with 0"),
    "node_ptr that falls": ({"node_ptr": torch.tensor([0, 3, 2, 6])}, "never decrease"),
    "pairs of wrong shape": ({"pair_index": torch.zeros(3, 4, dtype=torch.int64)}, r"\[2, any\]"),
    "pairs of wrong dtype": ({"pair_index": torch.zeros(2, 4)}, "must be torch.int64"),
    "node out of range": ({"pair_index": torch.tensor([[0], [6]])}, "0 to 5, got ids from 0 to 6"),
    "negative node": ({"pair_index": torch.tensor([[-1], [1]])}, "got ids from -1 to 1"),
    "a loop": ({"pair_index": torch.tensor([[1], [1]])}, "u < v"),
    "pairs out of order": ({"pair_index": torch.tensor([[1, 0], [2, 1]])}, "sorted"),
    "pairs twice": ({"pair_index": torch.tensor([[0, 0], [1, 1]])}, "duplicates"),
    "a pair across graphs": ({"pair_index": torch.tensor([[0, 2], [1, 3]])}, r"\[2, 3\] across"),
    "too few classes": ({"classes": ("no",)}, "`y` must hold categories from 0 to 0"),
    "negative class": ({"y": torch.tensor([0, -1, 0])}, "got values from -1 to 0"),
    "y of another length": ({"y": torch.tensor([0, 1])}, r"shape \[3\], got .*\[2\]"),
    "labels of another length": ({"node_labels": torch.tensor([0, 1])}, "`node_labels`"),
    "negative labels": ({"node_labels": torch.tensor([0, 0, 0, 0, 0, -1])}, "0 or more"),
    "attributes in double": ({"node_attributes": torch.zeros(6, 2).double()}, "torch.float32"),
    "attributes of one dimension": ({"node_attributes": torch.zeros(6)}, r"\[6, any\]"),
    "pair labels missing one": ({"pair_labels": torch.tensor([0, 0, 0])}, "`pair_labels`"),
    "ground truth as numbers": ({"ground_truth": torch.zeros(4)}, "must be torch.bool"),
}


@pytest.mark.parametrize("case", BAD_FIELDS)
def test_bad_fields_are_refused(raw: RawGraphs, case: str) -> None:
    changes, message = BAD_FIELDS[case]
    with pytest.raises(ValueError, match=message):
        replace(raw, **changes)

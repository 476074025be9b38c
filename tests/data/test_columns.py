import pytest
import torch

from lgan.data import Columns


def test_vocabularies_hold_numbers_in_their_order_and_then_words() -> None:
    columns = Columns.of_categories({"label": [10, 9, "C", 10, "B"], "one": [1, 1, 1, 1, 1]})
    assert columns.names == ("label", "one")
    assert columns.vocabularies == (("9", "10", "B", "C"), ("1",))
    assert columns.categories.tolist() == [[1, 0], [0, 0], [3, 0], [1, 0], [2, 0]]


def test_rows_are_selected_from_all_columns() -> None:
    columns = Columns.of_categories({"label": ["a", "b", "c"]})
    some = columns.with_numbers(torch.arange(3.0)[:, None], ("size",))[torch.tensor([2, 0])]
    assert some.categories[:, 0].tolist() == [2, 0]
    assert some.numbers[:, 0].tolist() == [2, 0]
    assert (len(some), some.num_columns, some.vocabularies) == (2, 2, (("a", "b", "c"),))


def test_no_columns_still_have_rows() -> None:
    empty = Columns.empty(4)
    assert (len(empty), empty.num_columns) == (4, 0)
    assert empty.categories.shape == empty.numbers.shape == (4, 0)


IDS = torch.tensor([[0], [1]], dtype=torch.int32)
BAD = {
    "ids of another type": ({"categories": IDS.long()}, "must be torch.int32"),
    "a column without a name": ({"names": ()}, r"shape \[n, 0\]"),
    "no vocabulary": ({"vocabularies": ()}, "one entry for each of"),
    "a short vocabulary": ({"vocabularies": (("a",),)}, "from 0 to 0, .*got values from 0 to 1"),
    "a value twice": ({"vocabularies": (("a", "a"),)}, "got 'a' twice"),
    "numbers of other rows": (
        {"numbers": torch.zeros(3, 1), "number_names": ("size",)},
        "same rows, got 2 and 3",
    ),
    "a name twice": (
        {"numbers": torch.zeros(2, 1), "number_names": ("label",)},
        "different names",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_columns_are_refused(case: str) -> None:
    changes, message = BAD[case]
    fields = {"categories": IDS, "names": ("label",), "vocabularies": (("a", "b"),)}
    with pytest.raises(ValueError, match=message):
        Columns(**{**fields, **changes})


def test_columns_do_not_depend_on_the_default_type_of_torch():
    torch.set_default_dtype(torch.float64)
    try:
        assert Columns.empty(2).numbers.dtype == torch.float32
    finally:
        torch.set_default_dtype(torch.float32)

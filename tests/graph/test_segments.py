import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lgan.graph.segments import (
    concat_ranges,
    group_by,
    lengths_to_ptr,
    segment_ids,
)

lengths = st.lists(st.integers(0, 5), max_size=8).map(lambda n: torch.tensor(n, dtype=torch.long))


@given(lengths)
def test_segment_ids_repeat_every_segment_as_often_as_it_is_long(length):
    expected = [i for i, count in enumerate(length.tolist()) for _ in range(count)]
    assert segment_ids(lengths_to_ptr(length)).tolist() == expected


@given(lengths)
def test_lengths_are_the_differences_of_the_pointers(length):
    ptr = lengths_to_ptr(length)
    assert ptr.dtype == torch.int64
    assert ptr[0] == 0
    assert ptr.diff().tolist() == length.tolist()


def test_int32_lengths_give_int64_pointers():
    assert lengths_to_ptr(torch.tensor([2, 1], dtype=torch.int32)).dtype == torch.int64


@given(lengths, st.integers(0, 10))
def test_concatenated_ranges_equal_a_loop_over_ranges(length, shift):
    start = torch.arange(len(length)) * 7 + shift
    both = zip(start.tolist(), length.tolist(), strict=True)
    expected = [i for begin, count in both for i in range(begin, begin + count)]
    assert concat_ranges(start, length).tolist() == expected


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
@given(st.lists(st.integers(0, 4), max_size=12))
def test_grouping_keeps_the_order_within_a_group(device, keys):
    key = torch.tensor(keys, dtype=torch.int32, device=device)
    value = torch.arange(100, 100 + len(keys), dtype=torch.int32, device=device)
    grouped, count = group_by(key, value, 6)
    assert grouped.tolist() == [100 + i for g in range(6) for i, k in enumerate(keys) if k == g]
    assert count.tolist() == [keys.count(g) for g in range(6)]

from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lgan.ops import together


def _parts(monkeypatch, work, processes):
    found = []
    monkeypatch.setattr(together, "workers", lambda: processes)
    for rank in range(processes):
        monkeypatch.setattr(together, "rank", lambda rank=rank: rank)
        found.append(together.balanced_part(torch.tensor(work)))
    return found


@given(st.lists(st.integers(0, 99), min_size=1, max_size=12), st.integers(1, 6))
def test_parts_cover_everything_once_and_none_is_empty(work, processes):
    processes = min(processes, len(work))
    with pytest.MonkeyPatch.context() as patch:
        parts = _parts(patch, work, processes)
    assert parts[0].start == 0
    assert parts[-1].stop == len(work)
    assert all(a.stop == b.start for a, b in pairwise(parts))
    assert all(part.start < part.stop for part in parts)


def test_parts_are_about_the_same_work(monkeypatch):
    work = [1, 1, 1, 1, 8, 4, 4, 4]
    sums = [sum(work[part]) for part in _parts(monkeypatch, work, 2)]
    assert sums == [12, 12]
    assert [sum(work[part]) for part in _parts(monkeypatch, work, 3)] == [4, 12, 8]

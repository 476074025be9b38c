import random
from collections import Counter

import numpy as np
import pytest

from lgan.graph import interning_numba
from lgan.graph.interning import Rows, intern_integers, intern_multisets, intern_tuples
from reference import first_occurrence


def test_integers_are_numbered_in_the_order_of_first_occurrence() -> None:
    key = np.array([5, -1, 5, 2**62, -(2**62), -1])
    assert intern_integers(key).tolist() == [0, 1, 0, 2, 3, 1]
    assert intern_integers(np.empty(0, np.int64)).tolist() == []


@pytest.mark.parametrize("seed", range(5))
def test_tuples_agree_with_a_dictionary(seed: int) -> None:
    columns = np.random.default_rng(seed).integers(0, 4, (3, 200))
    assert intern_tuples(*columns).tolist() == first_occurrence(list(zip(*columns, strict=True)))


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("weighted", [False, True])
def test_multisets_agree_with_counters(seed: int, weighted: bool) -> None:
    chance = random.Random(seed)
    num_sources = 12
    value = np.array([chance.randrange(4) for _ in range(num_sources)])
    weight = np.array([chance.randrange(3) for _ in range(num_sources)])
    rows = [chance.choices(range(num_sources), k=chance.randrange(5)) for _ in range(150)]
    ptr = np.cumsum([0, *map(len, rows)])
    source = np.array([s for row in rows for s in row], np.int64)
    counters = []
    for row in rows:
        count: Counter[int] = Counter()
        for s in row:
            count[int(value[s])] += int(weight[s]) if weighted else 1
        counters.append(frozenset((+count).items()))
    ids = intern_multisets(Rows(ptr, source, weight if weighted else None), value)
    assert ids.tolist() == first_occurrence(counters)


def test_rows_without_sources_hold_consecutive_ones() -> None:
    ids = intern_multisets(Rows(np.array([0, 0, 2, 4, 6])), np.array([1, 2, 2, 1, 1, 1]))
    assert ids.tolist() == [0, 1, 1, 2]


def test_a_collision_of_hashes_is_noticed_and_repaired(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = interning_numba.multiset_hashes
    calls = []

    def colliding(*arguments: object) -> np.ndarray:
        calls.append(arguments)
        words: np.ndarray = honest(*arguments)
        return words if len(calls) > 1 else np.zeros_like(words)

    monkeypatch.setattr(interning_numba, "multiset_hashes", colliding)
    assert intern_multisets(Rows(np.array([0, 1, 2])), np.array([3, 4])).tolist() == [0, 1]
    assert len(calls) == 2


@pytest.mark.parametrize(
    ("a", "b"), [([1, 1, 2], [1, 2, 2]), ([1], [1, 1]), ([1, 1], [1]), ([], [1]), ([1], [2])]
)
def test_counting_tells_different_multisets_apart(a: list[int], b: list[int]) -> None:
    empty = np.empty(0, np.int64)
    ptr = np.array([0, len(a), len(a) + len(b)])
    agree = interning_numba.multisets_agree(
        ptr, empty, np.array(a + b), empty, np.zeros(2, np.int32), np.arange(2)
    )
    assert not agree

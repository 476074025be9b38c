import pytest

from benchmarks import BenchConfig, Row
from benchmarks import scaling as module
from benchmarks.scaling import scaling
from lgan.graph import EgoLines


def test_a_quadratic_line_has_slope_two():
    calls = ((10**5, 3e12), (10**6, 9e12), (2 * 10**6, 4e12))  # not size; the second an outlier
    flat = [Row("x", "", seconds, memory=1, size=size) for size, seconds in calls]
    line = [Row("x", "", float(s**2), memory=3 * s, size=s) for s in (10**7, 10**8, 10**9)]
    row = module._slope("x", flat + line)
    assert row.detail["seconds"] == pytest.approx(2)
    assert row.detail["memory"] == pytest.approx(1)
    assert row.note == "seconds 2.00, memory 1.00, over 3 sizes"


def test_one_point_has_no_slope():
    assert module._slope("x", [Row("x", "", 1.0, size=10**5)]).note == "too few sizes"


@pytest.mark.parametrize("size", [3_000, 100_000])
def test_graphs_have_about_the_size_asked_for(size):
    pair_index, num_nodes = module._graphs_of_size(size, seed=0)
    entries = module._entries(EgoLines.from_pairs(pair_index, num_nodes))
    assert 1 <= entries / size < (8 if size < 10_000 else 1.2)


@pytest.mark.slow
def test_children_measure_layers_of_two_sizes():
    rows = scaling(BenchConfig(quick=True))
    assert [row.name for row in rows[:4]] == ["as given", "twins merged"] * 2
    assert all(row.seconds and row.memory is not None for row in rows[:4])
    given, merged = rows[:2]
    assert merged.detail["stored entries"] < given.detail["stored entries"] == given.size

import pytest

from benchmarks import BenchConfig


def test_quick_and_full_exclude_each_other():
    with pytest.raises(ValueError, match="exclude each other"):
        BenchConfig(quick=True, full=True)

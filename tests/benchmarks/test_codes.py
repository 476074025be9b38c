import pytest

from benchmarks import BenchConfig
from benchmarks.codes import COUNTED, codes


@pytest.mark.slow
def test_every_level_is_counted_and_an_epoch_is_compared(tmp_path):
    rows = codes(BenchConfig(quick=True, root=tmp_path))
    assert [row.name for row in rows] == [
        *(f"triangles, {level}" for level in COUNTED), "triangles, epoch",
    ]  # fmt: skip
    assert all(row.seconds > 0 for row in rows)
    assert all(row.detail["distinct"] <= row.detail["pairs"] for row in rows[:-1])
    assert rows[-1].peer_seconds > 0
    assert rows[-1].bar.limit == 1.15

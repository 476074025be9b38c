from benchmarks import BenchConfig
from benchmarks.members import SETS, members


def test_ten_members_are_measured_beside_one(tmp_path):
    rows = members(BenchConfig(quick=True, root=tmp_path))
    assert [row.name for row in rows] == [f"{name}, 10 members" for name in SETS]
    assert all(row.seconds > 0 and row.peer_seconds > 0 for row in rows)
    assert {row.bar.limit for row in rows} == {4.0}

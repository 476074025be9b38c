import sys

import pytest

from benchmarks import BenchConfig
from benchmarks import triangles as module
from benchmarks.triangles import triangles


def test_a_missing_peer_is_noted_and_the_others_measured(monkeypatch):
    monkeypatch.setattr(module, "missing", lambda peer: "gone" if peer == "igraph" else "")
    monkeypatch.setitem(sys.modules, "igraph", None)
    rows = triangles(BenchConfig(quick=True))
    assert [row.peer_seconds is None for row in rows] == [True, False] * 3
    assert rows[0].note == "gone"


def test_sides_that_disagree_are_refused(monkeypatch):
    monkeypatch.setattr(module, "_networkx", lambda *_: lambda: 0)
    with pytest.raises(ValueError, match="disagree on the number of triangles of power-law"):
        triangles(BenchConfig(quick=True))

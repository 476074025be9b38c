import pytest

from benchmarks import BenchConfig
from benchmarks import large as module
from benchmarks.child import ChildRun
from benchmarks.large import large

OURS = ChildRun(1.0, 1 << 20, "", "", {"seconds": 1.0, "layer seconds": 0.5, "triangles": 7})


def _runs(monkeypatch, **peers):
    runs = {"lgan": OURS, "scipy": OURS, "igraph": OURS, **peers}
    monkeypatch.setattr(module, "_run", lambda side, *_: runs[side])
    return large(BenchConfig(quick=True))


def test_a_peer_that_does_not_fit_is_noted(monkeypatch):
    lost = ChildRun(3.0, None, "", "ran out of memory")
    scipy, igraph, layer = _runs(monkeypatch, scipy=lost)
    assert scipy.peer_seconds is None
    assert scipy.note == "ran out of memory"
    assert igraph.ratio == 1.0
    assert layer.seconds == 1.5
    assert layer.holds


def test_sides_that_disagree_are_refused(monkeypatch):
    wrong = ChildRun(1.0, 1, "", "", {"seconds": 1.0, "triangles": 8})
    with pytest.raises(ValueError, match="disagree on the number of triangles"):
        _runs(monkeypatch, igraph=wrong)


def test_our_own_failure_is_an_error(monkeypatch):
    with pytest.raises(ValueError, match="ran out of memory"):
        _runs(monkeypatch, lgan=ChildRun(1.0, None, "", "ran out of memory"))

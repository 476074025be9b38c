import pytest

from benchmarks import Bar, Record, Row
from benchmarks.plot import bars, draw, lines

COMPARED = [
    Row("a", "", 1.0, "igraph", 12.0, bar=Bar("speedup", 10)),
    Row("b", "", 2.0, "networkx", note="not installed"),
    Row("c", "", None, note="nothing"),
]
SERIES = [
    Row(name, "", size / 1e6 * (1 + k), memory=size * (2 - k), size=size)
    for k, name in enumerate(("as given", "twins merged"))
    for size in (10**4, 10**5)
]


def test_bars_hold_every_time_and_verdict():
    content = bars(COMPARED)
    assert content.labels == ["a\nigraph", "b\nnetworkx"]
    assert content.ours == [1.0, 2.0]
    assert content.peers == [12.0, None]
    assert content.verdicts == ["12× (bar ≥ 10×)", "not installed"]


def test_lines_hold_one_point_a_size():
    content = lines(SERIES)
    assert content.names == ["as given", "twins merged"]
    assert content.sizes == [[10**4, 10**5]] * 2
    assert content.seconds[1] == pytest.approx([0.02, 0.2])


@pytest.mark.parametrize("rows", [COMPARED, SERIES, COMPARED[2:]], ids=["bars", "lines", "none"])
def test_a_record_is_drawn_as_png(rows, tmp_path):
    pytest.importorskip("matplotlib")
    where = {"device": "cpu", "threads": 2, "lgan": "1"}
    path = tmp_path / "plots" / "x.png"
    draw(Record("x", rows, where), path)
    assert path.read_bytes()[:4] == b"\x89PNG"

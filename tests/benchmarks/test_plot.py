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
    assert bars(COMPARED) == {
        "seconds (median)": [
            ("a\nigraph", 1.0, 12.0, "12× (bar ≥ 10×)"),
            ("b\nnetworkx", 2.0, None, "not installed"),
        ]
    }


def test_memory_is_drawn_on_an_axis_of_its_own():
    shared = {"what": "", "seconds": 19.0, "memory": 3 * 2**30}
    rows = [
        Row("time", bar=Bar("seconds", 120), **shared),
        Row("memory", bar=Bar("memory", 4 * 2**30), **shared),
    ]
    assert bars(rows) == {
        "seconds (median)": [("time", 19.0, None, "19 s (bar ≤ 120 s)")],
        "GiB": [("memory", 3.0, None, "3 GiB (bar ≤ 4 GiB)")],
    }


def test_lines_hold_one_point_a_size():
    content = lines(SERIES)
    assert list(content) == ["as given", "twins merged"]
    assert [[row.size for row in line] for line in content.values()] == [[10**4, 10**5]] * 2
    assert [row.seconds for row in content["twins merged"]] == pytest.approx([0.02, 0.2])


@pytest.mark.parametrize("rows", [COMPARED, SERIES, COMPARED[2:]], ids=["bars", "lines", "none"])
def test_a_record_is_drawn_as_png(rows, tmp_path):
    pytest.importorskip("matplotlib")
    where = {"device": "cpu", "threads": 2, "lgan": "1"}
    path = tmp_path / "plots" / "x.png"
    draw(Record("x", rows, where), path)
    assert path.read_bytes()[:4] == b"\x89PNG"

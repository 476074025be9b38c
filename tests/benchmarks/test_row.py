import json

import pytest

from benchmarks import Bar, Row


def test_a_speed_up_must_be_reached_and_a_ratio_not_exceeded():
    assert Bar("speedup", 10).reached(10)
    assert not Bar("speedup", 10).reached(9.9)
    assert Bar("ratio", 1.2).reached(1.2)
    assert not Bar("ratio", 1.2).reached(1.3)


@pytest.mark.parametrize(
    ("bar", "text"),
    [
        (Bar("speedup", 10), "≥ 10×"),
        (Bar("share", 0.5), "≥ 50%"),
        (Bar("ratio", 1.2), "≤ 1.2"),
        (Bar("seconds", 120), "≤ 120 s"),
        (Bar("memory", 4 * 2**30), "≤ 4 GiB"),
    ],
)
def test_a_bar_reads_as_a_sign_and_a_number(bar, text):
    assert str(bar) == text


def test_the_figure_is_the_one_the_bar_judges():
    measured = {"name": "a", "what": "b", "seconds": 2.0, "peer": "p", "peer_seconds": 8.0}
    assert Row(**measured).ratio == 0.25
    assert Row(**measured).figure is None
    assert Row(**measured, bar=Bar("speedup", 3)).figure == 4
    assert Row(**measured, bar=Bar("ratio", 0.2)).holds is False
    assert Row(**measured, bar=Bar("seconds", 3)).holds is True
    assert Row(**measured, memory=5, bar=Bar("memory", 4)).holds is False


def test_a_peer_that_did_not_finish_leaves_the_bar_open():
    row = Row("a", "b", 1.0, peer="p", bar=Bar("speedup", 5), note="ran out of memory")
    assert row.ratio is None
    assert row.holds is None


def test_a_row_survives_json():
    row = Row("a", "b", 2.0, "p", 8.0, memory=3, bar=Bar("speedup", 3), detail={"x": 1.5})
    plain = json.loads(json.dumps(row.to_json()))
    assert plain["ratio"] == 0.25
    assert plain["holds"] is True
    assert plain["bar"] == {"figure": "speedup", "limit": 3, "direction": "at least"}
    assert Row.from_json(plain) == row

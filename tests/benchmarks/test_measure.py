import pytest
import torch

from benchmarks import Bar
from benchmarks.measure import (
    cache_bandwidth,
    comparison,
    interleaved,
    launch_seconds,
    matmul_rate,
    peak_bandwidth,
)


def test_sides_run_in_turn_after_a_round_that_does_not_count():
    ran = []
    samples = interleaved({"a": lambda: ran.append("a"), "b": lambda: ran.append("b")}, repeats=2)
    assert ran == ["a", "b"] * 3
    assert {name: len(seconds) for name, seconds in samples.items()} == {"a": 2, "b": 2}


def test_a_slow_side_runs_once():
    ran = []
    samples = interleaved(
        {"a": lambda: ran.append("a"), "b": lambda: ran.append("b")}, repeats=3, once=["b"]
    )
    assert ran.count("b") == 1
    assert len(samples["b"]) == 1


def test_short_work_is_repeated_inside_the_clock():
    ran = []
    interleaved({"a": lambda: ran.append("a")}, repeats=1, inner=5)
    assert len(ran) == 10


def test_a_comparison_holds_medians_and_the_spread():
    samples = {"lgan": [1.0, 5.0, 2.0], "peer": [8.0], "other": [1.0]}
    row = comparison("name", "what", samples, peer="peer", bar=Bar("speedup", 4))
    assert (row.seconds, row.peer_seconds, row.holds) == (2.0, 8.0, True)
    assert row.detail["lgan repeats"] == 3
    assert row.detail["lgan most"] == 5.0
    assert "other least" not in row.detail


def test_a_peer_that_was_not_measured_has_no_time():
    row = comparison("name", "what", {"lgan": [1.0]}, peer="igraph", note="not installed")
    assert row.peer == "igraph"
    assert row.peer_seconds is None


@pytest.mark.parametrize("rate", [peak_bandwidth, cache_bandwidth, matmul_rate])
def test_the_machine_has_a_positive_rate(rate):
    assert rate(torch.device("cpu"), size=256) > 0


def test_a_launch_takes_time():
    assert launch_seconds(torch.device("cpu")) > 0

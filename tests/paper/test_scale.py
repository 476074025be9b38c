"""Predictions follow from the costs by hand."""

from dataclasses import replace

import pytest

from benchmarks import Record, Row
from paper.scale import Costs, scale_grids

ROWS = [
    Row("cost, prepare", "", 2.0, size=100, detail={"graphs": 100, "shards": 1, "bytes": 50}),
    Row("cost, prepare", "", 10.0, size=1000, detail={"graphs": 1000, "shards": 8, "bytes": 500}),
    Row("cost, epoch", "", 4.0, size=1000, detail={"graphs": 1000, "batch": 10, "parameters": 250}),
    Row("cost, predict", "", 1.0, size=50, detail={"graphs": 50}),
    Row("cost, exchange", "", 0.5, size=1000, detail={"bytes": 1000}),
    Row("cost, exchange", "", 2.0, size=10_000, detail={"bytes": 10_000}),
    Row("prepare, 2 processes", "", 6.0, "one process", 9.0, detail={"processes": 2}),
    Row("shuffle, sorted", "", None, size=8, detail={"window": 8, "labels": 0.1, "places": 0.25}),
]
RECORD = Record("scale", ROWS, {"device": "x86_64"})


def test_costs_are_those_of_the_largest_size():
    costs = Costs.of(RECORD)
    assert (costs.prepare, costs.epoch, costs.predict) == (0.01, 0.004, 0.02)
    assert costs.efficiency == pytest.approx(0.75)
    assert (costs.byte, costs.latency, costs.parameters) == (2e-4, 0.5, 1000)


def test_times_follow_from_the_costs():
    costs = Costs.of(RECORD)
    assert costs.preparing(3000, 4) == pytest.approx(3000 * 0.01 / (4 * 0.75))
    assert costs.training(3000, 1) == pytest.approx(12)
    # 75 steps of 40 graphs, each with an exchange of 1.5 times the gradients.
    assert costs.training(3000, 4) == pytest.approx(3 + 75 * (0.5 + 1500 * 2e-4))
    assert costs.predicting(3000, 4) == pytest.approx(15)


def test_where_no_exchange_was_measured_the_link_is_assumed_and_said_to_be():
    alone = replace(RECORD, rows=[row for row in ROWS if "exchange" not in row.name])
    assert Costs.of(alone).byte == pytest.approx(1 / 50e9)
    assert "assumed" in " ".join(scale_grids([alone])[1].notes)
    assert "assumed" not in " ".join(scale_grids([RECORD])[1].notes)


def test_tables_show_costs_predictions_shuffle_and_kills():
    runs = [{"case": "prepare", "killed": True, "right": right} for right in (True, False)]
    grids = scale_grids([RECORD], {"runs": runs, "right": 1})
    costs, predicted, shuffled, killed = grids
    assert costs.rows[1][2:] == ["10 s", "10 ms", "1.2 s", ""]
    assert costs.rows[-1] == ["exchange", "", "2 s", "", "", "200 µs"]
    assert predicted.columns[2:] == ["1 core", "8 cores", "64 cores"]
    assert [row[1] for row in predicted.rows] == ["prepare", "an epoch", "predict"] * 2
    assert predicted.rows[0][2] == "10 h"  # 3.7 million × 10 ms
    assert predicted.rows[0][3] == "1.7 h"  # the same / (8 × 0.75)
    assert shuffled.rows == [["8", "0.100", "0.250"]]
    assert killed.rows == [["prepare", "2", "1"], ["in all", "2", "1"]]


def test_without_a_record_the_table_says_how_to_make_one():
    [costs] = scale_grids([])
    assert costs.rows == []
    assert "`lgan bench scale`" in costs.notes[0]

import json
from pathlib import Path

import pytest

from lgan.train.selection import RULES
from lgan.zoo import MODELS
from paper.classification import COLUMNS, LARGER, Classification, read_refusals
from paper.records import read_runs

OTHER = [fold for fold in range(5) for _ in range(4)][::-1]
RESULTS = Path(__file__).parents[2] / "results" / "cv"


def _table(folder, refusals=None):
    return Classification(read_runs(folder), refusals or {})


def _row(grid, name):
    return dict(zip(grid.columns, next(r for r in grid.rows if r[0] == name), strict=True))


def test_csv_has_a_row_for_every_model_set_and_rule(record, folder):
    record("a", [4, 3, 4, 4, 4], pair_code="full", inner=True)
    rows = _table(folder).csv_rows()
    larger = sum(map(len, LARGER.values()))
    assert len(rows) == (len(MODELS) + 1) * (len(COLUMNS) * len(RULES) + larger)
    assert len({tuple(row[:3]) for row in rows}) == len(rows)
    by_key = {tuple(row[:3]): row[3:] for row in rows}
    measured = by_key["lgan + full", "MUTAG", "gin"]
    assert measured == ["95.00", "10.00", "", (folder / "a.json").as_posix()]
    assert by_key["lgan + full", "MUTAG", "fair"][0] == "70.00"
    assert by_key["lgan", "PTC_GIN", "gin"] == ["", "", "67.4", "(not run)"]


def test_missing_cells_say_why(record, folder, tmp_path):
    record("a", [4] * 5)
    told = {
        "cells": [
            {"model": "gin", "dataset": "COLLAB", "refused": "9 tuples, at most 8"},
            {"model": "dgcnn", "dataset": "COLLAB", "epoch": 12.0, "refused": ""},
            {"model": "dgcnn", "dataset": "MUTAG", "epoch": 0.1, "refused": ""},
            {"model": "wl", "dataset": "MUTAG", "epoch": 9999.0, "refused": ""},
        ]
    }
    (tmp_path / "runtime.json").write_text(json.dumps(told))
    gin, fair, *_ = _table(folder, read_refusals(tmp_path)).grids()
    assert _row(gin, "gin")["COLLAB"] == "not done [2] (80.2)"
    assert _row(gin, "dgcnn")["COLLAB"] == "not done [1] (73.8)"
    assert "took 12 s, which makes 10 h for ten folds of 300 epochs" in gin.notes[-2]
    assert _row(gin, "dgcnn")["MUTAG"] == "not run (85.8)"
    assert _row(gin, "wl")["MUTAG"] == "not run"
    assert _row(gin, "gin")["PTC_MR"] == "not run"
    assert _row(fair, "lgan")["MUTAG"] == "no inner hold-out"


def test_lgan_and_its_codes_come_last(record, folder):
    record("a", [4] * 5, pair_code="full")
    record("b", [4] * 5, model="lgan-res", pair_code="triangles")
    record("c", [4] * 5, model="mine")
    rows = _table(folder).rows
    assert rows[-5:-1] == ["lgan", "lgan + full", "lgan-res", "lgan-res + triangles"]
    assert rows[-1] == "lgan-code"
    assert "mine" in rows


def test_significant_differences_to_the_best_lgan_are_marked(record, folder):
    record("best", [4, 4, 4, 4, 3], model="lgan-res")
    record("near", [4, 4, 4, 3, 3], model="lgan")
    record("far", [1, 1, 0, 1, 0], model="gin")
    shown = _table(folder)
    assert shown.best_lgan("MUTAG", "gin") == "lgan-res"
    grid = shown.grids()[0]
    assert _row(grid, "gin")["MUTAG"] == "15.0 ± 12.2 ▼ (89.4)"
    assert _row(grid, "lgan")["MUTAG"] == "90.0 ± 12.2 (92.5)"
    assert shown.rival("lgan-res", "MUTAG", "gin") is None
    assert shown.rival("gin", "MUTAG", "gin") == shown.cell("lgan-res", "MUTAG", "gin")


def test_a_model_above_lgan_is_marked_too(record, folder):
    record("a", [0, 1, 0, 1, 0])
    record("b", [4, 4, 4, 4, 3], model="gin")
    assert "▲" in _row(_table(folder).grids()[0], "gin")["MUTAG"]


def test_only_the_same_folds_are_compared(record, folder):
    record("a", [4] * 5)
    record("b", [0, 1, 0, 1, 0], model="gin", folds=OTHER)
    shown = _table(folder)
    assert shown.rival("gin", "MUTAG", "gin") is None
    gin, *_, second = shown.grids()
    assert _row(gin, "gin")["MUTAG"] == "10.0 ± 12.2 ‡ (89.4)"
    assert second.rows == [["gin", "10.0 ± 12.2", *[""] * 6]]


def test_the_table_states_optimism_and_test(record, folder):
    record("a", [4] * 5)
    gin, fair, fold_max = _table(folder).grids()
    notes = " ".join(gin.notes)
    assert "optimistic" in notes
    assert "Nadeau and Bengio" in notes
    assert "never the one with the best figure" in notes
    assert "inner hold-out" in fair.notes[0]
    assert "flatters" in fold_max.notes[0]


@pytest.mark.skipif(not RESULTS.is_dir(), reason="needs the records of the repository")
def test_the_records_of_the_repository_can_be_read():
    shown = _table(RESULTS)
    measured = [row for row in shown.csv_rows() if row[3]]
    assert {row[1] for row in measured if row[0].startswith("lgan")} >= set(COLUMNS[:-1])
    assert all(0 <= float(row[3]) <= 100 for row in measured)


def test_averaged_members_have_a_table_of_their_own(record, folder):
    """The runs with members make its cells, whatever runs there are without."""
    record("a", [4] * 5, time="2026-02-01T00:00:00+00:00")
    record("b", [3] * 5, bagged=4, lr=0.5)
    record("c", [3] * 5, model="gin", bagged=2)
    record("d", [4] * 5, model="wl", inner=True)
    shown = _table(folder)
    bagged = shown.grids()[1]
    assert "rule bagged" in bagged.title
    assert "strict nesting" in bagged.notes[0]
    assert _row(bagged, "lgan")["MUTAG"] == "50.0 ± 0.0"
    assert _row(bagged, "gin")["MUTAG"] == "50.0 ± 0.0 (2 members)"
    assert _row(bagged, "wl")["MUTAG"].startswith("75.0 ± 0.0")  # kernels: as under `fair`
    assert _row(bagged, "lgan")["PROTEINS"] == "not run"
    rows = {(row[0], row[1]): row[3] for row in shown.csv_rows() if row[2] == "bagged"}
    assert (rows["lgan", "MUTAG"], rows["gin", "MUTAG"]) == ("50.00", "50.00")
    assert rows["lgan-res", "MUTAG"] == ""


def test_changes_of_the_paper_s_layer_are_named(record, folder):
    record("a", [4] * 5, squash=True)
    record("b", [4] * 5, model="lgan-res", residual=True, branches="target")
    [note] = [note for note in _table(folder).grids()[0].notes if "the paper's layer" in note]
    assert "squashed sums (asinh): lgan on MUTAG" in note
    assert "without AGGR_n (no neighbour pairs): lgan-res on MUTAG" in note
    assert "residual (LGAN-res)" not in note


def test_smaller_budgets_than_a_model_s_own_are_named(record, folder):
    record("a", [4] * 5, config={"epochs": 20})
    record("b", [4] * 5, model="ppgn", config={"epochs": 20, "batch_size": 10})
    record("c", [4] * 5, model="wl")
    [note] = [note for note in _table(folder).grids()[0].notes if "budgets" in note]
    assert note.endswith("own: ppgn on MUTAG: width 32, epochs 20, batches of 10.")

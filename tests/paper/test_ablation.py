import pytest

from lgan.graph.pair_codes import LEVELS
from paper.ablation import FULL, ablation_grid, variant_name
from paper.records import read_runs

OTHER = [fold for fold in range(5) for _ in range(4)][::-1]


def test_a_variant_is_named_by_what_it_changes(record, folder):
    record("a", [4] * 5)
    record("b", [4] * 5, branches="target")
    record("c", [4] * 5, comb="linear", pair_code="full")
    record("d", [4] * 5, model="lgan-res")
    record("e", [4] * 5, compress=False)
    assert [variant_name(run) for run in read_runs(folder)] == [
        FULL,
        "without AGGR_n (no neighbour pairs)",
        "linear pair sum, pair code full",
        "residual (LGAN-res)",
        "without compression",
    ]


@pytest.mark.parametrize("level", [level for level in LEVELS if level != "none"])
def test_every_pair_code_is_a_variant_of_its_own(level, record, folder):
    record("a", [4] * 5, pair_code=level)
    assert [variant_name(run) for run in read_runs(folder)] == [f"pair code {level}"]


def test_rows_are_compared_with_the_full_model_on_the_same_folds(record, folder):
    record("a", [4, 4, 4, 4, 3])
    record("b", [1, 1, 0, 1, 0], branches="target")
    record("c", [4, 4, 4, 3, 3], comb="linear")
    record("d", [4, 4, 4, 3, 3], include_input=True, folds=OTHER)
    record("e", [4, 4, 4, 4, 3], dataset="COLLAB")
    grid = ablation_grid(read_runs(folder))
    assert grid.columns == ["variant", "MUTAG", "COLLAB"]
    assert [row[0] for row in grid.rows] == [
        FULL,
        "without AGGR_n (no neighbour pairs)",
        "linear pair sum",
        "input in the skip-cat",
    ]
    assert [row[1] for row in grid.rows] == [
        "95.0 ± 10.0",
        "15.0 ± 12.2 [-80.0] ▼",
        "90.0 ± 12.2 [-5.0]",
        "90.0 ± 12.2 ‡",
    ]
    assert [row[2] for row in grid.rows] == ["95.0 ± 10.0", "not run", "not run", "not run"]
    assert "optimistic" in grid.notes[-1]


def test_a_variant_may_be_better(record, folder):
    record("a", [1, 1, 0, 1, 0])
    record("b", [4, 4, 4, 4, 3], pair_code="full")
    assert ablation_grid(read_runs(folder)).rows[1][1] == "95.0 ± 10.0 [+80.0] ▲"

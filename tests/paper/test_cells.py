import pytest

from paper import cells
from paper.cells import chosen_group, groups, measure
from paper.records import default_settings, read_runs

OTHER = [fold for fold in range(5) for _ in range(4)][::-1]


def _names(group):
    return sorted(run.path.stem for run in group)


def test_a_group_differs_in_nothing_but_the_seed(record, folder):
    record("a", [4] * 5)
    record("b", [3] * 5, seed=1)
    record("c", [2] * 5, dropout=0.5)
    record("d", [2] * 5, folds=OTHER)
    record("e", [2] * 5, dataset="PROTEINS")
    assert sorted(map(_names, groups(read_runs(folder)))) == [["a", "b"], ["c"], ["d"], ["e"]]


def test_the_best_figure_is_never_a_reason(record, folder):
    record("poor", [1] * 5)
    record("poor-again", [1] * 5, seed=1)
    record("best", [4] * 5, dropout=0.5)
    assert _names(chosen_group(read_runs(folder))) == ["poor", "poor-again"]


def test_published_folds_come_first(record, folder):
    record("own-0", [4] * 5, folds=OTHER)
    record("own-1", [4] * 5, folds=OTHER, seed=1)
    record("gin", [1] * 5)
    runs = read_runs(folder)
    assert _names(chosen_group(runs)) == ["gin"]
    assert _names(chosen_group(runs, published_folds=False)) == ["own-0", "own-1"]
    assert chosen_group([], published_folds=True) == []


def test_the_settings_of_the_command_come_before_more_seeds(record, folder):
    wanted = default_settings("lgan", "MUTAG")
    record("default", [1] * 5, config=wanted, **{k: wanted[k] for k in ("hidden", "readout")})
    record("other-0", [4] * 5, config={**wanted, "lr": 0.5})
    record("other-1", [4] * 5, config={**wanted, "lr": 0.5}, seed=1)
    assert _names(chosen_group(read_runs(folder))) == ["default"]


def test_the_newest_of_equals_wins(record, folder):
    record("a-new", [1] * 5, dropout=0.1, time="2026-02-01T00:00:00+00:00")
    record("z-old", [4] * 5, dropout=0.2, time="2026-01-01T00:00:00+00:00")
    assert _names(chosen_group(read_runs(folder))) == ["a-new"]


def test_seeds_are_averaged_fold_by_fold(record, folder):
    record("a", [4, 4, 2, 2, 4])
    record("b", [4, 2, 2, 0, 0], seed=1)
    cell = measure(read_runs(folder), "gin")
    assert cell.folds == (100, 75, 50, 25, 50)
    assert cell.mean == pytest.approx(60)
    # Over folds: 100 100 50 50 100 and 100 50 50 0 0, deviations sqrt(600) and sqrt(1400).
    assert cell.std == pytest.approx((600**0.5 + 1400**0.5) / 2)
    assert cell.seeds == 2
    assert str(cell) == "60.0 ± 31.0 ×2"


def test_a_run_made_again_counts_once(record, folder):
    record("first", [1] * 5, time="2026-01-01")
    record("again", [4] * 5, time="2026-01-02")
    cell = measure(read_runs(folder), "gin")
    assert cell.mean == 100
    assert [path.stem for path in cell.records] == ["again"]


def test_a_rule_without_runs_has_no_cell(record, folder):
    record("a", [4] * 5)
    record("b", [4] * 5, seed=1, inner=True)
    runs = read_runs(folder)
    assert measure(runs[:1], "fair") is None
    assert measure(runs, "fair").seeds == 1
    assert measure([], "gin") is None


def test_other_folds_are_marked(record, folder):
    record("a", [4] * 5, folds=OTHER)
    assert str(measure(read_runs(folder), "gin")) == "100.0 ± 0.0 ‡"


def test_a_model_that_is_not_in_the_zoo_has_no_defaults(record, folder):
    record("a", [4] * 5, model="mine")
    assert not cells._is_default(read_runs(folder)[0])


def test_independent_seeds_come_before_more_seeds_and_never_join_them(record, folder):
    for seed in range(3):
        record(f"old-{seed}", [4] * 5, seed=seed, version="0.1.0")
    record("new-0", [3] * 5)
    record("new-1", [3] * 5, seed=1)
    runs = read_runs(folder)
    assert _names(chosen_group(runs)) == ["new-0", "new-1"]
    assert str(measure(chosen_group(runs), "gin")) == "75.0 ± 0.0 ×2"
    old = chosen_group([run for run in runs if not run.independent_seeds])
    assert str(measure(old, "gin")) == "100.0 ± 0.0 ×3°"

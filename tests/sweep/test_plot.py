import pytest

from lgan.sweep import Outcome, SweepRecord, Trial
from lgan.sweep.plot import draw


def _record(head, values):
    trials = [
        Trial(i, {"hidden": (4, 8)[i % 2], "lr": 0.01, "dropout": 0.0}, Outcome("done", value))
        for i, value in enumerate(values)
    ]
    return SweepRecord(head(), trials)


def test_history_and_importance_are_drawn(head, tmp_path):
    paths = draw(_record(head, [0.5, 0.7, 0.6, 0.8]), tmp_path / "new", "a")
    assert [path.name for path in paths] == ["a-history.png", "a-importance.png"]
    assert all(path.read_bytes()[:4] == b"\x89PNG" for path in paths)


def test_nothing_matters_where_all_values_agree(head, tmp_path):
    [path] = draw(_record(head, [0.5, 0.5]), tmp_path, "a")
    assert path.name == "a-history.png"


def test_one_trial_is_no_picture(head, tmp_path):
    with pytest.raises(ValueError, match=r"two finished trials, got 1"):
        draw(_record(head, [0.5]), tmp_path, "a")

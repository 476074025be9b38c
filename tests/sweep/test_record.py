import json

import pytest

from lgan.sweep import Outcome, Study, SweepRecord, Trial


def _record(head):
    done = Outcome("done", 0.75, {"gin": {"mean": 0.75, "std": 0.1}}, {1: 0.5, 2: 0.75}, 3.0)
    trials = [
        Trial(0, {"lr": 0.1}, Outcome("done", 0.5)),
        Trial(1, {"lr": 0.2}, done),
        Trial(2, {"lr": 0.3}, Outcome("pruned", 0.9, progress={1: 0.9})),
        Trial(3, {"lr": 0.4}, Outcome("failed", message="too large")),
        Trial(4, {"lr": 0.5}),
    ]
    return SweepRecord(head(), trials, {"device": "cpu"})


def test_a_record_survives_json(head, tmp_path):
    record = _record(head)
    record.save(tmp_path / "a.json")
    assert SweepRecord.load(tmp_path / "a.json") == record


def test_space_objective_counts_and_winner_are_in_the_record(head, tmp_path):
    _record(head).save(tmp_path / "a.json")
    plain = json.loads((tmp_path / "a.json").read_text())
    assert plain["space"]["lr"] == [0.01, 0.001]
    assert plain["num_trials"] == 5
    assert plain["states"] == {"done": 2, "failed": 1, "pruned": 1, "running": 1}
    assert plain["winner"]["params"] == {"lr": 0.2}
    assert "Optimistic" in plain["meaning"]


def test_the_first_of_equals_wins(head):
    trials = [Trial(i, {}, Outcome("done", 0.5)) for i in range(3)]
    assert SweepRecord(head(), trials).winner.number == 0


def test_the_last_bit_decides_nothing(head):
    values = (0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1, 0.7)
    for order in ((0, 1), (1, 0)):
        trials = [Trial(i, {}, Outcome("done", values[k])) for i, k in enumerate(order)]
        assert SweepRecord(head(), trials).winner.number == 0
    assert values[0] != values[1]


def test_a_record_from_before_there_were_seeds_has_one_and_goes_on(head, tmp_path):
    plain, path = _record(head).to_json(), tmp_path / "old.json"
    assert plain.pop("seeds") == 1
    path.write_text(json.dumps(plain))
    assert SweepRecord.load(path) == _record(head)
    assert Study(path, head()).trials() == _record(head).trials
    with pytest.raises(ValueError, match=r"other settings: seeds: 1 → 3\."):
        Study(path, head(seeds=3))


def test_another_format_is_refused():
    with pytest.raises(ValueError, match=r"format 1, got 7"):
        SweepRecord.from_json({"format": 7})
